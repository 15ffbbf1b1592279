"""What steps of a scenario say of a Grid Engine cell: orders by `qmod` and `qconf`, and what is expected.

States are letters as `qstat` prints them. Of sentences that are reasons a part is enough.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from roost.lab.inputs.tables import Table
from roost.lab.scenario.values import CellJobExpectation, QueueExpectation

#: Keys of a job that is expected which only a pool with a cell knows.
CELL_JOB_KEYS: Final = ("state", "queue", "hold", "failed", "reasons")
#: Keys of a queue instance that is expected.
QUEUE_KEYS: Final = ("state", "used", "reasons")
#: Options of `qmod` that scenarios know.
QMOD_OPTIONS: Final = ("d", "e", "s", "us", "sq", "usq", "sj", "usj", "c", "cq", "cj", "rj", "rq")
_INSTANCE: Final = frozenset("acdosuACDES")


def check_qmod(step: Table, key: str) -> None:
    """Refuse a line that `qmod` would not take. Raises LabError."""
    for line in step.texts(key):
        words = line.split()
        if len(words) < 2 or words[0].removeprefix("-") not in QMOD_OPTIONS or not words[0].startswith("-"):
            known = ", ".join(f"-{option}" for option in QMOD_OPTIONS)
            step.fail(f"qmod takes one of the options {known}, and names of queues or jobs; found {line!r}", key)


def check_qconf(step: Table, key: str) -> None:
    """Refuse a line that `qconf` would not take. Raises LabError."""
    for line in step.texts(key):
        try:
            words = shlex.split(line)
        except ValueError as error:
            step.fail(f"{line!r}: {error}", key)
        if not words or not words[0].startswith("-"):
            step.fail(f'qconf begins with an option, for instance "-aattr hostgroup hostlist node1 @x"; found {line!r}')


def of_job(table: Table) -> CellJobExpectation | None:
    """What is expected of a job in Grid Engine's words; None for nothing. Raises LabError."""
    if not any(key in table for key in CELL_JOB_KEYS):
        return None
    return CellJobExpectation(
        state=table.text("state", "") if "state" in table else None,
        queues=table.texts("queue") if table.values.get("queue") else () if "queue" in table else None,
        hold=table.text("hold", "") if "hold" in table else None,
        failed=table.whole("failed", 0) if table.values.get("failed") else 0 if "failed" in table else None,
        reasons=_texts(table, "reasons"),
    )


def of_queues(table: Table, what: str) -> tuple[QueueExpectation, ...]:
    """What is expected of queue instances. Raises LabError."""
    given = table.child("queues", what)
    return tuple(_of_queue(given, name, value) for name, value in given.values.items())


def _of_queue(given: Table, name: str, value: Any) -> QueueExpectation:
    if isinstance(value, str):
        value = {"state": value}
    if not isinstance(value, dict) or not value:
        given.fail(
            f"what is expected of a queue instance is letters, or a table such as {{ used = 1 }}; found {value!r}"
        )
    one = Table(given.file, given.lines, (*given.path, name), value, given.what)
    one.known(QUEUE_KEYS)
    state = one.text("state", "") if "state" in one else None
    if state is not None and not set(state) <= _INSTANCE:
        one.fail(
            f"the state of a queue instance has the letters {''.join(sorted(_INSTANCE))}; found {state!r}", "state"
        )
    used = int(one.number("used", 0)) if "used" in one else None
    return QueueExpectation(queue=name, state=state, used=used, reasons=_texts(one, "reasons"))


def qstat(table: Table) -> tuple[str, ...] | None:
    """The lines of a list of jobs that is expected; None for no list."""
    return _texts(table, "qstat")


def _texts(table: Table, key: str) -> tuple[str, ...] | None:
    return None if key not in table else table.texts(key) if table.values[key] else ()
