"""A configuration for the rules: all its expressions, expanded, parsed and inferred, with their maps.

`Pool` is made from a `Config`. Its expressions are the policy expressions, the other knobs whose values are
expressions, and the attributes that the configuration publishes in ads. Macros are checked through the expressions that
use them. Compiled-in defaults are known but not checked themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from roost.base.records import dataclass, field
from roost.classad.ad import ClassAd
from roost.classad.errors import ParseError
from roost.classad.expr import Expr, parse_expression
from roost.classad.lexer import Syntax
from roost.classad.values import fold
from roost.config import Config, ConfigError, Definition, Diagnostic, KnobType, Origin, Span, check
from roost.config.knobs import SUBSYSTEMS
from roost.config.knobs import find as find_knob
from roost.config.references import names_in
from roost.policy.catalogue import KNOB_POLICIES, VARIANTS
from roost.policy.lint.abstract import ANYTHING, PLAIN, Abstract, Types
from roost.policy.lint.expression import Expression
from roost.policy.lint.findings import SourcePlace
from roost.policy.lint.inference import Inference
from roost.policy.lint.mapping import Mapped, Mapper, whole
from roost.policy.lint.scope import FOREIGN, Scope, row_of
from roost.policy.model import AdKind, PolicyExpression

#: Lists whose members are published, and the ads they are published in.
PUBLISHING: dict[str, AdKind] = {
    "startd_attrs": AdKind.MACHINE,
    "startd_exprs": AdKind.MACHINE,
    "startd_latch_exprs": AdKind.MACHINE,
    "submit_attrs": AdKind.JOB,
    "submit_exprs": AdKind.JOB,
    "system_submit_attrs": AdKind.JOB,
    "schedd_attrs": AdKind.SCHEDD,
    "schedd_exprs": AdKind.SCHEDD,
    "negotiator_attrs": AdKind.NEGOTIATOR,
}
_SLOT_TYPE = re.compile(r"slot_type_(\d+)_(.+)\Z")
_SLOT = re.compile(r"(?:slot|vm)(\d+)_(.+)\Z")
#: Knobs whose value may be an expression but is usually a plain list.
_OFTEN_PLAIN = frozenset(("mount_under_scratch",))
_SEPARATOR = re.compile(r"[,\s]+")
_DAEMON = {"startd": "STARTD", "schedd": "SCHEDD", "negotiator": "NEGOTIATOR", "starter": "STARTER", "defrag": "DEFRAG"}


@dataclass(eq=False, slots=False, kw_only=True)
class Pool:
    """A configuration and its expressions."""

    config: Config
    #: The findings of the configuration room.
    diagnostics: list[Diagnostic]
    expressions: list[Expression] = field(default_factory=list)
    #: Example ads that the user gave for each side.
    given: Mapping[AdKind, ClassAd] = field(default_factory=dict)
    #: Folded names published in ads of a side, and what they can be.
    published: dict[AdKind, dict[str, Callable[[], Abstract]]] = field(default_factory=dict)
    _mappers: dict[str, Mapper] = field(default_factory=dict)
    _by_key: dict[str, Expression] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    # -- looking up ------------------------------------------------------------------------------

    def last(self, name: str) -> Definition | None:
        """The definition in force of a full name that a source made."""
        return self.config.last(name.lower())

    def value(self, name: str, daemon: str = "STARTD") -> str | None:
        """The expanded text of a knob, or its default; None if it has none or cannot be expanded."""
        try:
            return self.config.get(name, subsys=daemon)
        except ConfigError:
            return None

    def number(self, name: str, daemon: str = "STARTD") -> float | None:
        """The value of a knob that is a constant number."""
        text = self.value(name, daemon)
        return None if text is None else constant_number(text)

    def condition(self, name: str, daemon: str = "STARTD") -> bool | None:
        """The value of a knob that is a constant condition."""
        text = self.value(name, daemon)
        if text is None:
            return None
        word = text.strip().strip("()").strip().lower()
        if word in ("true", "t", "yes", "1"):
            return True
        return False if word in ("false", "f", "no", "0") else None

    def is_set(self, name: str) -> bool:
        """Whether a source sets a knob, for any daemon, to something."""
        found = [self.last(name), *(self.last(f"{daemon}.{name}") for daemon in _DAEMON)]
        return any(one is not None and one.text for one in found)

    def expression(self, name: str, slot_type: int | None = None) -> Expression | None:
        """The expression in force for a policy knob, if a source sets it."""
        if slot_type is not None:
            typed = self._by_key.get(f"slot_type_{slot_type}_{name.lower()}")
            if typed is not None:
                return typed
        return self._by_key.get(f"startd.{name.lower()}") or self._by_key.get(name.lower())

    def members(self, name: str) -> list[str]:
        """The members of a list of names."""
        text = self.value(name) or ""
        return [member for member in _SEPARATOR.split(text) if member]

    def mapper(self, daemon: str) -> Mapper:
        """Expands as a daemon would."""
        found = self._mappers.get(daemon)
        if found is None:
            found = Mapper(lambda name: self._chain(name, daemon), lambda text: self._called(text, daemon))
            self._mappers[daemon] = found
        return found

    def _called(self, text: str, daemon: str) -> str:
        try:
            return self.config.expand(text, subsys=daemon)
        except ConfigError:
            return ""

    def _chain(self, name: str, daemon: str) -> tuple[Definition, ...]:
        key = name.lower()
        for full in (f"{daemon.lower()}.{key}", key):
            own = self.config.chains.get(full, ())
            if own:
                before = self._chain(full.partition(".")[2], daemon)[-1:] if "." in full else self._default(key, daemon)
                return (*before, *own)
        return self._default(key, daemon)

    def _default(self, key: str, daemon: str) -> tuple[Definition, ...]:
        found = self.config.scope(self.config.context(daemon)).fallback(key)
        if found is None:
            return ()
        cached = self._defaults.get((key, daemon))
        if cached is None:
            cached = Definition(
                name=found.name, text=found.text, written=found.text, span=found.span, origin=Origin.DEFAULT
            )
            self._defaults[key, daemon] = cached
        return (cached,)

    @cached_property
    def _defaults(self) -> dict[tuple[str, str], Definition]:
        return {}

    def user_definitions(self) -> Iterator[tuple[str, tuple[Definition, ...]]]:
        """Every name that a file defines, with its definitions."""
        for key, chain in self.config.chains.items():
            if any(one.origin is Origin.FILE for one in chain):
                yield key, chain

    def place(self, definition: Definition) -> SourcePlace:
        """The place of a definition's name."""
        return whole(definition)

    def is_assumed(self, name: str) -> bool:
        """Whether the value of a knob comes from assumed properties of the machine."""
        definition = self.last(name)
        return (
            self.config.detected.get("assumed") == "yes"
            and definition is not None
            and any(reference.startswith("detected_") for reference in names_in(definition.text))
        )

    @property
    def machine_words(self) -> str:
        """The properties of the machine for which the configuration is read."""
        found = self.config.detected
        return f"{found.get('detected_cpus', '?')} cores and {found.get('detected_memory', '?')} MB of memory"

    @cached_property
    def slot_types(self) -> list[int]:
        """Slot types that have a policy expression of their own."""
        return sorted({e.slot_type for e in self.expressions if e.slot_type is not None and e.policy is not None})

    # -- building --------------------------------------------------------------------------------

    def scope(self, my: AdKind, target: AdKind) -> Scope:
        """The meaning of names with MY of one side and TARGET of the other."""
        return Scope(my=my, target=target, published=self.published)

    def build(self) -> None:
        """Find, expand and parse every expression."""
        listed = self._published_names()
        for key, chain in self.config.chains.items():
            definition = chain[-1]
            if definition.text:
                self._add(key, definition, listed)

    def _published_names(self) -> dict[str, AdKind]:
        listed: dict[str, AdKind] = {}
        for key in self.config.chains:
            base = _plain(key)
            match = _SLOT.match(base) or _SLOT_TYPE.match(base)
            side = PUBLISHING.get(match.group(2) if match else base)
            if side is not None:
                for member in self.members(key):
                    listed.setdefault(member.lower(), side)
                    self.published.setdefault(side, {}).setdefault(fold(member), self._foreign)
        if any(_plain(key) == "cpubusy" for key in self.config.chains):
            # If CpuBusy is configured, the daemon always publishes these.
            machine = self.published.setdefault(AdKind.MACHINE, {})
            machine["cpuisbusy"] = lambda: Abstract(Types.BOOLEAN)
        for member in self.members("startd_job_attrs"):
            self.published.setdefault(AdKind.MACHINE, {}).setdefault(fold(member), self._foreign)
        return listed

    @staticmethod
    def _foreign() -> Abstract:
        return FOREIGN

    def _add(self, key: str, definition: Definition, listed: dict[str, AdKind]) -> None:
        base, slot_type, slot = _plain(key), None, None
        typed = _SLOT_TYPE.match(base)
        if typed is not None and (_policy(typed.group(2)) or typed.group(2) in listed):
            slot_type, base = int(typed.group(1)), typed.group(2)
        slotted = _SLOT.match(base)
        if slotted is not None and slotted.group(2) in listed:
            slot, base = int(slotted.group(1)), slotted.group(2)
        policy = _policy(base)
        side = listed.get(base)
        knob = find_knob(key)
        if policy is not None:
            scope, daemon = self.scope(policy.my, policy.target), _DAEMON.get(policy.evaluated_by, "TOOL")
        elif side is not None:
            scope = self.scope(side, AdKind.JOB if side is AdKind.MACHINE else AdKind.NONE)
            daemon = "STARTD" if side is AdKind.MACHINE else "SCHEDD"
        elif knob is not None and knob.type is KnobType.EXPRESSION and base not in _OFTEN_PLAIN:
            scope, daemon = self.scope(AdKind.NONE, AdKind.NONE), knob.subsystem
        else:
            return
        prefix = key.partition(".")[0]
        if "." in key and prefix in SUBSYSTEMS:
            daemon = prefix.upper()
        mapped = self.mapper(daemon).expand(definition)
        expr, problem = _parsed(mapped)
        expression = Expression(
            knob=definition.name,
            base=base,
            policy=policy,
            attribute=side is not None,
            slot_type=slot_type,
            definition=definition,
            mapped=mapped,
            scope=scope,
            expr=expr,
            problem=problem,
            slot=slot,
        )
        self.expressions.append(expression)
        self._by_key[key] = expression
        if side is not None and policy is None and key == base:
            self.published[side][fold(base)] = lambda: self._value_of(expression)

    def _value_of(self, expression: Expression) -> Abstract:
        """The possible values of a published attribute; anything, while that is being inferred."""
        if expression.tree is None or expression.knob in self._open:
            return ANYTHING
        self._open.add(expression.knob)
        result = expression.alone.of(expression.tree)
        self._open.discard(expression.knob)
        # Slots and machines may set it to something else of that kind.
        types = result.types
        if types & Types.BOOLEAN:
            types |= Types.BOOLEAN
        return Abstract(types, unit=result.unit if result.unit != PLAIN else None)


def _plain(key: str) -> str:
    """A full name without its daemon prefix."""
    prefix, dot, rest = key.partition(".")
    return rest if dot and prefix in SUBSYSTEMS else key


def _policy(base: str) -> PolicyExpression | None:
    name = base.upper()
    if name in KNOB_POLICIES:
        return KNOB_POLICIES[name]
    for suffix in VARIANTS:
        row = KNOB_POLICIES.get(name.removesuffix(suffix)) if name.endswith(suffix) else None
        if row is not None and row.variants:
            return row
    return None


def _parsed(mapped: Mapped) -> tuple[Expr | None, ParseError | None]:
    if mapped.broken is not None or not mapped.text.strip():
        return None, None
    try:
        return parse_expression(mapped.text, Syntax.OLD), None
    except ParseError as problem:
        return None, problem


def constant_number(text: str) -> float | None:
    """The value of a text without names as a number; None if it is not such a text."""
    try:
        tree = parse_expression(text).tree
    except ParseError:
        return None
    result = Inference(Scope(my=AdKind.NONE, target=AdKind.NONE, published={})).run(tree)
    return result.single if result.constant else None


def pool_of(config: Config, given: Mapping[AdKind, ClassAd] | None = None) -> Pool:
    """The rules' view of a configuration; the attributes of the ads in `given` count as known."""
    pool = Pool(config=config, diagnostics=check(config), given=given or {})
    for side, ad in pool.given.items():
        for name in ad:
            if row_of(name, side) is None:
                pool.published.setdefault(side, {})[fold(name)] = pool._foreign
    pool.build()
    return pool


__all__ = ["PUBLISHING", "Expression", "Pool", "Span", "constant_number", "pool_of"]
