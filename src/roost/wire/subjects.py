"""The subjects that messages travel on, and who may use which.

All begin with ``roost.<pool>``. The last token of an order or a report names its sender, so that permissions on the bus
restrict each sender to its own name:

=================================== ================================================================
``….node.<node>.<sender>``          orders of a queue to an execute machine
``….schedd.<schedd>.<sender>``      answers and reports of an execute machine to a job queue
``….schedd.<schedd>.given.<sender>`` matches and refusals of the negotiator for a queue
``….node.<node>.matched.<sender>``  messages of the negotiator to a machine about its slots
``….node.<node>.tasks.<sender>``    requests between machines about tasks of parallel jobs, answered
``….central.slots.<sender>``        ads of an execute machine's slots
``….central.demand.<sender>``       the demand of a queue
``….central.ads.<sender>``          ads of a queue or a machine about itself
``….central.audit.<sender>``        audit records of machines and queues
``….central.ask.<sender>``          requests to collector and negotiator, answered
``….schedd.<schedd>.ask.<sender>``  requests to a queue, answered
``….node.<node>.ask.<sender>``      requests to an execute machine, answered
``….registrar.ask.<sender>``        requests of members of the pool for keys, answered
``….all.<sender>``                  broadcasts of the central manager
=================================== ================================================================

Each subject carries the messages of one role, which alone may publish there; subscribers ignore all others. Names of
hosts and queues may contain characters that are not allowed in a subject: `token` writes them as ``=`` and two hex
digits.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_ESCAPED: Final = re.compile(r"=([0-9a-f]{2})")


class Role(StrEnum):
    """The role of a daemon, which determines what it may publish and subscribe to."""

    CENTRAL = "central"
    SCHEDD = "schedd"
    NODE = "node"
    #: The web server, which makes requests for users who have authenticated to it.
    WEB = "web"
    #: Commands of the user who runs the pool.
    CLIENT = "client"
    #: Commands of another user of the machine.
    USER = "user"
    #: The daemon that admits machines and their users to a pool.
    REGISTRAR = "registrar"
    #: An admitted machine, as itself: it may request keys for its daemons and users.
    MEMBER = "member"
    #: The owner of an unused invitation.
    INVITED = "invited"


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
        """The prefix of all subjects."""
        return f"roost.{token(self.pool)}"

    def node(self, node: str, sender: str) -> str:
        """Orders to an execute machine."""
        return f"{self.prefix}.node.{token(node)}.{token(sender)}"

    def schedd(self, schedd: str, sender: str) -> str:
        """Answers and reports to a queue."""
        return f"{self.prefix}.schedd.{token(schedd)}.{token(sender)}"

    def given(self, schedd: str, sender: str) -> str:
        """Matches and refusals for a queue."""
        return f"{self.prefix}.schedd.{token(schedd)}.given.{token(sender)}"

    def matched(self, node: str, sender: str) -> str:
        """Messages of the negotiator to an execute machine about its slots."""
        return f"{self.prefix}.node.{token(node)}.matched.{token(sender)}"

    def tasks(self, node: str, sender: str) -> str:
        """Requests of other machines to an execute machine about tasks of parallel jobs."""
        return f"{self.prefix}.node.{token(node)}.tasks.{token(sender)}"

    def slots(self, sender: str) -> str:
        """Ads of an execute machine's slots."""
        return f"{self.prefix}.central.slots.{token(sender)}"

    def demand(self, sender: str) -> str:
        """The demand of a queue."""
        return f"{self.prefix}.central.demand.{token(sender)}"

    def ads(self, sender: str) -> str:
        """Ads of a queue or an execute machine about itself."""
        return f"{self.prefix}.central.ads.{token(sender)}"

    def audit(self, sender: str) -> str:
        """Audit records."""
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

    def ask_registrar(self, sender: str) -> str:
        """Requests for keys."""
        return f"{self.prefix}.registrar.ask.{token(sender)}"

    def everybody(self, sender: str) -> str:
        """Broadcasts of the central manager."""
        return f"{self.prefix}.all.{token(sender)}"

    # -- permissions -------------------------------------------------------------------------------

    def inbox(self, name: str) -> str:
        """Prefix of the subjects for answers."""
        return f"_INBOX.{token(self.pool)}.{token(name)}"

    def permissions(self, role: Role, name: str) -> tuple[list[str], list[str]]:
        """The subjects that a daemon or command with that name may publish and subscribe to."""
        own, base = token(name), self.prefix
        # Answers go to the requester, in this pool.
        answers = f"_INBOX.{token(self.pool)}.>"
        say, hear = [], [f"{self.inbox(name)}.>"]
        match role:
            case Role.CENTRAL:
                say = [f"{base}.schedd.*.given.{own}", f"{base}.node.*.ask.{own}", f"{base}.node.*.matched.{own}"]
                say += [f"{base}.all.{own}", answers]
                # Queues store the cell.
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
            case Role.REGISTRAR:
                say = [answers]
                hear += [f"{base}.registrar.>"]
            case Role.MEMBER | Role.INVITED:
                say = [f"{base}.registrar.ask.{own}"]
            case Role.CLIENT | Role.USER:
                say = [f"{base}.central.ask.{own}", f"{base}.schedd.*.ask.{own}", f"{base}.node.*.ask.{own}"]
        return say, hear
