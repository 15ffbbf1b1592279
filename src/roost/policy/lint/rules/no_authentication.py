"""Users and daemons that are not asked who they are.

What: SEC_DEFAULT_AUTHENTICATION, or that of WRITE, DAEMON, ADMINISTRATOR or another level that changes something, is
NEVER or OPTIONAL, or its methods have CLAIMTOBE or ANONYMOUS among them.

Why: With NEVER all users are the same unknown one, and with OPTIONAL a user may choose to be it. CLAIMTOBE believes any
name. Then lists such as ALLOW_WRITE name users whose names prove nothing. Roost does not use these knobs: its
message servers vouch for each user.

Example::

    SEC_DEFAULT_AUTHENTICATION = NEVER

Instead::

    SEC_DEFAULT_AUTHENTICATION = REQUIRED
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.config import Origin
from roost.policy.lint.pool import Pool
from roost.policy.lint.registry import Hit, pool_rule

_CONTEXT = r"(?:default|write|daemon|administrator|config|negotiator|owner|advertise_(?:master|schedd|startd))"
_WHETHER = re.compile(rf"sec_{_CONTEXT}_authentication\Z")
_METHODS = re.compile(rf"sec_{_CONTEXT}_authentication_methods\Z")
#: Methods that believe any name.
BELIEVING = ("CLAIMTOBE", "ANONYMOUS")


@pool_rule("RST533", Severity.WARNING)
def check(pool: Pool) -> Iterator[Hit]:
    for key, chain in pool.user_definitions():
        base, definition = key.rpartition(".")[2], chain[-1]
        if definition.origin is not Origin.FILE:
            continue
        message = _message(base, (pool.value(key) or "").upper().replace('"', ""))
        if message:
            yield Hit(
                message=f"{definition.name}: {message}",
                remedy="Write REQUIRED, and methods that prove a name, such as FS, IDTOKENS, SSL or KERBEROS.",
                place=pool.place(definition),
                knob=definition.name,
            )


def _message(base: str, text: str) -> str:
    if _WHETHER.match(base) and text in ("NEVER", "OPTIONAL"):
        return "no user has to prove a name" if text == "NEVER" else "a user may choose not to prove a name"
    if _METHODS.match(base):
        found = [one for one in re.split(r"[,\s]+", text) if one in BELIEVING]
        return f"{found[0]} proves nothing about a user" if found else ""
    return ""
