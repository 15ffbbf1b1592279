"""Selection of jobs in a call: an id, ids, a cluster, or a constraint."""

from __future__ import annotations

import re
from typing import Final

from roost.classad import ParseError, parse_expression
from roost.compat.classad2 import ExprTree
from roost.compat.htcondor2.errors import HTCondorException
from roost.wire.requests import queue

JobSpec = str | list[str] | ExprTree | int

_ID: Final = re.compile(r"\d+(\.\d+)?\Z")


def asked(job_spec: JobSpec) -> queue.ChosenFields:
    """The selection in the form of a queue's requests. Raises TypeError, HTCondorException."""
    jobs: list[str] = []
    constraint: str | None = None
    match job_spec:
        case bool():
            constraint = constraint_text(job_spec)
        case int():
            jobs = [str(job_spec)]
        case str() if _ID.match(job_spec.strip()):
            jobs = [job_spec.strip()]
        case str() | ExprTree():
            # Select none, never all: an empty text is not a constraint.
            constraint = constraint_text(job_spec) or "true"
            if not str(job_spec).strip():
                raise HTCondorException("no job selected: the constraint is empty")
        case list() if all(_ID.match(str(each)) for each in job_spec):
            jobs = [str(each) for each in job_spec]
            if not jobs:
                constraint = "false"
        case _:
            raise TypeError("job_spec must be a list of strings, a string, an int, or an ExprTree")
    return {"jobs": tuple(jobs), "constraint": constraint}


def constraint_text(constraint: object) -> str | None:
    """The text of a constraint; None for all. Raises HTCondorException, TypeError."""
    if constraint is None or constraint is True or constraint == "":
        return None
    if not isinstance(constraint, str | ExprTree | bool | int):
        raise TypeError("constraint must be a string or an ExprTree")
    text = repr(constraint) if isinstance(constraint, ExprTree) else str(constraint)
    try:
        parse_expression(text)
    except ParseError as error:
        raise HTCondorException(f"Invalid constraint.\n{error}") from None
    return None if text.strip().lower() == "true" else text
