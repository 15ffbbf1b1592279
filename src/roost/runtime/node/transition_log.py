"""What happened to the slots of a machine, and why: a line of JSON for each transition.

`roost story` and `roost explain slot` read it.

A record names the transition by its number, the job it was about, and the deciding expression, with the clauses that
determined its value, the values they read, and the place in the configuration. Explaining takes longer than the
transition itself, so records are queued and written a little later; a daemon that is killed loses the queued ones. The
daemon's log also has every transition, at once and without the reasons.

The file is rotated at `BYTES_MAX`: its contents become ``….1``, replacing the previous one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from roost.base.records import dataclass
from roost.base.structs import data_of, replaced
from roost.classad import ClassAd, ParseError
from roost.config import Config, ConfigError
from roost.model.causes import CauseIds, causes_of
from roost.model.claims import ClaimKind
from roost.model.reasons import Reason
from roost.model.slot_transition import ClauseSeen, ProgramEnd, SlotTransition
from roost.model.starter import Ending, ExitReport
from roost.node.decisions import fetched_program, job_name
from roost.policy.decision import Decision
from roost.policy.explain import Explanation
from roost.policy.explain.configured import configured_expression
from roost.policy.render.sentences import change_text, one_line, reasons, value_text
from roost.runtime.causes import present_request
from roost.startd.slot_state import SlotState
from roost.startd.states import BUSY, CLAIMED, KILLING, RETIRING, VACATING, State
from roost.startd.work import Taken
from roost.starter.work import StarterTaken
from roost.wire.errors import WireError
from roost.wire.structs import read

_log = logging.getLogger("roost.node")

#: Maximum size of one file, of which there are at most two, bytes.
BYTES_MAX: Final = 16_000_000
#: Maximum number of records waiting to be explained; more are written without reasons.
WAITING_MAX: Final = 2000
#: How long records wait for others, s.
GATHER_S: Final = 0.2
#: Maximum number of clauses of one record.
_CLAUSES_MAX: Final = 8


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A record without its reasons."""

    record: SlotTransition
    decision: Decision | None
    #: Number of the slot for which knobs are looked up.
    slot: int


class TransitionLog:
    """The transition log of one machine."""

    def __init__(self, path: Path, config: Config) -> None:
        self.path = path
        self.config = config
        self._waiting: deque[_Waiting] = deque()
        self._noted = asyncio.Event()
        self._places: dict[tuple[str, int], tuple[str, str]] = {}
        #: Slots whose last job has left while its claim continues.
        self._left: set[str] = set()
        #: Slots to how their job's program ended by itself, until its run is over.
        self._exits: dict[str, ProgramEnd] = {}
        #: Slots to the id of the request that ordered the end of their run or claim, until that is over.
        self._ordered: dict[str, str] = {}

    def reconfigure(self, config: Config) -> None:
        """Use other origins of expressions from now on."""
        self.write(explained=True)
        self.config = config
        self._places.clear()

    def ordered(self, slot: str, request: str) -> None:
        """Note that a request has ordered the end of the slot's run: what follows is due to this request, until the run
        is over.
        """
        self._ordered[slot] = request

    def note(self, slot: int, before: SlotState, after: SlotState, taken: Taken, submission: str = "") -> CauseIds:
        """Record a transition of a slot, with the ids of the requests that led to it; `submission` is that of its
        job.
        """
        if taken.target == BUSY:
            self._ordered.pop(before.name, None)
        present = present_request()
        if present and taken.target in _GOES:
            self._ordered[before.name] = present
        ids = CauseIds(submission, present or self._ordered.get(before.name, submission))
        if taken.target.state not in _HELD:
            self._ordered.pop(before.name, None)
        about, end = self._about(before, after, taken), self._exits.pop(before.name, None)
        record = SlotTransition(
            at=round(taken.at, 3),
            slot=before.name,
            from_=str(taken.source),
            to=str(taken.target),
            number=taken.number,
            reason=str(taken.reason),
            cause="" if taken.cause is None else taken.cause.text,
            job=about.job,
            fetched=about.fetched,
            user=about.user,
            exit=end if about.job else None,
            cell=tuple(after.suspenders.causes.values()) if taken.reason is Reason.CELL_SUSPENSION else (),
            **ids._asdict(),
        )
        self._add(_Waiting(record, taken.decision, slot))
        return ids

    def _about(self, before: SlotState, after: SlotState, taken: Taken) -> _Job:
        """The job that a transition was about. Transitions of a claim after its job has left are not about that job."""
        if taken.target == BUSY:
            self._left.discard(before.name)
        about = _about(before, after, taken)
        if before.name in self._left:
            about = _Job(user=about.user)
        if taken.target == CLAIMED:
            self._left.add(before.name)
        elif taken.target.state not in _HELD:
            self._left.discard(before.name)
        return about

    def note_exit(self, slot: str, report: ExitReport) -> None:
        """Note that a starter is about to report how its run ended: that is the next transition of its slot."""
        if report.ending is Ending.EXIT:
            self._exits[slot] = ProgramEnd(code=report.exit_code, signal=report.exit_signal)

    def starter_ids(self, slot: str, job_ad: ClassAd) -> CauseIds:
        """The ids of the requests that led to a transition of the starter on a slot."""
        return causes_of(job_ad, present_request() or self._ordered.get(slot, ""))

    def note_starter(self, slot: int, state: SlotState, job_ad: ClassAd, taken: StarterTaken) -> None:
        """Record that a starter has begun to evict its job by its own policy, or to kill it."""
        about = _of_job(job_ad, state.claim.kind)
        record = SlotTransition(
            at=round(taken.at, 3),
            slot=state.name,
            from_=str(taken.source.state),
            to=str(taken.target.state),
            number=f"starter {taken.number}",
            reason=str(taken.reason),
            starter=True,
            job=about.job,
            fetched=about.fetched,
            user=about.user,
            **self.starter_ids(state.name, job_ad)._asdict(),
        )
        self._add(_Waiting(record, taken.decision, slot))

    def _add(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        self._noted.set()
        if len(self._waiting) > WAITING_MAX:
            self.write(explained=False)

    # -- writing -------------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Write records as they arrive, forever."""
        while True:
            await self._noted.wait()
            await asyncio.sleep(GATHER_S)
            self._noted.clear()
            lines: list[str] = []
            while self._waiting and len(lines) < 200:
                lines.append(self._line(self._waiting.popleft(), True))
                # A machine whose slots all change at once has other work to do, too.
                await asyncio.sleep(0)
            self._append(lines)
            if self._waiting:
                self._noted.set()

    def write(self, *, explained: bool) -> None:
        """Write all waiting records."""
        self._append([self._line(each, explained) for each in self._waiting])
        self._waiting.clear()

    def _line(self, waiting: _Waiting, explained: bool) -> str:
        record, decision = waiting.record, waiting.decision
        if explained and decision is not None:
            place = self.place(decision.name, waiting.slot)
            record = replaced(record, expression=decision.name, value=value_text(decision.value), place=place)
            with contextlib.suppress(ParseError, RecursionError):
                why = decision.explain()
                if why is not None:
                    record = replaced(record, **_reasons(why))
        return json.dumps(data_of(record), separators=(",", ":"), ensure_ascii=False) + "\n"

    def place(self, name: str, slot: int) -> str:
        """Where the expression used by a slot was set; "" if it was not."""
        return self.expression(name, slot)[1]

    def expression(self, name: str, slot: int) -> tuple[str, str]:
        """The expression used by a slot, and where it was set; "" for both if it was not."""
        key = (name, slot)
        found = self._places.get(key)
        if found is None:
            with contextlib.suppress(ParseError, ConfigError):
                expression = configured_expression(self.config, name, subsys="STARTD", slot=slot)
                found = None if expression is None else (str(expression.expression), str(expression.origin))
            found = self._places[key] = found or ("", "")
        return found

    def _append(self, lines: list[str]) -> None:
        if not lines:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(lines)
                size = file.tell()
            if size > BYTES_MAX:
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        except OSError as error:
            _log.warning("%s: %s: slot transitions are not being recorded", self.path, error.strerror)

    # -- reading -------------------------------------------------------------------------------------

    def read(self, *, slot: str = "", job: str = "", limit: int = 0) -> list[SlotTransition]:
        """Records on disk of a slot or a job, oldest first; the last `limit` of them, 0 for all."""
        wanted: deque[SlotTransition] = deque(maxlen=limit or None)
        for record in self._records(slot or job):
            if (not slot or _is_of(record, slot)) and (not job or record.job == job):
                wanted.append(record)
        return list(wanted)

    def _records(self, word: str) -> Iterator[SlotTransition]:
        for path in (self.path.with_name(f"{self.path.name}.1"), self.path):
            with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
                for line in file:
                    if word not in line:
                        continue
                    # The last line of a killed daemon may be incomplete.
                    with contextlib.suppress(ValueError, WireError):
                        yield read(SlotTransition, json.loads(line), "record", strict=False)


def _is_of(record: SlotTransition, slot: str) -> bool:
    name = record.slot
    return name == slot or name.partition("@")[0] == slot or name.partition("@")[2] == slot


#: States in which the slot is in use.
_HELD: Final = (State.CLAIMED, State.PREEMPTING)
#: States and activities of a slot whose job has to leave.
_GOES: Final = (RETIRING, VACATING, KILLING)


class _Job(NamedTuple):
    """The job of a record; for a fetched job, which has no name, the program."""

    job: str = ""
    fetched: str = ""
    user: str = ""


def _about(before: SlotState, after: SlotState, taken: Taken) -> _Job:
    """The job of a transition: one of several in a step, in which another job may follow the first."""
    if taken.source.state in _HELD and (taken.source, taken.target) != (CLAIMED, BUSY):
        states: tuple[SlotState, ...] = (before, after)
    elif taken.target.state in _HELD:
        states = (after,)
    else:
        # The user of the slot has gone.
        return _Job()
    for state in states:
        claim = state.claim
        ad = None if claim.activation is None else claim.activation.job_ad
        if ad is not None:
            return _of_job(ad, claim.kind)
    for state in reversed(states):
        if state.claim.request is not None and state.claim.request.job_ad is not None:
            return _Job(user=str(state.claim.request.job_ad.get("User", "")))
    return _Job()


def _of_job(ad: ClassAd, kind: ClaimKind | None) -> _Job:
    user, name = str(ad.get("User") or ad.get("Owner") or ""), job_name(ad, kind)
    return _Job(job=name, user=user) if name else _Job(fetched=fetched_program(ad, kind), user=user)


def _reasons(why: Explanation) -> dict[str, object]:
    return {
        "why": tuple(
            ClauseSeen(clause=one_line(clause.text), value=value_text(clause.value), because=tuple(reasons(clause)))
            for clause in why.clauses[:_CLAUSES_MAX]
        ),
        "otherwise": tuple(change_text(change) for change in why.changes),
    }
