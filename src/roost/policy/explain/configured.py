"""A machine's policy from the configuration: the attributes a slot's ad would get, and where each was set.

A slot's ad holds its policy expressions, so that they can refer to each other (``SUSPEND && WANT_SUSPEND == False``),
and what STARTD_ATTRS names. Nothing is measured here: KeyboardIdle and the like come from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, ParseError, parse_expression
from roost.config import Config, Span
from roost.policy.catalogue import KNOB_POLICIES, VARIANTS
from roost.policy.explain.model import Origin
from roost.policy.model import AdKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """Attributes from the configuration."""

    ad: ClassAd = field(default_factory=ClassAd)
    #: Attribute name to the place where it was set.
    origins: dict[str, Origin] = field(default_factory=dict)
    #: Invalid expressions, in words: name, place and mistake.
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredExpression:
    """An expression from the configuration, macros expanded."""

    expression: Expr
    origin: Origin


def configured_machine(config: Config, *, slot: int | None = None, slot_type: int | None = None) -> Configured:
    """The policy of a slot. Raises ConfigError for a cycle of macros; see `problems` for the rest."""
    made = Configured()
    for name, attribute in _wanted(config, slot, slot_type):
        try:
            found = configured_expression(config, name, subsys="STARTD", slot=slot, slot_type=slot_type)
        except ParseError as error:
            made.problems.append(f"{name}: {error}")
            continue
        if found is not None:
            made.ad[attribute] = found.expression
            made.origins[attribute] = found.origin
    return made


def configured_expression(
    config: Config,
    name: str,
    *,
    subsys: str | None = None,
    slot: int | None = None,
    slot_type: int | None = None,
) -> ConfiguredExpression | None:
    """The expression that a knob holds, or its default; None if there is neither. Raises ParseError, ConfigError."""
    text = config.get(name, subsys=subsys, slot=slot, slot_type=slot_type)
    found = config.find(name, subsys=subsys, slot=slot, slot_type=slot_type)
    if text is None or found is None:
        row = KNOB_POLICIES.get(name.upper())
        if row is None or row.default is None:
            return None
        default = config.expand(row.default, subsys=subsys)
        return ConfiguredExpression(expression=parse_expression(default), origin=Origin(file="<default>"))
    return ConfiguredExpression(expression=parse_expression(text), origin=origin_of(found.span))


def origin_of(span: Span) -> Origin:
    """The place of a definition, and the statements that led to it."""
    return Origin(file=span.user.file, line=span.user.line, via=span.behind())


def _wanted(config: Config, slot: int | None, slot_type: int | None) -> Iterator[tuple[str, str]]:
    """Knobs and the attributes that they set; a later one wins."""
    for name in config.get_list("STARTD_ATTRS", subsys="STARTD", slot=slot, slot_type=slot_type):
        yield name, name
    for row in KNOB_POLICIES.values():
        if row.attribute is None or row.my is not AdKind.MACHINE or row.evaluated_by != "startd":
            continue
        yield row.name, row.attribute
        for suffix in VARIANTS if row.variants else ():
            yield row.name + suffix, row.attribute + suffix


__all__ = ["Configured", "ConfiguredExpression", "configured_expression", "configured_machine", "origin_of"]
