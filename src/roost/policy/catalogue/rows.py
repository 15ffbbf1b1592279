"""The notation for the tables of policy expressions: one call per row, with shared defaults for each daemon."""

from __future__ import annotations

import re

from roost.config.knobs import ALL
from roost.policy.model import AdKind, PolicyExpression, Unit, ValueKind

MANUAL = "manual: policy of execute machines"
MATCHING = "manual: matchmaking and user priorities"
USER_POLICY = "manual: submit language"
STARTER_RFC = "proposal: starter-enforced eviction"
ENFORCEMENT = "pool-wide policy enforcement"
HOOKS = "manual: hooks"

_WORD_BEGINS = re.compile(r"(?<=[a-z])(?=[A-Z])")

#: Rows of knobs by name in capitals.
KNOBS = {row.name.upper(): row for row in ALL}

#: The usual outcomes of a condition that is neither TRUE nor FALSE.
COUNTS_FALSE = "counts as FALSE"
NO_MATCH = "no match"


class ExpressionRows:
    """Makes the rows of one daemon and context."""

    def __init__(self, evaluated_by: str, my: AdKind, target: AdKind, *, set_by: str, source: str) -> None:
        self.evaluated_by = evaluated_by
        self.my = my
        self.target = target
        self.set_by = set_by
        self.source = source

    def __call__(
        self,
        name: str,
        meaning: str | None = None,
        *,
        when: str,
        undefined: str = COUNTS_FALSE,
        error: str | None = None,
        default: str | None = None,
        kind: ValueKind = ValueKind.BOOLEAN,
        unit: Unit = Unit.NONE,
        variants: bool = False,
        attribute: str | None = None,
        submit_command: str | None = None,
        target: AdKind | None = None,
        source: str | None = None,
    ) -> PolicyExpression:
        """One row; ERROR means the same as UNDEFINED unless given.

        The meaning and the default of a knob come from its row in `roost.config.knobs`. A user's expression is an
        attribute of that name, set by the submit command of the same spelling.
        """
        if self.set_by == "user":
            attribute = attribute or name
            submit_command = submit_command or _WORD_BEGINS.sub("_", name).lower()
        if meaning is None:
            knob = KNOBS[name.upper()]
            meaning, default = knob.meaning, knob.default
        return PolicyExpression(
            name=name,
            evaluated_by=self.evaluated_by,
            my=self.my,
            target=self.target if target is None else target,
            kind=kind,
            unit=unit,
            default=default,
            variants=variants,
            attribute=attribute,
            submit_command=submit_command,
            when=when,
            when_undefined=undefined,
            when_error=undefined if error is None else error,
            set_by=self.set_by,
            meaning=meaning,
            source=self.source if source is None else source,
        )
