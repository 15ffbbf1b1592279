"""The registry of the cell linter's rules.

Codes are stable. The first digit groups: 0 reading, 1 queues and hosts, 2 subordination, 3 resources, 4 the scheduler
and thresholds, 5 quotas, 6 commands, 7 parallel environments, 8 configurations and calendars.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from roost.base.diagnostics import Severity
from roost.base.late import load_modules
from roost.base.records import dataclass
from roost.policy.lint.pages import page
from roost.policy.lint.registry import Rule

if TYPE_CHECKING:
    from roost.gridengine.lint.site import CheckedCell


@dataclass(frozen=True, slots=True, kw_only=True)
class CellHit:
    """What a rule's function yields: a message, a remedy, and the attribute and file concerned."""

    message: str
    remedy: str
    file: str
    attribute: str
    #: which of several lines of the attribute, from 0
    number: int = 0
    #: hits of a rule with the same text here are reported once; empty for hits that are reported individually
    same: str = ""


CellCheck = Callable[["CheckedCell"], Iterable[CellHit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRule:
    """One rule."""

    code: str
    severity: Severity
    #: entries of the catalogue of traps
    traps: tuple[str, ...]
    #: the docstring of its module
    text: str
    check: CellCheck

    @property
    def title(self) -> str:
        """The first line of the page, without its full stop."""
        return self.text.partition("\n")[0].rstrip(".")

    def as_rule(self) -> Rule:
        """The rule as one of the policy linter, whose pages it shares."""
        return Rule(code=self.code, severity=self.severity, traps=self.traps, page=self.text, fixes=False)


GROUPS: Final = {
    "0": "Reading",
    "1": "Queues and hosts",
    "2": "Subordination",
    "3": "Resources",
    "4": "Scheduler and thresholds",
    "5": "Quotas",
    "6": "Commands",
    "7": "Parallel environments",
    "8": "Configurations and calendars",
}
_RULES: Final[dict[str, CellRule]] = {}


def cell_rule(code: str, severity: Severity, *traps: str) -> Callable[[CellCheck], CellCheck]:
    """Register a function that is called for a cell."""

    def register(check: CellCheck) -> CellCheck:
        assert code not in _RULES, code
        text = (sys.modules[check.__module__].__doc__ or "").strip()
        _RULES[code] = CellRule(code=code, severity=severity, traps=traps, text=text, check=check)
        return check

    return register


def all_rules() -> list[CellRule]:
    """Every rule, by code."""
    from roost.gridengine.lint import rules

    load_modules(rules)
    return [_RULES[code] for code in sorted(_RULES)]


def pages() -> dict[str, str]:
    """Path below docs/ to text: a page for each rule, and the index."""
    rules = all_rules()
    lines = [
        "# Rules for cells",
        "",
        "`roost cell check DIR` reads the configuration of a Grid Engine cell and reports what these rules find.",
        "Errors do not work, or do the opposite of what they say; warnings work in some situations and mislead in",
        "others; notes are worth knowing and often intended, and are shown with `--level note`.",
        "",
    ]
    for digit, title in GROUPS.items():
        members = [rule for rule in rules if rule.code[3] == digit]
        if members:
            lines += [f"## {title}", "", "| code | severity | what | traps |", "|---|---|---|---|"]
            lines += [
                f"| [{rule.code}]({rule.code}.md) | {rule.severity} | {rule.title} | {', '.join(rule.traps)} |"
                for rule in members
            ]
            lines.append("")
    return {
        **{f"lint/cell/{rule.code}.md": page(rule.as_rule()) for rule in rules},
        "lint/cell/index.md": "\n".join(lines),
    }
