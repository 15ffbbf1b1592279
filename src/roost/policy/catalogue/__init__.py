"""The catalogue of policy expressions: all expressions by which users and administrators control decisions.

`POLICIES` maps a name in capitals to its row: which daemon evaluates it and when, which ads are MY and
TARGET, its default, its unit, whether it has variants for vanilla and virtual-machine jobs, the effect of UNDEFINED or
ERROR, and who may set it. `USER_POLICIES` has those that users write in submit descriptions; if a knob and a job
attribute share a name (RANK, MAXJOBRETIREMENTTIME), `POLICIES` has the knob. `FAMILIES` has knobs whose names the
administrator completes, such as SYSTEM_PERIODIC_HOLD_<NAME>.

The rows are in the modules next to this one. Templates, the linter and the documentation read the same rows.
"""

from __future__ import annotations

import re
from typing import Final

from roost.policy.catalogue import machine, pool, queue
from roost.policy.model import PolicyExpression

#: Suffixes of the variants for jobs of one universe, and the number of that universe.
VARIANTS: Final[dict[str, int]] = {"_VANILLA": 5, "_VM": 13}

_ROWS: Final = (*machine.TABLE, *queue.TABLE, *pool.TABLE)

#: Rows that are knobs of the configuration, by name in capitals.
KNOB_POLICIES: Final = {row.name.upper(): row for row in _ROWS if row.submit_command is None}

#: Rows that users set in a submit description, by the job attribute's name in capitals.
USER_POLICIES: Final = {row.name.upper(): row for row in _ROWS if row.submit_command is not None}

#: All rows by name in capitals; a knob comes before the job attribute of the same name.
POLICIES: Final[dict[str, PolicyExpression]] = {**USER_POLICIES, **KNOB_POLICIES}


#: Rows that stand for families of knobs: the name has a part in angle brackets. The first match counts.
FAMILIES: Final[tuple[PolicyExpression, ...]] = (*queue.SYSTEM_NAMED, *machine.NAMED)


def _pattern(name: str) -> re.Pattern[str]:
    before, _, after = name.upper().partition("<NAME>")
    # A name that ends in _NAMES is the list of the members.
    return re.compile(f"{before}(?!NAMES\\Z)[A-Z0-9_]+{after}\\Z")


_PATTERNS: Final = tuple((_pattern(row.name), row) for row in FAMILIES)


def policy_named(name: str) -> PolicyExpression | None:
    """The row of a name, of a variant's name or of a member of a family, or of the attribute that holds the
    expression; None if unknown."""
    key = name.upper()
    if key in POLICIES:
        return POLICIES[key]
    for suffix in VARIANTS:
        base = POLICIES.get(key.removesuffix(suffix))
        if key.endswith(suffix) and base is not None and base.variants:
            return base
    found = _BY_ATTRIBUTE.get(key)
    return found or next((row for pattern, row in _PATTERNS if pattern.match(key)), None)


_BY_ATTRIBUTE: Final = {row.attribute.upper(): row for row in reversed(_ROWS) if row.attribute is not None}

__all__ = ["FAMILIES", "KNOB_POLICIES", "POLICIES", "USER_POLICIES", "VARIANTS", "policy_named"]
