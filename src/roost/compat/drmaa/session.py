"""`Session`: the interface of PyPI's `drmaa` over a Roost pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from roost.compat.drmaa import active, const
from roost.compat.drmaa.errors import raised
from roost.compat.drmaa.template import JobTemplate, copied
from roost.compat.drmaa.version import __version__

__all__ = ["JobInfo", "JobTemplate", "Session", "Version", "__version__"]

#: Name of the system: programs check for these strings.
SYSTEM: Final = "Roost"
CELL_SYSTEM: Final = "SGE 8.1.9 (Roost)"


class JobInfo(NamedTuple):
    """How a job ended."""

    jobId: str
    hasExited: bool
    hasSignal: bool
    terminatedSignal: str
    hasCoreDump: bool
    wasAborted: bool
    exitStatus: int
    resourceUsage: dict[str, str]


class Version(NamedTuple):
    """Version of DRMAA."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class _Told:
    """A property of the session, available even before there is one."""

    def __init__(self, look: Callable[[], Any], about: str) -> None:
        self._look = look
        self.__doc__ = about

    def __get__(self, *_: object) -> Any:
        return self._look()


def _contact() -> str:
    session = active.present()
    return "" if session is None else session.contact


def _system() -> str:
    session = active.present()
    return CELL_SYSTEM if session is not None and session.has_cell else SYSTEM


def _implementation() -> str:
    from roost import __version__ as version

    return f"Roost {version}"


class Session:
    """The session of this process."""

    TIMEOUT_WAIT_FOREVER: Final = const.TIMEOUT_WAIT_FOREVER
    TIMEOUT_NO_WAIT: Final = const.TIMEOUT_NO_WAIT
    JOB_IDS_SESSION_ANY: Final = const.JOB_IDS_SESSION_ANY
    JOB_IDS_SESSION_ALL: Final = const.JOB_IDS_SESSION_ALL

    contact = _Told(_contact, 'The contact string, by which another program goes on with the session; "" for none.')
    drmsInfo = _Told(_system, "The name of the system.")
    drmaaImplementation = _Told(_implementation, "The name and version of this implementation.")
    version = _Told(lambda: Version(1, 0), "The version of DRMAA.")

    def __init__(self, contactString: str | None = None) -> None:
        self.contactString = contactString

    @staticmethod
    def initialize(contactString: str | bytes | None = None) -> None:
        """Begin a session, or continue the one that the contact string names."""
        with raised():
            active.begin(None if contactString is None else _text(contactString))

    @staticmethod
    def exit() -> None:
        """End the session; its jobs continue."""
        with raised():
            active.end()

    @staticmethod
    def createJobTemplate() -> JobTemplate:
        """An empty template."""
        return JobTemplate()

    @staticmethod
    def deleteJobTemplate(jobTemplate: JobTemplate) -> None:
        """Delete a template."""
        jobTemplate.delete()

    @staticmethod
    def runJob(jobTemplate: JobTemplate) -> str:
        """Submit a job, and return its id."""
        with raised():
            return active.active().run_job(copied(jobTemplate))  # type: ignore[arg-type]

    @staticmethod
    def runBulkJobs(jobTemplate: JobTemplate, beginIndex: int, endIndex: int, step: int) -> list[str]:
        """Submit jobs that differ in the value of PARAMETRIC_INDEX, and return their ids."""
        with raised():
            return active.active().run_bulk(copied(jobTemplate), beginIndex, endIndex, step)  # type: ignore[arg-type]

    @staticmethod
    def control(jobId: str | bytes, operation: str) -> None:
        """Perform an action on a job, or on all jobs of the session."""
        const.string_to_control_action(operation)
        with raised():
            active.active().control(_text(jobId), operation)  # type: ignore[arg-type]

    @staticmethod
    def synchronize(jobIds: Iterable[str | bytes], timeout: float = -1, dispose: bool = False) -> None:
        """Wait until jobs have ended."""
        ids = [jobIds] if isinstance(jobIds, str | bytes) else jobIds
        with raised():
            active.active().synchronize([_text(each) for each in ids], timeout, dispose=bool(dispose))

    @staticmethod
    def wait(jobId: str | bytes, timeout: float = -1) -> JobInfo:
        """Wait until a job has ended, and reap it."""
        from roost.compat.drmaa.core.endings import signal_name

        with raised():
            found = active.active().wait(_text(jobId), timeout)
        end = found.ending
        return JobInfo(
            jobId=found.id,
            hasExited=end.has_exited,
            hasSignal=bool(end.signal),
            terminatedSignal=signal_name(end.signal) if end.signal else "",
            hasCoreDump=end.has_core_dump,
            wasAborted=end.was_aborted,
            exitStatus=end.exit_status,
            resourceUsage=dict(end.usage),
        )

    @staticmethod
    def jobStatus(jobId: str | bytes) -> str:
        """The state of a job, from `JobState`."""
        with raised():
            return const.status_to_string(active.active().state(_text(jobId)))

    def __enter__(self) -> Self:
        self.initialize(self.contactString)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.exit()


def _text(value: str | bytes) -> str:
    return value.decode(const.ENCODING) if isinstance(value, bytes) else str(value)
