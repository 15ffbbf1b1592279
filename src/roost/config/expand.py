"""Expansion of macro references: values in, final text out, with a record of every step.

`Expander.expand` follows references depth first with the definitions it is given, at the moment it is called,
so a macro always means its last definition. The result of a reference is not scanned again: ``$(DOLLAR)(A)``
stays ``$(A)``. Cycles are detected by the chain of names being expanded and reported with that chain; length,
count and depth of an expansion are limited. A problem never raises: it is added to ``problems`` and the
reference expands to nothing.

Names are looked up through the `Scope` protocol; this module does not know where definitions come from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, assert_never

from roost.base.diagnostics import Span
from roost.base.records import dataclass, field
from roost.config.diagnostics import Code
from roost.config.functions import FunctionFailed, call
from roost.config.host import Host
from roost.config.limits import Limits
from roost.config.references import NAME, Call, Reference, pieces


@dataclass(frozen=True, slots=True)
class Found:
    """The meaning of a name where it is used: the full name it was found under, its raw text and its place."""

    name: str
    text: str
    span: Span


class Scope(Protocol):
    """Finds names as one daemon would."""

    def find(self, name: str) -> Found | None:
        """The definition of a case-folded name, or None when it is not defined at all."""
        ...


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of an expansion, without a place: the caller knows whose value it was."""

    code: Code
    message: str
    #: case-folded names of the macros that refer to each other in a cycle, in the order found; empty for no cycle
    circle: tuple[str, ...] = ()


def circle_message(circle: tuple[str, ...]) -> str:
    """Which macros refer to each other, in words."""
    return f"macros refer to each other in a cycle: {' -> '.join([*circle, circle[0]]).upper()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One reference followed: for explanations."""

    depth: int
    #: the reference as written, for instance ``$(HOUR)``
    reference: str
    #: full name of the definition used; None for functions, defaults and undefined names
    name: str | None
    #: raw text put in its place, before its own references were followed
    text: str
    span: Span | None
    #: the final result of the reference
    result: str


class _LimitReached(Exception):
    pass


@dataclass(slots=True, kw_only=True)
class Expander:
    """Expands texts in one scope; create a new one for each value."""

    scope: Scope
    host: Host
    limits: Limits
    problems: list[Problem] = field(default_factory=list)
    #: steps in the order of reading, filled only when ``recording``
    steps: list[Step] = field(default_factory=list)
    recording: bool = False
    #: whether the result depends on random numbers and must not be cached
    random_used: bool = False
    #: finished values of this scope by case-folded full name; may be shared by all expanders of one scope
    done: dict[str, str] = field(default_factory=dict)
    #: lower bound on the nesting of a text, so that one that is too deep need not be followed; None if unknown
    nesting: Callable[[str], int] | None = None
    _chain: list[str] = field(default_factory=list)
    _count: int = 0
    _depth: int = 0

    def expand(self, text: str, *, name: str | None = None) -> str:
        """The text with all references followed; ``name`` is the macro whose value it is, to detect cycles."""
        if "$" not in text:
            return text
        self._chain = [name.lower()] if name else []
        self._depth = self._count = 0
        try:
            if self.nesting is not None and not self.recording and self.nesting(text) > self.limits.expansion_depth_max:
                raise self._too_deep()
            return self._text(text)
        except _LimitReached as limit:
            self.problem(Code.EXPANSION_LIMIT, str(limit))
            return ""

    def problem(self, code: Code, message: str, circle: tuple[str, ...] = ()) -> None:
        """Record a problem."""
        problem = Problem(code, message, circle)
        if problem not in self.problems[-20:]:
            self.problems.append(problem)

    def _text(self, text: str) -> str:
        if "$" not in text:
            return text
        if self._depth >= self.limits.expansion_depth_max:
            raise self._too_deep()
        self._depth += 1
        parts, length = [], 0
        for piece in pieces(text):
            part = piece if isinstance(piece, str) else self._piece(piece)
            parts.append(part)
            length += len(part)
            if length > self.limits.expansion_chars_max:
                raise _LimitReached(
                    f"the value is longer than expansion_chars_max = {self.limits.expansion_chars_max} characters"
                )
        self._depth -= 1
        return "".join(parts)

    def _too_deep(self) -> _LimitReached:
        return _LimitReached(
            f"references are nested deeper than expansion_depth_max = {self.limits.expansion_depth_max} levels"
        )

    def _piece(self, piece: Reference | Call) -> str:
        match piece:
            case Reference():
                return self._reference(piece)
            case Call():
                return self._call(piece)
            case _ as never:
                assert_never(never)

    def _follow(self) -> None:
        self._count += 1
        if self._count > self.limits.expansion_count_max:
            raise _LimitReached(f"more than expansion_count_max = {self.limits.expansion_count_max} references")

    def _reference(self, piece: Reference) -> str:
        self._follow()
        name = piece.name
        if not NAME.match(name):
            name = self._text(name)
            if name and not NAME.match(name):
                rest = "" if piece.default is None else ":" + self._text(piece.default)
                return f"$({name}{rest})"
        key = name.lower()
        if key == "dollar":
            return "$"
        found = self.scope.find(key) if key else None
        if found is not None and found.text:
            return self._found(piece, found)
        if piece.default is not None:
            return self._stepped(piece.text, None, piece.default, None)
        self._record(piece.text, None, "", found.span if found else None)
        return ""

    def _found(self, piece: Reference, found: Found) -> str:
        key = found.name.lower()
        if "$" not in found.text:
            self._record(piece.text, found.name, found.text, found.span, found.text)
            return found.text
        if key in self._chain:
            circle = tuple(self._chain[self._chain.index(key) :])
            self.problem(Code.MACRO_CYCLE, circle_message(circle), circle)
            return ""
        if key in self.done:
            self._record(piece.text, found.name, found.text, found.span, self.done[key])
            return self.done[key]
        self._chain.append(key)
        random_before, self.random_used = self.random_used, False
        problems_before = len(self.problems)
        result = self._stepped(piece.text, found.name, found.text, found.span)
        if not self.random_used and len(self.problems) == problems_before:
            self.done[key] = result
        self.random_used |= random_before
        self._chain.pop()
        return result

    def _stepped(self, reference: str, name: str | None, text: str, span: Span | None) -> str:
        """Expand ``text``, recording its step before the steps of its own references."""
        index = self._record(reference, name, text, span)
        result = self._text(text)
        if index is not None:
            self.steps[index] = Step(
                depth=self._depth - 1, reference=reference, name=name, text=text, span=span, result=result
            )
        return result

    def _record(self, reference: str, name: str | None, text: str, span: Span | None, result: str = "") -> int | None:
        if not self.recording:
            return None
        self.steps.append(
            Step(depth=self._depth - 1, reference=reference, name=name, text=text, span=span, result=result)
        )
        return len(self.steps) - 1

    def _call(self, piece: Call) -> str:
        self._follow()
        index = self._record(piece.text, None, piece.arguments, None)
        arguments = self._text(piece.arguments)
        try:
            result = call(piece.function, arguments, self.value_of, self)
        except FunctionFailed as failure:
            self.problem(Code.FUNCTION_FAILED, f"{piece.text}: {failure}")
            result = failure.text
        if index is not None:
            self.steps[index] = Step(
                depth=self._depth - 1,
                reference=piece.text,
                name=None,
                text=arguments,
                span=None,
                result=result,
            )
        return result

    def value_of(self, name: str) -> str | None:
        """The expanded value of a macro named in a function's arguments; None when it is not defined."""
        if not NAME.match(name):
            return None
        found = self.scope.find(name.lower())
        if found is None or not found.text:
            return None
        return self._found(Reference(f"$({name})", name, None), found)
