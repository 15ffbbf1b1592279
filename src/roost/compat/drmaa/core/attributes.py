"""Attributes of job templates: their names and allowed values."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.compat.drmaa.core.times import instant, seconds

#: Name to value, or values of a vector.
Template: TypeAlias = Mapping[str, "str | Sequence[str]"]

COMMAND: Final = "drmaa_remote_command"
STATE: Final = "drmaa_js_state"
DIRECTORY: Final = "drmaa_wd"
NAME: Final = "drmaa_job_name"
INPUT: Final = "drmaa_input_path"
OUTPUT: Final = "drmaa_output_path"
ERROR: Final = "drmaa_error_path"
JOIN: Final = "drmaa_join_files"
CATEGORY: Final = "drmaa_job_category"
NATIVE: Final = "drmaa_native_specification"
BLOCK_EMAIL: Final = "drmaa_block_email"
START: Final = "drmaa_start_time"
DEADLINE: Final = "drmaa_deadline_time"
HARD_LIMIT: Final = "drmaa_wct_hlimit"
SOFT_LIMIT: Final = "drmaa_wct_slimit"
TRANSFER: Final = "drmaa_transfer_files"
ARGUMENTS: Final = "drmaa_v_argv"
ENVIRONMENT: Final = "drmaa_v_env"
EMAIL: Final = "drmaa_v_email"

VECTORS: Final = (ARGUMENTS, ENVIRONMENT, EMAIL)
_EVERYWHERE: Final = (
    COMMAND, STATE, DIRECTORY, NAME, INPUT, OUTPUT, ERROR, JOIN, NATIVE, BLOCK_EMAIL, START, DEADLINE, HARD_LIMIT,
)  # fmt: skip
#: Unsupported attributes of the standard, with the reason.
_ABSENT: Final = {
    "drmaa_duration_hlimit": "the pool limits the wall clock time of jobs only: use drmaa_wct_hlimit",
    "drmaa_duration_slimit": "the pool limits the wall clock time of jobs only: use drmaa_wct_slimit",
    TRANSFER: "hosts of a Grid Engine cell share their files",
    CATEGORY: "job categories are lines of qtask files, with options of qsub, which need a Grid Engine cell",
    SOFT_LIMIT: "a pool without a Grid Engine cell has no soft limits: use drmaa_wct_hlimit",
}
_WORDS: Final = {
    STATE: ("drmaa_active", "drmaa_hold"),
    JOIN: ("y", "n"),
    BLOCK_EMAIL: ("0", "1"),
}
HOME: Final = "$drmaa_hd_ph$"
PLACE: Final = "$drmaa_wd_ph$"
INDEX: Final = "$drmaa_incr_ph$"
#: Longest value, characters; longest vector, elements.
VALUE_CHARS_MAX: Final = 128 * 1024
VECTOR_MAX: Final = 10_000


def scalars(*, has_cell: bool) -> tuple[str, ...]:
    """The attributes with one value that the pool supports."""
    return (*_EVERYWHERE, *((CATEGORY, SOFT_LIMIT) if has_cell else (TRANSFER,)))


def check(name: str, value: str | Sequence[str], *, has_cell: bool) -> None:
    """Raise DrmaaError for an unsupported attribute or an invalid value."""
    is_vector = not isinstance(value, str)
    if name not in (VECTORS if is_vector else scalars(has_cell=has_cell)):
        why = _ABSENT.get(name)
        kind = "a list" if name not in VECTORS and is_vector else "one value"
        known = name in VECTORS or name in scalars(has_cell=has_cell)
        text = f"it cannot have {kind}" if known else why or "DRMAA 1.0 has no such attribute"
        raise DrmaaError(Code.INVALID_ARGUMENT, f"{name} is not possible in this pool: {text}")
    for each in (value,) if isinstance(value, str) else value:
        if "\0" in each or len(each) > VALUE_CHARS_MAX:
            text = f"{name}: a value has at most {VALUE_CHARS_MAX} characters, and no NUL"
            raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, text)
    if isinstance(value, str):
        _check_scalar(name, value)
    else:
        _check_vector(name, value)


def _check_scalar(name: str, value: str) -> None:
    words = _WORDS.get(name)
    if words is not None and value not in words:
        raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, f"{name} must be {' or '.join(map(repr, words))}, not {value!r}")
    match name:
        case "drmaa_transfer_files" if not set(value) <= set("ioe"):
            raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, f"{name} has letters of 'ioe', not {value!r}")
        case "drmaa_start_time" | "drmaa_deadline_time":
            instant(value, name, time.time())
        case "drmaa_wct_hlimit" | "drmaa_wct_slimit":
            seconds(value, name)
        case "drmaa_wd":
            _check_placeholders(name, value, first=(HOME,))
        case "drmaa_input_path" | "drmaa_output_path" | "drmaa_error_path":
            _check_placeholders(name, value.partition(":")[2] if ":" in value else value, first=(HOME, PLACE))


def _check_placeholders(name: str, value: str, first: tuple[str, ...]) -> None:
    """Check that placeholders of directories are at the beginning, and that they apply here."""
    for word in (HOME, PLACE):
        at = value.find(word, len(word) if value.startswith(word) and word in first else 0)
        if at >= 0:
            where = "at the beginning only" if word in first else "in paths of files only"
            raise DrmaaError(Code.INVALID_ATTRIBUTE_FORMAT, f"{name}: {word} is possible {where}: {value!r}")


def _check_vector(name: str, values: Sequence[str]) -> None:
    if len(values) > VECTOR_MAX:
        raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, f"{name} has at most {VECTOR_MAX} values, not {len(values)}")
    if name == ENVIRONMENT:
        for each in values:
            if not each.partition("=")[0] or "=" not in each:
                raise DrmaaError(Code.INVALID_ATTRIBUTE_FORMAT, f"{name}: {each!r} is not of the form name=value")


def text_of(template: Template, name: str) -> str:
    """A value; "" if it is not set."""
    found = template.get(name, "")
    assert isinstance(found, str)
    return found


def list_of(template: Template, name: str) -> list[str]:
    """A vector; empty if it is not set."""
    found = template.get(name, ())
    assert not isinstance(found, str)
    return list(found)


def check_whole(template: Template, *, is_bulk: bool) -> None:
    """Raise DrmaaError for a template that cannot be submitted."""
    if not text_of(template, COMMAND):
        raise DrmaaError(Code.DENIED_BY_DRM, f"the job template has no {COMMAND}")
    for name in (DIRECTORY, INPUT, OUTPUT, ERROR):
        if INDEX in text_of(template, name) and not is_bulk:
            raise DrmaaError(Code.DENIED_BY_DRM, f"{name}: only jobs of drmaa_run_bulk_jobs have {INDEX}")
    # With joined files an error path has no effect, as the standard says.


def bulk_range(begin: int, end: int, step: int) -> tuple[int, int, int]:
    """First, last and step of bulk jobs. Raises DrmaaError."""
    if begin < 1 or end < begin or step < 1:
        raise DrmaaError(
            Code.INVALID_ARGUMENT,
            f"bulk jobs from {begin} to {end} by {step}: the first number and the step are at least 1, "
            "and the last number is not below the first",
        )
    return begin, end, step
