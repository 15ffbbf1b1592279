"""The base of all events of a user's event log, and wording that many of them share.

An event has neither time nor job: the writer adds both. `lines` yields its text, first its part of the header line,
then its body; `read` parses it; `attributes` are those of its ad, for the JSON form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Self

from roost.classad import ClassAd, Value
from roost.schedd.event_log.parts import Lines, LogFormatError, one_line

#: The indent of note lines.
NOTE: Final = "    "


def text_of(ad: ClassAd, name: str) -> str:
    """A string attribute of a job; "" for any other value."""
    value = ad.eval(name)
    return value if isinstance(value, str) else ""


def whole_of(ad: ClassAd, name: str) -> int:
    """A number attribute of a job; 0 for any other value."""
    value = ad.eval(name)
    return int(value) if isinstance(value, int | float) and abs(value) < 2**62 else 0


def after(head: str, words: str) -> str:
    """The text after fixed words. Raises `LogFormatError` if they are missing."""
    if not head.startswith(words):
        raise LogFormatError(f"{head!r} does not begin with {words!r}")
    return head[len(words) :]


def given(**attributes: Value) -> dict[str, Value]:
    """The attributes that are not empty strings."""
    return {name: value for name, value in attributes.items() if value != ""}


#: The event classes that the modules of this folder define, by number.
KINDS: Final[dict[int, type[Event]]] = {}


class Event:
    """What every event has."""

    __slots__ = ()

    #: Its number in the log.
    NUMBER: ClassVar[int]
    #: Its name in ads.
    NAME: ClassVar[str]

    def __init_subclass__(cls) -> None:
        number = cls.__dict__.get("NUMBER", -1)
        if number >= 0:
            KINDS[number] = cls

    def lines(self) -> Iterator[str]:
        """The header's words, then the lines of the body."""
        raise NotImplementedError

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        """Parse the event from a text. Raises `LogFormatError`."""
        raise NotImplementedError

    def attributes(self) -> dict[str, Value]:
        """As the attributes of an event's ad, the common ones left out."""
        raise NotImplementedError


class FixedWords(Event):
    """An event that consists of fixed words only."""

    __slots__ = ()
    WORDS: ClassVar[str]

    def lines(self) -> Iterator[str]:
        yield self.WORDS

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls()

    def attributes(self) -> dict[str, Value]:
        return {}


class WithReason(Event):
    """An event of fixed words whose body is an optional reason."""

    __slots__ = ()
    WORDS: ClassVar[str]

    reason: str

    def lines(self) -> Iterator[str]:
        yield self.WORDS
        if self.reason:
            yield f"\t{one_line(self.reason)}"

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        return cls(reason=lines.take())  # type: ignore[call-arg]

    def attributes(self) -> dict[str, Value]:
        return given(Reason=self.reason)


class SubmissionEvent(Event):
    """An event that says from where something was submitted, with notes of its user."""

    __slots__ = ()
    WORDS: ClassVar[str]

    host: str
    log_notes: str
    user_notes: str

    def lines(self) -> Iterator[str]:
        yield f"{self.WORDS} submitted from host: {self.host}"
        # As in HTCondor: without log notes, readers take the user notes for log notes.
        if self.log_notes:
            yield NOTE + one_line(self.log_notes)
        if self.user_notes:
            yield NOTE + one_line(self.user_notes)

    @classmethod
    def read(cls, head: str, lines: Lines) -> Self:
        host = after(head, f"{cls.WORDS} submitted from host: ")
        return cls(host=host, log_notes=lines.take(), user_notes=lines.take())  # type: ignore[call-arg]

    def attributes(self) -> dict[str, Value]:
        return given(SubmitHost=self.host, LogNotes=self.log_notes, UserNotes=self.user_notes)
