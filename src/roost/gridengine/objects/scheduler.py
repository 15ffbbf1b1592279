"""The scheduler configuration, of which a cell has one."""

from __future__ import annotations

import math
import re
from typing import Final

from roost.base.records import dataclass
from roost.gridengine.objects.pairs import ADJUSTMENTS, FACTORS, Factor, Pair
from roost.gridengine.objects.rows import Check, attribute
from roost.gridengine.objects.values import (
    BOOLEAN,
    DOUBLE,
    TEXT,
    ULONG,
    BadValue,
    Quantity,
    ValueType,
    is_none,
    seconds,
)

WIDTH: Final = 34
POLICIES: Final = "OFS"
#: parameters of ``params``, with their value types
PARAMETERS: Final = {"DURATION_OFFSET": "time", "PE_RANGE_ALG": "text", "PROFILE": "flag", "MONITOR": "flag"}


def _time(text: str) -> Quantity:
    found = seconds(text)
    if found is None or found < 0:
        if re.fullmatch(r"-\d+|[-\d]*:[-\d]*:[-\d]*", text):
            # These are Grid Engine's words.
            raise BadValue("is not a Error! value not positive", "Write a time of 0 or more.")
        raise BadValue("is not a time value", "Write seconds or hours:minutes:seconds.")
    return Quantity(text, found)


#: a time whose message names the attribute; the check of the row adds it
TIME: Final = ValueType("time", _time, str, "seconds or hours:minutes:seconds")
_SORT: Final = ValueType(
    "sort method",
    lambda text: "seqno" if text.casefold() == "seqno" else "load",
    str,
    "load or seqno; any other text means load",
)
_FORMULA: Final = ValueType(
    "formula", lambda text: "".join(text.split()), str, "names, name*weight and numbers, with + and -"
)
_PARAMS: Final = ValueType("parameters", lambda text: text, str, "NAME=value separated by blanks or commas, or none")


def _finite(name: str) -> Check:
    def check(value: Quantity) -> str | None:
        return f'attribute "{name}" is not a value that can be set to infinity' if value.number == math.inf else None

    return check


def _algorithm(value: str) -> str | None:
    return None if value == "default" else f'attribute "{value}" is not a valid algorithm name.'


def _positive(value: int) -> str | None:
    return None if value > 0 else 'invalid setting for param: "max_pending_tasks_per_job"(should be ">0")'


def _job_info(value: str) -> str | None:
    if value.casefold() in ("true", "false") or re.fullmatch(r"job_list\s+[\d,-]+", value, re.IGNORECASE):
        return None
    return 'attribute "schedd_job_info " is not a valid parameter'


def parameters(text: str) -> list[tuple[str, str]]:
    """The names, in capitals, and values of ``params``."""
    if is_none(text):
        return []
    parts = [part.partition("=") for part in re.split(r"[\s,]+", text) if part]
    return [(name.upper(), value) for name, _, value in parts]


def _parameters(value: str) -> str | None:
    for name, text in parameters(value):
        if name not in PARAMETERS:
            return f'found unknown param: "{value}"'
        if PARAMETERS[name] == "time" and seconds(text) is None:
            return f'invalid value "{text}" for {name}'
    return None


def _hierarchy(value: str) -> str | None:
    if is_none(value) or (value and set(value) <= set(POLICIES) and len(set(value)) == len(value)):
        return None
    return "Invalid policy hierarchy string. Disabling policy hierarchy."


def _decay(value: str) -> str | None:
    if is_none(value) or all("=" in part for part in value.split(":")):
        return None
    return "Invalid halflife_day_list. Ignoring the setting."


def formula_terms(formula: str) -> list[tuple[str, float]]:
    """The terms of a load formula, or of any such sum: a complex (empty for a number) and its weight.

    Raises `BadValue` with Grid Engine's words if the text is not such a sum.
    """
    terms = []
    for sign, body in re.findall(r"([-+]?)([^-+]+)", formula):
        name, star, weight = body.partition("*")
        weight = weight.lstrip("*")
        if star and not _is_number(weight):
            message = f'"load_formula" uses "{weight}" as weighting factor (only numbers are allowed)'
            raise BadValue(message, "Write name*number.")
        if not star and _is_number(name):
            name, weight = "", name
        terms.append((name.lstrip("$"), (-1 if sign == "-" else 1) * float(weight or "1")))
    return terms


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+\.?\d*(?:[eE]\d+)?", text) is not None


def _formula(value: str) -> str | None:
    if is_none(value):
        return f'The keyword "{value}" is not allowed in "load_formula"'
    try:
        formula_terms(value)
    except BadValue as bad:
        return bad.message
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfiguration:
    """The scheduler configuration."""

    algorithm: str = attribute(TEXT, "default", "Always default.", check=_algorithm, remedy="Write default.")
    schedule_interval: Quantity = attribute(
        TIME,
        "0:0:15",
        "Time between scheduling runs.",
        check=_finite("schedule_interval"),
        remedy="Write a time.",
    )
    maxujobs: int = attribute(ULONG, "0", "Jobs of one user that run at a time; 0 means no limit.")
    queue_sort_method: str = attribute(_SORT, "load", "Whether instances are ordered by load or by sequence number.")
    job_load_adjustments: tuple[Pair, ...] = attribute(
        ADJUSTMENTS, "np_load_avg=0.50", "Load that a newly started job is assumed to add."
    )
    load_adjustment_decay_time: Quantity = attribute(TIME, "0:7:30", "Time in which the assumed load decays to 0.")
    load_formula: str = attribute(
        _FORMULA,
        "np_load_avg",
        "Formula by which instances are ordered.",
        check=_formula,
        remedy="Write terms such as np_load_avg or slots*0.5, joined by + or -.",
    )
    schedd_job_info: str = attribute(
        TEXT,
        "true",
        "Whether reasons are kept for waiting jobs.",
        check=_job_info,
        remedy="Write true, false or job_list with job numbers.",
    )
    flush_submit_sec: int = attribute(ULONG, "0", "Seconds from a submission to the next scheduling run; 0 is off.")
    flush_finish_sec: int = attribute(ULONG, "0", "Seconds from a job's end to the next scheduling run; 0 is off.")
    params: str = attribute(
        _PARAMS, "none", "Further parameters.", check=_parameters, remedy=f"The parameters are {', '.join(PARAMETERS)}."
    )
    reprioritize_interval: Quantity = attribute(TIME, "0:0:0", "Time between changes of running jobs' nice values.")
    halftime: int = attribute(ULONG, "168", "Half-life of the usage in the share tree, hours; 0 is never.")
    usage_weight_list: tuple[Factor, ...] = attribute(
        FACTORS, "cpu=1.000000,mem=0.000000,io=0.000000", "Weights of cpu, mem and io in usage."
    )
    compensation_factor: float = attribute(
        DOUBLE, "5.000000", "Limit on the compensation of users who used less than their share."
    )
    weight_user: float = attribute(DOUBLE, "0.250000", "Part of functional tickets by user.")
    weight_project: float = attribute(DOUBLE, "0.250000", "Part of functional tickets by project.")
    weight_department: float = attribute(DOUBLE, "0.250000", "Part of functional tickets by department.")
    weight_job: float = attribute(DOUBLE, "0.250000", "Part of functional tickets by job share.")
    weight_tickets_functional: int = attribute(ULONG, "0", "Functional tickets.")
    weight_tickets_share: int = attribute(ULONG, "0", "Share tree tickets.")
    share_override_tickets: bool = attribute(
        BOOLEAN, "TRUE", "Whether an object's override tickets are shared by its jobs."
    )
    share_functional_shares: bool = attribute(
        BOOLEAN, "TRUE", "Whether an object's functional shares are shared by its jobs."
    )
    max_functional_jobs_to_schedule: int = attribute(
        ULONG, "200", "Waiting jobs whose functional tickets are computed."
    )
    report_pjob_tickets: bool = attribute(BOOLEAN, "TRUE", "Whether tickets of waiting jobs are reported.")
    max_pending_tasks_per_job: int = attribute(
        ULONG, "50", "Tasks of one array job that a run considers.", check=_positive, remedy="Write a number above 0."
    )
    halflife_decay_list: str = attribute(
        TEXT,
        "none",
        "Half-lives of usage by resource.",
        check=_decay,
        remedy="Write name=hours joined by colons, or none.",
    )
    policy_hierarchy: str = attribute(
        TEXT,
        "OFS",
        "Order of override, functional and share tree tickets.",
        check=_hierarchy,
        remedy="Write each of O, F and S at most once, or NONE.",
    )
    weight_ticket: float = attribute(DOUBLE, "0.010000", "Weight of tickets in the priority.")
    weight_waiting_time: float = attribute(DOUBLE, "0.000000", "Urgency of a second of waiting.")
    weight_deadline: float = attribute(DOUBLE, "3600000.000000", "Urgency of a deadline.")
    weight_urgency: float = attribute(DOUBLE, "0.100000", "Weight of urgency in the priority.")
    weight_priority: float = attribute(DOUBLE, "1.000000", "Weight of `qsub -p` in the priority.")
    max_reservation: int = attribute(ULONG, "0", "Jobs for which a run reserves resources; 0 means none.")
    default_duration: Quantity = attribute(TIME, "INFINITY", "Run time assumed of jobs without h_rt and s_rt.")
