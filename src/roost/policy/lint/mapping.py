"""Macro expansion that records, for every character of the result, the source character that it came from.

`Mapper.expand` follows the same rules as the configuration room's expander (references to the name itself mean the
earlier definition, an empty value counts as undefined, results are not scanned again), but goes through the text as
written, so that a place in an expanded expression maps back to file, line, column, and to the macros on the way.

Results of function macros (`$INT(…)`) have no source text: their characters all map to the call. Cycles and oversized
results give a `Mapped` with `broken` set; the rules then skip the expression.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from roost.base.diagnostics import Span
from roost.base.records import dataclass, field
from roost.config.references import NAME, Call, Reference, pieces
from roost.config.table import Definition, Origin
from roost.policy.lint.findings import SourcePlace

#: Characters an expanded expression may have; longer ones are not checked.
EXPANDED_CHARS_MAX = 200_000
#: Levels of macro references that are followed.
DEPTH_MAX = 60
#: References followed in one expression.
REFERENCES_MAX = 20_000

#: Categories of templates, which precede a colon in the names of their texts.
_CATEGORIES = frozenset(("ROLE", "POLICY", "FEATURE", "SECURITY"))
#: Origins of definitions that are not text of the configuration.
_UNWRITTEN = (Origin.DEFAULT, Origin.DETECTED)

#: All definitions of a name, oldest first; empty if there is none.
Lookup = Callable[[str], tuple[Definition, ...]]


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of expanded text from one contiguous piece of source."""

    #: Offset in the expanded text where it begins.
    start: int
    definition: Definition
    #: Offset in `definition.written` of its first character.
    offset: int
    #: Names of the macros it came through, outermost first; empty for the text of the knob itself.
    through: tuple[str, ...]
    #: The characters do not correspond one to one (result of a function macro).
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """A macro reference met during expansion."""

    name: str
    #: Span of its result in the expanded text.
    start: int
    end: int
    #: The definition whose text holds the reference, and the offset in its written text.
    definition: Definition
    offset: int
    through: tuple[str, ...]
    #: Whether it is undefined and has no default.
    undefined: bool
    #: The definition of the macro; None for defaults and undefined names.
    target: Definition | None


@dataclass(slots=True)
class Mapped:
    """An expanded text with its map."""

    definition: Definition
    text: str = ""
    runs: list[Run] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    #: Why it could not be expanded; None if it could.
    broken: str | None = None

    def run_at(self, offset: int) -> Run:
        """The run that holds the character at `offset` (the last one for the end of the text)."""
        index = bisect_right(self.runs, offset, key=lambda run: run.start) - 1
        return self.runs[max(index, 0)]

    def place(self, start: int, end: int | None = None) -> tuple[SourcePlace, tuple[str, ...]]:
        """Where the characters from `start` were written, and through which macros they came."""
        if not self.runs:
            return whole(self.definition), ()
        run = self.run_at(start)
        if run.definition.origin in _UNWRITTEN:
            use = self._written_use(start)
            if use is not None:
                return place_at(use.definition, use.offset, len(use.name) + 3), use.through
        offset = run.offset + (0 if run.opaque else start - run.start)
        length = 0 if end is None or run.opaque or self.run_at(max(end - 1, start)) is not run else end - start
        return place_at(run.definition, offset, length), run.through

    def _written_use(self, start: int) -> Use | None:
        """The reference in a source text through which a compiled-in text was inserted here."""
        uses = [u for u in self.uses if u.start <= start < u.end and u.definition.origin not in _UNWRITTEN]
        return min(uses, key=lambda use: use.end - use.start) if uses else None

    def written(self, start: int, end: int) -> tuple[Definition, int] | None:
        """The definition and the offset in its written text of a span that was written there literally."""
        run = self.run_at(start) if self.runs else None
        if run is None or run.opaque or self.run_at(max(end - 1, start)) is not run:
            return None
        offset = run.offset + start - run.start
        segments = run.definition.segments
        first = bisect_right(segments, offset, key=lambda s: s[0])
        last = bisect_right(segments, offset + max(end - 1 - start, 0), key=lambda s: s[0])
        return (run.definition, offset) if segments and first == last else None


def is_template(file: str) -> bool:
    """Whether a source is a template and not a file."""
    return file.partition(":")[0] in _CATEGORIES


def place_of(span: Span, line: int, column: int, length: int = 0) -> SourcePlace:
    """A place in the source of a span; for a template's text, the statement in a file that uses it."""
    outer = span.via
    if outer is None or not is_template(span.file):
        return SourcePlace(span.file, line, column, length, "" if outer is None else outer.chain())
    inside = f"{span.file}:{line}:{column}"
    while outer.via is not None and is_template(outer.file):
        inside += f", used at {outer}"
        outer = outer.via
    return SourcePlace(outer.file, outer.line, outer.column, 0, "" if outer.via is None else outer.via.chain(), inside)


def place_at(definition: Definition, offset: int, length: int = 0) -> SourcePlace:
    """The place of a character of a definition's written text."""
    return place_of(definition.span, *position(definition, offset), length)


def position(definition: Definition, offset: int) -> tuple[int, int]:
    """Line and column of a character of a definition's written text."""
    if not definition.segments:
        return definition.span.line, definition.span.column
    index = bisect_right(definition.segments, offset, key=lambda segment: segment[0]) - 1
    start, line, column = definition.segments[max(index, 0)]
    return line, column + max(offset - start, 0)


def whole(definition: Definition) -> SourcePlace:
    """The place of the definition's name."""
    span = definition.span
    return place_of(span, span.line, span.column, len(definition.name))


class _Stop(Exception):
    pass


class Mapper:
    """Expands definitions as one daemon would see them."""

    def __init__(self, lookup: Lookup, call: Callable[[str], str]) -> None:
        self.lookup = lookup
        #: Evaluates a function macro's text.
        self.call = call

    def expand(self, definition: Definition) -> Mapped:
        """The value of a definition with all references followed."""
        mapped = Mapped(definition)
        job = _Expansion(self, mapped)
        try:
            job.definition(definition, ())
        except _Stop as stop:
            mapped.broken = str(stop)
        mapped.text = "".join(job.parts)
        return mapped


class _Expansion:
    """The state of one expansion."""

    def __init__(self, mapper: Mapper, mapped: Mapped) -> None:
        self.mapper = mapper
        self.mapped = mapped
        self.parts: list[str] = []
        self.length = 0
        self.followed = 0
        #: Definitions being expanded.
        self.open: list[Definition] = []

    def definition(self, definition: Definition, through: tuple[str, ...]) -> None:
        """Append the expansion of a definition."""
        if definition in self.open:
            raise _Stop(f"{definition.name} refers to itself through other macros")
        if len(self.open) > DEPTH_MAX:
            raise _Stop(f"references are nested deeper than {DEPTH_MAX} levels")
        self.open.append(definition)
        if definition.appended:
            earlier = self._earlier(definition)
            if earlier is not None:
                self.definition(earlier, through)
                self._append(" ", definition, 0, through, opaque=True)
        self._text(definition.written, definition, 0, through)
        self.open.pop()

    def _text(self, text: str, owner: Definition, offset: int, through: tuple[str, ...]) -> None:
        for piece in pieces(text):
            if isinstance(piece, str):
                self._append(piece, owner, offset, through)
                offset += len(piece)
                continue
            if isinstance(piece, Call):
                self._append(self.mapper.call(piece.text), owner, offset, through, opaque=True)
            else:
                self._reference(piece, owner, offset, through)
            offset += len(piece.text)

    def _append(
        self, text: str, owner: Definition, offset: int, through: tuple[str, ...], *, opaque: bool = False
    ) -> None:
        if not text:
            return
        self.mapped.runs.append(Run(self.length, owner, offset, through, opaque))
        self.parts.append(text)
        self.length += len(text)
        if self.length > EXPANDED_CHARS_MAX:
            raise _Stop(f"the value is longer than {EXPANDED_CHARS_MAX} characters")

    def _reference(self, piece: Reference, owner: Definition, offset: int, through: tuple[str, ...]) -> None:
        self.followed += 1
        if self.followed > REFERENCES_MAX:
            raise _Stop(f"more than {REFERENCES_MAX} references")
        name = piece.name
        if not NAME.match(name):
            # A name composed by macros.
            self._append(self.mapper.call(piece.text), owner, offset, through, opaque=True)
            return
        if name.lower() == "dollar":
            self._append("$", owner, offset, through, opaque=True)
            return
        start = self.length
        target = self._target(name, owner)
        found = target is not None and bool(target.written or target.appended)
        if found:
            assert target is not None
            self.definition(target, (*through, name))
        elif piece.default is not None:
            self._text(piece.default, owner, offset + len(piece.text) - 1 - len(piece.default), through)
        self.mapped.uses.append(
            Use(
                name,
                start,
                self.length,
                owner,
                offset,
                through,
                undefined=target is None and piece.default is None,
                target=target if found else None,
            )
        )

    def _target(self, name: str, owner: Definition) -> Definition | None:
        if name.lower() in (owner.name.lower(), owner.name.lower().rpartition(".")[2]):
            earlier = self._earlier(owner)
            if earlier is not None or owner in self.mapper.lookup(owner.name):
                return earlier
        chain = self.mapper.lookup(name)
        return chain[-1] if chain else None

    def _earlier(self, definition: Definition) -> Definition | None:
        """The definition that this one replaced."""
        chain = self.mapper.lookup(definition.name)
        for index, one in enumerate(chain):
            if one is definition:
                return chain[index - 1] if index else None
        return None
