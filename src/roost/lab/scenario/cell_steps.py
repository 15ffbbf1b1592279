"""Steps of a scenario about a Grid Engine cell: orders by `qmod` and `qconf`, and expectations.

States are letters as `qstat` prints them. For reasons, a part of the sentence is enough.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from roost.lab.inputs.tables import Table
from roost.lab.scenario.values import CellJobExpectation, QueueExpectation

#: Keys of job expectations that require a cell.
CELL_JOB_KEYS: Final = ("state", "queue", "hold", "failed", "reasons")
#: Keys of queue instance expectations.
QUEUE_KEYS: Final = ("state", "used", "reasons")
#: Options of `qmod` supported in scenarios.
QMOD_OPTIONS: Final = ("d", "e", "s", "us", "sq", "usq", "sj", "usj", "c", "cq", "cj", "rj", "rq")
_INSTANCE: Final = frozenset("acdosuACDES")


def check_qmod(step: Table, key: str) -> None:
    """Refuse a line that `qmod` would not accept. Raises LabError."""
    for line in step.texts(key):
        words = line.split()
        if len(words) < 2 or words[0].removeprefix("-") not in QMOD_OPTIONS or not words[0].startswith("-"):
            known = ", ".join(f"-{option}" for option in QMOD_OPTIONS)
            step.fail(f"qmod takes one of the options {known} and names of queues or jobs; found {line!r}", key)


def check_qconf(step: Table, key: str) -> None:
    """Refuse a line that `qconf` would not accept. Raises LabError."""
    for line in step.texts(key):
        try:
            words = shlex.split(line)
        except ValueError as error:
            step.fail(f"{line!r}: {error}", key)
        if not words or not words[0].startswith("-"):
            step.fail(
                f'qconf must begin with an option, for example "-aattr hostgroup hostlist node1 @x"; found {line!r}'
            )


def of_job(table: Table) -> CellJobExpectation | None:
    """The expectations of a job in Grid Engine's terms; None for none. Raises LabError."""
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
    """The expectations of queue instances. Raises LabError."""
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
            f"the state of a queue instance consists of the letters {''.join(sorted(_INSTANCE))}; found {state!r}",
            "state",
        )
    used = int(one.number("used", 0)) if "used" in one else None
    return QueueExpectation(queue=name, state=state, used=used, reasons=_texts(one, "reasons"))


def qstat(table: Table) -> tuple[str, ...] | None:
    """The lines of an expected job list; None for no list."""
    return _texts(table, "qstat")


def _texts(table: Table, key: str) -> tuple[str, ...] | None:
    return None if key not in table else table.texts(key) if table.values[key] else ()
