"""The resources that a job requests: cores, memory, disk and others; and its known needs."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Final

from roost.base.records import dataclass
from roost.classad import Expr
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob

_SIZE: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))\s*(?:([KMGT])B?)?\Z", re.IGNORECASE)
_LIKE_A_SIZE: Final = re.compile(r"[\d.+-]+\s*[A-Za-z]*\Z")
#: A number with a unit inside other text.
_WITH_UNIT: Final = re.compile(r"(?<![\w.\"'])\d+\.?\d*\s*[KMGT]B?\b", re.IGNORECASE)
_POWERS: Final = {"K": 1, "M": 2, "G": 3, "T": 4}
_OWN: Final = frozenset(("cpus", "memory", "disk", "gpus"))
#: Common mistakes for one of them.
_SLIPS: Final = {"mem": "memory", "ram": "memory", "core": "cpus", "cores": "cpus", "threads": "cpus"}
_RESOURCE: Final = re.compile(r"request_([A-Za-z_]\w*)\Z", re.IGNORECASE)
_GPU_WORDS: Final = (
    ("gpus_minimum_capability", "GPUsMinCapability", "Capability >= GPUsMinCapability"),
    ("gpus_maximum_capability", "GPUsMaxCapability", "Capability <= GPUsMaxCapability"),
    ("gpus_minimum_memory", "GPUsMinMemory", "GlobalMemoryMb >= GPUsMinMemory"),
    ("gpus_minimum_runtime", "GPUsMinRuntime", "MaxSupportedVersion >= GPUsMinRuntime"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The request for one resource."""

    #: Attribute of the job: RequestMemory.
    attribute: str
    #: Attribute of the machine: Memory.
    resource: str
    #: Number, text or expression; None: the user explicitly requests nothing.
    value: int | float | str | Expr | None
    #: Whether the user set it.
    given: bool
    #: The sizes after the first one of a list, to be requested when the first was not enough.
    following: tuple[int, ...] = ()


def size_in(text: str, power: int) -> int | None:
    """A size with or without a unit, in KiB (`power` 1) or MiB (2), rounded up; None if the text is not a size."""
    found = _SIZE.match(text)
    if found is None:
        return None
    number, unit = float(found[1]), found[2]
    if unit:
        number *= 1024.0 ** (_POWERS[unit.upper()] - power)
    return math.ceil(number)


def sizes_in(text: str, power: int) -> tuple[int, ...] | None:
    """One size or several separated by commas, as `size_in`; None if a member is not a size."""
    sizes = [size_in(member.strip(), power) for member in text.split(",")]
    return None if None in sizes else tuple(size for size in sizes if size is not None)


def rising(sizes: tuple[int, ...]) -> bool:
    """Whether each size is larger than the one before it."""
    return all(low < high for low, high in pairwise(sizes))


def _sized(job: PlannedJob, command: str, attribute: str, default: str, power: int) -> Request:
    name = job.given(command, attribute)
    text = job.text(name) if name else default
    resource = attribute.removeprefix("Request")
    assert text is not None
    value: int | str | Expr | None = None
    following: tuple[int, ...] = ()
    if text and text.lower() != "undefined":
        sizes = sizes_in(text, power)
        if sizes is None:
            value = size_expression(job, attribute, text, name or command, power)
        else:
            value, *rest = sizes
            following = tuple(rest)
            if value < 0:
                job.report(SubmitCode.SIZE, f"{name} = {text} is negative", name)
            elif not rising(sizes):
                message = f"{name} = {text}: each size must be larger than the one before it"
                job.report(SubmitCode.SIZE, message, name, remedy="Write the sizes in rising order.")
    return Request(attribute=attribute, resource=resource, value=value, given=name is not None, following=following)


def size_expression(job: PlannedJob, attribute: str, text: str, name: str, power: int) -> Expr | None:
    """The expression in a text; an invalid text that is, or contains, a size is reported as such."""
    if all(not member or _LIKE_A_SIZE.match(member) for member in map(str.strip, text.split(","))):
        what = "a valid list of sizes" if "," in text else "a valid size"
        job.report(SubmitCode.SIZE, f"{name} = {text} is not {what}", name)
        return None
    if _WITH_UNIT.search(text):
        unit, example = ("MB", "2048 for 2 GB") if power > 1 else ("KB", "2097152 for 2 GB")
        message = f"{name} = {text}: a size with a unit cannot be part of an expression"
        job.report(SubmitCode.SIZE, message, name, remedy=f"Write the number in {unit}, such as {example}.")
        return None
    return job.parsed(attribute, text, name)


def _counted(job: PlannedJob, command: str, attribute: str, default: str) -> Request:
    name = job.given(command, attribute)
    text = (job.text(name) if name else default) or ""
    value = None if text.lower() in ("undefined", "") else _number_or_expression(job, attribute, text, name or command)
    return Request(attribute=attribute, resource=attribute.removeprefix("Request"), value=value, given=name is not None)


def _number_or_expression(job: PlannedJob, attribute: str, text: str, name: str) -> int | float | str | Expr | None:
    expression = job.parsed(attribute, text, name)
    if expression is None or not expression.is_literal:
        return expression
    value = job.computed(text)
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else expression


def requests_of(job: PlannedJob) -> tuple[Request, ...]:
    """All requests, in the order in which requirements name them."""
    defaults = job.defaults
    found = [
        _sized(job, "request_disk", "RequestDisk", defaults.request_disk, 1),
        _sized(job, "request_memory", "RequestMemory", defaults.request_memory, 2),
        _counted(job, "request_cpus", "RequestCpus", defaults.request_cpus),
        _counted(job, "request_gpus", "RequestGPUs", ""),
    ]
    for key in (*job.macros.defined, *job.macros.variables):
        match = _RESOURCE.match(key)
        if match and match[1] not in _OWN:
            spelled = job.macros.defined[key].name if key in job.macros.defined else key
            resource = spelled.partition("_")[2]
            _looked_at(job, key, resource)
            request = _counted(job, key, f"Request{resource}", "")
            if request.given:
                found.append(request)
    return tuple(found)


def _looked_at(job: PlannedJob, key: str, resource: str) -> None:
    """Report a name that was probably meant to be a standard resource."""
    from difflib import get_close_matches

    meant = _SLIPS.get(resource.lower()) or next(iter(get_close_matches(resource.lower(), sorted(_OWN), 1, 0.75)), None)
    if meant is not None:
        message = f"request_{resource} requests the resource {resource}, which the site must define"
        job.report(SubmitCode.SUSPICIOUS, message, key, suggestion=f"request_{meant}")


def requests(job: PlannedJob) -> None:
    """RequestCpus and the rest."""
    for request in job.fact(requests_of):
        match request.value:
            case None:
                pass
            case Expr():
                job.put_expression(request.attribute, request.value.source or str(request.value), None)
            case value:
                job.put(request.attribute, value)
    gpus(job)


def gpus(job: PlannedJob) -> None:
    """The requirements on each GPU."""
    if job.given("request_gpus", "RequestGPUs") is None:
        return
    parts, spoken = [], frozenset[str]()
    wanted = job.text("require_gpus", "RequireGPUs")
    own = job.parsed("RequireGPUs", wanted, "require_gpus") if wanted is not None else None
    if own is not None:
        spoken = own.mentioned.plain
    for command, attribute, clause in _GPU_WORDS:
        text = job.text(command)
        if text is None:
            continue
        value = _property_of_gpus(job, command, text)
        if value is None:
            job.report(SubmitCode.SIZE, f"{command} = {text} is not a number", command)
            continue
        job.put(attribute, value)
        # The user's own expression about the capability replaces what follows from the two commands.
        if not ("capability" in spoken and clause.startswith("Capability ")):
            parts.append(clause)
    if own is not None:
        parts.insert(0, f"({wanted})" if parts and _is_looser_than_and(own) else f"{wanted}")
    if parts:
        job.put_expression("RequireGPUs", " && ".join(parts), "require_gpus")


def _is_looser_than_and(expression: Expr) -> bool:
    from roost.classad.syntax import Binary, Conditional, Elvis, Op

    tree = expression.tree
    return isinstance(tree, Conditional | Elvis) or (isinstance(tree, Binary) and tree.op is Op.OR)


def _property_of_gpus(job: PlannedJob, command: str, text: str) -> int | float | None:
    """A minimum number for GPUs; a runtime version x.y is x times 1000 plus y times 10."""
    version = re.fullmatch(r"(\d{1,3})(?:\.(\d{1,2}))?", text.strip()) if command == "gpus_minimum_runtime" else None
    if version is not None:
        return int(version[1]) * 1000 + int(version[2] or 0) * 10
    value = size_in(text, 2) if command == "gpus_minimum_memory" else job.computed(text)
    return value if isinstance(value, int | float) else None


def literal(value: object) -> float | None:
    """A number that is known now; None for any other value."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_nothing(request: Request) -> bool:
    """Whether the request is so small that any machine meets it."""
    number = literal(request.value)
    if request.value is None:
        return True
    least = 0.0 if request.resource.lower() not in ("cpus", "memory") else 1.0
    return number is not None and number <= least
