"""From a job template to a job of an ordinary pool: lines of a submit description.

The native specification holds lines of a submit description, which the other attributes override. Options of `qsub`
need a cell, and are refused.
"""

from __future__ import annotations

import posixpath
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from roost.classad import parse_expression
from roost.compat.drmaa.core import attributes as at
from roost.compat.drmaa.core.cell_jobs import directory, path
from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.compat.drmaa.core.times import instant, seconds
from roost.gridengine.commands.paths import escaped
from roost.model.cell_requests import NOT_BEFORE
from roost.model.command_line import environment_to_raw, join_raw
from roost.runtime.identity import host_name
from roost.runtime.queue.descriptions import pool_config
from roost.runtime.queue.submit_host import SystemSubmitHost
from roost.schedd.submit import SubmitContext, read_submission

if TYPE_CHECKING:
    from roost.compat.drmaa.core.pool import SessionPool
    from roost.schedd.submit.plan import ClusterPlan

_INDEX: Final = "\0"
_TASK: Final = "$INT(task)"
#: Protects `$$(` from substitution of the machine's attributes.
_DOLLARS: Final = "$$(DOLLARDOLLAR)("


def plan(
    template: at.Template, tasks: tuple[int, int, int] | None, pool: SessionPool, warn: Callable[[str], None]
) -> ClusterPlan:
    """The plan of a template's jobs; `tasks`: first, last and step of bulk jobs. Raises DrmaaError."""
    context = SubmitContext(
        host=SystemSubmitHost(),
        now=time.time(),
        owner=pool.user,
        uid_domain=str(pool.contact.get("uid_domain", "")),
        config=pool_config(pool.home, pool.contact),
    )
    found = read_submission(_description(template, tasks), "the job template", context)
    if found.errors:
        raise DrmaaError(Code.DENIED_BY_DRM, "; ".join(each.message for each in found.errors))
    for finding in found.findings:
        warn(finding.message)
    if at.list_of(template, at.EMAIL) and at.text_of(template, at.BLOCK_EMAIL) != "1":
        warn(f"the pool sends no mail: {at.EMAIL} has no effect")
    (cluster,) = found.clusters
    common = cluster.common
    common["Arguments"] = join_raw(at.list_of(template, at.ARGUMENTS)).replace("$$(", _DOLLARS)
    if start := at.text_of(template, at.START):
        when = instant(start, at.START, time.time())
        common[NOT_BEFORE] = when
        common.put("Requirements", parse_expression(f"({common.cell('requirements')}) && time() >= {when}"))
    if ends := _removal(template):
        before = common.cells.get("periodicremove")
        common.put("PeriodicRemove", parse_expression(" || ".join([*([f"({before})"] if before else []), *ends])))
    return cluster


def _removal(template: at.Template) -> list[str]:
    """The condition under which the job is removed."""
    found = []
    if deadline := at.text_of(template, at.DEADLINE):
        found.append(f"time() >= {instant(deadline, at.DEADLINE, time.time())}")
    if limit := at.text_of(template, at.HARD_LIMIT):
        ran = "time() - JobCurrentStartExecutingDate"
        found.append(f"(JobCurrentStartExecutingDate isnt undefined && {ran} > {seconds(limit, at.HARD_LIMIT)})")
    return found


def _description(template: at.Template, tasks: tuple[int, int, int] | None) -> str:
    native = at.text_of(template, at.NATIVE)
    if native.lstrip().startswith("-"):
        raise DrmaaError(
            Code.DENIED_BY_DRM,
            f"{at.NATIVE}: {native.split()[0]} is an option of qsub, which needs a pool with a Grid Engine cell; "
            "in this pool it holds lines of a submit description, such as request_memory = 2G",
        )
    if any(line.split()[:1] in (["queue"], ["Queue"], ["QUEUE"]) for line in native.splitlines()):
        raise DrmaaError(Code.DENIED_BY_DRM, f"{at.NATIVE}: a job template has no queue statement")
    place = directory(template, _INDEX)
    lines = {
        "executable": _value(_program(at.text_of(template, at.COMMAND), place), at.COMMAND),
        "transfer_executable": "false",
        "should_transfer_files": "yes" if _transfers(template) else "no",
        "initialdir": _value(place, at.DIRECTORY),
        "output": _stream(template, at.OUTPUT),
        "error": _stream(template, at.OUTPUT if at.text_of(template, at.JOIN) == "y" else at.ERROR),
        "input": _stream(template, at.INPUT),
        "environment": _environment(template, is_bulk=tasks is not None),
    }
    if name := at.text_of(template, at.NAME):
        lines["batch_name"] = _value(name, at.NAME)
    if state := at.text_of(template, at.STATE):
        lines["hold"] = "true" if state == "drmaa_hold" else "false"
    count = 1
    if tasks is not None:
        first, last, step = tasks
        count = (last - first) // step + 1
        lines["task"] = f"$(Process) * {step} + {first}"
    return f"{native}\n" + "".join(f"{name} = {value}\n" for name, value in lines.items()) + f"queue {count}\n"


def _program(command: str, place: str) -> str:
    """The path of a command: as a shell finds it, unless it is in the job's directory."""
    plain = posixpath.join(place, command)
    return plain if "/" in command else shutil.which(command) or plain


def _value(text: str, attribute: str) -> str:
    """A text as the value of a line. Raises DrmaaError."""
    if "\n" in text or "\r" in text:
        raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, f"{attribute}: a value in an ordinary pool has one line")
    return escaped(text).replace(_INDEX, _TASK)


def _stream(template: at.Template, name: str) -> str:
    """The file of a stream. Raises DrmaaError."""
    value = at.text_of(template, name)
    if not value:
        return "/dev/null"
    found = path(template, value, _INDEX)
    host, colon, rest = found.partition(":")
    if colon and not value.startswith(":"):
        if host not in (host_name(), host_name().partition(".")[0]):
            text = f"{name}: {value!r} is a file of another host than this one: leave the host out"
            raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, text)
        found = rest
    return _value(found, name)


def _transfers(template: at.Template) -> bool:
    """Whether the streams are transferred between the hosts. Raises DrmaaError."""
    letters = set(at.text_of(template, at.TRANSFER))
    used = {
        letter for letter, name in (("i", at.INPUT), ("o", at.OUTPUT), ("e", at.ERROR)) if at.text_of(template, name)
    }
    if at.text_of(template, at.JOIN) == "y":
        used, letters = used - {"e"}, letters - {"e"}
    if letters & used and not used <= letters:
        text = f"{at.TRANSFER}: a pool transfers all files of a job or none: {''.join(sorted(used))}, or none"
        raise DrmaaError(Code.CONFLICTING_ATTRIBUTE_VALUES, text)
    return bool(letters)


def _environment(template: at.Template, *, is_bulk: bool) -> str:
    variables = dict(each.split("=", 1) for each in at.list_of(template, at.ENVIRONMENT))
    if is_bulk:
        variables["SGE_TASK_ID"] = _INDEX
    raw = environment_to_raw(variables).replace('"', '""').replace("$$(", _DOLLARS)
    return f'"{_value(raw, at.ENVIRONMENT)}"'
