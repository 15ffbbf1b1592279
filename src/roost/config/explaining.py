"""Why a name has its value: its chain of definitions and each macro expansion step.

The result is data; the command line and the dashboard render it.
"""

from __future__ import annotations

from typing import Unpack

from roost.base.records import dataclass
from roost.config.expand import Found, Problem, Step
from roost.config.knob import Knob
from roost.config.knobs import find
from roost.config.lookup import Asking, Config
from roost.config.scope import DEFAULT_SPAN
from roost.config.table import Definition, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that led to a value."""

    name: str
    #: daemon in whose view the name was looked up
    subsystem: str
    #: definition or default in force; None when the name is not defined
    found: Found | None
    #: definitions of the name in force, oldest first; the last one counts
    chain: tuple[Definition, ...]
    #: definitions under weaker names that a prefix overrode, strongest first
    overridden: tuple[Definition, ...]
    #: compiled-in default, which the chain overrode
    default: str | None
    steps: tuple[Step, ...]
    problems: tuple[Problem, ...]
    #: expanded value; None when undefined or empty
    value: str | None
    knob: Knob | None

    def to_json(self) -> dict[str, object]:
        """The explanation as a JSON object."""
        return {
            "name": self.name,
            "subsystem": self.subsystem,
            "value": self.value,
            "default": self.default,
            "found_as": self.found.name if self.found else None,
            "text": self.found.text if self.found else None,
            "place": str(self.found.span) if self.found else None,
            "definitions": [one.to_json() for one in self.chain],
            "overridden": [one.to_json() for one in self.overridden],
            "steps": [
                {
                    "depth": step.depth,
                    "reference": step.reference,
                    "name": step.name,
                    "text": step.text,
                    "place": str(step.span) if step.span else None,
                    "result": step.result,
                }
                for step in self.steps
            ],
            "problems": [{"code": str(one.code), "message": one.message} for one in self.problems],
            "meaning": self.knob.meaning if self.knob else None,
        }


def explain(config: Config, name: str, **asking: Unpack[Asking]) -> Explanation:
    """Explain the value of a name in a view. Never raises for any configuration."""
    view = config.view(**asking)
    context, found = view.context, view.find(name)
    chain = config.definitions(found.name) if found else ()
    expander = config.expander(context, recording=True)
    value = expander.expand(found.text, name=found.name).strip() if found else ""
    default = config.defaults.get(name.lower())
    if found is not None and found.span is DEFAULT_SPAN:
        chain = (
            Definition(name=found.name, text=found.text, written=found.text, span=found.span, origin=Origin.DEFAULT),
        )
    return Explanation(
        name=name,
        subsystem=context.subsystem,
        found=found,
        chain=chain,
        overridden=_weaker(config, found),
        default=default,
        steps=tuple(expander.steps),
        problems=tuple(expander.problems),
        value=value or None,
        knob=find(name),
    )


def _weaker(config: Config, found: Found | None) -> tuple[Definition, ...]:
    """Definitions in force of the same name with fewer prefixes."""
    if found is None:
        return ()
    weaker, key = [], found.name.lower()
    while "." in key:
        key = key.partition(".")[2]
        definition = config.last(key)
        if definition is not None:
            weaker.append(definition)
    return tuple(weaker)
