"""What is wrong is refused as Grid Engine 8.1.9 refuses it, and changes nothing: message, stream, exit status.

Recorded answers are played: `make test` plays the first section of each kind, ``ROOST_TEST_MISTAKES=all`` all. Where
ROOST_GRIDENGINE_CELL names a program that runs a cell (see test_conformance.py), ROOST_GRIDENGINE_MISTAKES new sections
of each kind are drawn from ROOST_GRIDENGINE_SEED on.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from roost.cli.gridengine.entry import main
from roost.runtime.identity import user_name
from tests.cli.condor.kit import run
from tests.cli.gridengine.memory import CellInMemory, used_by_qconf
from tests.gridengine import dumps
from tests.gridengine.mistakes.asking import CASES, KEPT, Answer, answer, ask, asked, drawn, kept, setup
from tests.gridengine.mistakes.differences import DIFFERENT
from tests.gridengine.mistakes.drawing import Case
from tests.gridengine.mistakes.driver import Player
from tests.gridengine.questions import DATA
from tests.integration.kit import Pool, running

PROGRAM = os.environ.get("ROOST_GRIDENGINE_CELL", "")
SEED = int(os.environ.get("ROOST_GRIDENGINE_SEED", "1"))
DRAWN = int(os.environ.get("ROOST_GRIDENGINE_MISTAKES", "3")) if PROGRAM else 0
ALL = os.environ.get("ROOST_TEST_MISTAKES") == "all"


def sections(which: str) -> list[str]:
    found = sorted(path.stem for path in KEPT.glob(f"{which}-*.json"))
    return found if ALL else found[:1]


def of_cell(some: Sequence[Case], place: Path, patch: pytest.MonkeyPatch) -> list[Answer]:
    """What Roost makes of changes of a cell."""
    used_by_qconf(CellInMemory(dumps.cell("plain")), patch)

    def typed(words: list[str]) -> tuple[str, str, int]:
        done = run(words[0], *words[1:], cwd=place, command=main, SGE_SINGLE_LINE="1")
        return done.out, done.err, done.status

    patch.chdir(place)
    return [answer(row) for row in Player(asked("cell", list(some)), typed).play()]


def of_jobs(some: Sequence[Case], pool: Pool, patch: pytest.MonkeyPatch) -> list[Answer]:
    """What Roost makes of requests."""
    environment = {"ROOST_HOME": str(pool.home), "SGE_ROOT": str(pool.place / "root"), "HOME": str(pool.place / "user")}

    def typed(words: list[str]) -> tuple[str, str, int]:
        done = run(words[0], *words[1:], cwd=pool.work, command=main, PWD=str(pool.work), **environment)
        return (*(re.sub(rf"\b{user_name()}\b", "alice", text) for text in (done.out, done.err)), done.status)

    patch.chdir(pool.work)
    return [answer(row) for row in Player(asked("jobs", list(some)), typed).play()]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """A pool with the cell that requests were made to, whose hosts it does not have."""
    if sys.platform != "linux":
        pytest.skip("jobs run on Linux only")
    place = tmp_path_factory.mktemp("mistakes")
    with running(place, cpus=1) as made, pytest.MonkeyPatch.context() as patch:
        (place / "user").mkdir()
        shutil.copytree(DATA / "plain", place / "cell")
        configuration = place / "cell/configurations/global"
        # Root may submit here.
        configuration.write_text(re.sub(r"(min_[ug]id +)1000", r"\g<1>0", configuration.read_text()))
        made("cell", "import", str(place / "cell"))
        # The objects that the cases name.
        patch.setenv("ROOST_HOME", str(made.home))
        for words, files in setup("cell"):
            for name, text in files.items():
                (made.work / name).write_text(text)
            done = run(*words.split(), cwd=made.work, command=main)
            assert done.status == 0, (words, done)
        yield made


def plain(text: str) -> str:
    """What is said, without what is another each time."""
    text = re.sub(r"^error reading file: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^qconf: not yet supported by pools: .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r" +", " ", text)
    text = re.sub(r"/tmp/[\w/.-]*pid-\w+-\w+", "/tmp/pid", text)
    return re.sub(r"in line \d+", "in line N", text)


_MEASURED = re.compile(
    r".(qconf -se \S+: (load_values|processors)|qstat -j [^:]*: (version|scheduling info|ja_ad_)|qstat -f)"
)


def changed(one: Answer) -> list[str]:
    """What was changed, without measurements."""
    found = [" ".join(each.split()) for each in one.changes if not _MEASURED.match(each)]
    if any(re.match(r"-qstat -j \S+: job_number", each) for each in found):
        # The job is gone, and with it all lines about it.
        return ["gone"]
    return sorted(re.sub(r"delete_time \d{2,}", "delete_time N", each.replace(" : ", ": ", 1)) for each in found)


def differences(some: Sequence[tuple[Case, Answer]], ours: Sequence[Answer]) -> list[str]:
    """What comes out otherwise, and not on purpose."""
    found = []
    for (case, theirs), mine in zip(some, ours, strict=True):
        pairs = {
            "out": (plain(theirs.out), plain(mine.out)),
            "err": (plain(theirs.err), plain(mine.err)),
            "status": (theirs.status, mine.status),
            "changes": (changed(theirs), changed(mine)),
        }
        wrong = [f"    {name}:\n      - {a!r}\n      + {b!r}" for name, (a, b) in pairs.items() if a != b]
        if wrong and not any(
            re.search(form, f"{case.words} {''.join(case.files.values())}{theirs.out}{theirs.err}", re.DOTALL)
            for form in DIFFERENT
        ):
            text = "".join(f"\n    {name}: {text!r}" for name, text in case.files.items())
            found.append("\n".join([case.words + text, *wrong]))
    return found


@pytest.mark.parametrize("name", sections("cell"))
def test_wrong_changes_of_a_cell_are_refused_alike(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = kept(name)
    found = differences(some, of_cell([case for case, _ in some], tmp_path, monkeypatch))
    assert not found, "\n".join([f"{len(found)} of {len(some)}", *found])


@pytest.mark.parametrize("name", sections("jobs"))
def test_wrong_requests_are_refused_alike(name: str, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    some = kept(name)
    found = differences(some, of_jobs([case for case, _ in some], pool, monkeypatch))
    assert not found, "\n".join([f"{len(found)} of {len(some)}", *found])


@pytest.mark.parametrize("seed", range(SEED + 1000, SEED + 1000 + DRAWN))
def test_new_changes_are_refused_alike(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = drawn(f"cell-{seed}")
    theirs = ask(PROGRAM, "cell", some)
    found = differences(list(zip(some, theirs, strict=True)), of_cell(some, tmp_path, monkeypatch))
    assert not found, "\n".join([f"{len(found)} of {CASES}", *found])


@pytest.mark.parametrize("seed", range(SEED + 1000, SEED + 1000 + DRAWN))
def test_new_requests_are_refused_alike(seed: int, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    some = drawn(f"jobs-{seed}")
    theirs = ask(PROGRAM, "jobs", some)
    found = differences(list(zip(some, theirs, strict=True)), of_jobs(some, pool, monkeypatch))
    assert not found, "\n".join([f"{len(found)} of {CASES}", *found])
