"""Whether a daemon may answer a request: it knows the verb, and its table lets the asker ask for it.

The asker is the last token of the subject, which the message servers hold to the asker's own name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, assert_never

from roost.wire.messages import Answer, Ask
from roost.wire.verbs import VERBS, Asker, Daemon

#: What a refusal says to do.
REMEDY: Final = "ask a user whom QUEUE_SUPER_USERS names, root, or the user who runs the pool"
DENIED: Final = "permission-denied"

_NAMES: Final = {Daemon.QUEUE: "a queue", Daemon.MACHINE: "a machine", Daemon.CENTRAL: "the central manager"}
_CENTRAL: Final = "central@"


def refusal(daemon: Daemon, ask: Ask, sender: str, administrators: Collection[str]) -> Answer | None:
    """Why a daemon does not answer a request; None if it does."""
    verb = VERBS[daemon].get(ask.what)
    if verb is None:
        return Answer(ok=False, code="bad-request", text=f"{_NAMES[daemon]} cannot answer {ask.what!r}")
    if _may(verb.asker, sender, administrators):
        return None
    text = f"{sender or 'this user'} may not {verb.about.partition(',')[0]}"
    return Answer(ok=False, code=DENIED, text=text, remedy=REMEDY)


def _may(asker: Asker, sender: str, administrators: Collection[str]) -> bool:
    match asker:
        case Asker.USER | Asker.OWNER:
            return True
        case Asker.ADMINISTRATOR:
            return sender in administrators
        case Asker.ADMINISTRATOR_OR_CENTRAL:
            return sender in administrators or sender.startswith(_CENTRAL)
        case _:
            assert_never(asker)
