"""The matchmaker written again, slowly: one job at a time, one slot at a time, evaluated ad by ad."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from roost.classad import ClassAd, Expr, FixedWorld, evaluate
from roost.negotiator.accountant import Accountant
from roost.negotiator.limits import maximum, parse_limits
from roost.negotiator.settings import NegotiatorSettings
from roost.negotiator.snapshot import Snapshot

TINY = 1e-9


def is_true(value: Any) -> bool:
    return value is True or (value.__class__ in (int, float) and value != 0)


def number(value: Any, otherwise: float) -> float:
    return float(value) if value.__class__ in (bool, int, float) and value == value else otherwise


@dataclass
class Model:
    snapshot: Snapshot
    settings: NegotiatorSettings
    accounts: Accountant
    matches: list[tuple[str, str, int, str, str]] = field(default_factory=list)

    def run(self) -> list[tuple[str, str, int, str, str]]:
        snap, settings = self.snapshot, self.settings
        self.world = FixedWorld(instant=snap.now)
        self.ads = dict(snap.slots.ads())
        self.used: dict[str, float] = {}
        self.limits: dict[str, float] = {}
        in_use = set()
        for held, ad in self.ads.items():
            user = ad.eval("AccountingGroup") if "AccountingGroup" in ad else ad.eval("RemoteUser")
            if ad.eval("State") in ("Claimed", "Preempting") and isinstance(user, str):
                self.used[user] = self.used.get(user, 0.0) + self.weight(ad)
                in_use.add(held)
            for name in ("ConcurrencyLimits", "PreemptingConcurrencyLimits"):
                text = ad.eval(name)
                if isinstance(text, str):
                    self.license(parse_limits(text))
        policy = settings.policy
        discarded = {
            name
            for name, ad in self.ads.items()
            if not policy.log_only and policy.startd_only is not None and is_true(ad.eval_expr(policy.startd_only))
        }
        self.size = sum(self.weight(ad) for name, ad in self.ads.items() if name not in discarded or name in in_use)
        self.free = {name: ad for name, ad in self.ads.items() if name not in discarded and self.offered(name, ad)}
        self.parties: list[dict[str, Any]] = []
        for demand in snap.demands:
            wants = []
            for request in demand.requests:
                dead = (
                    not policy.log_only
                    and policy.job_only is not None
                    and is_true(evaluate(policy.job_only, request.ad, None, self.world))
                )
                wants.append({"request": request, "left": 0 if dead else request.count, "closed": dead})
            self.parties.append({"demand": demand, "wants": wants})
        self.spin()
        return self.matches

    def weight(self, ad: ClassAd) -> float:
        return float(ad["Cpus"]) if self.settings.use_weights else 1.0

    def holder(self, ad: ClassAd) -> str | None:
        if ad.eval("State") not in ("Claimed", "Preempting"):
            return None
        for name in ("PreemptingAccountingGroup", "PreemptingUser", "AccountingGroup", "RemoteUser"):
            if name in ad:
                return str(ad.eval(name))
        return None

    def current_rank(self, ad: ClassAd) -> float:
        preempting = "PreemptingUser" in ad or "PreemptingAccountingGroup" in ad
        return number(ad.eval("PreemptingRank" if preempting else "CurrentRank"), 0.0)

    def offered(self, name: str, ad: ClassAd) -> bool:
        settings = self.settings
        if name in self.snapshot.promised:
            return False
        if settings.slot_constraint is not None and not is_true(ad.eval_expr(settings.slot_constraint)):
            return False
        held = self.holder(ad) is not None
        if ad.eval("State") in ("Claimed", "Preempting") and not (held and settings.consider_preemption):
            return False
        early = settings.consider_early_preemption
        return not held or early or not number(ad.eval("RetirementTimeRemaining"), 0.0) > 0

    def license(self, wanted: dict[str, float]) -> None:
        for name, amount in wanted.items():
            self.limits[name] = self.limits.get(name, 0.0) + amount

    def reached(self, wanted: dict[str, float]) -> bool:
        return any(self.limits.get(n, 0.0) + a > maximum(n, self.settings.limits) for n, a in wanted.items())

    def priority(self, user: str) -> float:
        return self.accounts.effective(user, self.settings)

    # -- pie ---------------------------------------------------------------------------------------

    def spin(self) -> None:
        settings, first = self.settings, True
        for party in sorted(self.parties, key=lambda p: (self.priority(p["demand"].submitter), p["demand"].submitter)):
            account = self.accounts.users.get(party["demand"].submitter)
            if account is not None and account.floor is not None:
                room = account.floor - self.used.get(party["demand"].submitter, 0.0)
                if room > TINY:
                    self.visit(party, room, False)
        active = [p for p in self.parties if self.open(p)]
        while active and self.free:
            names = dict.fromkeys(p["demand"].submitter for p in active)
            worst = max(self.priority(n) for n in names)
            slices = {n: worst / self.priority(n) for n in names}
            total = sum(slices.values())
            limit = {
                n: math.inf
                if settings.ignore_priorities
                else max(0.0, slices[n] / total * self.size - self.used.get(n, 0.0))
                for n in names
            }

            def place(p: dict[str, Any], limit: dict[str, float] = limit) -> tuple[float, float, str, str]:
                n = p["demand"].submitter
                used = self.used.get(n, 0.0)
                ratio = used / (used + limit[n]) if used + limit[n] > 0 else 0.0
                return (self.priority(n), ratio, n, p["demand"].schedd)

            left = before = sum(limit.values())
            spent = dict.fromkeys(names, 0.0)
            count = len(active)
            for party in sorted(active, key=place):
                n = party["demand"].submitter
                cost = self.visit(
                    party, max(0.0, min(limit[n] - spent[n], left)), first and settings.consider_preemption
                )
                spent[n] += cost
                left -= cost
            first = False
            active = [p for p in active if self.open(p)]
            if not (before - left > TINY or len(active) < count):
                break

    def open(self, party: dict[str, Any]) -> bool:
        return any(not w["closed"] for w in party["wants"])

    def visit(self, party: dict[str, Any], limit: float, rank_beyond: bool) -> float:
        used = 0.0
        for want in party["wants"]:
            while not want["closed"]:
                spent = limit <= 0 or used >= limit - TINY
                if spent and not rank_beyond:
                    return used
                cost, over = self.one(party, want, limit, used, rank_beyond)
                if cost is None:
                    # Whoever was stopped by a limit may come again.
                    if over:
                        break
                    want["closed"] = True
                else:
                    used += cost
        return used

    def one(
        self, party: dict[str, Any], want: dict[str, Any], limit: float, used: float, rank_beyond: bool
    ) -> tuple[float | None, bool]:
        request, user = want["request"], party["demand"].submitter
        job: ClassAd = request.ad
        cell = job.get("ConcurrencyLimits")
        if isinstance(cell, str) and self.reached(parse_limits(cell)):
            return None, False
        found, over = None, False
        for name, slot in self.free.items():
            key = self.key(slot, job, user)
            if key is None:
                continue
            state, cost = key[3], self.weight(slot)
            by_rank = state == 1.0 and (rank_beyond or limit > 0)
            if not by_rank and not (used + cost <= limit + TINY or (used == 0 and limit > 0)):
                over = True
                continue
            account = self.accounts.users.get(user)
            ceiling = math.inf if account is None or account.ceiling is None else account.ceiling
            if cost > ceiling - self.used.get(user, 0.0) + TINY:
                over = True
                continue
            if isinstance(cell, Expr):
                text = job.eval_expr(cell, slot)
                if isinstance(text, str) and self.reached(parse_limits(text)):
                    continue
            if found is None or key > found[0]:
                found = key, name
        if found is None:
            return None, over
        (_, name), slot = found, self.free.pop(found[1])
        text = cell if isinstance(cell, str) else job.eval_expr(cell, slot) if isinstance(cell, Expr) else None
        if isinstance(text, str):
            self.license(parse_limits(text))
        self.used[user] = self.used.get(user, 0.0) + self.weight(slot)
        want["left"] -= 1
        want["closed"] = not want["left"]
        preempts = {2.0: "none", 1.0: "rank", 0.0: "prio"}[found[0][3]]
        self.matches.append((party["demand"].schedd, user, request.autocluster, name, preempts))
        return self.weight(slot), False

    # -- one pair ----------------------------------------------------------------------------------

    def key(self, slot: ClassAd, job: ClassAd, user: str) -> tuple[float, ...] | None:
        settings, policy = self.settings, self.settings.policy
        for mine, other, extra in ((slot, job, policy.resource), (job, slot, policy.job)):
            if "Requirements" in mine:
                if not is_true(mine.eval("Requirements", other, self.world)):
                    return None
            elif extra is None:
                return None
            if extra is not None and not policy.log_only and not is_true(mine.eval_expr(extra, other, self.world)):
                return None
        state, preemption = 2.0, 0.0
        holder = self.holder(slot)
        if holder is not None:
            shown = slot.copy()
            shown["CurrentRank"] = self.current_rank(slot)
            shown["RemoteUserPrio"] = self.priority(holder)
            asking = job.copy()
            asking["SubmitterUserPrio"] = asking["SubmittorPrio"] = self.priority(user)
            rank = number(slot.eval("Rank", job), 0.0) if "Rank" in slot else 0.0
            condition = settings.preemption_requirements
            if rank > self.current_rank(slot):
                state = 1.0
            elif (
                holder == user
                or rank < self.current_rank(slot)
                or (condition is not None and not is_true(shown.eval_expr(condition, asking)))
                or not self.priority(user) < self.priority(holder)
            ):
                return None
            else:
                state = 0.0
            preemption = -math.inf
            if settings.preemption_rank is not None:
                preemption = number(shown.eval_expr(settings.preemption_rank, asking), -math.inf)

        def own(expression: Expr | None) -> float:
            return -math.inf if expression is None else number(slot.eval_expr(expression, job), -math.inf)

        job_rank = number(job.eval("Rank", slot), 0.0) if "Rank" in job else 0.0
        return own(settings.pre_job_rank), job_rank, own(settings.post_job_rank), state, preemption
