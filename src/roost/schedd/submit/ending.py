"""When a job starts, how often it is retried, how it is asked to end, and to whom it is charged."""

from __future__ import annotations

import re
from typing import Final

from roost.classad import ParseError, Syntax, parse_expression
from roost.model.signals import signal_named
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob
from roost.schedd.submit.program import universe_of

_CRON: Final = (
    ("cron_minute", "CronMinute"),
    ("cron_hour", "CronHour"),
    ("cron_day_of_month", "CronDayOfMonth"),
    ("cron_month", "CronMonth"),
    ("cron_day_of_week", "CronDayOfWeek"),
)
_NOTIFICATIONS: Final = {"never": 0, "always": 1, "complete": 2, "error": 3, "start": 4}
_GROUP: Final = re.compile(r"[A-Za-z0-9_.@-]+\Z")
_LIMIT: Final = re.compile(r"([a-z_][\w.]*)(?::([+-]?(?:\d+\.?\d*|\.\d+)))?\Z", re.IGNORECASE | re.ASCII)
#: The shortest lease, s.
_LEASE_MIN_S: Final = 20


def retries(job: PlannedJob) -> None:
    """OnExitRemove and OnExitHold, including retries."""
    remove, hold = job.text("on_exit_remove", "OnExitRemove"), job.text("on_exit_hold", "OnExitHold")
    retried = job.given("max_retries", "retry_until", "success_exit_code")
    if retried is None:
        if remove is not None:
            job.put_expression("OnExitRemove", remove, "on_exit_remove")
        if hold is not None:
            job.put_expression("OnExitHold", hold, "on_exit_hold")
        return
    count, code = job.integer("max_retries"), job.integer("success_exit_code")
    job.put("JobMaxRetries", job.defaults.retries_max if count is None else count)
    success = "0" if code is None else "JobSuccessExitCode"
    if code is not None:
        job.put("JobSuccessExitCode", code)
    clauses = ["NumJobCompletions > JobMaxRetries", f"ExitCode =?= {success}"]
    until = job.text("retry_until")
    if until is not None:
        clauses += _until(job, until)
    if remove is not None and job.parsed("OnExitRemove", remove, "on_exit_remove") is not None:
        clauses.append(_grouped(remove))
    job.put_expression("OnExitRemove", " || ".join(clauses), retried)
    if hold is None:
        job.put("OnExitHold", False)
    else:
        job.put_expression("OnExitHold", hold, "on_exit_hold")


def _until(job: PlannedJob, text: str) -> list[str]:
    try:
        expression = parse_expression(text, Syntax.OLD)
    except ParseError:
        job.report(
            SubmitCode.EXPRESSION, f"retry_until = {text} is neither an exit code nor an expression", "retry_until"
        )
        return []
    value = job.computed(text)
    if expression.is_literal and isinstance(value, int | float) and not isinstance(value, bool):
        return [f"ExitCode =?= {int(value)}"]
    return [_grouped(text)]


def _grouped(text: str) -> str:
    """An expression as an operand in a chain of ``||``: in parentheses unless it binds tighter."""
    return f"({text})" if re.search(r"\?|\|\|", text) else text


def signals(job: PlannedJob) -> None:
    """KillSig and its companions."""
    for attribute, names in (
        ("KillSig", ("kill_sig", "KillSig")),
        ("RemoveKillSig", ("remove_kill_sig", "rm_kill_sig", "RemoveKillSig")),
        ("HoldKillSig", ("hold_kill_sig", "HoldKillSig")),
    ):
        text = job.text(*names)
        if text is None:
            continue
        value = job.computed(text)
        named = signal_named(value if isinstance(value, int) else text)
        if named is None:
            job.report(SubmitCode.SIGNAL, f"invalid signal {text}", job.given(*names))
        else:
            job.put(attribute, named)


def status(job: PlannedJob) -> None:
    """Whether the job is submitted on hold."""
    if job.defaults.spooled:
        if job.truth("hold"):
            message = "hold = true cannot be combined with -spool or -remote: the jobs wait for their files on hold"
            job.report(SubmitCode.TRANSFER, message, "hold", remedy="Hold the jobs after they are submitted.")
        job.put("JobStatus", 5)
        job.put("HoldReason", "Spooling input data files")
        job.put("HoldReasonCode", 16)
    elif job.truth("hold"):
        job.put("JobStatus", 5)
        job.put("HoldReason", "submitted on hold at user's request")
        job.put("HoldReasonCode", 15)
    else:
        job.put("JobStatus", 1)


def lease(job: PlannedJob) -> None:
    """JobLeaseDuration: how long the job continues when its queue falls silent."""
    text = job.text("job_lease_duration", "JobLeaseDuration")
    if text is None:
        job.put("JobLeaseDuration", job.defaults.lease_s)
        return
    value = job.computed(text)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LEASE_MIN_S:
        message = f"job_lease_duration = {value} is less than {_LEASE_MIN_S} s, which is used instead"
        job.report(SubmitCode.CONFLICT, message, "job_lease_duration", remedy=f"Write {_LEASE_MIN_S} or more, or 0.")
        job.put("JobLeaseDuration", _LEASE_MIN_S)
        return
    job.put_expression("JobLeaseDuration", text, "job_lease_duration")


def is_deferred(job: PlannedJob) -> bool:
    """Whether the job has a start time."""
    return job.given("deferral_time", "DeferralTime", *(name for name, _ in _CRON)) is not None


def deferral(job: PlannedJob) -> None:
    """DeferralTime and the attributes of cron."""
    if not job.fact(is_deferred):
        return
    if job.fact(universe_of) == "scheduler":
        name = job.given("deferral_time", "DeferralTime", *(name for name, _ in _CRON))
        message = f"{name}: jobs of the scheduler universe cannot wait for a start time"
        job.report(SubmitCode.UNIVERSE, message, name, remedy="Use universe = local, or leave the time out.")
        return
    _instant(job, "DeferralTime", ("deferral_time", "DeferralTime"), None)
    for command, attribute in _CRON:
        text = job.text(command, attribute)
        if text is not None:
            job.put(attribute, text)
    _instant(job, "DeferralWindow", ("deferral_window", "cron_window", "DeferralWindow"), 0)
    _instant(job, "DeferralPrepTime", ("deferral_prep_time", "cron_prep_time", "DeferralPrepTime"), 300)
    job.put("ScheddInterval", 300)


def _instant(job: PlannedJob, attribute: str, names: tuple[str, ...], default: int | None) -> None:
    text = job.text(*names)
    if text is None:
        if default is not None:
            job.put(attribute, default)
        return
    value = job.computed(text)
    if isinstance(value, int | float) and value < 0:
        name = job.given(*names)
        job.report(SubmitCode.INTEGER, f"{name} = {text} is negative", name, remedy="Write 0 or more.")
        return
    job.put_expression(attribute, text, job.given(*names))


def notification(job: PlannedJob) -> None:
    """JobNotification."""
    text = job.text("notification")
    number = 0 if text is None else _NOTIFICATIONS.get(text.lower())
    if number is None:
        words = ", ".join(_NOTIFICATIONS)
        job.report(SubmitCode.WORD, f"notification = {text} is not one of {words}", "notification")
        return
    job.put("JobNotification", number)


def priority(job: PlannedJob) -> None:
    """JobPrio."""
    number = job.integer("priority", "prio", "JobPrio")
    job.put("JobPrio", 0 if number is None else number)


def accounting(job: PlannedJob) -> None:
    """The group and user to which the job is charged."""
    group, user = job.text("accounting_group", "AcctGroup"), job.text("accounting_group_user", "AcctGroupUser")
    nice = job.truth("nice_user")
    if nice:
        if group is None:
            group = job.defaults.nice_group
        else:
            message = "nice_user is ignored because accounting_group is set"
            job.report(SubmitCode.CONFLICT, message, "nice_user")
        if job.given("max_job_retirement_time", "MaxJobRetirementTime") is None:
            job.put("MaxJobRetirementTime", 0)
    for name, text in (("accounting_group", group), ("accounting_group_user", user)):
        if text is not None and not _GROUP.match(text):
            job.report(SubmitCode.ACCOUNTING, f"{name} = {text} is not a valid accounting group name", name)
            return
    if group is None and user is None:
        return
    user = user or job.defaults.owner
    if group is not None:
        job.put("AcctGroup", group)
    job.put("AcctGroupUser", user)
    job.put("AccountingGroup", user if group is None else f"{group}.{user}")


def limits(job: PlannedJob) -> None:
    """ConcurrencyLimits, in lower case and sorted."""
    text, expression = job.text("concurrency_limits"), job.text("concurrency_limits_expr")
    if text is not None and expression is not None:
        job.report(
            SubmitCode.CONFLICT,
            "concurrency_limits_expr is ignored because concurrency_limits is set",
            "concurrency_limits_expr",
        )
    if text is None:
        if expression is not None:
            job.put_expression("ConcurrencyLimits", expression, "concurrency_limits_expr")
        return
    found = sorted({word.lower() for word in re.split(r"[,\s]+", text) if word})
    for word in found:
        number = _LIMIT.match(word)
        if number is None or (number[2] is not None and float(number[2]) <= 0):
            job.report(
                SubmitCode.LIMITS, f"concurrency_limits = {text}: {word!r} is not a valid limit", "concurrency_limits"
            )
            return
    job.put("ConcurrencyLimits", ",".join(found))
