"""The intervals that a slot spent in its states, from its machine's transition records."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from roost.base.structs import Struct, replaced
from roost.model.slot_transition import SlotTransition


class Stay(Struct):
    """One interval of a slot in one state."""

    #: Epoch s.
    begin: float
    end: float
    state: str
    activity: str
    job: str = ""
    user: str = ""


def stays(records: Iterable[SlotTransition], slot: str, since: float, now: float) -> list[Stay]:
    """The stays of one slot between two instants, in order; none if there are no records.

    There are gaps where the state is unknown: before the first transition, and where a transition does not start in the
    state that the preceding one led to, because the machine's daemon was down in between. Stays of zero length are left
    out.
    """
    own = sorted((each for each in records if each.slot == slot and not each.starter), key=lambda each: each.at)
    if not own:
        return []
    found = [_stay(one.to, one.at, following.at, one) for one, following in pairwise(own) if following.from_ == one.to]
    found.append(_stay(own[-1].to, own[-1].at, now, own[-1]))
    return [each for each in (_from(stay, since) for stay in found) if each.end > each.begin and each.state]


def _from(stay: Stay, since: float) -> Stay:
    return stay if stay.begin >= since else replaced(stay, begin=since)


def _stay(named: str, begin: float, end: float, record: SlotTransition) -> Stay:
    state, _, activity = named.partition("/")
    is_used = state in ("Claimed", "Preempting")
    return Stay(
        begin=begin,
        end=end,
        state=state,
        activity=activity,
        job=(record.job or record.fetched) if is_used else "",
        user=record.user if is_used else "",
    )
