"""The page of a rule, for ``--explain`` and for docs/lint, generated from the docstring of its module.

``roost policy rules --pages docs/lint`` writes one page per rule and the index. Headings are fixed: What it finds, Why
it matters, Example, Instead, Correction, Traps. A page is changed by changing the docstring; a test checks that the two
agree.
"""

from __future__ import annotations

import re
import textwrap
from typing import Final

from roost.policy.lint.registry import Rule, all_rules

_PARAGRAPH = re.compile(r"^(What|Why|Fix): (.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^(Example|Instead)::\n\n((?:    .*(?:\n|\Z)|\n)+)", re.MULTILINE)

GROUPS: Final = {
    "0": "Reading",
    "1": "The expression language",
    "2": "Attributes",
    "3": "Units and ranges",
    "4": "What the expressions of a machine do together",
    "5": "The configuration language",
    "6": "Slots, hooks, negotiator, draining",
    "7": "Submit descriptions",
}


def paragraph(rule: Rule, name: str) -> str:
    """A paragraph of the page, on one line; empty if it has none."""
    found = dict(_PARAGRAPH.findall(rule.page))
    return " ".join(found.get(name, "").split())


def block(rule: Rule, name: str) -> str:
    """The text under ``Example`` or ``Instead``."""
    for heading, text in _BLOCK.findall(rule.page):
        if heading == name:
            return textwrap.dedent(text).strip("\n") + "\n"
    return ""


def page(rule: Rule) -> str:
    """The page of a rule, as Markdown."""
    lines = [f"# {rule.code}: {rule.title}", "", f"Severity: {rule.severity}.", ""]
    lines += ["## What it finds", "", *_wrapped(paragraph(rule, "What")), ""]
    lines += ["## Why it matters", "", *_wrapped(paragraph(rule, "Why")), ""]
    lines += ["## Example", "", "```", block(rule, "Example").rstrip("\n"), "```", ""]
    lines += ["## Instead", "", "```", block(rule, "Instead").rstrip("\n"), "```", ""]
    if rule.fixes:
        text = paragraph(rule, "Fix") or "in clear cases the text is corrected as above."
        lines += ["## Correction", "", *_wrapped(f"`--fix`: {text}"), ""]
    traps = ", ".join(rule.traps) if rule.traps else "none"
    lines += ["## Traps", "", f"In the catalogue of traps: {traps}.", ""]
    lines += [
        f"To allow it in one place, write `# roost: allow {rule.code} the reason` on the line above the statement.",
        "",
    ]
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text.replace("``", "`"), 118, break_long_words=False, break_on_hyphens=False)


def index(rules: list[Rule]) -> str:
    """The list of all rules, as Markdown."""
    lines = [
        "# Rules of the policy linter",
        "",
        "`roost policy lint PATH…` reads configuration files and submit descriptions and reports what these rules",
        "find. Errors do not work, or do the opposite of what they say; warnings work in some situations and mislead",
        "in others; notes are worth knowing and often intended, and are shown with `--level note`. RST000 says that a",
        "rule failed, which is a mistake of the linter and not of the configuration. What it does not look for, and",
        "why, is in [not-checked.md](not-checked.md).",
        "",
    ]
    for digit, title in GROUPS.items():
        members = [rule for rule in rules if rule.code[3] == digit]
        if members:
            lines += [f"## {title}", "", "| code | severity | what | corrected by `--fix` |", "|---|---|---|---|"]
            lines += [
                f"| {_link(rule.code)} | {rule.severity} | {_cell(rule.title)} | {'yes' if rule.fixes else ''} |"
                for rule in members
            ]
            lines.append("")
    lines += [
        "## By trap",
        "",
        "Which rules cover an entry of the catalogue of traps.",
        "",
        "| trap | rules |",
        "|---|---|",
    ]
    covered: dict[str, list[str]] = {}
    for rule in rules:
        for trap in rule.traps:
            covered.setdefault(trap, []).append(rule.code)
    for trap in sorted(covered, key=lambda one: (one[0], int(one[1:]))):
        lines.append(f"| {trap} | {', '.join(_link(code) for code in covered[trap])} |")
    return "\n".join([*lines, ""])


def _link(code: str) -> str:
    return f"[{code}]({code}.md)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def pages() -> dict[str, str]:
    """File name to text of all pages."""
    rules = all_rules()
    return {**{f"{rule.code}.md": page(rule) for rule in rules}, "index.md": index(rules)}
