"""Whether a daemon may answer a request: its table and its lists must permit the requester to make it.

The requester is the last token of the subject, which the message servers restrict to the requester's own name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, assert_never

from roost.config.access import Access, Level
from roost.wire.messages import Answer
from roost.wire.requests.verb import Asker, Verb

#: Remedies of a refusal.
REMEDY: Final = "ask a user listed in QUEUE_SUPER_USERS, root, or the user who runs the pool"
LISTS_REMEDY: Final = "ask an administrator of the pool to change that list"
DENIED: Final = "permission-denied"
#: No list is set.
OPEN: Final = Access()

_CENTRAL: Final = "central@"


def refusal(verb: Verb, sender: str, administrators: Collection[str], lists: Access = OPEN) -> Answer | None:
    """Why a daemon does not answer a request; None if it does. `lists`: the daemon's ALLOW_ and DENY_ lists."""
    action = f"read this: {verb.about}" if verb.question else verb.about
    what = f"{sender or 'this user'} may not {action}"
    if not _may(verb.asker, sender, administrators):
        return Answer(ok=False, code=DENIED, text=what, remedy=REMEDY)
    if sender.startswith(_CENTRAL) and (verb.question or verb.asker is Asker.ADMINISTRATOR_OR_CENTRAL):
        return None
    why = lists.refusal(_level(verb), sender, administrator=sender in administrators)
    return Answer(ok=False, code=DENIED, text=f"{what}: {why}", remedy=LISTS_REMEDY) if why else None


def _level(verb: Verb) -> Level:
    if verb.asker not in (Asker.USER, Asker.OWNER):
        return Level.ADMINISTRATOR
    return Level.READ if verb.question else Level.WRITE


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
