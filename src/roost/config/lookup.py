"""A finished configuration: looking names up, expanding them, and reading them as typed values.

`Config` never changes. Values are expanded on demand, in the context of a daemon (``subsys``), one of its instances
(``localname``), a slot type or a slot, and cached. `get` returns text, or None for an undefined or empty value; typed
accessors fall back to the knob's default then, and raise `ConfigError` for an invalid value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypedDict, TypeVar, Unpack

from roost.base.diagnostics import Diagnostic, Severity, Span
from roost.base.records import dataclass, field
from roost.config.diagnostics import Code, ConfigError, diagnostic
from roost.config.expand import Expander, Found
from roost.config.host import Host
from roost.config.knobs import DEFAULTS, find
from roost.config.limits import Limits
from roost.config.nesting import Nesting
from roost.config.scope import DEFAULT_SPAN, NameScope
from roost.config.table import Definition
from roost.config.values import Reading, ValueProblem, as_boolean, as_expression, as_integer, as_list, as_real

T = TypeVar("T")

#: problems for which `Config.get` raises; any other only leaves a part of the value empty
_FATAL = frozenset({Code.MACRO_CYCLE, Code.EXPANSION_LIMIT})


@dataclass(frozen=True, slots=True)
class Context:
    """The reader of a configuration: its subsystem and local name."""

    subsystem: str
    localname: str | None = None


class Asking(TypedDict, total=False):
    """Keyword arguments for the reader of a configuration; by default the reader for which it was loaded."""

    #: daemon or command
    subsys: str | None
    #: name of the daemon's instance
    localname: str | None
    slot_type: int | None
    slot: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """An immutable configuration."""

    #: case-folded full name to definitions, oldest first
    chains: Mapping[str, tuple[Definition, ...]]
    #: problems found while reading
    log: tuple[Diagnostic, ...]
    #: findings beyond the limit on diagnostics, which were only counted
    dropped: int
    host: Host
    detected: Mapping[str, str]
    subsystem: str
    localname: str | None
    limits: Limits
    #: names of the sources, in the order they were read
    sources: tuple[str, ...]
    #: case-folded name to what it means when nothing defines it
    defaults: Mapping[str, str] = field(default_factory=lambda: DEFAULTS, repr=False, compare=False)
    #: case-folded words of statements other than assignments
    mentioned: frozenset[str] = frozenset()
    #: read as HTCondor reads it: no diagnostics about Roost's own use
    for_htcondor: bool = False
    _scopes: dict[Context, NameScope] = field(default_factory=dict, init=False, repr=False, compare=False)
    _done: dict[Context, dict[str, str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _nestings: dict[Context, Nesting] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings of reading that keep a daemon from starting."""
        return tuple(one for one in self.log if one.severity is Severity.ERROR)

    def last(self, key: str) -> Definition | None:
        """The definition in force for a case-folded full name."""
        chain = self.chains.get(key)
        return chain[-1] if chain else None

    def definitions(self, name: str) -> tuple[Definition, ...]:
        """Every definition of a full name, oldest first; empty when no source defines it."""
        return self.chains.get(name.lower(), ())

    def names(self) -> list[str]:
        """The names that sources define, as first written, sorted without regard to case."""
        return [self.chains[key][0].name for key in sorted(self.chains)]

    def context(self, subsys: str | None = None, localname: str | None = None) -> Context:
        """The context of a lookup; defaults come from the reader for which the configuration was loaded."""
        return Context(subsys or self.subsystem, localname or self.localname)

    def scope(self, context: Context) -> NameScope:
        """How names are found in a context."""
        scope = self._scopes.get(context)
        if scope is None:
            scope = NameScope(
                last=self.last,
                detected=self.detected,
                subsystem=context.subsystem,
                localname=context.localname,
                defaults=self.defaults,
            )
            self._scopes[context] = scope
        return scope

    def expander(self, context: Context, *, recording: bool = False) -> Expander:
        """A new expander for a context; a recording one starts with an empty cache."""
        scope, done = self.scope(context), {} if recording else self._done.setdefault(context, {})
        nesting = self._nestings.setdefault(context, Nesting(scope))
        return Expander(
            scope=scope, host=self.host, limits=self.limits, recording=recording, done=done, nesting=nesting.depth
        )

    def view(self, **asking: Unpack[Asking]) -> View:
        """The configuration as one daemon, instance, slot type or slot sees it."""
        context = self.context(asking.get("subsys"), asking.get("localname"))
        return View(config=self, context=context, slot_type=asking.get("slot_type"), slot=asking.get("slot"))

    def find(self, name: str, **asking: Unpack[Asking]) -> Found | None:
        """The definition or default that a name means in a view, unexpanded."""
        return self.view(**asking).find(name)

    def get(self, name: str, **asking: Unpack[Asking]) -> str | None:
        """The expanded text of a name; None when it is undefined or empty.

        Raises `ConfigError` when macros form a cycle or the text exceeds its limits.
        """
        return self.view(**asking).get(name)

    def expand(self, text: str, *, subsys: str | None = None, localname: str | None = None) -> str:
        """Any text with its references expanded."""
        return self.expanded(Found("", text, Span("<text>")), self.context(subsys, localname), _FATAL)

    def expanded(self, found: Found, context: Context, fatal: frozenset[Code] | None) -> str:
        """The text of ``found`` expanded; raises for problems with a code in ``fatal``, or for any if that is
        None."""
        key = found.name.lower()
        done = self._done.setdefault(context, {})
        if key and key in done:
            return done[key]
        expander = self.expander(context)
        text = expander.expand(found.text, name=found.name or None).strip()
        for problem in expander.problems:
            if fatal is None or problem.code in fatal:
                raise ConfigError(
                    diagnostic(problem.code, f"{found.name}: {problem.message}", found.span, name=found.name)
                )
        if key and not expander.random_used and not expander.problems:
            done[key] = text
        return text

    def get_int(self, name: str, default: int | None = None, **asking: Unpack[Asking]) -> int:
        """A whole number in the knob's range."""
        return self.view(**asking).get_int(name, default)

    def get_float(self, name: str, default: float | None = None, **asking: Unpack[Asking]) -> float:
        """A number in the knob's range."""
        return self.view(**asking).get_float(name, default)

    def get_bool(self, name: str, default: bool | None = None, **asking: Unpack[Asking]) -> bool:
        """A truth value: true, false, t, f, yes, no, a number, or an expression that gives one."""
        return self.view(**asking).get_bool(name, default)

    def get_list(self, name: str, **asking: Unpack[Asking]) -> tuple[str, ...]:
        """The members of a list separated by commas or blanks; empty when nothing is configured."""
        return self.view(**asking).get_list(name)

    def get_expr(self, name: str, **asking: Unpack[Asking]) -> str | None:
        """The text of a well-formed ClassAd expression; None when nothing is configured and there is no
        default."""
        return self.view(**asking).get_expr(name)

    def problem(
        self,
        code: Code,
        name: str,
        message: str,
        *,
        listed_in: str = "",
        subsys: str | None = None,
        remedy: str | None = None,
        severity: Severity | None = None,
    ) -> Diagnostic:
        """An error about the value of a name, at its place; if it is not set, at the place of the list that names
        it."""
        found = self.find(name, subsys=subsys) or (self.find(listed_in, subsys=subsys) if listed_in else None)
        span = DEFAULT_SPAN if found is None else found.span
        return diagnostic(code, f"{name}: {message}", span, name=name, remedy=remedy, severity=severity)

    def slot_numbers(self, pattern: str) -> list[int]:
        """The numbers N for which a name is defined, for a pattern with ``<N>``, for instance
        ``SLOT_TYPE_<N>``."""
        before, _, after = pattern.lower().partition("<n>")
        form = re.compile(re.escape(before) + r"(\d{1,9})" + re.escape(after) + r"\Z")
        return sorted({int(match.group(1)) for key in self.chains if (match := form.match(key.rpartition(".")[2]))})


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A configuration as one reader sees it."""

    config: Config
    context: Context
    #: slot type whose ``SLOT_TYPE_<N>_`` values come first; None for none
    slot_type: int | None = None
    #: slot whose ``SLOT<N>_`` values come first of all; None for none
    slot: int | None = None

    def find(self, name: str) -> Found | None:
        """The definition or default that a name means, unexpanded."""
        scope, key = self.config.scope(self.context), name.lower()
        for prefix, number in (("slot", self.slot), ("slot_type_", self.slot_type)):
            found = None if number is None else scope.find(f"{prefix}{number}_{key}")
            if found is not None and found.text:
                return found
        return scope.find(key)

    def get(self, name: str) -> str | None:
        """The expanded text; None when it is undefined or empty. Raises `ConfigError` for a cycle of macros."""
        found = self.find(name)
        if found is None:
            return None
        if "$" not in found.text:
            return found.text.strip() or None
        return self.config.expanded(found, self.context, _FATAL) or None

    def get_int(self, name: str, default: int | None = None) -> int:
        """A whole number in the knob's range."""
        reading = self._reading(name)
        return _given(name, default) if reading is None else _read(reading, as_integer(reading))

    def get_float(self, name: str, default: float | None = None) -> float:
        """A number in the knob's range."""
        reading = self._reading(name)
        return _given(name, default) if reading is None else _read(reading, as_real(reading))

    def get_bool(self, name: str, default: bool | None = None) -> bool:
        """A truth value."""
        reading = self._reading(name)
        return _given(name, default) if reading is None else _read(reading, as_boolean(reading))

    def get_list(self, name: str) -> tuple[str, ...]:
        """The members of a list; empty when nothing is configured."""
        reading = self._reading(name)
        return () if reading is None else as_list(reading)

    def get_expr(self, name: str) -> str | None:
        """The text of a well-formed ClassAd expression; None when there is none and no default."""
        reading = self._reading(name)
        return None if reading is None else _read(reading, as_expression(reading))

    def _reading(self, name: str) -> Reading | None:
        """A value ready to be read as a type; None when nothing is configured and the knob has no default."""
        knob, found = find(name), self.find(name)
        text = "" if found is None else self.config.expanded(found, self.context, None)
        if found is None or not text:
            if knob is None or knob.default is None:
                return None
            found = Found(knob.name, knob.default, Span("<default>"))
            text = self.config.expander(self.context).expand(knob.default)
        return Reading(name=name, text=text, span=found.span, knob=knob, host=self.config.host)


def _given(name: str, default: T | None) -> T:
    if default is None:
        raise ConfigError(
            diagnostic(Code.MISSING_VALUE, f"{name} is not set and has no default", Span("<default>"), name=name)
        )
    return default


def _read(reading: Reading, result: T | ValueProblem) -> T:
    if isinstance(result, ValueProblem):
        raise ConfigError(diagnostic(result.code, f"{reading.name}: {result.message}", reading.span, name=reading.name))
    return result
