"""The part of a job of `qsub` that the submit language covers: a description that is read like any other.

The callers add the requests to a cell to the plan as attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from roost.classad import parse_expression
from roost.gridengine.commands.errors import rejected
from roost.gridengine.commands.paths import Streams
from roost.model import cell_requests as cell
from roost.schedd.submit import SubmitContext, read_submission

if TYPE_CHECKING:
    from roost.gridengine.commands.qsub import Asked
    from roost.schedd.submit import ClusterPlan, SubmitHost

#: Protects `$$(` from substitution of the machine's attributes.
DOLLARS: Final = "$$(DOLLARDOLLAR)("
#: Attributes of a job of `qsub` that come from the description.
OF_DESCRIPTION: Final = (
    "Iwd", "In", "Out", "Err", "JobStatus", "HoldReason", "HoldReasonCode", "HoldReasonSubCode", cell.HELD, cell.TASKS,
    cell.TASK_NUMBER, "TransferIn", "TransferOut", "TransferErr", "JobMaterializeLimit",
)  # fmt: skip


class SubmitSite(NamedTuple):
    """Where and when a job is submitted, and the paths of its streams."""

    streams: Streams
    submit_host: SubmitHost
    #: Epoch s.
    now: float


def plain(text: str) -> str:
    """A text protected from substitution of the machine's attributes."""
    return text.replace("$$(", DOLLARS)


def describe(asked: Asked, site: SubmitSite) -> ClusterPlan:
    """The plan of a description: streams, directory, holds, and tasks as processes. Raises Failure."""
    context = SubmitContext(
        host=site.submit_host, now=site.now, owner=site.streams.user, uid_domain="", look_at_files=False
    )
    found = read_submission(_description(asked, site.streams), "qsub", context)
    for each in found.errors:
        raise rejected(f"{each.message}")
    (plan,) = found.clusters
    if "h" in asked.flags:
        plan.common[cell.HELD] = "u"
    if asked.tasks:
        first, last, step = asked.tasks
        plan.common[cell.TASKS] = f"{first}-{last}:{step}"
        plan.common.put(cell.TASK_NUMBER, parse_expression(f"ProcId * {step} + {first}"))
    return plan


def _description(asked: Asked, streams: Streams) -> str:
    """The description for the submit language."""
    output = streams.path(asked.texts.get("o"), "o")
    merged = asked.yes.get("j", False)
    lines = {
        "executable": "/bin/sh",
        "transfer_executable": "false",
        "should_transfer_files": "no",
        "initialdir": streams.place,
        "output": output,
        "error": output if merged else streams.path(asked.texts.get("e"), "e"),
    }
    if asked.texts.get("i"):
        lines["input"] = streams.path(asked.texts["i"], "i")
    if "h" in asked.flags:
        lines["hold"] = "true"
    if asked.texts.get("tc", "0") != "0":
        lines["max_materialize"] = asked.texts["tc"]
    count = 1
    if asked.tasks:
        first, last, step = asked.tasks
        count = (last - first) // step + 1
        lines["task"] = f"$(Process) * {step} + {first}"
    return "".join(f"{name} = {value}\n" for name, value in lines.items()) + f"queue {count}\n"
