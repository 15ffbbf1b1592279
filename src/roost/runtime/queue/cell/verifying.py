"""Submissions in a pool with a cell before they are accepted: the verifier may correct or refuse them."""

from __future__ import annotations

import asyncio
import grp
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from roost.gridengine.commands.errors import Failure
from roost.gridengine.jsv.parameters import JsvSubmitter, Misused, Submission, corrected, environment, parameters_of
from roost.gridengine.jsv.protocol import Result, Verdict
from roost.gridengine.jsv.url import Settings
from roost.runtime.identity import host_name
from roost.runtime.local_time import date_time, instant
from roost.runtime.processes.accounts import NoSuchAccount, account_named
from roost.runtime.queue.cell.verifier import Verifier, VerifierFailed
from roost.schedd.submit.host import MemorySubmitHost
from roost.wire.messages import Answer

if TYPE_CHECKING:
    from roost.schedd.submit import ClusterPlan

_log = logging.getLogger("roost.schedd.jsv")

#: Codes: a refusal, a temporary refusal, and a verifier without a verdict.
REJECTED = "jsv-rejected"
REJECTED_FOR_NOW = "jsv-rejected-for-now"
FAILED = "jsv-failed"


async def verified(
    verifier: Verifier, settings: Settings, users: Sequence[str], clusters: Sequence[ClusterPlan], sender: str
) -> list[ClusterPlan] | Answer:
    """The clusters as changed by the verifier, or why they are refused."""
    by = await asyncio.to_thread(_submitter, sender)
    found = []
    for plan in clusters:
        if not plan.count:
            continue
        submission = Submission(plan=plan)
        try:
            verdict = await verifier.verdict(settings, users, parameters_of(submission, by), environment(submission))
            if not verdict.accepts:
                return _rejected(verdict)
            submission, warnings = await asyncio.to_thread(corrected, submission, verdict, by)
        except VerifierFailed as failed:
            _log.error("a submission by %s was refused: %s", sender, failed)
            remedy = "Ask the administrator of the cell, or try again later."
            return Answer(ok=False, code=FAILED, text=str(failed), remedy=remedy)
        except (Misused, Failure) as problem:
            text = str(problem).removeprefix("Unable to run job: ").removesuffix("\nExiting.").removeprefix("qsub: ")
            _log.error("the JSV's change to a submission by %s is not possible: %s", sender, text)
            return Answer(ok=False, code=FAILED, text=text)
        for text in warnings:
            _log.warning("%s", text)
        found.append(submission.plan)
    return found


def _rejected(verdict: Verdict) -> Answer:
    is_final = verdict.result is Result.REJECT
    text = verdict.text or ("JSV rejected job" if is_final else "JSV temporarily rejected job")
    return Answer(ok=False, code=REJECTED if is_final else REJECTED_FOR_NOW, text=text)


def _submitter(sender: str) -> JsvSubmitter:
    user = sender.partition("@")[0]
    group, home = "", "/"
    try:
        account = account_named(user)
        home = str(account.home)
        group = grp.getgrgid(account.gid).gr_name
    except (NoSuchAccount, KeyError):
        # A user of another machine.
        pass
    return JsvSubmitter(
        user=user,
        group=group,
        home=home,
        host=host_name(),
        submit_host=MemorySubmitHost(cwd=home),
        now=time.time(),
        date_time=date_time,
        instant=instant,
    )
