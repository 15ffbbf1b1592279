"""The Grid Engine cell of a pool: it is taken over, changed and written out, and nothing that was confirmed is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roost.cli.cell.in_pool import configured
from roost.gridengine.cell import NOT_OBJECTS, new_cell, write_cell
from roost.runtime.identity import user_name
from tests.gridengine import dumps
from tests.gridengine.questions import DATA
from tests.integration.kit import Pool, eventually


def exported(pool: Pool, place: Path) -> dict[str, str]:
    pool("cell", "export", str(place))
    return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}


def department(place: Path) -> Path:
    """A copy of the objects of the department, to change."""
    shutil.copytree(
        DATA / "department", place, ignore=shutil.ignore_patterns(*[name.split("/")[0] for name in NOT_OBJECTS])
    )
    return place


def slots(place: Path, number: int) -> None:
    queue = place / "cqueues/short.q"
    lines = queue.read_text().splitlines()
    queue.write_text("".join(f"slots {number}\n" if line.startswith("slots ") else f"{line}\n" for line in lines))


def log(pool: Pool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(pool("cell", "log", "--json", "--limit", "1000"))
    return found


def test_numbers_of_jobs_go_on_where_the_other_system_left_off(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    dump = tmp_path / "dump"
    for name, text in write_cell(new_cell()).items():
        (dump / name).parent.mkdir(parents=True, exist_ok=True)
        (dump / name).write_text(text)
    (dump / "jobseqnum").write_text("many\n")
    refused = pool.try_("cell", "import", str(dump))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "jobseqnum: 'many' is not a job number" in refused.stderr
    (dump / "jobseqnum").write_text("4711\n")
    assert "new jobs are numbered above 4711\n" in pool("cell", "import", str(dump))
    pool.kill("schedd")
    eventually(lambda: pool.try_("queue").returncode == 0, "the queue answers")
    assert pool.submit("hold = true", "true") == 4712
    # Never back.
    (dump / "jobseqnum").write_text("12\n")
    pool("cell", "import", "--replace", str(department(tmp_path / "other")))
    pool("cell", "import", "--replace", str(dump))
    assert pool.submit("hold = true", "true") == 4713


def test_a_cell_is_taken_over_changed_and_written_out(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    assert "the pool has no cell" in pool.try_("cell", "export", str(tmp_path / "out")).stderr
    assert "revision 1" in pool("cell", "import", str(DATA / "department"))
    assert exported(pool, tmp_path / "out") == write_cell(configured(dumps.cell("department")))
    assert pool("cell", "diff", str(DATA / "department")) == "no difference\n"

    # Changed under version control, looked at, applied.
    changed = department(tmp_path / "changed")
    slots(changed, 5)
    plan = "~ cluster queue short.q\n    slots: 4,[@new=8],[@gpu=8] -> 5\n1 to modify\n"
    assert pool("cell", "diff", str(changed), status=1) == plan
    assert pool("cell", "apply", "--plan", str(changed)) == f"{plan}nothing was changed (--plan)\n"
    assert pool("cell", "apply", str(changed)) == f"{plan}the pool's cell has revision 2\n"
    assert pool("cell", "apply", str(changed)) == "no difference\n"

    # One object, as qconf prints it.
    (tmp_path / "project").write_text("name extra\noticket 0\nfshare 7\nacl NONE\nxacl NONE\n")
    assert pool("cell", "import", str(tmp_path / "project")).startswith("+ project extra\n")
    assert "fshare 7\n" in exported(pool, tmp_path / "out")["projects/extra"]

    # What the rest needs does not go, and nothing else of the change happens either.
    (changed / "calendars/night").unlink()
    slots(changed, 6)
    refused = pool.try_("cell", "apply", str(changed))
    assert refused.returncode == 2
    assert 'Calendar "night" does not exist' in refused.stderr
    assert exported(pool, tmp_path / "out")["cqueues/short.q"].count("slots                 5\n") == 1

    again = pool.try_("cell", "import", str(DATA / "plain"))
    assert again.returncode == 2 and "--replace" in again.stderr
    pool("cell", "import", "--replace", str(DATA / "plain"))
    files = exported(pool, tmp_path / "out")
    assert files == write_cell(configured(dumps.cell("plain")))

    assert [(one["revision"], len(one["changes"]) > 0) for one in log(pool)] == [(n, True) for n in (4, 3, 2, 1)]
    assert {one["actor"] for one in log(pool)} == {user_name()}
    assert log(pool)[2]["changes"][0]["attributes"] == [
        {"attribute": "slots", "before": "4,[@new=8],[@gpu=8]", "after": "5"}
    ]
    eventually(lambda: "cell changed to revision 4" in pool("audit"), "the change is in the audit trail")


def test_a_change_that_was_planned_on_another_revision_does_not_happen(start: Callable[..., Pool]) -> None:
    from roost.cli.pool_connection import Refused, connected
    from roost.runtime.home import Home
    from roost.wire.requests.cell import ChangeCell, ReadCell

    pool = start()
    pool("cell", "import", str(DATA / "plain"))
    with connected(Home.find(str(pool.home))) as line:
        text = next(row.text for row in line.ask(ReadCell()) if row.name == "cqueues/all.q")
        for revision, done in ((0, False), (1, True), (1, False)):
            put = {"cqueues/all.q": text.replace("slots                 4", f"slots                 {7 + revision}")}
            try:
                assert line.ask(ChangeCell(revision=revision, put=put)).revision == 2
                assert done
            except Refused as refused:
                assert not done
                assert refused.answer.code == "cell-changed-since"


def test_what_was_confirmed_survives_kills_of_the_queue(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool, dice = start(), random.Random(5)
    place = department(tmp_path / "cell")
    pool("cell", "import", str(place))
    confirmed = "4,[@new=8],[@gpu=8]"
    for number in range(10, 15):
        slots(place, number)
        command = [sys.executable, "-m", "roost.cli", "cell", "apply", "--home", str(pool.home), str(place)]
        applying = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
        # Anywhere between the start of the command and its end.
        time.sleep(dice.uniform(0.2, 1.2))
        pool.kill("schedd")
        if applying.wait(120) == 0:
            confirmed = str(number)
        eventually(lambda: pool.try_("cell", "log").returncode == 0, "the queue is back")
        queue = exported(pool, tmp_path / f"out{number}")["cqueues/short.q"]
        kept = next(line.split()[1] for line in queue.splitlines() if line.startswith("slots "))
        assert kept in (confirmed, str(number))
        # The log and the cell are one.
        entries = log(pool)
        assert [one["revision"] for one in entries] == list(range(len(entries), 0, -1))
        if len(entries) > 1:
            assert entries[0]["changes"][0]["attributes"][0]["after"] == kept
        # What was kept without being confirmed stays, too.
        confirmed = kept
