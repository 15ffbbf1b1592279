"""Work that hooks bring, on real slots with real programs in sh, Perl and Python."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.hooks import Hooks
from tests.integration.kit import Pool, eventually

#: At once again after a job, and once a second where there was none.
QUICK = 'FetchWorkDelay = ifThenElse(State == "Claimed" && Activity == "Idle", 0, 1)\n'
GLOBAL = "STARTD_JOB_HOOK_KEYWORD = DB\n" + QUICK


def test_a_slot_runs_what_a_hook_brings_until_there_is_no_more(start: Callable[..., Pool], tmp_path: Path) -> None:
    hooks = Hooks(tmp_path / "hooks")
    for number in range(3):
        script = f"echo {number} $PREPARED $(head -n 1 prepared | tr ' ' ,) >> {hooks.place}/done"
        xml = "true" if number == 2 else "false"
        hooks.offer(f"item{number}", script, StarterUserLog=f'"{hooks.place}/log.{xml}"', StarterUserLogUseXML=xml)
    pool = start(GLOBAL + hooks.config(), cpus=1)
    eventually(lambda: len(hooks.told("exit")) == 3, "three ends of jobs")
    done = [line.split() for line in (hooks.place / "done").read_text().splitlines()]
    assert [line[:2] for line in done] == [["0", "yes"], ["1", "yes"], ["2", "yes"]]
    # The environment of a starter's hook: what Roost gives a job, and nothing of its daemon.
    assert {"PATH", "TMPDIR", "_CONDOR_SCRATCH_DIR", "_CONDOR_JOB_AD", "_CONDOR_SLOT"} <= set(done[0][2].split(","))
    assert "PYTHONPATH" not in done[0][2]
    eventually(lambda: hooks.told("reply") == [f"reply accept item{n} slot1 claim" for n in range(3)], "three replies")
    assert hooks.told("exit") == [f"exit exit item{n} slot1 no-claim ExitCode=0 ExitSignal=" for n in range(3)]
    last = hooks.place / "log.true"
    eventually(lambda: last.exists() and "JobTerminatedEvent" in last.read_text(), "the end in the last job's log")
    eventually(lambda: "Unclaimed" in pool("status"), "the slot to be free again")
    assert not hooks.told("evict") and not hooks.told("failure")

    def heads() -> list[str]:
        lines = (hooks.place / "log.false").read_text().splitlines()
        return [line.split(" ")[0] for line in lines if " (001." in line]

    eventually(lambda: heads() == ["001", "005", "001", "005"], lambda: str(heads()))
    assert last.read_text().count("JobTerminatedEvent") == 1


def test_each_slot_has_its_own_source_and_a_hung_crashing_or_babbling_one_blocks_no_other(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path / "hooks", "GOOD")
    hooks.offer("one", f"echo $_CONDOR_SLOT >> {hooks.place}/done")
    hooks.offer("two", f"echo $_CONDOR_SLOT >> {hooks.place}/done")
    bad = {
        "HUNG": "#!/bin/sh\ntrap '' TERM\nsetsid sleep 1000 &\nsleep 1000\n",
        "LATE": "#!/bin/sh\nsleep 1000\n",
        "CRASH": "#!/bin/sh\necho 'Cmd = \"/bin/true\"'\nkill -SEGV $$\n",
        "BABBLE": "#!/bin/sh\nyes\n",
        "NOAD": "#!/bin/sh\necho this is not an ad\n",
        "OPEN": "#!/bin/sh\necho 'Cmd = \"/bin/true\"'\n",
    }
    lines = ""
    for number, (keyword, text) in enumerate(bad.items(), 2):
        path = hooks.write(keyword.lower(), text, 0o757 if keyword == "OPEN" else 0o755)
        lines += f"SLOT{number}_JOB_HOOK_KEYWORD = {keyword}\n{keyword}_HOOK_FETCH_WORK = {path}\n"
    pool = start(
        f"STARTD_JOB_HOOK_KEYWORD = GOOD\n{QUICK}{lines}LATE_HOOK_FETCH_WORK_TIMEOUT = 1\n" + hooks.config(),
        cpus=len(bad) + 1,
    )
    eventually(lambda: len(hooks.told("exit")) == 2, "the good slot's work")
    assert (hooks.place / "done").read_text().split() == ["slot1", "slot1"]
    log = pool.home / "log" / "node"

    def said() -> bool:
        text = "".join(path.read_text() for path in pool.home.joinpath("log").iterdir())
        return all(
            word in text
            for word in (
                "took longer than 1 s and was killed",
                "printed more than 1048576 bytes and was killed",
                "its output is not an ad",
                "was killed by signal 11; treated as no work",
                f"{hooks.place}/open is world-writable (chmod o-w)",
            )
        )

    eventually(said, f"the complaints in {log}")
    # Whoever asks about the slot hears it, too.
    slots = {keyword: f"slot{number}" for number, keyword in enumerate(bad, 2)}
    for keyword, problem in (("NOAD", "its output is not an ad"), ("CRASH", "was killed by signal 11")):
        explained = " ".join(pool("explain", "slot", slots[keyword]).split())
        # The hook may be running again by now.
        assert re.search(f"(It|The previous call) brought no job: .*{problem}", explained), explained
    eventually(lambda: [line.split()[3] for line in hooks.told("reply")] == ["slot1", "slot1"], "the replies")
    # The hung hook goes with its daemon, or the end of the pool would find it.


def test_a_partitionable_slot_is_cut_for_each_job_and_a_bogus_ad_is_told_to_its_source(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path / "hooks")
    small = {"RequestCpus": "1", "RequestMemory": "16", "RequestDisk": "1024"}
    wait = f"touch {hooks.place}/up.$_CONDOR_SLOT; until [ -e {hooks.place}/go ]; do sleep 0.05; done"
    hooks.offer("a", wait, **small)
    hooks.offer("b", wait, **small)
    hooks.offer("c", RequestCpus="1")
    hooks.offer("d", Cmd='"/no/such/program"', **small)
    hooks.offer("e", JobUniverse="7", **small)
    hooks.offer("f", Ask="7", **small)
    pool = start("use FEATURE : PartitionableSlot\n" + GLOBAL + hooks.config(), cpus=4)
    eventually(lambda: len(list(hooks.place.glob("up.slot1_*"))) == 2, "two dynamic slots at work")
    eventually(lambda: len(hooks.told("failure")) == 3, "what could not be run")
    (hooks.place / "go").touch()
    eventually(lambda: len(hooks.told("exit")) >= 4, "ends")
    replies = {tuple(line.split()[1:3]) for line in hooks.told("reply")}
    # Without RequestMemory and RequestDisk nothing can be cut from the slot.
    assert replies == {*(("accept", item) for item in "abdef"), ("reject", "c")}
    failures = {line.split()[2]: (line.split()[1], line.split()[5]) for line in hooks.told("failure")}
    assert failures["d"] == ("hold", "HoldReasonCode=6")
    assert failures["e"] == ("hold", "HoldReasonCode=6")
    assert failures["f"] == ("hold", "HoldReasonCode=19")
    eventually(lambda: "slot1_" not in pool("status"), "the dynamic slots to be given back")


def test_fetched_work_gives_way_to_a_better_job_and_its_source_is_told_before_and_after(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path / "hooks")
    hooks.offer("long", f"trap 'echo signal >> {hooks.place}/told; exit 3' TERM; while :; do sleep 0.05; done")
    pool = start(
        f"{GLOBAL}RANK = TARGET.Better =?= True\nMAXJOBRETIREMENTTIME = 0\nMachineMaxVacateTime = 60\n"
        + hooks.config(),
        cpus=1,
    )
    eventually(lambda: hooks.told("update"), "the job to run")
    cluster = pool.submit("+Better = True", script="exit 0")
    pool.wait(cluster)
    eventually(lambda: hooks.told("evict"), "the word that the claim is gone")
    order = [line.split()[0] for line in hooks.told() if not line.startswith(("update", "reply reject"))]
    assert order == ["reply", "vacate", "signal", "exit", "evict"]
    (before,) = hooks.told("vacate")
    assert before.startswith("vacate evict long slot1 no-claim JobState=Vacating VacateTimeLeft=")
    assert hooks.told("exit") == ["exit evict long slot1 no-claim ExitCode=3 ExitSignal="]
    assert hooks.told("evict") == ["evict - long slot1 claim"]


def test_hooks_of_a_queues_job_are_told_how_it_ended(start: Callable[..., Pool], tmp_path: Path) -> None:
    hooks = Hooks(tmp_path / "hooks")
    pool = start("STARTER_DEFAULT_JOB_HOOK_KEYWORD = DB\n" + hooks.config(), cpus=2)
    forever = f"trap 'exit 1' TERM; echo up >> {hooks.place}/up; while :; do sleep 0.05; done"
    well = pool.submit('+Item = "well"', script="exit 4")
    killed = pool.submit('+Item = "killed"', script="kill -9 $$")
    pool.wait(well, killed, status=1)
    held = pool.submit('+Item = "held"', script=forever)
    removed = pool.submit('+Item = "removed"', script=forever)
    wrong = pool.submit('+Item = "wrong"\n+Ask = 7', script="exit 0")
    again = pool.submit(
        '+Item = "again"\n+Ask = 300\nperiodic_remove = NumJobStarts > 0 || NumShadowStarts > 1', script="exit 0"
    )
    up = hooks.place / "up"
    eventually(lambda: up.exists() and len(up.read_text().split()) == 2, "both jobs")
    pool("hold", str(held))
    pool("rm", str(removed))
    ad = pool.seen(f"{wrong}.0", JobStatus=5)
    assert (ad["HoldReasonCode"], ad["HoldReasonSubCode"]) == (19, 7) and "as asked" in ad["HoldReason"]
    expected = {"well", "killed", "held", "removed", "again"}
    eventually(lambda: expected <= {line.split()[2] for line in hooks.told("exit")}, "ends")
    # The first of each: one that is started over may have another.
    told = [line.split() for line in reversed(hooks.told("exit"))]
    ends = {words[2]: " ".join(words[1:2] + words[5:]) for words in told}
    assert ends["well"] == "exit ExitCode=4 ExitSignal="
    assert ends["killed"] == "exit ExitCode= ExitSignal=9"
    assert ends["held"].startswith("hold ")
    assert ends["removed"].startswith("remove ")
    assert ends["again"].startswith("evict ")
    assert {line.split()[2] for line in hooks.told("vacate")} == {"held", "removed"}
    pool("rm", str(held), str(wrong), str(again))


def test_jobs_of_the_local_universe_have_hooks_and_helpers_of_the_queue_have_none(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path / "hooks")
    config = f"STARTER_DEFAULT_JOB_HOOK_KEYWORD = DB\n{hooks.config('exit')}"
    pool = start(config, cpus=1)
    helper = pool.submit('universe = scheduler\n+Item = "helper"', script="exit 0")
    local = pool.submit('universe = local\n+Item = "local"', script="exit 4")
    pool.wait(helper, local, status=1)
    eventually(lambda: hooks.told("exit"), "the word of the end")
    assert [line.split()[1:3] + line.split()[5:6] for line in hooks.told()] == [["exit", "local", "ExitCode=4"]]
    # Another configuration counts for the next one.
    silent, file = hooks.write("silent", "#!/bin/sh\n"), pool.home / "roost.config"
    file.write_text(file.read_text().replace(str(hooks.place / "exit"), str(silent)))
    pool("reconfig")
    pool.wait(pool.submit('universe = local\n+Item = "later"', script="exit 0"))
    assert len(hooks.told()) == 1


def test_work_goes_on_when_the_daemon_is_killed_and_its_end_is_told(start: Callable[..., Pool], tmp_path: Path) -> None:
    hooks = Hooks(tmp_path / "hooks")
    hooks.offer("one", f"echo $$ > {hooks.place}/pid; until [ -e {hooks.place}/go ]; do sleep 0.05; done")
    hooks.offer("two")
    pool = start(GLOBAL + hooks.config(), cpus=1)
    eventually(lambda: (hooks.place / "pid").exists() and (hooks.place / "pid").read_text(), "the job")
    eventually(lambda: hooks.told("update"), "the job to be known")
    old = pool.kill("node")
    eventually(lambda: pool.pid("node") not in (0, old), "another daemon")
    os.kill(int((hooks.place / "pid").read_text()), 0)
    (hooks.place / "go").touch()
    eventually(lambda: len(hooks.told("exit")) == 2, "both ends")
    assert [line.split()[1:3] for line in hooks.told("exit")] == [["exit", "one"], ["exit", "two"]]


def test_a_prolog_of_fetched_work_is_run_again_where_it_was_when_the_daemon_was_killed_within_it(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path / "hooks")
    text = f"echo prolog - $PWD >> {hooks.place}/told\nuntil [ -e {hooks.place}/go ]; do sleep 0.05; done\n"
    prolog = hooks.write("prolog", f"#!/bin/sh\n{text}")
    hooks.offer("one", f"echo job - $PWD >> {hooks.place}/told")
    pool = start(f"{GLOBAL}STARTER_PROLOG = {prolog}\n" + hooks.config("fetch", "exit", "failure"), cpus=1)
    eventually(lambda: hooks.told("prolog"), "the prolog")
    pool.kill("node")
    eventually(lambda: len(hooks.told("prolog")) == 2, "the prolog once more")
    (hooks.place / "go").touch()
    eventually(lambda: hooks.told("exit"), "the end of the job")
    # The machine is not to blame: its slot takes the next one.
    hooks.offer("two", "exit 0")
    eventually(lambda: len(hooks.told("exit")) == 2, "the end of the next job")
    assert not hooks.told("failure")
    places = [line.split(" - ")[1] for line in hooks.told() if not line.startswith("exit")]
    assert places[0] == places[1] == places[2] != places[3]


def test_hooks_of_a_job_that_hang_are_killed_and_hold_up_nobody_for_long(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path / "hooks")
    for name in ("update", "exit", "vacate"):
        hooks.write(name, f"#!/bin/sh\necho {name} - $1 >> {hooks.place}/told\nsetsid sleep 1000 &\nsleep 1000\n")
    # It lasts until the hook hangs, and until another report is due.
    hooks.offer("a", f"until grep -q update {hooks.place}/told; do sleep 0.1; done 2>/dev/null; sleep 1.5")
    pool = start(
        GLOBAL + hooks.config("fetch", "update", "exit", "vacate") + "DB_HOOK_JOB_EXIT_TIMEOUT = 1\n"
        "DB_HOOK_VACATE_JOB_TIMEOUT = 1\n",
        cpus=1,
    )
    eventually(lambda: "exit - exit" in hooks.told(), "the end of the first job")
    # Reports are due once a second; while one hook runs no other is begun.
    assert hooks.told("update") == ["update -"]
    hooks.offer("b", f"trap 'echo signal >> {hooks.place}/told; exit' TERM; while :; do sleep 0.1; done")
    eventually(lambda: len(hooks.told("update")) == 2, "the second job")
    pool("drain", "--schedule", "quick")
    eventually(lambda: "Drained" in pool("status"), "the drain")
    order = [line.partition(" -")[0] for line in hooks.told() if not line.startswith("update")]
    assert order == ["exit", "vacate", "signal", "exit"]
    assert not [words for words in pool.processes().values() if "sleep 1000" in words]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs as others")
def test_hooks_of_a_job_run_as_its_user_in_its_directory(start: Callable[..., Pool], open_path: Path) -> None:
    hooks = Hooks(open_path / "hooks")
    (hooks.place / "told").touch()
    (hooks.place / "told").chmod(0o666)
    for name in ("reply", "exit", "failure", "prepare", "prolog", "epilog"):
        hooks.write(name, f'#!/bin/sh\necho "{name} $(id -un) $(stat -c %U .) $Item" >> {hooks.place}/told\n')
    start(
        GLOBAL
        + hooks.config("fetch", "reply", "prepare", "exit", "failure")
        + f"STARTER_PROLOG = root@{hooks.place}/prolog\n"
        f"STARTER_EPILOG = {hooks.place}/epilog\nSTARTER_SCRIPT_USERS = root\n",
        cpus=1,
    )
    hooks.offer("mine", Owner='"nobody"')
    eventually(lambda: hooks.told("exit"), "the end of the job")
    hooks.offer("whose", Owner='"no-such-user"')
    hooks.offer("nobodys", Owner="")
    eventually(lambda: len(hooks.told("failure")) == 2, "what could not be run")
    eventually(lambda: len(hooks.told("reply")) == 3, "the replies")
    assert {tuple(line.split()[:3]) for line in hooks.told()} == {
        ("reply", "root", "root"),
        ("prepare", "nobody", "nobody"),
        ("prolog", "root", "root"),
        ("epilog", "nobody", "nobody"),
        ("exit", "nobody", "nobody"),
        ("failure", "root", "root"),
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs scripts as others")
def test_a_prolog_runs_as_somebody_else_where_nothing_else_does(start: Callable[..., Pool], open_path: Path) -> None:
    hooks = Hooks(open_path / "hooks")
    (hooks.place / "told").touch()
    (hooks.place / "told").chmod(0o666)
    said = "prolog $(id -un) $PWD ${BASH_ENV-none}"
    prolog = hooks.write("prolog", f'#!/bin/sh\necho "{said}" >> {hooks.place}/told\n')
    epilog = hooks.write("epilog", "#!/bin/sh\nexit 0\n")
    pool = start(
        f"STARTER_PROLOG = nobody@{prolog}\nSTARTER_EPILOG = daemon@{epilog}\nSTARTER_SCRIPT_USERS = nobody\n", cpus=1
    )
    # All jobs are of the user who runs the daemon: no other has been let to its directories yet.
    cluster = pool.submit('environment = "BASH_ENV=/evil"', script="exit 0")
    eventually(lambda: hooks.told(), "the prolog")
    assert hooks.told() == ["prolog nobody / none"]
    # Who is not named runs nothing, and who runs the machine is told so.
    eventually(lambda: "Closed to new jobs: slot1@" in pool("status"), "the slot to be closed")
    assert "STARTER_SCRIPT_USERS does not name daemon" in pool.logs()
    pool("rm", str(cluster))


def test_a_job_whose_place_or_files_are_not_there_is_at_fault_and_not_the_machine(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    hooks = Hooks(tmp_path / "hooks")
    said = f"$1 ${{SGE_JOBEXIT_STAT-none}} >> {hooks.place}/told"
    lines = "".join(
        f"STARTER_{name.upper()} = {hooks.write(name, f'#!/bin/sh{chr(10)}echo {name} {said}{chr(10)}')} $job_id\n"
        for name in ("prolog", "epilog")
    )
    pool = start(lines, cpus=1)
    gone = pool.work / "gone"
    gone.mkdir()
    place = pool.submit(f"initialdir = {gone}\nhold = True", script="exit 0")
    gone.rmdir()
    files = pool.submit("output = /no/such/file", script="exit 0")
    pool("release", str(place))
    assert pool.seen(f"{place}.0", JobStatus=5)["HoldReasonCode"] == 14
    assert pool.seen(f"{files}.0", JobStatus=5)["HoldReasonCode"] == 7
    well = pool.submit("", script="exit 3")
    pool.wait(well, status=1)
    # Both scripts are run for each of them.
    assert sorted(hooks.told()) == sorted(
        line
        for job, status in ((place, "none"), (files, "none"), (well, "3"))
        for line in (f"prolog {job} none", f"epilog {job} {status}")
    )
    pool("rm", str(place), str(files))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs of other users")
@pytest.mark.parametrize("owner", ['"nobody-knows-them"', "undefined"])
def test_nothing_is_written_as_root_for_a_fetched_job_of_no_known_user(
    start: Callable[..., Pool], tmp_path: Path, owner: str
) -> None:
    """Whoever had a hook bring such a job could add to any file of root's."""
    hooks = Hooks(tmp_path / "hooks")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    hooks.offer("item", "exit 0", Owner=owner, StarterUserLog=f'"{closed}/log"')
    pool = start(GLOBAL + hooks.config(), cpus=1)
    eventually(lambda: hooks.told("failure"), "the end of the job")
    eventually(lambda: "Unclaimed" in pool("status"), "the slot to be free again")
    assert list(closed.iterdir()) == []
