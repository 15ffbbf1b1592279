"""``roost explain job ID``: why a job waits, or is held.

The answer is the matchmaker's own record of its last cycle: which slots are out of the question for which cause, what
limits were reached, who is served before. What is found out here is only which clause of a refusing expression it was:
that expression is traced on the same ads at the same instant. The nearest miss is the slot that the fewest changes
would make fit.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from roost.classad import ClassAd, FixedWorld, ParseError
from roost.classad.ops import truth
from roost.cli import job_limits
from roost.cli.pool import Pool, Refused, counted, duration, print_json
from roost.cli.refusals import CLAUSES_MAX, causes, is_the_jobs, missing, refusing, shut_by
from roost.cli.story import job_ad
from roost.cli.telling import clock, of_audit
from roost.cli.terminal import CommandError, Exit, say, width
from roost.policy.explain import Explanation, Origin, explain
from roost.policy.explain.configured import configured_machine
from roost.policy.render.words import reasons
from roost.wire.ads import ad_from

#: Refusals that are taken apart, of the slots that the record names.
TRACED_MAX: Final = 1_500
#: Ads that are asked for at once.
_ADS_AT_ONCE: Final = 500
#: How long the matchmaker is waited for to look at a job, s.
_NEW_S: Final = 2.0
_STATUS: Final = {2: "runs", 6: "runs (its output is under way)", 7: "is suspended"}
#: Cause in the record to the expression that refused, and whose MY it has.
_TRACED: Final = {
    "job-requirements": ("Requirements", "job"),
    "slot-requirements": ("Requirements", "slot"),
    "pool-policy-resource": ("NEGOTIATOR_PE_RESOURCE_EXPR", "slot"),
    "pool-policy-job": ("NEGOTIATOR_PE_JOB_EXPR", "job"),
}
#: Cause to what is said of a slot, and of several.
_WORDS: Final = {
    "job-requirements": ("the job does not want", "the job does not want"),
    "slot-requirements": ("does not want the job", "do not want the job"),
    "pool-policy-resource": ("the pool's policy forbids it", "the pool's policy forbids it"),
    "pool-policy-job": ("the pool's policy forbids it", "the pool's policy forbids it"),
    "constraint": ("takes no part in matching", "take no part in matching"),
    "pool-policy": ("is kept out by the pool's policy", "are kept out by the pool's policy"),
    "no-claim-offered": (
        "is not on offer: given away just now, or shut",
        "are not on offer: given away just now, or shut",
    ),
    "claimed": ("is in use, and nothing is preempted", "are in use, and nothing is preempted"),
    "retirement-time": ("is in use, with retirement time left", "are in use, with retirement time left"),
    "occupied": ("would run it, but is in use, and keeps its job", "would run it, but are in use, and keep their jobs"),
    "taken": ("would run it, and was given to another job", "would run it, and were given to other jobs"),
    "not-looked-at": ("was not looked at for it", "were not looked at for it"),
}


@dataclass(slots=True)
class _Group:
    """Slots that are out of the question for the same reason."""

    cause: str
    clause: str
    count: int = 0
    slots: list[str] = field(default_factory=list)
    #: Of the first of them.
    because: str = ""
    #: Who has how many of them, where they are in use.
    holders: Mapping[str, int] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        side = "job" if self.cause in ("job-requirements", "pool-policy-job") else "slot"
        return {
            "cause": self.cause, "side": side, "clause": self.clause, "count": self.count, "because": self.because,
            "slots": self.slots[:20],
        }  # fmt: skip


@dataclass(slots=True)
class _Verdict:
    """What a cycle had for a job."""

    record: dict[str, Any]
    groups: dict[tuple[str, str], _Group] = field(default_factory=dict)
    #: Name, and what would have to be different, of the slot that lacks least.
    nearest: tuple[str, list[str]] | None = None
    #: Whether that would be enough, and not only needed.
    sure: bool = True
    #: A slot that a change of the job would do for.
    by_edit: str = ""
    #: Slots that nothing but what the job can't change keeps from it: their owners, broken machines.
    others: list[str] = field(default_factory=list)

    @property
    def fits(self) -> list[str]:
        """Slots that would run it."""
        if self.record.get("besides"):
            return []
        found: list[str] = self._of("accepted")
        return [*self.record.get("given", []), *found]

    def _of(self, cause: str) -> list[str]:
        return next((each["slots"] for each in self.record["causes"] if each["cause"] == cause), [])


def explain_job(pool: Pool, args: argparse.Namespace) -> int:
    """Carry out ``explain job``."""
    data = job_ad(pool, args.name)
    if data.get("JobStatus") != 1:
        return _not_idle(pool, data, args)
    asked, record = _asked(pool, args.name)
    verdict = None if record is None else _verdict(pool, ad_from(data), record)
    claim = asked.get("claim")
    at_once = asked.get("at_once")
    fits = bool(claim) or (verdict is not None and bool(verdict.fits) and not at_once)
    if args.json:
        found = {} if verdict is None else _verdict_data(verdict)
        print_json(
            {
                "job": args.name,
                "status": "idle",
                "claim": claim,
                "pause": asked.get("pause"),
                "at_once": at_once,
                **found,
            }
        )
        return Exit.OK if fits else Exit.NO
    since = time.time() - float(data.get("EnteredCurrentStatus", time.time()))
    say(f"Job {args.name} of {data.get('Owner', '?')} waits for a slot, for {duration(since)} now.")
    before = data.get("LastVacateReason") or data.get("VacateReason")
    if before:
        say(f"It was on a machine before: {before}.")
    if data.get("LastRejMatchReason"):
        say(f"A machine that it was matched with refused it: {data['LastRejMatchReason']}.")
    if claim:
        _tell_claim(claim)
    pause = asked.get("pause")
    if pause:
        say(
            f"Jobs of its cluster had slots {pause['misses']} times in a row and did not begin: its queue asks for "
            f"another one at {clock(float(pause['until']))}."
        )
    if at_once:
        say(
            f"{counted(at_once, 'job')} of its cluster may be at work at a time (max_materialize), and no more: it "
            "waits until one leaves the queue."
        )
        return Exit.NO
    say("")
    if verdict is None:
        _unknown(pool, str(asked.get("rejection", "")), bool(claim))
    else:
        _show(verdict)
    return Exit.OK if fits else Exit.NO


def _asked(pool: Pool, name: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What the queue and the matchmaker have of a job. One that is new is looked at within moments."""
    until = time.monotonic() + _NEW_S
    while True:
        asked: dict[str, Any] = pool.schedd("autocluster", job=name)
        record = pool.central(
            "explain-job", schedd=asked["schedd"], submitter=asked["submitter"], autocluster=asked["autocluster"]
        )
        if record is not None or asked.get("claim") or time.monotonic() > until:
            return asked, record
        time.sleep(0.1)


def _tell_claim(claim: Mapping[str, Any]) -> None:
    heard = f"since {clock(float(claim['heard_at']))}"
    if claim["stage"] == "asked":
        say(f"It is matched: {claim['slot']} was asked for it, and its machine has not answered {heard}.")
    else:
        say(f"It is matched: {claim['slot']} is held for it, {heard}.")


def _unknown(pool: Pool, rejection: str, claimed: bool) -> None:
    if claimed:
        return
    if not pool.central("ads", kind="Machine", limit=1):
        say("There is no slot in the pool: `roost status --daemons` says what runs on this machine.")
        return
    cycles = pool.central("cycle").get("cycles", 0)
    if not cycles:
        say("The matchmaker has not looked at anything yet: it does as soon as there are slots and jobs.")
    else:
        say("The matchmaker's last cycle was not asked for it: it is new, or a slot is on its way to it.")
    if rejection:
        say(f"What its queue heard last: {rejection}.")


def _not_idle(pool: Pool, data: dict[str, Any], args: argparse.Namespace) -> int:
    status = data.get("JobStatus")
    since = float(data.get("EnteredCurrentStatus") or data.get("CompletionDate") or 0)
    if args.json:
        keys = ("JobStatus", "HoldReason", "HoldReasonCode", "HoldReasonSubCode", "RemoteHost", "RemoveReason",
                "ExitCode", "ExitSignal", "EnteredCurrentStatus")  # fmt: skip
        print_json({"job": args.name, **{key: data[key] for key in keys if key in data}})
    elif status == 5:
        code = f"code {data.get('HoldReasonCode', 0)}, subcode {data.get('HoldReasonSubCode', 0)}"
        say(f"Job {args.name} is on hold since {clock(since)} ({code}):")
        _wrapped(str(data.get("HoldReason", "no reason is known")), "    ")
        _decided(pool, args.name, "hold")
        say(f"`roost release {args.name}` lets it wait again, once the reason is gone.")
    elif status in _STATUS:
        say(f"Job {args.name} {_STATUS[status]} on {data.get('RemoteHost', 'a machine')} since {clock(since)}.")
        say(f"`roost explain slot {data.get('RemoteHost', 'NAME')}` says what may happen to it there.")
    elif status == 3:
        say(f"Job {args.name} was removed at {clock(since)}: {data.get('RemoveReason', '')}")
        _decided(pool, args.name, "removal")
    else:
        end = f"signal {data.get('ExitSignal')}" if data.get("ExitBySignal") else f"status {data.get('ExitCode', '?')}"
        say(f"Job {args.name} ended with {end} at {clock(since)}. `roost story job {args.name}` tells how.")
    return Exit.OK if status in _STATUS or status == 4 else Exit.NO


def _decided(pool: Pool, name: str, kind: str) -> None:
    """Who or what decided so, as it is on record."""
    try:
        records = pool.central("audit", job=name, kinds=[kind], limit=1)["records"]
    except (Refused, CommandError):
        return
    for record in records:
        for line in of_audit(record).why:
            _wrapped(line, "    ")


# -- what the record says ----------------------------------------------------------------------------------------


def _verdict(pool: Pool, job: ClassAd, record: dict[str, Any]) -> _Verdict:
    verdict = _Verdict(record)
    tracer = _Tracer(pool, job, record)
    left = TRACED_MAX
    for each in record["causes"]:
        cause, names = each["cause"], each["slots"]
        if cause not in _TRACED:
            holders = each.get("holders", {})
            verdict.groups[cause, ""] = _Group(cause, "", each["count"], list(names), holders=holders)
            continue
        traced = names[:left]
        left -= len(traced)
        for name, slot in tracer.slots(traced):
            why, shut = tracer.refusal(cause, name, slot), shut_by(slot)
            _count(verdict, cause, why, name, shut if cause == "slot-requirements" else "")
            _consider(verdict, name, tracer.unmet(name, slot), shut)
        if each["count"] > len(traced):
            beyond = _Group(cause, "not looked into", each["count"] - len(traced), list(names[len(traced) :]))
            verdict.groups[cause, beyond.clause] = beyond
    return verdict


class _Tracer:
    """Traces the expressions that refused, on the ads of the pool at the instant of the cycle."""

    def __init__(self, pool: Pool, job: ClassAd, record: dict[str, Any]) -> None:
        self.pool, self.job = pool, job
        self.world = FixedWorld(instant=float(record["at"]), offset=int(record["zone_offset_s"]))
        self.policies = {
            cause: source for cause, source in record["sources"].items() if source is not None and cause in _TRACED
        }
        self._origins = origins_here(pool)

    def slots(self, names: list[str]) -> Iterator[tuple[str, ClassAd]]:
        """The ads of slots."""
        for first in range(0, len(names), _ADS_AT_ONCE):
            for data in self.pool.central("ads", kind="Machine", names=names[first : first + _ADS_AT_ONCE]):
                yield str(data.get("Name", "?")), ad_from(data)

    def refusal(self, cause: str, name: str, slot: ClassAd) -> Explanation | None:
        """Why the expression of a cause is not TRUE; None if it is, by now."""
        knob, side = _TRACED[cause]
        mine, other = (self.job, slot) if side == "job" else (slot, self.job)
        if knob == "Requirements":
            if "Requirements" not in mine or truth(mine.eval("Requirements", other, self.world)) is True:
                return None
            here = side == "slot" and name.partition("@")[2] == self.pool.contact.get("node")
            return self._explained("Requirements", mine, other, self._origins if here else {})
        source = self.policies.get(cause)
        if source is None or not source["text"]:
            return None
        try:
            found = explain(source["text"], mine, other, world=self.world, name=knob, origin=_origin(source["place"]))
        except ParseError:
            return None
        return None if truth(found.value) is True else found

    def _explained(self, name: str, mine: ClassAd, other: ClassAd, origins: Mapping[str, Origin]) -> Explanation:
        return explain(mine.lookup(name), mine, other, world=self.world, name=name, origins=origins)

    def unmet(self, name: str, slot: ClassAd) -> dict[str, Explanation]:
        """All that refuses by cause, and not only what was found first."""
        causes = ("job-requirements", "slot-requirements", *self.policies)
        found = {cause: self.refusal(cause, name, slot) for cause in causes}
        return {cause: each for cause, each in found.items() if each is not None}


def _count(verdict: _Verdict, cause: str, why: Explanation | None, name: str, shut: str) -> None:
    if shut:
        clause, why = shut, None
    elif why is None:
        clause = "it would by now: something has changed since"
    else:
        clause = refusing(why)
    group = verdict.groups.setdefault((cause, clause), _Group(cause, clause))
    group.count += 1
    if not group.slots and why is not None:
        group.because = "; ".join(", ".join(reasons(each)) for each in causes(why)[:CLAUSES_MAX] if reasons(each))
        place = next((step.origin for each in why.clauses for step in reversed(each.path) if step.origin), why.origin)
        if place:
            group.because = f"{group.because} [{place}]".strip()
    group.slots.append(name)


def _consider(verdict: _Verdict, name: str, whys: dict[str, Explanation], shut: str) -> None:
    """Whether a slot is the nearest so far: what would have to be different is less than elsewhere."""
    if not whys:
        return
    if shut or any(not is_the_jobs(cause, why) for cause, why in whys.items()):
        verdict.others.append(name)
    elif not verdict.by_edit:
        verdict.by_edit = name
    if shut:
        return
    changes = [text for why in whys.values() for text in missing(why)]
    sure = all(why.changes for why in whys.values())
    if verdict.nearest is None or (not sure, len(changes)) < (not verdict.sure, len(verdict.nearest[1])):
        verdict.nearest, verdict.sure = (name, changes), sure


def _verdict_data(verdict: _Verdict) -> dict[str, Any]:
    record, nearest = verdict.record, verdict.nearest
    taken = {each.cause: each.count for each in _sorted(verdict) if each.cause not in _TRACED}
    return {
        "at": record["at"],
        "slots": record["slots"],
        "fits": verdict.fits[:20],
        "taken": {cause: count for cause, count in taken.items() if cause != "accepted"},
        "rejected": [group.data() for group in _sorted(verdict) if group.cause in _TRACED],
        "nearest": None if nearest is None else {"slot": nearest[0], "changes": nearest[1], "sure": verdict.sure},
        "matchmaker": record["text"],
        **{
            key: record[key] for key in ("knob", "besides", "limits", "served", "group", "submitter", "jobs", "left")
            if key in record
        },
    }  # fmt: skip


def _sorted(verdict: _Verdict) -> list[_Group]:
    return sorted(verdict.groups.values(), key=lambda group: -group.count)


# -- showing -----------------------------------------------------------------------------------------------------


def _show(verdict: _Verdict) -> None:
    record = verdict.record
    if record["text"] and not verdict.fits:
        _wrapped(f"The matchmaker's word on it, at {clock(float(record['at']))}: {record['text']}.", "")
        say("")
    if record["knob"] or record.get("out"):
        _show_kept_out(record)
    else:
        _show_slots(verdict)
    if verdict.nearest and not verdict.fits:
        name, changes = verdict.nearest
        say("")
        if_ = "if" if verdict.sure else "only if"
        _wrapped(f"Nearest is {name}. It would fit {if_} {' and '.join(changes)}.", "")
    limits = list(job_limits.limits(record))
    if limits:
        say("")
    for line in limits:
        _wrapped(line, "")
    rows = job_limits.fair_share(record)
    if rows:
        say("")
        for line in rows:
            say(line)
    causes = {group.cause for group in verdict.groups.values()}
    hints = job_limits.hints(record, causes, edit=verdict.by_edit, others=verdict.others)
    if hints and not verdict.fits:
        say("")
        say("What would help:")
        for hint in hints:
            _wrapped(hint, "  - ", "    ")


def _show_kept_out(record: dict[str, Any]) -> None:
    knob = record["knob"]
    if not knob:
        # The job's own ad is the reason, which is told already.
        say("So it is out of matchmaking while the pool has a policy: no slot is even looked at.")
        return
    place = f" [{knob['place']}]" if knob["place"] else ""
    whose = "its submitter" if "SCHEDD" in knob["name"] or "SUBMITTER" in knob["name"] else "it"
    say(f"The pool's policy keeps {whose} out of matchmaking: no slot is even looked at.")
    _wrapped(f"{knob['name']} = {knob['text']}{place}", "    ", "      ")


def _show_slots(verdict: _Verdict) -> None:
    record = verdict.record
    total = int(record["slots"])
    say(f"Of {counted(total, 'slot')}:")
    wide = len(str(total))
    for group in _sorted(verdict):
        head = f"  {group.count:>{wide}}  "
        _wrapped(_said(group, record), head, " " * len(head))
        if group.because:
            _wrapped(f"{group.slots[0]}: {group.because}", " " * (len(head) + 4), " " * (len(head) + 6))
        elif group.slots and group.cause != "accepted":
            named = ", ".join(group.slots[:3]) + (", …" if group.count > 3 else "")
            if group.holders:
                named += "; in use by " + ", ".join(
                    f"{name} ({count})" for name, count in list(group.holders.items())[:5]
                )
            _wrapped(named, " " * (len(head) + 4), " " * (len(head) + 4))


def _said(group: _Group, record: dict[str, Any]) -> str:
    if group.cause == "accepted":
        besides = job_limits.held_up(record)
        whole = f"would run it{f', but {besides}' if besides else ' now'}"
        return f"{whole}, as {group.slots[0]}" if group.slots else whole
    words = _WORDS[group.cause][0 if group.count == 1 else 1]
    if group.clause:
        words += f": {group.clause}"
    source = record["sources"].get(group.cause)
    if source and not group.because:
        place = f" [{source['place']}]" if source["place"] else ""
        words += f" ({source['name']} = {source['text']}{place})"
    elif source:
        words += f" ({source['name']})"
    return words


def _wrapped(text: str, first: str, rest: str | None = None) -> None:
    for line in textwrap.wrap(
        text, max(40, width()), initial_indent=first, subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False, break_long_words=False,
    ):  # fmt: skip
        say(line)


def origins_here(pool: Pool) -> Mapping[str, Origin]:
    """Where the policy of this machine was set."""
    roots = pool.contact.get("roots")
    config = pool.home.config(tuple(roots) if roots else None, "STARTD")
    try:
        return configured_machine(config).origins
    except ValueError:
        return {}


def _origin(place: str) -> Origin | None:
    return Origin(file=place) if place else None
