"""Pure rooms read neither the clock nor the zone of the process: what no import shows, and no contract can forbid."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Functions of datetime that read the clock; and those that read the zone unless they are handed one.
CLOCK = frozenset(("now", "today", "utcnow"))
ZONE = {"fromtimestamp": 2, "astimezone": 1}
#: File and function: texts whose format wants the local time of the process that writes them.
LOCAL_TIME_BY_FORMAT = {
    ("schedd/event_log/log.py", "fromtimestamp"),
    ("dag/texts.py", "fromtimestamp"),
    ("dag/texts.py", "astimezone"),
}


def pure_rooms() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = [each for each in contracts if each["name"] == "pure rooms have no effects"]
    return [name.removeprefix("roost.") for name in found["source_modules"]]


def impure(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, arguments = node.func.attr, len(node.args) + len(node.keywords)
            of = node.func.value
            called = of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
            of_datetime = called in ("datetime", "date")
            if (name in CLOCK and of_datetime) or (name in ZONE and arguments < ZONE[name]):
                yield name


def test_the_check_finds_what_reads_clock_and_zone() -> None:
    text = """
datetime.now(UTC); date.today(); datetime.datetime.utcnow(); datetime.fromtimestamp(3)
x.astimezone(); self.world.now(); x.astimezone(z)
"""
    assert sorted(impure(ast.parse(text))) == ["astimezone", "fromtimestamp", "now", "today", "utcnow"]


def test_no_pure_room_reads_clock_or_zone_through_datetime() -> None:
    found = set()
    for room in pure_rooms():
        for path in (ROOT / "src" / "roost" / room).rglob("*.py"):
            name = path.relative_to(ROOT / "src" / "roost").as_posix()
            found |= {(name, each) for each in impure(ast.parse(path.read_text()))}
    assert found == LOCAL_TIME_BY_FORMAT


POLICY = "START = TRUE\nSUSPEND = FALSE\nPREEMPT = FALSE\nKILL = FALSE\n"
JOBS = """
executable = /bin/sleep
arguments = 600
+SimRunTime = 600
+Day = "$(YEAR)-$(MONTH)-$(DAY)"
+Hour = formatTime(0, "%H %Z")
queue 3
"""


@pytest.mark.slow
def test_the_zone_of_the_process_does_not_change_a_run_of_the_lab(tmp_path: Path) -> None:
    (tmp_path / "pool.config").write_text(POLICY)
    (tmp_path / "jobs.sub").write_text(JOBS)
    command = [sys.executable, "-m", "roost.cli", "lab", "simulate", "-c", "pool.config", "--machines", "1"]
    command += ["--owners", "nobody", "--jobs", "jobs.sub", "--days", "0.1", "--no-progress", "--out"]
    digests = set()
    for number, zone in enumerate(("UTC", "America/New_York", "Pacific/Kiritimati")):
        environment = {**os.environ, "TZ": zone, "PYTHONPATH": str(ROOT / "src")}
        subprocess.run([*command, f"out{number}"], cwd=tmp_path, env=environment, check=True, capture_output=True)
        digests.add(json.loads((tmp_path / f"out{number}" / "summary.json").read_text())["digest"])
    assert len(digests) == 1
