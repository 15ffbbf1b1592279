"""Why a job has to go: how the startd's words become a cause, and which of two causes counts.

Removal counts more than hold, hold more than eviction; of two equals the first does. So a job that is being evicted and
is held meanwhile goes on hold, and one that is being held is not merely evicted by what the startd says later.
"""

from __future__ import annotations

from typing import Final

from roost.model.codes import VACATE_CODES_FROM, VACATE_SUBCODES_TO
from roost.model.effects import Notice
from roost.model.starter import EVICT_SUBCODE, Cause, Ending, OrderedBy, StarterVacate

_WEIGHT: Final = {Ending.EVICT: 1, Ending.HOLD: 2, Ending.REMOVE: 3}

#: STARTER_EVICT is TRUE.
EVICTED: Final = Cause(
    ending=Ending.EVICT,
    code=StarterVacate.EVICT_EXPRESSION,
    subcode=EVICT_SUBCODE,
    text="STARTER_EVICT expression evaluated to True",
    by=OrderedBy.STARTER,
)


def cause_of(notice: Notice, by: OrderedBy = OrderedBy.STARTD) -> Cause:
    """What a notice means. One that asks for a hold with a number that is none of a hold asks for a vacation."""
    held = notice.hold and 0 < notice.code < VACATE_CODES_FROM and notice.subcode > VACATE_SUBCODES_TO
    ending = Ending.HOLD if held else Ending.EVICT
    return Cause(ending=ending, code=notice.code, subcode=notice.subcode, text=notice.text, by=by)


def weightier(old: Cause | None, new: Cause) -> Cause:
    """The one of two causes that counts."""
    return new if old is None or _WEIGHT[new.ending] > _WEIGHT[old.ending] else old
