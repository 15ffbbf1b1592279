"""One question that both libraries are asked, and its form on the wire between processes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What is asked about a case's text."""

    #: Parse `text`, print it, evaluate it in `my` against `target`.
    EXPRESSION = "expression"
    #: Read `text` as an ad in new form; print it in all forms, read each again, evaluate every attribute.
    AD = "ad"
    #: Read `text` as ads in old form; print them.
    OLD = "old"
    #: Read `text` as one ad in JSON form; print it.
    JSON = "json"
    #: The external and internal references of the expression `text` in `my`.
    REFERENCES = "references"
    #: Whether `my` matches `target`, and the reverse.
    MATCH = "match"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question."""

    kind: Kind
    text: str = ""
    #: The ad in which `text` is evaluated, new form; None to evaluate without any ad.
    my: str | None = None
    #: The other ad, new form; None for evaluation in one ad.
    target: str | None = None

    def to_wire(self) -> list[str | None]:
        """A JSON value."""
        return [self.kind.value, self.text, self.my, self.target]

    @staticmethod
    def from_wire(wire: list[str | None]) -> Case:
        """The inverse of `to_wire`."""
        kind, text, my, target = wire
        assert kind is not None and text is not None
        return Case(kind=Kind(kind), text=text, my=my, target=target)


#: The answer to a case: named observations, each an exact text. A refused text is `REFUSED`.
Answer = dict[str, str]

#: Observation of a text that the parser does not accept.
REFUSED = "!refused"

#: Observation of a case at which the process of the reference library ends or hangs.
CRASHED = "!crashed"
