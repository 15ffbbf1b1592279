"""Sessions: a cell that is configured, and then one event after the other, each with all that can be seen afterwards.

A session is drawn while Grid Engine plays it, so that its events are about jobs that are there, and kept as JSON: the
commands, what each printed, its exit status, and what was seen when nothing moved any more. Roost plays the commands
later and has to come to the same.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.gridengine.sessions.systems import System

#: How long Roost may take to come to what Grid Engine shows, s.
PATIENCE_S: Final = 6.0
_SUBMITTED: Final = re.compile(r"^Your job(?:-array)? (\d+)")
#: All that is looked at after an event, by root.
OBSERVED: Final = """
for look in "qstat -f -r -u *" "qhost -q -F lic,disk,once,slots,ver,colour" "qquota -u *" "qstat -j *" "qstat -g c"; do
    echo "@@ $look"; set -f; $look 2>&1; done; true
"""
#: Lines that tell of time, of measurements, of the installation.
_LEFT_OUT: Final = re.compile(
    r"^-*$|^=+$|^#+$|^ - PENDING|^#|^scheduling info: +\(Collecting|^usage|^ +Binding:|^HOSTNAME"
)
#: What Roost shows otherwise on purpose, or not yet; the guide says so.
_KNOWN: Final = re.compile(
    r"^(?:Hard|Soft) Resources:"
    r"|^(?:lic|disk|once|ver|colour|hot|excl|h|hostname|q|qname|h_rt|mem_free|arch|np_load_avg)=\S*"
    r"(?: \((?:default|[\d.]+)\))?$"
)
_DATE: Final = re.compile(r"\b\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\b")
_MEASURED: Final = re.compile(r"^(\S+ +lx-\S+) +\d+ .*$")
_LOAD: Final = re.compile(r"^(\S+@\S+ +\S+ +\d+/\d+/\d+ +)\S+( +\S+)")
#: A job in error state keeps its last priority in Grid Engine.
_IN_ERROR: Final = re.compile(r"^( +\d+) \d\.\d{5}( .* E\w*qw )")
#: A queue instance is moving, or a job is.
_MOVING: Final = re.compile(r"^ +\d+ \d\.\d+ .* (?:t|dr|dt|Rt|dRr|dT|dS|ds|hRr|T?t) +\d\d/")

Lines = list[str]


class Names:
    """Numbers of jobs here, by their order: J1, J2…"""

    def __init__(self) -> None:
        self.numbers: list[str] = []

    def learn(self, lines: Iterable[str]) -> None:
        """Take up what was submitted."""
        for line in lines:
            if (found := _SUBMITTED.match(line)) and found[1] not in self.numbers:
                self.numbers.append(found[1])

    def here(self, text: str) -> str:
        """A text with J1, J2… in braces, as it is here."""
        return re.sub(r"\{J(\d+)\}", self._here, text)

    def _here(self, name: re.Match[str]) -> str:
        at = int(name[1]) - 1
        return self.numbers[at] if at < len(self.numbers) else "999999"

    def plain(self, line: str) -> str:
        """A line with the numbers of jobs as names."""
        names = {number: f"J{at}" for at, number in enumerate(self.numbers, 1)}
        return re.sub(r"(?<![\d:.])(\d{2,})(?![\d:]|\.\d{3})", lambda found: names.get(found[1], found[1]), line)


def said(lines: Iterable[str], names: Names) -> Lines:
    """What a command printed, the same in every cell."""
    plain = (_DATE.sub("TIME", names.plain(line)) for line in lines)
    return [text for line in plain if (text := re.sub(r" +", " ", line).strip())]


def seen(system: System, names: Names) -> tuple[dict[str, Lines], bool]:
    """What can be seen now, by command, and whether something moves."""
    lines, _ = system.run("root", OBSERVED)
    found: dict[str, Lines] = {}
    moving = any(_MOVING.match(line) for line in lines)
    command = ""
    for line in lines:
        if line.startswith("@@ "):
            command = line[3:]
            found[command] = []
        else:
            found[command].append(line)
    view = {command: list(_plain(command, each, names)) for command, each in found.items()}
    return of_waiting(view), moving


def of_waiting(view: dict[str, Lines]) -> dict[str, Lines]:
    """What is seen, without the reasons that jobs which run keep of the run before in Grid Engine."""
    words = [line.split() for line in view.get("qstat -f -r -u *", ())]
    waiting = {each[0] for each in words if len(each) > 4 and each[0].startswith("J") and each[4].endswith("qw")}
    told: Lines = []
    job = ""
    for line in view.get("qstat -j *", ()):
        job = job if line.startswith(" ") else line
        if job in waiting:
            told.append(line)
    return view | {"qstat -j *": told}


def _plain(command: str, lines: Lines, names: Names) -> Iterator[str]:
    if command.startswith("qstat -j"):
        yield from _reasons(lines, names)
        return
    for line in lines:
        if _LEFT_OUT.match(line):
            continue
        line = _LOAD.sub(r"\1LOAD\2", _MEASURED.sub(r"\1 FIGURES", line))
        line = _IN_ERROR.sub(r"\1 0.00000\2", line)
        yield from (text for text in said([line], names) if not _KNOWN.match(text))


def _reasons(lines: Lines, names: Names) -> Iterator[str]:
    """Why each job waits, as a set: in which order queues are looked at is left to chance."""
    job, reading = "", False
    found: dict[str, set[str]] = {}
    for line in lines:
        key, _, value = line.partition(":")
        if key == "job_number":
            job, reading = names.plain(value.strip()), False
            found[job] = set()
        elif key == "scheduling info":
            reading, line = True, value
        elif not line.startswith(" "):
            reading = False
        if reading and line.strip():
            found[job].add(" ".join(names.plain(line).split()))
    for job, reasons in sorted(found.items()):
        yield job
        if "Job is in hold state" in reasons:
            # Roost tells a job on hold of nothing else.
            reasons = {"Job is in hold state"}
        yield from (f"  {reason}" for reason in sorted(reasons) if not reason.startswith("(Collecting"))


class Event(dict[str, Any]):
    """A command of a user: ``user``, ``command``, ``said``, ``status``, ``seen``."""


def did(system: System, names: Names, user: str, command: str) -> tuple[Lines, int]:
    """Type a command."""
    lines, status = system.run(user, names.here(command))
    names.learn(lines)
    return said(lines, names), status


def settled(system: System, names: Names) -> dict[str, Lines]:
    """What is seen once nothing moves any more."""
    until = time.monotonic() + 30
    last: dict[str, Lines] = {}
    same = 0
    while time.monotonic() < until:
        system.nudge()
        now, moving = seen(system, names)
        same = same + 1 if now == last and not moving else 0
        if same == 2:
            break
        last = now
    return now


def recorded(system: System, events: Callable[[dict[str, Lines], Names], Iterator[tuple[str, str]]]) -> list[Event]:
    """A session as a system plays it; `events` are drawn one by one, from what was seen last."""
    system.reset()
    names = Names()
    view: dict[str, Lines] = {}
    found = []
    for user, command in events(view, names):
        lines, status = did(system, names, user, command)
        view.clear()
        view.update(settled(system, names))
        found.append(
            Event(user=user, command=command, said=lines, status=status, seen=dict(view), jobs=len(names.numbers))
        )
    return found


class Difference(NamedTuple):
    """What came out otherwise."""

    #: Its place in the session.
    event: int
    text: str


def played(system: System, session: list[Event]) -> Iterator[Difference]:
    """Play a recorded session; what comes out otherwise, event by event, without what was told of the event before."""
    system.reset()
    names = Names()
    told: set[str] = set()
    for at, event in enumerate(session):
        lines, status = did(system, names, event["user"], event["command"])
        wrong = changed(event["said"], lines)
        if status != event["status"]:
            wrong.append(f"status {status}, not {event['status']}")
        differences = _come_to(system, names, event["seen"], told)
        wrong += [each for each in differences if each not in told]
        told = set(differences)
        if wrong:
            command = " ".join(names.here(event["command"]).split())
            head = f"event {at}: {event['user']}: {command if at else 'the cell'}"
            yield Difference(at, "\n    ".join([head, *wrong]))
        if len(names.numbers) != event["jobs"]:
            count = len(names.numbers)
            yield Difference(at, f"event {at}: the session ends here: {count} jobs, not {event['jobs']}")
            return


def _come_to(system: System, names: Names, expected: dict[str, Lines], told: set[str]) -> Lines:
    """Wait for what is expected, and what was otherwise before; what is otherwise now."""
    until = time.monotonic() + PATIENCE_S
    same = 0
    while True:
        now, _ = seen(system, names)
        found = [f"{each}: {line}" for each, lines in expected.items() for line in changed(lines, now.get(each, []))]
        same = same + 1 if told.issuperset(found) else 0
        if same == 2 or time.monotonic() > until:
            return found
        time.sleep(0.15)


def changed(expected: Lines, found: Lines) -> Lines:
    """Lines that are there only (-), and here only (+)."""
    there, here = list(expected), list(found)
    for line in expected:
        if line in here:
            here.remove(line)
            there.remove(line)
    return [f"- {line}" for line in there] + [f"+ {line}" for line in here]


def read(path: Path) -> list[Event]:
    """A session that was kept."""
    return [Event(each | {"seen": of_waiting(each["seen"])}) for each in json.loads(path.read_text())]


def write(path: Path, session: list[Event]) -> None:
    """Keep a session."""
    path.write_text(json.dumps(session, indent=1) + "\n")
