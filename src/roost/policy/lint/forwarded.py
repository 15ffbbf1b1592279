"""Findings of the configuration room, handed on under the linter's codes.

Each rule of the configuration language that the reader itself notices is a rule module with a page of its own; here
is only how a diagnostic becomes a hit.
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code, Diagnostic
from roost.policy.lint import mapping
from roost.policy.lint.findings import Place
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit


def place_of(diagnostic: Diagnostic) -> Place:
    """The place of a diagnostic."""
    return mapping.place_of(diagnostic.span, diagnostic.span.line, diagnostic.span.column)


def forwarded(pool: Pool, *codes: Code) -> Iterator[tuple[Diagnostic, Hit]]:
    """The diagnostics of some codes, as hits."""
    for diagnostic in pool.diagnostics:
        if diagnostic.code in codes and diagnostic.span.file not in ("<default>", "<detected>"):
            yield (
                diagnostic,
                Hit(
                    message=diagnostic.message,
                    remedy=diagnostic.remedy,
                    place=place_of(diagnostic),
                    knob=diagnostic.name,
                    severity=Severity.ERROR if diagnostic.severity is Severity.ERROR else None,
                ),
            )
