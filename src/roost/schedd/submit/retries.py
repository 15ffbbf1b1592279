"""What a job requests after a machine evicted it because it used more memory, or disk, than it had requested.

``retry_request_memory`` is a size, a list of rising sizes or an expression; the sizes after the first one of a list in
``request_memory`` are the same. ``retry_request_memory_increase`` is what is added each time, or an expression of
RequestMemory that gives the next request. ``retry_request_memory_max`` limits both; alone, it is the only other
request. The same commands with ``disk`` apply to RequestDisk. `roost.schedd.job_policy.expressions` acts on the
attributes.
"""

from __future__ import annotations

import math
from typing import Final

from roost.base.records import dataclass
from roost.classad import Expr
from roost.classad.values import fold
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob
from roost.schedd.submit.requests import Request, literal, requests_of, rising, size_expression, size_in, sizes_in


@dataclass(frozen=True, slots=True)
class _Resource:
    #: Exponent of sizes: 1 for KiB, 2 for MiB.
    power: int
    command: str
    attribute: str

    @property
    def retry(self) -> str:
        """The command that gives the next requests."""
        return f"retry_{self.command}"


_RESOURCES: Final = (_Resource(2, "request_memory", "RequestMemory"), _Resource(1, "request_disk", "RequestDisk"))


def retries_with_more(job: PlannedJob) -> None:
    """RetryRequestMemory, NextRequestMemory and MaxRequestMemory, and the same for RequestDisk."""
    requests = {request.attribute: request for request in job.fact(requests_of)}
    for resource in _RESOURCES:
        request = requests[resource.attribute]
        has_steps = _steps(job, resource, request)
        _increase(job, resource, has_steps=has_steps)
        _limit(job, resource, request)


def _steps(job: PlannedJob, resource: _Resource, request: Request) -> bool:
    """The explicit list of requests; return whether there is one."""
    command, attribute = resource.retry, f"Retry{resource.attribute}"
    text = job.text(command)
    if text is None:
        if request.following:
            job.put_expression(attribute, _as_list(request.following), resource.command)
        return bool(request.following)
    if request.following:
        message = f"{command} takes precedence, and all but the first size in {resource.command} are ignored"
        job.report(SubmitCode.CONFLICT, message, command)
    sizes = sizes_in(text, resource.power)
    if sizes is None:
        _put(job, attribute, size_expression(job, attribute, text, command, resource.power))
        return True
    if not rising(sizes):
        message = f"{command} = {text}: each size must be larger than the one before it"
        job.report(SubmitCode.SIZE, message, command, remedy="Write the sizes in rising order.")
    elif len(sizes) == 1:
        job.put(attribute, sizes[0])
    else:
        job.put_expression(attribute, _as_list(sizes), command)
    _compared(job, command, text, sizes[-1], request)
    return True


def _put(job: PlannedJob, attribute: str, expression: Expr | None) -> None:
    if expression is not None:
        job.put_expression(attribute, expression.source or str(expression), None)


def _as_list(sizes: tuple[int, ...]) -> str:
    return f"{{{', '.join(map(str, sizes))}}}"


def _increase(job: PlannedJob, resource: _Resource, *, has_steps: bool) -> None:
    command = f"{resource.retry}_increase"
    text = job.text(command)
    if text is None:
        return
    if has_steps:
        # As in HTCondor.
        message = (
            f"{command} = {text} is ignored because {resource.retry}, or a list in {resource.command}, gives the sizes"
        )
        job.report(SubmitCode.CONFLICT, message, command)
        return
    amount: float | None = size_in(text, resource.power)
    if amount is None:
        attribute = f"Next{resource.attribute}"
        expression = size_expression(job, attribute, text, command, resource.power)
        if expression is None:
            return
        names = expression.mentioned
        if fold(resource.attribute) in names.plain | names.my:
            _put(job, attribute, expression)
            return
        amount = literal(job.computed(text))
    if amount is None or amount <= 0:
        message = f"{command} = {text} is neither a size above 0 nor an expression of {resource.attribute}"
        remedy = f"Write the amount to add, such as 500 MB, or the next request, such as {resource.attribute} * 2."
        job.report(SubmitCode.SIZE, message, command, remedy=remedy)
        return
    job.put_expression(f"Next{resource.attribute}", f"{resource.attribute} + {math.ceil(amount)}", command)


def _limit(job: PlannedJob, resource: _Resource, request: Request) -> None:
    command = f"{resource.retry}_max"
    text = job.text(command)
    if text is None:
        return
    size = size_in(text, resource.power)
    if size is None:
        attribute = f"Max{resource.attribute}"
        _put(job, attribute, size_expression(job, attribute, text, command, resource.power))
    else:
        job.put(f"Max{resource.attribute}", size)
        _compared(job, command, text, size, request)


def _compared(job: PlannedJob, command: str, text: str, most: int, request: Request) -> None:
    """Report a job that can never be retried with more."""
    present = literal(request.value)
    if present is not None and most <= present:
        message = f"{command} = {text} is not larger than the first request, so the job is never retried with more"
        job.report(SubmitCode.SUSPICIOUS, message, command)
