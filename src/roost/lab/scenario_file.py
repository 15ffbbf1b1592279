"""Scenario files: TOML in, checked `Scenario` values out.

A file names a policy and holds scenarios, each a list of steps in the order of time. The tables below are what may
stand where; docs/reference/scenario-files.md describes each key, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from roost.classad import ParseError, parse_expression
from roost.lab.durations import seconds_of
from roost.lab.machines import Hardware
from roost.lab.scenario import TRUTHS, Scenario
from roost.lab.scenario_steps import read_steps
from roost.lab.tables import Table, read_toml

_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

FILE_KEYS: Final = ("config", "policy", "settings", "machine", "jobs", "begins", "idle", "cycle", "scenario")
SCENARIO_KEYS: Final = (
    "name", "settings", "machine", "jobs", "begins", "idle", "remote_idle", "cycle", "steps",
)  # fmt: skip
#: Sizes of a machine; whatever else its table has becomes an attribute of its ads.
MACHINE_KEYS: Final = ("cpus", "memory", "disk")
JOB_KEYS: Final = TRUTHS

#: Scenarios of one file, and steps of one scenario, at most.
SCENARIOS_MAX: Final = 2_000
STEPS_MAX: Final = 10_000


def read_scenarios(path: Path) -> list[Scenario]:
    """The scenarios of a file. Raises LabError with place and remedy, OSError."""
    root = read_toml(path)
    root.known(FILE_KEYS)
    if ("config" in root) == ("policy" in root):
        root.fail("name the policy either by config = [\"FILE\", …] or by policy = '''…'''")
    if not root.values.get("scenario"):
        root.fail("there is no [[scenario]] in it")
    if len(list(root.children("scenario", ""))) > SCENARIOS_MAX:
        root.fail(f"at most {SCENARIOS_MAX} scenarios in one file", "scenario")
    return list(_scenarios(path, root))


def _scenarios(path: Path, root: Table) -> Iterator[Scenario]:
    configs = tuple(str(path.parent / each) for each in root.texts("config"))
    policy = _policy(root) if "policy" in root else None
    seen: dict[str, int] = {}
    for number, table in enumerate(root.children("scenario", ""), 1):
        name = table.text("name", f"scenario {number}")
        table = Table(table.file, table.lines, table.path, table.values, f"scenario {name!r}")
        table.known(SCENARIO_KEYS)
        if name in seen:
            table.fail(f"another scenario, in line {seen[name]}, has the same name", "name")
        seen[name] = table.line("name")
        if isinstance(table.values.get("steps"), list) and len(table.values["steps"]) > STEPS_MAX:
            table.fail(f"at most {STEPS_MAX} steps", "steps")
        jobs = {**_jobs(root), **_jobs(table)}
        steps = read_steps(table, jobs)
        if not steps.expectations:
            table.fail(
                'it expects nothing, so it can\'t fail; add a step such as { at = "1h", expect = "Claimed/Busy" }'
            )
        begins = table if "begins" in table else root
        idle = table if "idle" in table else root
        idle_s = idle.duration("idle", 7200.0)
        yield Scenario(
            name=name,
            file=str(path),
            line=table.line(),
            configs=configs,
            policy=policy,
            settings=(*_settings(root), *_settings(table)),
            hardware=_hardware(root, table),
            begins_s=_begins(begins),
            idle_s=idle_s,
            remote_idle_s=table.duration("remote_idle", idle_s),
            cycle_s=max(1.0, (table if "cycle" in table else root).duration("cycle", 5.0)),
            presses=tuple(steps.presses),
            remote_presses=tuple(steps.remote_presses),
            loads=tuple(steps.loads),
            attributes=tuple(steps.attributes),
            jobs=tuple(steps.jobs),
            fetched=tuple(steps.fetched),
            described=jobs,
            deeds=tuple(steps.deeds),
            expectations=tuple(steps.expectations),
        )


def _policy(root: Table) -> str:
    """The text of the policy, moved down so that its lines have the numbers that they have in the file."""
    text = root.text("policy", "")
    line = root.line("policy")
    rest = Path(root.file).read_text(encoding="utf-8").splitlines()[line - 1 :]
    quoted = rest[0].split("=", 1)[-1].strip() if rest else ""
    first = line if quoted in ("'''", '"""') else line - 1
    return "\n" * first + text


def _settings(table: Table) -> list[tuple[str, str]]:
    given = table.child("settings", "settings")
    return [(name, given.knob_text(name)) for name in given.values]


def _hardware(root: Table, table: Table) -> Hardware:
    sizes = {"cpus": 1, "memory": 2048, "disk": 20_000_000}
    attributes: dict[str, Any] = {}
    for each in (root.child("machine", "machine"), table.child("machine", "machine")):
        each.attributes(MACHINE_KEYS)
        for key, value in each.values.items():
            if key in sizes:
                sizes[key] = each.whole(key, 1)
            elif isinstance(value, dict | list):
                each.fail(f"the attribute {key} must be a text, a number, true or false", key)
            else:
                attributes[key] = value
    return Hardware(cpus=sizes["cpus"], memory_mb=sizes["memory"], disk_kb=sizes["disk"], attributes=attributes)


def _jobs(table: Table) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    jobs = table.child("jobs", "jobs")
    for name in jobs.values:
        job = jobs.child(name, f"job {name!r}")
        job.attributes(JOB_KEYS)
        described = {key: _cell(job, key, value) for key, value in job.values.items()}
        described["run"] = job.duration("run", 3600.0)
        described["farewell"] = job.duration("farewell", 5.0)
        described["checkpoints"] = job.truth("checkpoints", False)
        described["stubborn"] = job.truth("stubborn", False)
        described["disk"] = job.whole("disk", 512)
        described["exit_code"] = _exit_codes(job)
        described["memory"] = _memory(job)
        found[name] = described
    return found


def _cell(job: Table, key: str, value: Any) -> Any:
    """The value of an attribute; a text that begins with ``=`` is an expression."""
    if not isinstance(value, str) or not value.startswith("="):
        return value
    try:
        return parse_expression(value[1:])
    except ParseError as error:
        job.fail(f"{value[1:]!r} is not an expression: {error}", key)


def _exit_codes(job: Table) -> tuple[int, ...]:
    """One, or one for each time that the job comes to its end; the last counts for all others."""
    value = job.values.get("exit_code", 0)
    codes = value if isinstance(value, list) else [value]
    if not codes or not all(type(code) is int and 0 <= code < 256 for code in codes):
        job.fail(f"exit_code is a number from 0 to 255, or a list of them; found {value!r}", "exit_code")
    return tuple(codes)


def _memory(job: Table) -> tuple[tuple[float, int], ...]:
    """``[["0s", 1000], ["10m", 2000]]``: sizes in KiB after times of running."""
    value = job.values.get("memory", [])
    points: list[tuple[float, int]] = []
    for each in value if isinstance(value, list) else [value]:
        pair = each if isinstance(each, list) else []
        seconds = seconds_of(pair[0]) if len(pair) == 2 else None
        size = pair[1] if len(pair) == 2 else None
        if seconds is None or isinstance(size, bool) or not isinstance(size, int) or size < 0:
            job.fail('memory is a list of times of running and sizes in KiB: [["0s", 1000], ["10m", 2000]]', "memory")
        if points and seconds <= points[-1][0]:
            job.fail("the times of memory must rise", "memory")
        points.append((seconds, size))
    return tuple(points)


def _begins(table: Table) -> float:
    """``Tue 22:00`` as seconds since Monday 00:00."""
    text = table.text("begins", "Tue 22:00")
    words = text.lower().split()
    clock = words[-1].split(":") if words else []
    if len(words) == 2 and words[0][:3] in _DAYS and len(clock) == 2 and all(each.isdecimal() for each in clock):
        hours, minutes = int(clock[0]), int(clock[1])
        if hours < 24 and minutes < 60:
            return float(_DAYS.index(words[0][:3]) * 86_400 + hours * 3_600 + minutes * 60)
    return table.fail(f'begins is a day and a time, for instance "Tue 22:00"; found {text!r}', "begins")
