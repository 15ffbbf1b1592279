"""Exceptions: one for each error code of DRMAA, with ``code 18: what is wrong`` as its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from roost.compat.drmaa.version import __version__

__all__ = [
    "AlreadyActiveSessionException", "AuthorizationException", "ConflictingAttributeValuesException",
    "DefaultContactStringException", "DeniedByDrmException", "DrmCommunicationException", "DrmaaException",
    "DrmsExitException", "DrmsInitException", "ExitTimeoutException", "HoldInconsistentStateException",
    "IllegalStateException", "InternalException", "InvalidArgumentException", "InvalidAttributeFormatException",
    "InvalidAttributeValueException", "InvalidContactStringException", "InvalidJobException",
    "InvalidJobTemplateException", "NoActiveSessionException", "NoDefaultContactStringSelectedException",
    "OutOfMemoryException", "ReleaseInconsistentStateException", "ResumeInconsistentStateException",
    "SuspendInconsistentStateException", "TryLaterException", "UnsupportedAttributeException", "__version__",
]  # fmt: skip


class DrmaaException(Exception):
    """A call failed."""


class AlreadyActiveSessionException(DrmaaException):
    """A session is active."""


class AuthorizationException(DrmaaException):
    """The user may not do that."""


class ConflictingAttributeValuesException(DrmaaException, AttributeError):
    """Attributes of a template contradict each other."""


class DefaultContactStringException(DrmaaException):
    """The default contact string cannot be used."""


class DeniedByDrmException(DrmaaException):
    """The pool refuses the job."""


class DrmCommunicationException(DrmaaException):
    """The pool does not answer."""


class DrmsExitException(DrmaaException):
    """The session cannot be ended."""


class DrmsInitException(DrmaaException):
    """The session cannot be started."""


class ExitTimeoutException(DrmaaException):
    """The timeout expired."""


class HoldInconsistentStateException(DrmaaException):
    """The job cannot be put on hold."""


class IllegalStateException(DrmaaException):
    """Kept for programs that refer to it."""


class InternalException(DrmaaException):
    """An internal error."""


class InvalidAttributeFormatException(DrmaaException, AttributeError):
    """The value of an attribute has the wrong form."""


class InvalidContactStringException(DrmaaException):
    """The contact string names no session."""


class InvalidJobException(DrmaaException):
    """There is no such job, or it was reaped."""


class InvalidJobTemplateException(DrmaaException):
    """The job template was deleted."""


class NoActiveSessionException(DrmaaException):
    """No session is active."""


class NoDefaultContactStringSelectedException(DrmaaException):
    """There is no default contact string."""


class ReleaseInconsistentStateException(DrmaaException):
    """The job cannot be released."""


class ResumeInconsistentStateException(DrmaaException):
    """The job is not suspended."""


class SuspendInconsistentStateException(DrmaaException):
    """The job is not running."""


class TryLaterException(DrmaaException):
    """The pool cannot take the request now."""


class UnsupportedAttributeException(DrmaaException, AttributeError):
    """Kept for programs that refer to it."""


class InvalidArgumentException(DrmaaException, AttributeError):
    """An argument is not valid."""


class InvalidAttributeValueException(DrmaaException, AttributeError):
    """The value of an attribute is not valid, or not set."""


class OutOfMemoryException(DrmaaException, MemoryError):
    """Out of memory."""


class _NoUsageException(DrmaaException):
    """The job has no usage: it never ran. The package on PyPI raises a plain Exception."""


#: By code, from 1.
_ERRORS: Final[tuple[type[Exception], ...]] = (
    InternalException,
    DrmCommunicationException,
    AuthorizationException,
    InvalidArgumentException,
    NoActiveSessionException,
    OutOfMemoryException,
    InvalidContactStringException,
    DefaultContactStringException,
    NoDefaultContactStringSelectedException,
    DrmsInitException,
    AlreadyActiveSessionException,
    DrmsExitException,
    InvalidAttributeFormatException,
    InvalidAttributeValueException,
    ConflictingAttributeValuesException,
    TryLaterException,
    DeniedByDrmException,
    InvalidJobException,
    ResumeInconsistentStateException,
    SuspendInconsistentStateException,
    HoldInconsistentStateException,
    ReleaseInconsistentStateException,
    ExitTimeoutException,
    _NoUsageException,
    StopIteration,
)


def exception_of(code: int, text: str) -> Exception:
    """The exception for an error code."""
    return _ERRORS[code - 1](f"code {code}: {text}")


@contextmanager
def raised() -> Iterator[None]:
    """Raise errors of the core as the exception for their code."""
    from roost.compat.drmaa.core.codes import DrmaaError

    try:
        yield
    except DrmaaError as error:
        raise exception_of(error.code, error.text) from None
