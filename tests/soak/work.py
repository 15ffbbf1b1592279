"""Jobs that leave evidence: each run notes its beginning and its end, and marks its output with a token of its own."""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import json
import os
import pwd
import random
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.cli.__main__ import main
from tests.integration.kit import Pool, eventually
from tests.soak.machines import Machine

#: Runs of one job must not overlap: each holds a lock while it lasts. All outputs have the same size, so only their
#: content tells them apart. What a full disk does not take is written again, which no pool can do for a program.
_SCRIPT: Final = """#!/bin/sh
# job.sh ID SECONDS STATUS EVIDENCE
exec 9>>"$4/locks/$1"
flock -n 9 || echo "together $1" >> "$4/proof"
token=$(hostname).$$.$(date +%s%N)
echo "begin $1 $token $(date +%s.%N)" >> "$4/proof"
sleep "$2"
until env printf '%-120s\\n' "output of $1 by $token"; do sleep 0.3; done 2> /dev/null
until env printf '%-120s\\n' "result of $1 by $token from $(cat "in.$1")" > result; do sleep 0.3; done 2> /dev/null
echo "end $1 $token $(date +%s.%N)" >> "$4/proof"
exit "$3"
"""

_DESCRIPTION: Final = """
executable = {script}
arguments = "$(i) $(d) $(r) {evidence}"
transfer_input_files = {inputs}/in.$(i)
should_transfer_files = YES
when_to_transfer_output = ON_EXIT
output = {results}/out.$(i)
error = {results}/err.$(i)
transfer_output_files = result
transfer_output_remaps = "result={results}/result.$(i)"
job_lease_duration = 40
request_memory = 64
request_cpus = 1
request_disk = 1MB
+SoakJob = "$(i)"
"""


@dataclass(slots=True)
class Job:
    """What the soak knows of one job."""

    name: str
    status: int
    batch: int
    #: "cluster.proc", or empty while no acknowledgement names it.
    id: str = ""
    removed: bool = False


@dataclass(slots=True)
class Dag:
    """What the soak knows of one workflow."""

    name: str
    place: Path
    cluster: int
    layers: list[list[str]]


@dataclass(slots=True)
class Work:
    """What was submitted, and with what right it may end."""

    place: Path
    central: Machine
    chance: random.Random
    user: str
    jobs: dict[str, Job] = field(default_factory=dict)
    dags: list[Dag] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    #: Submissions whose answer was lost: how many turned out to be there, and how many not.
    unanswered: dict[str, int] = field(default_factory=lambda: {"taken": 0, "not taken": 0})
    batches: int = 0
    #: Jobs and nodes whose processes the soak itself killed, so that they may have ended by that signal.
    killed: set[str] = field(default_factory=set)
    #: Batches that the queue has acknowledged.
    taken: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name in ("evidence/locks", "inputs", "results", "dags"):
            (self.place / name).mkdir(parents=True)
            (self.place / name).chmod(0o777)
        (self.place / "evidence/proof").touch()
        (self.place / "evidence/proof").chmod(0o666)
        for user in ("root", self.user):
            log = self.place / f"evidence/log.{user}"
            log.touch()
            os.chown(log, pwd.getpwnam(user).pw_uid, -1)
        (self.place / "job.sh").write_text(_SCRIPT)
        (self.place / "job.sh").chmod(0o755)
        os.chown(self.central.work, pwd.getpwnam(self.user).pw_uid, -1)

    # -- asking as the user ------------------------------------------------------------------------------

    @property
    def theirs(self) -> Pool:
        """The pool as the ordinary user reaches it."""
        found = copy.copy(self.central)
        found.home = self.place / "theirs"
        (found.home / "run").mkdir(parents=True, exist_ok=True)
        shutil.copy(self.central.home / "users" / f"{self.user}.json", found.home / "run" / "contact.json")
        return found

    def patiently(self, pool: Pool, *words: str, text: str = "") -> str | None:
        """Run a command until the queue answers; what it printed, or None if the first answer was lost."""
        done = pool.try_(*words, text=text)
        return done.stdout if done.returncode == 0 else None

    # -- submitting --------------------------------------------------------------------------------------

    def submit(self, count: int) -> None:
        """Submit a batch of jobs, as root or as the user, some of them held."""
        self.batches += 1
        batch, chance = self.batches, self.chance
        held = chance.random() < 0.15
        user = self.user if chance.random() < 0.5 else "root"
        pool = self.central if user == "root" else self.theirs
        rows = []
        for number in range(count):
            job = Job(name=f"b{batch}n{number}", status=chance.choice((0, 0, 0, 1, 2)), batch=batch)
            self.jobs[job.name] = job
            rows.append(f"{job.name} {self._seconds()} {job.status}")
            self._input(job.name)
        text = self._described(f"evidence/log.{user}") + f"+SoakBatch = {batch}\n" + ("hold = true\n" if held else "")
        text += "queue i,d,r from (\n" + "\n".join(rows) + "\n)\n"
        answer = self.patiently(pool, "submit", "--json", text=text)
        cluster = int(json.loads(answer)[0]["cluster"]) if answer is not None else self._find(batch, count)
        if cluster:
            self.taken.add(batch)
            if held:
                self.held.append(cluster)

    def acknowledged(self, job: Job) -> bool:
        """Whether the pool has said, at submission or afterwards, that it has a job."""
        return job.batch in self.taken

    def _find(self, batch: int, count: int) -> int:
        """After a lost answer: the cluster of a batch, which must be there whole or not at all; 0 if it is not."""
        self.answering()
        constraint = f"SoakBatch == {batch}"
        ads = json.loads(self._asked("queue", "--json", "--long", "--constraint", constraint))
        ads += json.loads(self._asked("history", "--json", "--long", "--limit", "0", "--constraint", constraint))
        found = {f"{ad['ClusterId']}.{ad['ProcId']}" for ad in ads}
        assert len(found) in (0, count), f"a submission was taken in part: {sorted(found)}"
        self.unanswered["taken" if found else "not taken"] += 1
        return int(next(iter(found)).partition(".")[0]) if found else 0

    def _asked(self, *words: str) -> str:
        """Ask the queue until it answers."""
        found: list[str] = []

        def ask() -> bool:
            done = self.central.try_(*words)
            found.append(done.stdout)
            return done.returncode == 0

        eventually(ask, f"an answer to roost {' '.join(words)}")
        return found[-1]

    def submit_dag(self) -> None:
        """Submit a workflow of three layers."""
        name = f"w{len(self.dags) + 1}"
        place = self.place / "dags" / name
        place.mkdir()
        widths = (1, self.chance.randint(1, 4), 1)
        layers = [[f"{name}l{depth}n{n}" for n in range(width)] for depth, width in enumerate(widths)]
        lines = []
        for node in (node for layer in layers for node in layer):
            self._input(node)
            described = self._described(f"dags/{name}/{node}.log")
            described = described.replace("$(i)", node).replace("$(d)", str(self._seconds())).replace("$(r)", "0")
            (place / f"{node}.sub").write_text(described + "queue\n")
            lines += [f"JOB {node} {node}.sub", f"RETRY {node} 20"]
        for above, below in itertools.pairwise(layers):
            lines.append(f"PARENT {' '.join(above)} CHILD {' '.join(below)}")
        (place / "x.dag").write_text("\n".join(lines) + "\n")

        def submitted() -> int:
            out = io.StringIO()
            with contextlib.chdir(place), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                status = main(["dag", "submit", "--home", str(self.central.home), "--json", "x.dag"])
            if status == 0:
                return int(json.loads(out.getvalue())["cluster"])
            # The answer may have been lost although the run was taken.
            constraint = f'JobUniverse == 7 && Iwd == "{place}"'
            rows = json.loads(self._asked("queue", "--json", "--long", "--constraint", constraint))
            rows += json.loads(self._asked("history", "--json", "--long", "--limit", "0", "--constraint", constraint))
            return int(rows[0]["ClusterId"]) if rows else 0

        cluster = eventually(submitted, "a submitted workflow")
        self.dags.append(Dag(name=name, place=place, cluster=cluster, layers=layers))

    def _described(self, log: str) -> str:
        values = {name: self.place / name for name in ("evidence", "inputs", "results")}
        return _DESCRIPTION.format(script=self.place / "job.sh", **values) + f"log = {self.place / log}\n"

    def _input(self, name: str) -> None:
        (self.place / "inputs" / f"in.{name}").write_text(f"input of {name}\n")

    def _seconds(self) -> float:
        share = self.chance.random()
        low, high = (0.0, 1.0) if share < 0.55 else (1.0, 4.0) if share < 0.88 else (5.0, 12.0)
        return round(self.chance.uniform(low, high), 2)

    # -- what users do meanwhile -------------------------------------------------------------------------

    def answering(self) -> None:
        """Wait until the queue answers."""
        eventually(lambda: self.central.try_("queue", "--json").returncode == 0, self.central.logs)

    def waiting(self) -> list[dict[str, object]]:
        """The ads of the queue."""
        rows: list[dict[str, object]] = json.loads(self._asked("queue", "--json", "--long"))
        return rows

    def meddle(self) -> None:
        """Release what is held, and sometimes remove a job or suspend one."""
        if self.held and self.chance.random() < 0.5:
            self.release(self.held.pop(0))
        if self.chance.random() < 0.25:
            rows = [ad for ad in self.waiting() if "SoakBatch" in ad]
            if rows:
                ad = self.chance.choice(rows)
                self.jobs[str(ad["SoakJob"])].removed = True
                self.central.try_("rm", f"{ad['ClusterId']}.{ad['ProcId']}")

    def release(self, cluster: int) -> None:
        """Release a cluster that was submitted on hold."""

        def released() -> bool:
            self.central.try_("release", str(cluster))
            done = self.central.try_("queue", "--json", "--long", str(cluster))
            return done.returncode == 0 and not [ad for ad in json.loads(done.stdout) if ad.get("JobStatus") == 5]

        eventually(released, f"the release of {cluster}")

    def was_killed(self, words: str) -> None:
        """Note that the soak killed processes of a job, by their command line."""
        found = re.search(r"(?:job\.sh|condor_exec\S*) (\S+) ", words)
        if found:
            self.killed.add(found[1])

    def may_be_held(self, ad: dict[str, object]) -> bool:
        """Whether a job may be on hold: the soak killed its program before that made its result."""
        return ad.get("SoakJob") in self.killed and ad.get("HoldReasonCode") in (12, 13)
