"""What Grid Engine 8.1.9 said of changes of a cell, step by step, and that Roost says and does the same.

The steps are played on the command and the queue's code, with a cell in memory in place of a pool.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.condor.kit import run
from tests.cli.gridengine.memory import CellInMemory, played, used_by_qconf
from tests.cli.gridengine.qconf_steps import Step, sections, without_usage
from tests.gridengine import dumps

from roost.cli.gridengine.entry import main

#: Steps that end otherwise, and why.
DIFFERENT = {
    "qconf -mattr exechost user_lists arusers node1": "Grid Engine adds no member to the empty list of a host",
    "qconf -Arqs r": "Grid Engine tells of the first of several sets, and crashes where there is none",
    "qconf -rsstnode /": "Grid Engine ends with 1 where it has shown the nodes",
    "qconf -rsstnode /alice": "the same",
    "qconf -clearusage alice": "Roost forgets all usage or none",
    "qconf -secl": "a pool has no event clients",
    "qconf -sds": "Grid Engine ends with 1 where it has shown something",
    "qconf -sobjl queue_instance slots '*'": "Roost takes a pattern for a number too",
    "qconf -mconf nosuch": "Grid Engine starts the editor with an empty file",
    "qconf -mconf all": "the same",
    "qconf -dconf node2": "Grid Engine says that it has removed what is not there",
    "qconf -Aconf nofile": "Grid Engine looks for a host of the file's name first",
}


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> CellInMemory:
    """The cell with which each section began."""
    pool = CellInMemory(dumps.cell("plain"), machines=("node9.example.org",))
    used_by_qconf(pool, monkeypatch)
    return pool


def plain(text: str) -> str:
    """What is said, without what is another each time."""
    text = without_usage(text)
    text = re.sub(
        r"SGE 8\.1\.9\nusage: qconf .*?trigger scheduler monitoring( \(refused\))?\n\n?",
        "(usage)\n",
        text,
        flags=re.DOTALL,
    )
    text = re.sub(r"/tmp/[\w/.-]*pid-\w+-\w+", "/tmp/pid", text)
    text = re.sub(r"^error reading file: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(load_values|processors) .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^qconf: not yet supported by pools: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^delete_time \d{2,}", "delete_time N", text, flags=re.MULTILINE)
    if re.fullmatch(r"(\{\n([^}]|\}.)*\}\n)+", text):
        # Roost keeps quota sets by name, Grid Engine in the order in which they came.
        text = "".join(sorted(re.findall(r"^\{\n.*?^\}\n", text, re.DOTALL | re.MULTILINE)))
    if "from resource quota set list" in text:
        text = "".join(sorted(text.splitlines(keepends=True)))
    return re.sub(r"in line \d+", "in line N", text)


SECTIONS = sections()


@pytest.mark.parametrize("section", SECTIONS)
def test_steps_end_as_they_do_in_grid_engine(pool: CellInMemory, section: str, tmp_path: Path) -> None:
    different, meant = [], set()
    for step in SECTIONS[section]:
        pool.user = step.user
        got = played(step, tmp_path)
        wanted = (plain(step.out), plain(step.err), step.status)
        said = plain(got.out), plain(got.err), got.status
        if said == wanted:
            continue
        meant.add(step.words)
        if step.words not in DIFFERENT:
            different.append((step.user, step.words, step.edit, wanted, said))
    listed = {step.words for step in SECTIONS[section]} & DIFFERENT.keys()
    assert listed <= meant | {"qconf -sds"}, f"no longer different: {listed - meant}"
    assert not different, "\n".join(map(told, different))


def told(case: tuple[Any, ...]) -> str:
    """A difference, line by line."""
    user, words, edit, wanted, got = case
    lines = [f"{user}: {words}   {edit}"]
    for one, other, sign in ((wanted, got, "-"), (got, wanted, "+")):
        for each, against in zip(one[:2], other[:2], strict=True):
            lines += [f"   {sign} {line}" for line in each.splitlines() if line not in against.splitlines()]
    return "\n".join([*lines, f"   {wanted[2]} and {got[2]}"])


def test_a_machine_of_the_pool_is_a_host(pool: CellInMemory, tmp_path: Path) -> None:
    for name in ("node9", "node9.example.org"):
        done = played(Step(f"qconf -ah {name}", "", "", 0), tmp_path)
        assert (done.status, done.err) == (0, f"{name} added to administrative host list\n")
    done = played(Step("qconf -as node8,node9", "", "", 0), tmp_path)
    assert (done.status, done.err) == (1, 'can\'t resolve hostname "node8"\nnode9 added to submit host list\n')
    assert "node9" in pool.cell.submit_hosts and "node8" not in pool.cell.submit_hosts


def test_what_pools_do_not_carry_out_is_named_where_it_comes_in(pool: CellInMemory, tmp_path: Path) -> None:
    change = Step("qconf -Mconf node1", "", "", 0, files={"node1": "mailer /bin/true\nshepherd_cmd /opt/shepherd\n"})
    assert "qconf: not yet supported by pools: " in played(change, tmp_path).err
    assert "not yet supported by pools" not in played(change, tmp_path).err


def test_an_editor_that_fails_changes_nothing(pool: CellInMemory, tmp_path: Path) -> None:
    for editor, words in (("/nosuch", "can't start editor /nosuch: No such file or directory"),
                          ("false", "editor exited with error 1")):  # fmt: skip
        done = run("qconf", "-mp", "make", cwd=tmp_path, command=main, EDITOR=editor)
        assert (done.status, done.err) == (1, f"error: {words}\nedit failed\n")
    assert pool.revision == 1
