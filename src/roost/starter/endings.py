"""Why a job has to leave: which cause a startd's notice means, and which of two causes takes precedence.

Removal outranks hold, and hold outranks eviction; between equals the first stands. A job that is held while it is being
evicted therefore goes on hold, and a later eviction does not downgrade a hold.
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
    """Return the cause that a notice means. A hold whose code is not a hold code is treated as an eviction."""
    held = notice.hold and 0 < notice.code < VACATE_CODES_FROM and notice.subcode > VACATE_SUBCODES_TO
    ending = Ending.HOLD if held else Ending.EVICT
    return Cause(ending=ending, code=notice.code, subcode=notice.subcode, text=notice.text, by=by)


def weightier(old: Cause | None, new: Cause) -> Cause:
    """Return the cause that takes precedence."""
    return new if old is None or _WEIGHT[new.ending] > _WEIGHT[old.ending] else old
