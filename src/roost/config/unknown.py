"""Names that nothing reads: those of no knob, to which no other value and no statement refers.

Such a name is a macro that nothing uses, a knob of another program, or a mistake too large to guess what was meant.
How seriously it is taken depends on what the name promises: an error for one that would deny or limit something to
users, a warning for other limits and for logs of daemons that do not exist, a note for the rest. Names that are not
written like knobs are left alone: old configurations define many macros that only some of them use.
"""

from __future__ import annotations

import re
from typing import Final

from roost.base.diagnostics import Diagnostic, Severity
from roost.config.diagnostics import Code, diagnostic
from roost.config.subsystems import LEVELS, SUBSYSTEMS
from roost.config.table import Definition

#: How names begin that limit what users may do, in lower case.
_LIMITING: Final = re.compile(rf"deny_|max_jobs_|sec_|allow_(?:{'|'.join(LEVELS)})_|allow_(?:{'|'.join(SUBSYSTEMS)})\Z")
#: Names of the logs of daemons, in lower case.
_OF_DAEMON: Final = re.compile(r"(?:max_num_|max_)?(\w+)_(?:log|debug)\Z")
_LIKE_A_KNOB: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")


def unknown_name(definition: Definition, base: str, mentioned: frozenset[str]) -> list[Diagnostic]:
    """What to say of a definition whose name is not known.

    `base`: the name in lower case, without the prefix of a daemon. `mentioned`: what the configuration refers to.
    """
    name, key = definition.name, definition.name.lower()
    if definition.span.is_template:
        return []
    kind, daemon = _LIMITING.match(base), _OF_DAEMON.match(base)
    if kind is not None:
        why, remedy = _of_limit(base, kind[0])
        return [_without_effect(definition, why, Severity.ERROR, remedy)]
    if key in mentioned or base in mentioned or any(word.endswith(f".{base}") for word in mentioned):
        return []
    if daemon is not None:
        why = f"{daemon[1].upper()} is not a daemon of Roost or HTCondor"
        return [_without_effect(definition, why, Severity.WARNING)]
    if _LIKE_A_KNOB.match(name.rpartition(".")[2]) is None:
        return []
    why = "Roost has no knob of that name, and nothing else refers to it"
    return [_without_effect(definition, why, severity_of(base))]


def severity_of(base: str) -> Severity:
    """The severity for a name in lower case that may limit something, or not."""
    is_limit = base.startswith("max_") and _OF_DAEMON.match(base) is None
    return Severity.WARNING if is_limit else Severity.NOTE


def _of_limit(base: str, kind: str) -> tuple[str, str]:
    """Why a limit does not exist, and what to do instead."""
    if kind == "max_jobs_":
        return "no limit on jobs has that name", "See `roost help MAX_JOBS_PER_OWNER`."
    if kind == "sec_":
        return "no security setting has that name", "Correct the name, or remove the line."
    return f"{base.partition('_')[2].upper()} is not an authorization level", "Use READ, WRITE or ADMINISTRATOR."


def _without_effect(definition: Definition, why: str, severity: Severity, remedy: str | None = None) -> Diagnostic:
    message = f"{definition.name} has no effect: {why}"
    return diagnostic(
        Code.WITHOUT_EFFECT, message, definition.span, name=definition.name, remedy=remedy, severity=severity
    )
