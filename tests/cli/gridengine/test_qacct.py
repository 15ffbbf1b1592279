"""`qacct` over a file and over the pool's database, in the words and tables of Grid Engine 8.1.9."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.condor.kit import run
from tests.cli.gridengine.kit import ME, Desk, node
from tests.integration.kit import eventually

from roost.cli.gridengine.accounting_tables import block
from roost.cli.gridengine.entry import main
from roost.gridengine.accounting_lines import read_line

DATA = Path(__file__).parent / "data"
FILE = DATA / "accounting"


def recorded() -> Iterator[tuple[str, str]]:
    """The options of a command, and what 8.1.9 printed: standard output, then errors behind "! ", then the status."""
    for part in re.split(r"^\$ qacct -f accounting ", (DATA / "qacct.txt").read_text(), flags=re.MULTILINE)[1:]:
        options, _, printed = part.partition("\n")
        yield options, printed


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state directory without a pool, whose configuration wants units."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    (tmp_path / "roost.config").write_text("QACCT_UNIT_SUFFIXES = True\n")
    yield tmp_path
    monkeypatch.undo()
    time.tzset()


def qacct(home: Path, *options: str, text: str = "") -> str:
    done = run("qacct", *options, text=text, command=main, ROOST_HOME=str(home), cwd=home)
    errors = "".join(f"! {line}\n" for line in done.err.splitlines())
    return done.out + errors + (f"[exit status {done.status}]\n" if done.status else "")


@pytest.mark.parametrize(("options", "printed"), list(recorded()))
def test_files_are_read_as_the_real_one_does(offline: Path, options: str, printed: str) -> None:
    found = qacct(offline, "-f", str(FILE), *shlex.split(options))
    if "-h" in options or "-q" in options:
        # The real one does not look at lines far enough to see that they are wrong where it looks for hosts or queues.
        found, printed = (re.sub("! error: ignoring.*\n", "", text) for text in (found, printed))
    assert found == printed


def test_a_file_may_be_missing_empty_or_standard_input(offline: Path) -> None:
    words = "! /no/such: No such file or directory\n! no jobs running since startup\n[exit status 1]\n"
    assert qacct(offline, "-f", "/no/such") == words
    assert "Total System Usage" in qacct(offline, "-f", "/dev/null", "-j")
    text = FILE.read_text()
    assert qacct(offline, "-f", "-", "-o", text=text) == qacct(offline, "-f", str(FILE), "-o")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-t 1", "error: -t option requires -j option with an argument"),
        ("-t 1 -j", "error: -t option requires -j option with an argument"),
        ("-j 1 -t x", "invalid list of task id ranges: x"),
        ("-b xx", "Invalid format of date/hour-minute field."),
        ("-b 202701002400", "Invalid day specification."),
        ("-e 202701012400", "Invalid hour specification."),
        ("-b 2613", "Invalid format of date/hour-minute field."),
        ("-e", "error: -e option must have argument"),
        ("-d x", "error: -d x: not a number of days"),
        ("-b 202601010000 -e 202601010000 -d 1", "error: -d, -b and -e exclude one another"),
        ("-slots x", "error: -slots x: not a number"),
        ("-nope", 'error: invalid option argument "-nope"'),
        ("/some/file", 'error: invalid option argument "/some/file"'),
    ],
)
def test_wrong_options_are_answered_with_the_right_ones(offline: Path, options: str, words: str) -> None:
    printed = qacct(offline, *options.split())
    assert words in printed and "usage: qacct [options]" in printed
    assert printed.endswith("[exit status 1]\n")
    assert all(line.startswith("!") for line in printed.splitlines()[:-1])


def test_figures_are_plain_without_units() -> None:
    lines = block(read_line(FILE.read_text().splitlines()[0]), suffixes=False).splitlines()
    shown = dict(line.split(None, 1) for line in lines[1:])
    assert shown["ru_wallclock"].rstrip() == "86400" and shown["ru_utime"].rstrip() == "3661.500"
    assert shown["ru_maxrss"].rstrip() == "123456789" and shown["mem"].rstrip() == "1234.500"
    assert shown["maxvmem"].rstrip() == "11.498G"


def test_runs_of_the_pool_are_found_and_summed(desk: Desk) -> None:
    began = time.time()
    name = f"a{int(began)}"
    one = desk.qsub("-N", name, "-A", "acct", "-o", "/dev/null", "-j", "y", "-b", "y", "exit", "3")
    array = desk.qsub("-N", f"{name}x", "-t", "2-6:2", "-o", "/dev/null", "-j", "y", "-b", "y", "true")

    def records(*options: str) -> list[dict[str, str]]:
        # Records come a moment after the end of a job; 1: there is none yet.
        blocks = desk("qacct", *options, status=None).out.split("=" * 62 + "\n")[1:]
        return [{row[:12].strip(): row[13:].strip() for row in each.splitlines()} for each in blocks]

    eventually(lambda: f"  {array}.6:" in desk("qstat", "-s", "z").out or len(records("-j")) >= 4, "all have ended")
    eventually(lambda: len(records("-j", f"{name}*")) == 4, lambda: str(records("-j")))
    (first,) = records("-j", str(one))
    assert (first["qname"], first["hostname"], first["owner"]) == ("all.q", node(desk.pool), ME)
    assert (first["jobname"], first["account"], first["exit_status"], first["failed"]) == (name, "acct", "3", "0")
    assert sorted(each["taskid"] for each in records("-j", str(array))) == ["2", "4", "6"]
    assert sorted(each["taskid"] for each in records("-j", f"{name}x", "-t", "4-9")) == ["4", "6"]
    assert desk("qacct", "-j", str(array), "-t", "3", status=1).err == (
        f"error: Job-array tasks {array}.3-3:1 not found\n"
    )
    assert desk("qacct", "-j", name, "-o", "nobody", status=1).err == f"error: job name {name} not found\n"
    assert desk("qacct", "-j", "99999", status=1).err == "error: job id 99999 not found\n"
    # What the file says is what the database says.
    file = desk.pool.home / "gridengine" / "default" / "common" / "accounting"
    for options in (
        [], ["-o"], ["-o", ME, "-A"], ["-q"], ["-q", "all.q"], ["-h", "-slots"], ["-pe"], ["-g", "-P", "-D"], ["-ar"],
        ["-A", "acct"], ["-j", name], ["-q", "b*"], ["-d", "1", "-A"], ["-E", "-d", "1"], ["-l", "h_rt=1"],
        ["-q", "all.q@@allhosts", "-o"], ["-ar", "1"], ["-b", "203001010000"], ["-m", "-j"],
    ):  # fmt: skip
        assert desk("qacct", *options).out == desk("qacct", "-f", str(file), *options).out, options
    assert desk("qacct", "-A", "acct").out.splitlines()[2].split()[:2] == ["acct", first["ru_wallclock"]]
    assert desk("qacct", "-l", "nosuch=1", status=1).err == 'error: unknown resource "nosuch"\n'
    assert desk("qacct", "-l", "seq_no=77").out.count("\n") == 3
