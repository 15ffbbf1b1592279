"""Roles: which daemons run on a machine."""

from __future__ import annotations

from roost.config.template import Template, template

_CONVENTION = "convention"

TEMPLATES: tuple[Template, ...] = (
    template(
        "ROLE",
        "Personal",
        "Everything on one machine, for one person: a pool of its own.",
        _CONVENTION,
        """
CONDOR_HOST = 127.0.0.1
COLLECTOR_HOST = $(CONDOR_HOST)
DAEMON_LIST = MASTER COLLECTOR NEGOTIATOR STARTD SCHEDD
RunBenchmarks = 0
""",
    ),
    template(
        "ROLE",
        "CentralManager",
        "This machine keeps the pool's ads and makes its matches.",
        _CONVENTION,
        """
DAEMON_LIST = $(DAEMON_LIST) COLLECTOR NEGOTIATOR
""",
    ),
    template(
        "ROLE",
        "Submit",
        "Users queue jobs on this machine.",
        _CONVENTION,
        """
DAEMON_LIST = $(DAEMON_LIST) SCHEDD
""",
    ),
    template(
        "ROLE",
        "Execute",
        "This machine runs jobs.",
        _CONVENTION,
        """
DAEMON_LIST = $(DAEMON_LIST) STARTD
""",
    ),
)
