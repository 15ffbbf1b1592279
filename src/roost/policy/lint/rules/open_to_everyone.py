"""A list of users that admits everyone to what only few should do.

What: ALLOW_ADMINISTRATOR, ALLOW_CONFIG, ALLOW_DAEMON, ALLOW_NEGOTIATOR, ALLOW_ADVERTISE_… or ALLOW_WRITE is ``*``, or
has a member that names everyone on every host. ALLOW_WRITE may be that where the configuration requires users to
prove their names: SEC_DEFAULT_AUTHENTICATION or SEC_WRITE_AUTHENTICATION is REQUIRED, and no method believes any name.

Why: Any user who reaches the daemon may then end it, change its configuration, pretend to be a machine of the pool, or
submit jobs. It is an error for what changes the pool, a warning for WRITE.

Example::

    ALLOW_ADMINISTRATOR = *

Instead::

    ALLOW_ADMINISTRATOR = root@example.org
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Code, Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule
from roost.policy.lint.rules.no_authentication import BELIEVING

_LEVEL = re.compile(
    r"allow_(administrator|config|daemon|negotiator|owner|write|advertise_(?:master|schedd|startd))(?:_[a-z]+)?\Z"
)
_EVERYONE = re.compile(r"\*(?:@\*)?(?:/\*)?\Z")
#: Levels whose lists Roost reads.
_READ = frozenset(("administrator", "write"))
_REMEDY = "Name the users, as user@domain, that may do this."
_UNREAD = (
    "Name the accounts of the daemons, as condor@domain. Roost does not read this list: remove the line if HTCondor "
    "does not read the file."
)
_SEPARATOR = re.compile(r"[,\s]+")
#: Templates of HTCondor that require authentication, by category and name.
_AUTHENTICATING = frozenset(
    f"security:{name}" for name in ("user_based", "with_authentication", "strong", "recommended", "recommended_v9_0")
)


@pool_rule("RST532", Severity.ERROR)
def check(pool: Pool) -> Iterator[Hit]:
    for key, chain in pool.user_definitions():
        base, definition = key.rpartition(".")[2], chain[-1]
        level = _LEVEL.match(base)
        if level is None or definition.origin is not Origin.FILE:
            continue
        text = pool.value(key) or ""
        everyone = next((one for one in _SEPARATOR.split(text) if _EVERYONE.match(one)), None)
        if everyone is not None and not (level[1] == "write" and _is_authenticated(pool, key)):
            yield Hit(
                message=f"{definition.name} admits everyone: {everyone}",
                remedy=_REMEDY if level[1] in _READ else _UNREAD,
                place=pool.place(definition),
                knob=definition.name,
                severity=Severity.WARNING if level[1] in ("write", "owner") else None,
            )


def _is_authenticated(pool: Pool, key: str) -> bool:
    """Whether users must prove their names to the daemon that a list is for."""
    daemon = key.partition(".")[0].upper() if "." in key else "SCHEDD"
    for name in ("SEC_WRITE_AUTHENTICATION", "SEC_DEFAULT_AUTHENTICATION"):
        text = pool.value(name, daemon)
        if text:
            required = text.strip().upper() == "REQUIRED"
            break
    else:
        required = any(
            one.code is Code.TEMPLATE_WITHOUT_EFFECT and one.name in _AUTHENTICATING for one in pool.diagnostics
        )
    methods = pool.value("SEC_WRITE_AUTHENTICATION_METHODS", daemon)
    methods = methods or pool.value("SEC_DEFAULT_AUTHENTICATION_METHODS", daemon) or ""
    return required and not any(one in methods.upper() for one in BELIEVING)
