"""Jobs that a scenario file describes by options of `qsub`: ``qsub = "-l licence=1 -q all.q -t 1-4"``.

The options are read as by `qsub`, and the job has the resulting ad. Options about files, the environment, mail and the
command itself have no meaning in the lab, and are refused. `-hold_jid` names jobs of the file.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Final

from roost.base.records import dataclass
from roost.classad import parse_expression
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import taken
from roost.gridengine.commands.qsub import OPTIONS, Asked, requests_of, requirements_of
from roost.lab.machines import LabError
from roost.model import cell_requests as cell

#: Options that have an effect in the lab.
ACTING: Final = (
    "A", "b", "h", "hard", "hold_jid", "js", "l", "masterq", "N", "now", "ot", "P", "p", "pe", "q", "R", "r", "soft",
    "t", "tc",
)  # fmt: skip
_LIMIT: Final = "JobMaterializeLimit"


@dataclass(frozen=True, slots=True, kw_only=True)
class QsubJob:
    """A job, or an array, as options of `qsub` describe it."""

    #: The text for the submit language.
    description: str
    attributes: Mapping[str, Any]
    #: First, last and step; None for a job without tasks.
    tasks: tuple[int, int, int] | None
    #: Names of the jobs that must leave the queue first.
    after: tuple[str, ...]

    def names(self, job: str) -> tuple[str, ...]:
        """The names of its tasks in the scenario."""
        if self.tasks is None:
            return (job,)
        first, last, step = self.tasks
        return tuple(f"{job}.{number}" for number in range(first, last + 1, step))


def read_qsub(line: str, name: str) -> QsubJob:
    """Read options; `name` is the job's name without `-N`. Raises LabError."""
    try:
        given, rest = taken("qsub", shlex.split(line), OPTIONS)
        for each in given:
            if each.name not in ACTING:
                raise LabError(f"-{each.name} has no meaning in the lab; remove it")
        if rest:
            raise LabError(f"{rest[0]!r} is not an option; describe the job's behaviour in its table")
        asked = Asked()
        asked.take(given)
        asked.check()
    except Failure as failure:
        raise LabError(" ".join(str(failure).split())) from None
    except ValueError as error:
        raise LabError(f"{line}: {error}") from None
    lines = ["executable = /bin/sh", "transfer_executable = false", "should_transfer_files = no"]
    if "h" in asked.flags:
        lines.append("hold = true")
    tasks = asked.tasks
    lines.append(f"queue {1 if tasks is None else (tasks[1] - tasks[0]) // tasks[2] + 1}")
    after = tuple(word for word in asked.texts.get("hold_jid", "").split(",") if word)
    return QsubJob(
        description="\n".join(lines) + "\n", attributes=_attributes(asked, name, after), tasks=tasks, after=after
    )


def _attributes(asked: Asked, name: str, after: tuple[str, ...]) -> dict[str, Any]:
    requirements = requirements_of(not_before=None)
    found: dict[str, Any] = {
        cell.NAME: asked.texts.get("N", name),
        "JobPrio": asked.priority,
        "Requirements": parse_expression(requirements),
        cell.HELD: "u" if "h" in asked.flags else None,
        cell.PREDECESSORS_ASKED: ",".join(after),
        _LIMIT: int(asked.texts.get("tc", "0")) or None,
        **requests_of(asked),
    }
    if asked.tasks is not None:
        first, last, step = asked.tasks
        found[cell.TASKS] = f"{first}-{last}:{step}"
        found[cell.TASK_NUMBER] = parse_expression(f"ProcId * {step} + {first}")
    return {key: value for key, value in found.items() if value is not None and value is not False and value != ""}
