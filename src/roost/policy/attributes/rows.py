"""The notation for the tables of attributes: one short call per row.

Each module next to this one holds the attributes of one kind of ad. A name in angle brackets stands for a word
or a number: ``slot<N>_<Name>`` is a family of attributes.
"""

from __future__ import annotations

from roost.policy.model import AdKind, Attribute, Unit, ValueKind

#: Sources of facts, as named in the documentation.
MANUAL = "manual: policy of execute machines"
ADS = "manual: ClassAd attributes"
MATCHING = "manual: matchmaking and user priorities"
STARTER_RFC = "proposal: starter-enforced eviction"
HOOKS = "manual: hooks"
OWN = "Roost"


class AttributeRows:
    """Makes the rows of one side."""

    def __init__(self, side: AdKind, source: str = ADS) -> None:
        self.side = side
        self.source = source

    def __call__(
        self,
        name: str,
        kind: ValueKind,
        meaning: str,
        unit: Unit = Unit.NONE,
        *,
        low: float | None = None,
        high: float | None = None,
        choices: tuple[str, ...] = (),
        always: bool = False,
        varies: bool = False,
        when: str = "",
        replaced_by: str | None = None,
        source: str | None = None,
    ) -> Attribute:
        """One row; `low` of counts, sizes and durations is 0 unless given."""
        if low is None and unit in _NEVER_NEGATIVE:
            low = 0
        return Attribute(
            name=name,
            side=self.side,
            kind=kind,
            unit=unit,
            low=low,
            high=high,
            choices=choices,
            always=always,
            varies=varies,
            when=when,
            replaced_by=replaced_by,
            meaning=meaning,
            source=self.source if source is None else source,
        )


_NEVER_NEGATIVE = frozenset(unit for unit in Unit if unit not in (Unit.NONE, Unit.PERCENT))
