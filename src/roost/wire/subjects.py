"""The subjects that messages travel on, and who may use which.

All begin with ``roost.<pool>``. The last token of an order or a report names its sender, so that permissions of the bus
can hold everybody to his own name:

=================================== ================================================================
``….node.<node>.<sender>``          orders of a queue to an execute machine
``….schedd.<schedd>.<sender>``      answers and reports of an execute machine to a job queue
``….schedd.<schedd>.given.<sender>`` what the matchmaker gives a queue, and refuses it
``….node.<node>.matched.<sender>``  what the matchmaker tells a machine of its slots
``….node.<node>.tasks.<sender>``    what machines ask each other about tasks of parallel jobs, answered
``….central.slots.<sender>``        ads of an execute machine's slots
``….central.demand.<sender>``       what a queue wants
``….central.ads.<sender>``          ads of a queue or a machine about itself
``….central.audit.<sender>``        decisions of machines and queues for the record
``….central.ask.<sender>``          requests to collector and negotiator, answered
``….schedd.<schedd>.ask.<sender>``  requests to a queue, answered
``….node.<node>.ask.<sender>``      requests to an execute machine, answered
``….all.<sender>``                  words of the central manager to everybody
=================================== ================================================================

Each subject carries the words of one role, which alone may publish there; who listens takes no others for its own.
Names of hosts and queues hold characters that a subject must not: `token` writes them as ``=`` and two hex digits.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_ESCAPED: Final = re.compile(r"=([0-9a-f]{2})")


class Role(StrEnum):
    """What a daemon is, and so what it may say and hear."""

    CENTRAL = "central"
    SCHEDD = "schedd"
    NODE = "node"
    #: The web server, which asks for people who have proved to it who they are.
    WEB = "web"
    #: Commands of whom the pool runs as.
    CLIENT = "client"
    #: Commands of another user of the machine.
    USER = "user"


def token(name: str) -> str:
    """A name as one token of a subject; ``*`` stands for any name."""
    if not name or name == "*":
        return name or "="
    return _UNSAFE.sub(lambda m: "".join(f"={byte:02x}" for byte in m.group().encode()), name)


def name_of(part: str) -> str:
    """The name that a token stands for."""
    if part == "=":
        return ""
    raw = _ESCAPED.sub(lambda m: chr(int(m.group(1), 16)), part)
    return raw.encode("latin-1").decode("utf-8", "replace")


class Subjects(NamedTuple):
    """The subjects of one pool."""

    pool: str

    @property
    def prefix(self) -> str:
        """What all of them begin with."""
        return f"roost.{token(self.pool)}"

    def node(self, node: str, sender: str) -> str:
        """Orders to an execute machine."""
        return f"{self.prefix}.node.{token(node)}.{token(sender)}"

    def schedd(self, schedd: str, sender: str) -> str:
        """Answers and reports to a queue."""
        return f"{self.prefix}.schedd.{token(schedd)}.{token(sender)}"

    def given(self, schedd: str, sender: str) -> str:
        """What the matchmaker gives a queue."""
        return f"{self.prefix}.schedd.{token(schedd)}.given.{token(sender)}"

    def matched(self, node: str, sender: str) -> str:
        """What the matchmaker tells an execute machine of its slots."""
        return f"{self.prefix}.node.{token(node)}.matched.{token(sender)}"

    def tasks(self, node: str, sender: str) -> str:
        """What another machine asks an execute machine about tasks of parallel jobs."""
        return f"{self.prefix}.node.{token(node)}.tasks.{token(sender)}"

    def slots(self, sender: str) -> str:
        """Ads of an execute machine's slots."""
        return f"{self.prefix}.central.slots.{token(sender)}"

    def demand(self, sender: str) -> str:
        """What a queue wants."""
        return f"{self.prefix}.central.demand.{token(sender)}"

    def ads(self, sender: str) -> str:
        """Ads of a queue or an execute machine about itself."""
        return f"{self.prefix}.central.ads.{token(sender)}"

    def audit(self, sender: str) -> str:
        """Decisions for the record."""
        return f"{self.prefix}.central.audit.{token(sender)}"

    def ask_central(self, sender: str) -> str:
        """Requests to the central manager."""
        return f"{self.prefix}.central.ask.{token(sender)}"

    def ask_schedd(self, schedd: str, sender: str) -> str:
        """Requests to a queue."""
        return f"{self.prefix}.schedd.{token(schedd)}.ask.{token(sender)}"

    def ask_node(self, node: str, sender: str) -> str:
        """Requests to an execute machine."""
        return f"{self.prefix}.node.{token(node)}.ask.{token(sender)}"

    def everybody(self, sender: str) -> str:
        """Words of the central manager to all."""
        return f"{self.prefix}.all.{token(sender)}"

    # -- permissions -------------------------------------------------------------------------------

    def inbox(self, name: str) -> str:
        """Prefix of the subjects that answers come back on."""
        return f"_INBOX.{token(self.pool)}.{token(name)}"

    def permissions(self, role: Role, name: str) -> tuple[list[str], list[str]]:
        """What a daemon or command of that name may publish, and what it may subscribe to."""
        own, base = token(name), self.prefix
        # Answers go to the requester, in this pool.
        answers = f"_INBOX.{token(self.pool)}.>"
        say, hear = [], [f"{self.inbox(name)}.>"]
        match role:
            case Role.CENTRAL:
                say = [f"{base}.schedd.*.given.{own}", f"{base}.node.*.ask.{own}", f"{base}.node.*.matched.{own}"]
                say += [f"{base}.all.{own}", answers]
                # Queues keep the cell.
                say += [f"{base}.schedd.*.ask.{own}"]
                hear += [f"{base}.central.>"]
            case Role.SCHEDD:
                say = [f"{base}.node.*.{own}", f"{base}.central.demand.{own}", f"{base}.central.ads.{own}"]
                say += [f"{base}.central.audit.{own}", answers]
                hear += [f"{base}.schedd.{own}.>", f"{base}.all.*"]
            case Role.NODE:
                say = [f"{base}.schedd.*.{own}", f"{base}.central.slots.{own}", f"{base}.central.ads.{own}"]
                say += [f"{base}.central.audit.{own}", f"{base}.node.*.tasks.{own}", answers]
                hear += [f"{base}.node.{own}.>", f"{base}.all.*"]
            case Role.WEB:
                say = [f"{base}.central.ask.*", f"{base}.schedd.*.ask.*", f"{base}.node.*.ask.*"]
                hear += [f"{base}.central.slots.*"]
            case Role.CLIENT | Role.USER:
                say = [f"{base}.central.ask.{own}", f"{base}.schedd.*.ask.{own}", f"{base}.node.*.ask.{own}"]
        return say, hear
