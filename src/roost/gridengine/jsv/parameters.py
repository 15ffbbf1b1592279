"""The parameters of a job for a verifier, and the job after corrections.

A job of `qsub` is converted back into the options that it was submitted with, corrected, and planned again, so that a
correction has the same effect as the option. Of any other job only requests to the cell, priority, name, account and
environment can be corrected: the rest is determined by its description.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from roost.base.records import dataclass, field, replace
from roost.classad import ClassAd, parse_expression
from roost.classad.values import fold
from roost.gridengine.commands.names import check_account, check_name
from roost.gridengine.commands.options import Given
from roost.gridengine.commands.paths import Streams, checked
from roost.gridengine.commands.plan import DOLLARS, OF_DESCRIPTION, SubmitSite, describe, plain
from roost.gridengine.commands.qsub import Asked, requests_of, requirements_of
from roost.gridengine.jsv.protocol import Verdict
from roost.model import cell_requests as cell
from roost.model.command_line import arguments_of, environment_of, environment_to_raw, join_raw
from roost.schedd.submit.host import SubmitHost
from roost.schedd.submit.plan import ClusterPlan

#: Parameters that a verifier may not change.
READ_ONLY: Final = frozenset(("CLIENT", "CONTEXT", "GROUP", "JOB_ID", "USER", "VERSION"))
#: Parameters that are y or n, which cannot be removed.
_BOOLEAN: Final = frozenset(("b", "j", "notify", "R", "r", "shell"))
#: Parameters that correspond directly to options.
_PLAIN: Final = (
    "a", "A", "ar", "ckpt", "dl", "e", "hold_jid", "hold_jid_ad", "i", "j", "js", "m", "M", "masterq", "N", "o", "P",
    "p", "R", "r", "S", "shell", "tc", "w",
)  # fmt: skip
#: Parameters that only the submitting command can handle.
_OF_CLIENT: Final = frozenset(("hold_jid", "hold_jid_ad", "m", "w"))
#: Parameters of Grid Engine that pools do not act on.
_ABSENT: Final = frozenset((
    "ac", "binding_amount", "binding_core", "binding_exp_n", "binding_socket", "binding_step", "binding_strategy",
    "binding_type", "display",
))  # fmt: skip
_PARTS: Final = ("pe_name", "pe_min", "pe_max", "t_min", "t_max", "t_step", "c_occasion", "c_interval", "notify")
#: Every parameter that can be corrected for a job of `qsub`.
_KNOWN: Final = frozenset(
    (*_PLAIN, *_PARTS, "b", "cwd", "h", "l_hard", "l_soft", "q_hard", "q_soft", "CMDNAME", "CMDARGS")
)
#: Parameters that can be corrected for any other job, to the attribute.
_OF_OTHERS: Final = {
    "A": cell.ACCOUNT, "l_hard": cell.RESOURCES, "l_soft": cell.SOFT_RESOURCES, "masterq": cell.MASTER_QUEUES,
    "N": "JobBatchName", "P": cell.PROJECT, "p": "JobPrio", "q_hard": cell.QUEUES, "q_soft": cell.SOFT_QUEUES,
}  # fmt: skip
#: Attribute that `qalter` changes to the parameter that `jsv_allowed_mod` must name.
CHANGED_BY: Final = {
    fold(attribute): name
    for attribute, name in (
        (cell.RESOURCES, "l_hard"), (cell.SOFT_RESOURCES, "l_soft"), (cell.QUEUES, "q_hard"),
        (cell.SOFT_QUEUES, "q_soft"), (cell.MASTER_QUEUES, "masterq"), (cell.PROJECT, "P"), (cell.PARALLEL, "pe_name"),
        (cell.NAME, "N"), (cell.ACCOUNT, "A"), (cell.NOT_BEFORE, "a"), (cell.RERUN, "r"), (cell.SHELL, "S"),
        (cell.OUTPUT_PATHS, "o"), (cell.ERROR_PATHS, "e"), (cell.INPUT_PATHS, "i"), (cell.MERGES, "j"),
        (cell.MAIL_LIST, "M"), (cell.DIRECTORY, "cwd"), ("JobPrio", "p"), ("Environment", "v"),
        (cell.HELD, "h"), (cell.SCRIPT, "CMDNAME"), ("Cmd", "CMDNAME"), ("Arguments", "CMDARGS"), ("Args", "CMDARGS"),
    )
}  # fmt: skip


class Misused(Exception):
    """A correction that is not possible; the text says why."""


class JsvSubmitter(NamedTuple):
    """The user who submits, and the place."""

    user: str
    group: str
    home: str
    host: str
    submit_host: SubmitHost
    #: Epoch s.
    now: float
    #: ``client`` or ``server``, and the program that runs the verifier.
    context: str = "server"
    client: str = "qmaster"
    is_directory: Callable[[str], bool] = lambda path: False
    #: An instant, epoch s, as ``CCYYMMDDhhmm.SS`` in local time, and back; the latter raises Failure.
    date_time: Callable[[int], str] = str
    instant: Callable[[str], int] = int


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job to verify."""

    plan: ClusterPlan
    #: Options that are not in the plan, by parameter: those of the command that submits it.
    options: Mapping[str, str] = field(default_factory=dict)


def parameters_of(submission: Submission, by: JsvSubmitter) -> list[tuple[str, str]]:
    """The parameters of a job for a verifier, in Grid Engine's order."""
    ad = _ad(submission.plan)
    arguments = tuple(_said(word) for word in arguments_of(ad))
    head = {
        "VERSION": "1.0",
        "CONTEXT": by.context,
        "CLIENT": by.client,
        "USER": by.user,
        "GROUP": by.group,
        "CMDNAME": _text(ad, "Cmd"),
        "CMDARGS": str(len(arguments)),
        **{f"CMDARG{at}": word for at, word in enumerate(arguments)},
    }
    if by.context == "server":
        # The job gets its number when it is accepted.
        head = {**dict(list(head.items())[:5]), "JOB_ID": "0", **dict(list(head.items())[5:])}
    given = {**_given(submission.plan, ad, by), **submission.options}
    return [*head.items(), *((name, given[name]) for name in sorted(given, key=_order))]


def environment(submission: Submission) -> dict[str, str]:
    """The variables of a job."""
    return _environment(_ad(submission.plan))


def _environment(ad: ClassAd) -> dict[str, str]:
    return {name: _said(value) for name, value in environment_of(ad).items()}


def _said(text: str) -> str:
    """A text as written by the submitter."""
    return text.replace(DOLLARS, "$$(")


def _order(name: str) -> tuple[str, str]:
    return name.lower(), name


def _ad(plan: ClusterPlan) -> ClassAd:
    ad = plan.common.copy()
    for name, value in plan.differences(0).items() if plan.count else ():
        ad.put(name, value)
    return ad


def _given(plan: ClusterPlan, ad: ClassAd, by: JsvSubmitter) -> dict[str, str]:
    """The options that a job was submitted with, as parameters."""
    is_qsub = cell.NAME in ad
    priority = ad.get("JobPrio")
    found = {
        "A": _text(ad, cell.ACCOUNT),
        "b": "" if cell.SCRIPT in ad else "y",
        "cwd": _text(ad, "Iwd") if not is_qsub or ad.get(cell.DIRECTORY) else "",
        "l_hard": _text(ad, cell.RESOURCES),
        "l_soft": _text(ad, cell.SOFT_RESOURCES),
        "M": _text(ad, cell.MAIL_LIST),
        "masterq": _text(ad, cell.MASTER_QUEUES),
        "N": _text(ad, cell.NAME) or _text(ad, "JobBatchName") or posixpath.basename(_text(ad, "Cmd")),
        "P": _text(ad, cell.PROJECT),
        "p": str(priority) if isinstance(priority, int) and priority else "",
        "q_hard": _text(ad, cell.QUEUES),
        "q_soft": _text(ad, cell.SOFT_QUEUES),
        "h": "u" if ad.get("JobStatus") == 5 else "",
        **_parallel(ad),
        **_tasks(plan, ad, is_qsub=is_qsub),
    }
    if is_qsub:
        found |= _of_qsub(plan, ad, by)
    else:
        found |= {"o": _text(ad, "Out"), "e": _text(ad, "Err"), "i": _text(ad, "In")}
    return {name: value for name, value in found.items() if value}


def _of_qsub(plan: ClusterPlan, ad: ClassAd, by: JsvSubmitter) -> dict[str, str]:
    not_before, deadline, share = ad.get(cell.NOT_BEFORE), ad.get(cell.DEADLINE), ad.get(cell.SHARE)
    reservation = ad.get(cell.RESERVATION)
    return {
        "a": by.date_time(not_before) if isinstance(not_before, int) else "",
        "ar": str(reservation) if isinstance(reservation, int) and reservation else "",
        **_checkpoints(_text(ad, cell.CHECKPOINT_WHEN)),
        "ckpt": _text(ad, cell.CHECKPOINT),
        "dl": by.date_time(deadline) if isinstance(deadline, int) else "",
        "e": _text(ad, cell.ERROR_PATHS),
        "i": _text(ad, cell.INPUT_PATHS),
        "j": "y" if ad.get(cell.MERGES) else "",
        "o": _text(ad, cell.OUTPUT_PATHS),
        "hold_jid": _text(ad, cell.PREDECESSORS_ASKED),
        "hold_jid_ad": _text(ad, cell.ARRAY_PREDECESSORS_ASKED),
        "js": str(share) if isinstance(share, int) and share else "",
        "notify": "y" if ad.get(cell.NOTIFY) else "",
        "R": "y" if ad.get(cell.RESERVE) else "",
        "r": _text(ad, cell.RERUN),
        "S": _text(ad, cell.SHELL),
        "shell": "n" if ad.get(cell.DIRECT) else "",
        "tc": str(plan.max_materialize or ""),
    }


def _checkpoints(text: str) -> dict[str, str]:
    """When a job is checkpointed: letters, or an interval."""
    return {"c_interval": text} if text[:1].isdigit() else {"c_occasion": text}


def _parallel(ad: ClassAd) -> dict[str, str]:
    name, _, amounts = _text(ad, cell.PARALLEL).partition(" ")
    if not name:
        return {}
    numbers = [int(word) for word in amounts.replace(",", "-").split("-") if word]
    lowest, highest = min(numbers, default=1), max(numbers, default=1)
    is_open = amounts.endswith("-")
    return {
        "pe_name": name,
        "pe_min": "1" if amounts.startswith("-") else str(lowest),
        "pe_max": "9999999" if is_open else str(highest),
    }


def _tasks(plan: ClusterPlan, ad: ClassAd, *, is_qsub: bool) -> dict[str, str]:
    text = _text(ad, cell.TASKS)
    if not text and (is_qsub or plan.count < 2):
        return {}
    first, last, step = text.replace(":", "-").split("-") if text else ("1", str(plan.count), "1")
    return {"t_min": first, "t_max": last, "t_step": step}


def _text(ad: ClassAd, name: str) -> str:
    value = ad.get(name)
    return value if isinstance(value, str) else ""


# -- corrections -------------------------------------------------------------------------------------------------------


def corrected(submission: Submission, verdict: Verdict, by: JsvSubmitter) -> tuple[Submission, list[str]]:
    """The job with the corrections of a verifier, and the corrections without effect. Raises Misused and Failure."""
    ad = _ad(submission.plan)
    before = dict(parameters_of(submission, by))
    changes = {name: value for name, value in verdict.parameters.items() if before.get(name, "") != value}
    warnings = []
    for name, value in list(changes.items()):
        problem = _problem(name, value, by, before)
        if problem:
            raise Misused(problem)
        if name not in _KNOWN and name not in _ABSENT and not name.startswith("CMDARG"):
            warnings.append(f'JSV sets "{name}", which is not a parameter of jobs: it has no effect')
            del changes[name]
        elif name == "m" and by.context == "server":
            warnings.append("JSV sets m: the pool sends no mail, so it has no effect")
            del changes[name]
    if not changes and not verdict.environment:
        return submission, warnings
    variables = _variables(_environment(ad), verdict.environment)
    if cell.NAME not in ad:
        return replace(submission, plan=_other(submission.plan, changes, variables)), warnings
    return _again(submission, ad, {**before, **changes}, changes, variables, by), warnings


def _problem(name: str, value: str, by: JsvSubmitter, before: Mapping[str, str]) -> str:
    if name in READ_ONLY:
        return f'JSV tries to modify read-only parameter "{name}"'
    if name in _BOOLEAN and not value:
        return f'JSV tries to delete boolean parameter "{name}"'
    if name in _ABSENT and value not in ("", "n", "no", "none", "NONE", "0"):
        return f'JSV sets "{name}" to "{value[:100]}", which Roost does not act on'
    if name in _OF_CLIENT - {"m"} and by.context == "server":
        return f'JSV sets "{name}", which is possible in a JSV of qsub only'
    if name == "b" and value != before.get("b", "n"):
        return 'JSV sets "b": a script cannot become a command, nor a command a script'
    if name == "CMDNAME" and before.get("b") != "y":
        return 'JSV sets "CMDNAME": the script of the job was read when it was submitted'
    return ""


def _variables(present: dict[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    found = {**present, **{name: value for name, value in changes.items() if value is not None}}
    return {name: value for name, value in found.items() if changes.get(name, "") is not None}


def _arguments(parameters: Mapping[str, str]) -> tuple[str, ...]:
    """Raises Misused."""
    text = parameters.get("CMDARGS", "0") or "0"
    if not text.isdecimal() or int(text) > 100_000:
        raise Misused(f'JSV sets "CMDARGS" to "{text[:100]}", which is not a number of arguments')
    return tuple(parameters.get(f"CMDARG{at}", "") for at in range(int(text)))


def _other(plan: ClusterPlan, changes: Mapping[str, str], variables: Mapping[str, str]) -> ClusterPlan:
    """The plan of a job that `qsub` did not submit. Raises Misused and Failure."""
    common = plan.common.copy()
    parts = {name for name in changes if name.startswith("pe_")}
    for name, value in changes.items():
        attribute = cell.PARALLEL if name in parts else _OF_OTHERS.get(name)
        if attribute is None:
            raise Misused(f'JSV sets "{name}" of a job that qsub did not submit: its description decides that')
        if fold(attribute) in plan.varying:
            raise Misused(f'JSV sets "{name}", in which the jobs of the cluster differ')
        if name in parts:
            continue
        asked = Asked()
        asked.take(_options({name: value})) if name == "p" else None
        _put(common, attribute, (asked.priority if name == "p" else value) or None)
    if parts:
        _put(common, cell.PARALLEL, _parallel_request({**_parallel(common), **changes}))
    if _environment(common) != variables:
        if fold("Environment") in plan.varying:
            raise Misused("JSV changes the environment, in which the jobs of the cluster differ")
        common["Environment"] = plain(environment_to_raw(variables))
    return replace(plan, common=common)


def _put(ad: ClassAd, name: str, value: Any) -> None:
    if value not in (None, "", False):
        ad[name] = value
    elif name in ad:
        del ad[name]


def _parallel_request(parameters: Mapping[str, str]) -> str | None:
    name = parameters.get("pe_name")
    if not name:
        return None
    low, high = parameters.get("pe_min", "1"), parameters.get("pe_max", "")
    amounts = low if low == high else f"{low}-" if high == "9999999" else f"{low}-{high}"
    asked = Asked()
    asked.take([Given("pe", (name, amounts))])
    return asked.texts["pe"]


def _options(parameters: Mapping[str, str]) -> list[Given]:
    """The options that correspond to parameters. Raises Failure."""
    found = [Given(name, (parameters[name],)) for name in _PLAIN if parameters.get(name) and name not in ("a", "dl")]
    if when := parameters.get("c_interval") or parameters.get("c_occasion"):
        found.append(Given("c", (when,)))
    if parameters.get("notify", "n").startswith("y"):
        found.append(Given("notify"))
    for option, kind in (("l", "l_"), ("q", "q_")):
        for strength in ("hard", "soft"):
            if parameters.get(kind + strength):
                found += [Given(strength), Given(option, (parameters[kind + strength],))]
    if parameters.get("t_min"):
        first, last = parameters["t_min"], parameters.get("t_max") or parameters["t_min"]
        found.append(Given("t", (f"{first}-{last}:{parameters.get('t_step') or 1}",)))
    if parameters.get("cwd"):
        found.append(Given("wd", (parameters["cwd"],)))
    if parameters.get("h", "n") not in ("", "n"):
        found.append(Given("h"))
    return found


def _again(
    submission: Submission,
    ad: ClassAd,
    parameters: Mapping[str, str],
    changes: Mapping[str, str],
    variables: Mapping[str, str],
    by: JsvSubmitter,
) -> Submission:
    """Plan a job of `qsub` again, with corrected parameters. Raises Misused and Failure."""
    if parameters.get("h", "") not in ("", "n", "u"):
        raise Misused(f'JSV sets "h" to "{parameters["h"]}": a job begins with the hold u, or none')
    if "iwd" in submission.plan.varying and "cwd" not in changes:
        raise Misused("JSV corrects a job whose tasks run in different directories: set cwd too")
    asked = Asked()
    asked.take(_options(parameters))
    if request := _parallel_request(parameters):
        asked.texts["pe"] = request
    asked.check()
    name = parameters.get("N") or posixpath.basename(parameters["CMDNAME"])
    check_name(name)
    check_account(asked.texts.get("A", ""))
    described = describe(asked, _site(asked, variables, name, changes, by))
    common = submission.plan.common.copy()
    for attribute in OF_DESCRIPTION:
        if attribute in common:
            del common[attribute]
        if attribute in described.common:
            common.put(attribute, described.common.cells[fold(attribute)])
    not_before, deadline = (by.instant(parameters[each]) if parameters.get(each) else None for each in ("a", "dl"))
    attributes = requests_of(asked) | {
        cell.NAME: name,
        cell.SHELL: checked(asked.texts["S"]) if "S" in asked.texts else None,
        cell.NOT_BEFORE: not_before,
        cell.DEADLINE: deadline,
        cell.OVERRIDE_TICKETS: ad.get(cell.OVERRIDE_TICKETS),
        cell.DIRECT: parameters.get("b") == "y" and parameters.get("shell", "y").startswith("n"),
        cell.IMMEDIATE: ad.get(cell.IMMEDIATE),
        cell.DIRECTORY: bool(parameters.get("cwd")),
    }
    for attribute, value in attributes.items():
        _put(common, attribute, value)
    common["JobPrio"] = asked.priority
    common.put("Requirements", parse_expression(requirements_of(not_before=not_before)))
    if parameters.get("b") == "y":
        common["Cmd"] = parameters["CMDNAME"]
    common["Arguments"] = plain(join_raw(_arguments(parameters)))
    common["Environment"] = plain(environment_to_raw(variables))
    options = {key: parameters.get(key, "") for key in (*submission.options, *(_OF_CLIENT & set(changes)))}
    return Submission(plan=replace(described, common=common), options={k: v for k, v in options.items() if v})


def _site(
    asked: Asked, variables: Mapping[str, str], name: str, changes: Mapping[str, str], by: JsvSubmitter
) -> SubmitSite:
    home = variables.get("SGE_O_HOME", by.home)
    streams = Streams(
        directory=posixpath.join(home, asked.texts["wd"]) if "wd" in asked.texts else home,
        home=home,
        user=by.user,
        name=name,
        is_array=bool(asked.tasks),
        expands="cwd" in changes,
        is_directory=by.is_directory,
    )
    return SubmitSite(streams=streams, submit_host=by.submit_host, now=by.now)


def not_allowed(given: ClassAd, changeable: frozenset[str]) -> str:
    """Why `qalter` may not change these attributes, in Grid Engine's words; "" if it may."""
    names = {CHANGED_BY[key] for key in given.cells if key in CHANGED_BY}
    if not names:
        return ""
    if not changeable:
        return "No job modification allowed due to jsv_allowed_mod configuration"
    wrong = sorted(names - changeable)
    if not wrong:
        return ""
    return f"rejected due to jsv_allowed_mod configuration which does not allow: {','.join(wrong)}"
