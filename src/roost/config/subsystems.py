"""The daemons and commands whose names may be part of the names of knobs, and HTCondor's levels of authorization."""

from __future__ import annotations

import re
from typing import Final

SUBSYSTEMS: frozenset[str] = frozenset(
    {
        "master",
        "collector",
        "negotiator",
        "schedd",
        "shadow",
        "startd",
        "starter",
        "defrag",
        "gridmanager",
        "credd",
        "had",
        "replication",
        "job_router",
        "kbdd",
        "rooster",
        "shared_port",
        "submit",
        "tool",
        "dagman",
        "gahp",
        "gangliad",
        "view_server",
        "credmon",
        "annexd",
        "transferer",
        "c_gahp",
        "vm_gahp",
        "roost",
    }
)

#: What a request may do, in HTCondor; each may have the name of a daemon after it, as in ALLOW_WRITE_COLLECTOR.
LEVELS: Final = (
    "read", "write", "administrator", "config", "owner", "negotiator", "daemon", "client", "default",
    "advertise_startd", "advertise_schedd", "advertise_master", "advertise", "soap", "immediate_family",
)  # fmt: skip

_SUBSYSTEM: Final = "|".join(sorted(SUBSYSTEMS, key=len, reverse=True))
_LEVEL: Final = "|".join(sorted(LEVELS, key=len, reverse=True))

#: What words in angle brackets in the name of a family stand for, in lower case; others stand for any word.
PLACEHOLDERS: Final = {
    "<N>": r"\d+",
    "<SUBSYS>": f"(?:{_SUBSYSTEM})",
    "<LEVEL>": f"(?:{_LEVEL})(?:_(?:{_SUBSYSTEM}))?",
    "<CONTEXT>": f"(?:{_LEVEL})",
}
PLACEHOLDER: Final = re.compile(r"(<[A-Za-z_]+>)")
