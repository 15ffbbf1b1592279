"""The policy linter: reads a pool's configuration and reports what does not do what it appears to do.

`lint` is the entry; `Report` holds findings with places, remedies and, where that is safe, corrections. How it works:
`pool` expands and parses every expression, keeping a map back to the text (`mapping`); `inference` finds which types,
units and bounds each part can have (`abstract`, `scope`, `calls`); `simulate` walks the machine's expressions through
a small grid of situations; the modules of `rules` check all of that, each for one kind of mistake.

It runs no daemon, no command and no hook, and knows only what the configuration says about the machines and jobs of a
pool. False alarms count as worse than misses: a rule reports only what is wrong whatever the unknown facts are.
"""

from __future__ import annotations

from roost.base.diagnostics import Severity
from roost.policy.lint.engine import Reader, Report, RuleSelection, lint, lint_text, machine_of
from roost.policy.lint.findings import Edit, Finding, Fix, SourcePlace
from roost.policy.lint.registry import Rule, all_rules

__all__ = [
    "Edit",
    "Finding",
    "Fix",
    "Reader",
    "Report",
    "Rule",
    "RuleSelection",
    "Severity",
    "SourcePlace",
    "all_rules",
    "lint",
    "lint_text",
    "machine_of",
]
