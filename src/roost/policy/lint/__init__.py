"""The policy linter: reads a pool's configuration and says what will not do what it seems to say.

`lint` is the entry; `Report` holds findings with places, remedies and, where that is safe, corrections. How it works:
`pool` expands and parses every expression, keeping a map back to the text (`mapping`); `inference` finds which types,
units and bounds each part can have (`abstract`, `scope`, `calls`); `simulate` walks the machine's expressions through
a small grid of situations; the modules of `rules` look at all of that, each for one kind of mistake.

It runs no daemon, no command and no hook, and knows nothing of the machines and jobs of a pool but what the
configuration says. False alarms count as worse than misses: a rule reports what is wrong under every reading of what
it does not know.
"""

from __future__ import annotations

from roost.base.diagnostics import Severity
from roost.policy.lint.engine import Choice, Reader, Report, lint, lint_text, machine_of
from roost.policy.lint.findings import Edit, Finding, Fix, Place
from roost.policy.lint.registry import Rule, all_rules

__all__ = [
    "Choice",
    "Edit",
    "Finding",
    "Fix",
    "Place",
    "Reader",
    "Report",
    "Rule",
    "Severity",
    "all_rules",
    "lint",
    "lint_text",
    "machine_of",
]
