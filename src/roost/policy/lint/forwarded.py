"""Findings of the configuration room, reported under the linter's codes.

Each diagnostic of the configuration reader is a rule module with its own page; this module only turns diagnostics into
hits.
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code, Diagnostic
from roost.policy.lint import mapping
from roost.policy.lint.findings import SourcePlace
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit


def place_of(diagnostic: Diagnostic) -> SourcePlace:
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
