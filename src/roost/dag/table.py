"""The transitions of a node, as a table.

Theory of operation. An event of a node's script or job raises one trigger (`On`). The rows of the node's state are
tried in the order of the table; the first with that trigger whose guards all hold is taken, and its entries are done in
order. `On.CHANCE` is raised for a READY node when the limits of the run leave room for its next part. Every attempt of
a node ends in one of three rows: it succeeded (DONE), it is retried (READY), or it is not (ERROR).

Rules that do not fit the table are in `run`:

* the first failed job of a cluster, beyond those that TOLERANCE allows, removes the others, unless WAIT is set, and the
  attempt ends when all have left;
* a failed parent lets its WEAK children start, as if it were done; an unreachable one does not;
* a node that ends with the status of its ABORT-DAG-ON ends the run, whatever row was taken;
* FINAL starts when all others have ended, SERVICE at once, and all others when the PROVISIONER's job runs;
* a script that asks to be deferred runs again, in the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass
from roost.dag.states import NodeState as S
from roost.tables.rows import by_source


class On(StrEnum):
    """The trigger of a row."""

    PARENTS_DONE = "all of its parents are done"
    ANCESTOR_FAILED = "one of its parents failed"
    CHANCE = "the limits allow it to start"
    PRE_ENDED = "PRE is over"
    JOBS_ENDED = "its jobs have left the queue, or the queue took none"
    POST_ENDED = "POST is over"


class Guard(StrEnum):
    """A condition of a row; `run.GUARDS` has the functions."""

    HAS_PRE = "it has a PRE script that has not run"
    HAS_POST = "it has a POST script"
    SUBMITS = "it has something to submit"
    PRE_SKIPS = "PRE ended with its PRE_SKIP"
    POST_ANYWAY = "POST runs after a failed PRE, too"
    GOOD = "what ended was good"
    AGAIN = "it must be retried"


class Entry(StrEnum):
    """An action when a row is taken; `run.ENTRIES` has the functions."""

    QUEUE_UP = "it waits for the limits to allow it to start"
    RUN_PRE = "run PRE"
    PREPARED = "PRE need not run again"
    SUBMIT = "hand its jobs to the queue"
    RUN_POST = "run POST"
    NEXT_TRY = "count the attempt, and discard its results"
    RELEASE = "its children may start"
    GIVE_UP = "its children can no longer be reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One transition."""

    number: int
    source: S
    target: S
    on: tuple[On, ...]
    when: tuple[Guard, ...] = ()
    entry: tuple[Entry, ...] = ()


def _row(number: int, source: S, target: S, on: On, when: tuple[Guard, ...] = (), entry: tuple[Entry, ...] = ()) -> Row:
    return Row(number=number, source=source, target=target, on=(on,), when=when, entry=entry)


_G, _E = Guard, Entry
_AGAIN: Final = (_E.NEXT_TRY, _E.QUEUE_UP)

ROWS: Final[tuple[Row, ...]] = (
    _row(1, S.NOT_READY, S.READY, On.PARENTS_DONE, (), (_E.QUEUE_UP,)),
    _row(2, S.NOT_READY, S.FUTILE, On.ANCESTOR_FAILED, (), (_E.GIVE_UP,)),
    _row(3, S.READY, S.PRERUN, On.CHANCE, (_G.HAS_PRE,), (_E.RUN_PRE,)),
    _row(4, S.READY, S.SUBMITTED, On.CHANCE, (_G.SUBMITS,), (_E.SUBMIT,)),
    _row(5, S.READY, S.POSTRUN, On.CHANCE, (_G.HAS_POST,), (_E.RUN_POST,)),
    _row(6, S.READY, S.DONE, On.CHANCE, (), (_E.RELEASE,)),
    _row(7, S.PRERUN, S.DONE, On.PRE_ENDED, (_G.PRE_SKIPS,), (_E.RELEASE,)),
    _row(8, S.PRERUN, S.READY, On.PRE_ENDED, (_G.GOOD,), (_E.PREPARED, _E.QUEUE_UP)),
    _row(9, S.PRERUN, S.POSTRUN, On.PRE_ENDED, (_G.HAS_POST, _G.POST_ANYWAY), (_E.RUN_POST,)),
    _row(10, S.PRERUN, S.READY, On.PRE_ENDED, (_G.AGAIN,), _AGAIN),
    _row(11, S.PRERUN, S.ERROR, On.PRE_ENDED, (), (_E.GIVE_UP,)),
    _row(12, S.SUBMITTED, S.POSTRUN, On.JOBS_ENDED, (_G.HAS_POST,), (_E.RUN_POST,)),
    _row(13, S.SUBMITTED, S.DONE, On.JOBS_ENDED, (_G.GOOD,), (_E.RELEASE,)),
    _row(14, S.SUBMITTED, S.READY, On.JOBS_ENDED, (_G.AGAIN,), _AGAIN),
    _row(15, S.SUBMITTED, S.ERROR, On.JOBS_ENDED, (), (_E.GIVE_UP,)),
    _row(16, S.POSTRUN, S.DONE, On.POST_ENDED, (_G.GOOD,), (_E.RELEASE,)),
    _row(17, S.POSTRUN, S.READY, On.POST_ENDED, (_G.AGAIN,), _AGAIN),
    _row(18, S.POSTRUN, S.ERROR, On.POST_ENDED, (), (_E.GIVE_UP,)),
)

BY_STATE: Final[Mapping[S, tuple[Row, ...]]] = by_source(ROWS, S)
