"""What users get of a pool: output where it belongs, holds that say why, commands that do what they say."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.kit import Pool, eventually


def test_output_environment_arguments_and_the_log_are_the_users(shared: Pool) -> None:
    pool = shared
    text = """
arguments = "one 'two words' $(Process)"
environment = "COLOUR='light blue' SEPARATOR=;"
input = in.txt
output = out.$(Process)
error = err.$(Process)
queue 3
"""
    (pool.work / "in.txt").write_text("from the user\n")
    script = 'printf "%s|" "$@" "$COLOUR" "$SEPARATOR" "$PWD"; cat; echo bad >&2; exit 0'
    cluster = pool.submit(text, script)
    pool.wait(cluster)
    for proc in range(3):
        assert (pool.work / f"out.{proc}").read_text() == (
            f"one|two words|{proc}|light blue|;|{pool.work}|from the user\n"
        )
        assert (pool.work / f"err.{proc}").read_text() == "bad\n"
        assert pool.events(cluster, proc)[:2] == ["000", "001"]
        eventually(lambda proc=proc: pool.events(cluster, proc)[-1] == "005")  # type: ignore[misc]
    ad = pool.job(f"{cluster}.1")
    assert (ad["JobStatus"], ad["ExitCode"], ad["ExitBySignal"]) == (4, 0, False)
    assert ad["NumJobStarts"] == 1


@pytest.mark.parametrize("moves", ["YES", "NO"])
def test_the_scratch_directory_in_arguments_and_environment_is_the_job_s(shared: Pool, moves: str) -> None:
    pool, name = shared, f"scratch-{moves}"
    text = f"""
arguments = $$(CondorScratchDir)/a.txt
environment = "WHERE=$$(CondorScratchDir)"
should_transfer_files = {moves}
transfer_output_files = ""
output = {name}
"""
    pool.wait(
        pool.submit(text, 'echo made > "$1"; cat "$WHERE/a.txt"; test "$WHERE" = "$_CONDOR_SCRATCH_DIR" && echo same')
    )
    assert (pool.work / name).read_text() == "made\nsame\n"


def test_wait_tells_how_jobs_ended(shared: Pool) -> None:
    failed = shared.submit("", "exit 7")
    shared.wait(failed, status=1)
    assert shared.job(f"{failed}.0")["ExitCode"] == 7
    killed = shared.submit("", "kill -9 $$")
    shared.wait(killed, status=1)
    ad = shared.job(f"{killed}.0")
    assert (ad["ExitBySignal"], ad["ExitSignal"]) == (True, 9)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("executable = /nowhere/at/all\ntransfer_executable = false\n", 6, id="no-executable"),
        pytest.param("executable = /etc/hostname\ntransfer_executable = false\n", 6, id="not-executable"),
        pytest.param("executable = /bin/true\ninput = missing.txt\n", 8, id="no-input"),
        pytest.param("executable = /bin/true\noutput = nowhere/out\n", 7, id="no-output-directory"),
        pytest.param(
            "executable = /bin/true\nshould_transfer_files = YES\ntransfer_input_files = gone.dat\n",
            13,
            id="input-gone",
        ),
        pytest.param(
            "executable = /bin/true\nshould_transfer_files = YES\ntransfer_output_files = never\n", 12, id="output-gone"
        ),
        pytest.param(
            "executable = /bin/true\narguments = $$(NoSuchAttribute)\n",
            5,
            id="machine-does-not-say",
        ),
    ],
)
def test_a_job_that_cannot_be_run_is_held_with_the_hold_code(shared: Pool, text: str, code: int) -> None:
    cluster = shared.submit(text)
    held = shared.seen(f"{cluster}.0", JobStatus=5)
    assert held["HoldReasonCode"] == code, held["HoldReason"]
    assert held["HoldReason"]
    eventually(lambda: shared.events(cluster)[-1] == "012", "the hold in the log")
    shared("rm", str(cluster))


def test_a_held_job_runs_once_what_was_wrong_is_mended(shared: Pool) -> None:
    cluster = shared.submit("executable = /bin/cat\ninput = late.txt\noutput = late.out\n")
    shared.seen(f"{cluster}.0", JobStatus=5)
    (shared.work / "late.txt").write_text("now\n")
    shared("release", str(cluster))
    shared.wait(cluster)
    assert (shared.work / "late.out").read_text() == "now\n"


def test_files_are_moved_both_ways(shared: Pool) -> None:
    directory = shared.work / "moving"
    (directory / "tree" / "deep").mkdir(parents=True)
    (directory / "tree" / "deep" / "leaf").write_text("leaf")
    big = os.urandom(20 * 1024 * 1024)
    (directory / "big").write_bytes(big)
    text = f"""
initialdir = {directory}
should_transfer_files = YES
when_to_transfer_output = ON_EXIT
transfer_input_files = big, tree
transfer_output_files = copy, made
transfer_output_remaps = "copy = big.copy"
output = out
error = err
"""
    script = (
        'test "$PWD" != "{0}" || exit 3; cp big copy; mkdir made; cp tree/deep/leaf made/; echo said; echo no > other'
    )
    cluster = shared.submit(text, script)
    shared.wait(cluster)
    assert (directory / "big.copy").read_bytes() == big
    assert (directory / "made" / "leaf").read_text() == "leaf"
    assert (directory / "out").read_text() == "said\n"
    assert not (directory / "other").exists()
    assert not (directory / "copy").exists()


def test_what_a_job_made_comes_back_where_nothing_is_named(shared: Pool) -> None:
    directory = shared.work / "unnamed"
    directory.mkdir()
    shared.wait(
        shared.submit(f"initialdir = {directory}\nshould_transfer_files = YES\noutput = out\n", "echo 1 > new; echo 2")
    )
    assert {path.name for path in directory.iterdir()} == {"new", "out"}


def test_a_job_is_suspended_continued_vacated_and_removed_by_hand(shared: Pool) -> None:
    script = 'trap "echo soft; exit 0" TERM; echo $$ > pid.$1; while :; do sleep 0.05; done'
    cluster = shared.submit("arguments = a\noutput = soft\n", script)
    job = f"{cluster}.0"
    shared.seen(job, JobStatus=2)
    pid = int(eventually(lambda: _read(shared, "pid.a")))
    shared("suspend", job)
    shared.seen(job, JobStatus=7)
    eventually(lambda: _state(pid) in "Tt" or _frozen(pid))
    shared("continue", job)
    shared.seen(job, JobStatus=2)
    (shared.work / "pid.a").unlink()
    shared("vacate", job)
    shared.seen(job, NumVacates=1)
    again = int(eventually(lambda: _read(shared, "pid.a")))
    assert again != pid
    shared.seen(job, JobStatus=2)
    shared("rm", job)
    shared.wait(cluster, status=1)
    eventually(lambda: not Path(f"/proc/{again}").exists())
    told = shared.events(cluster)
    assert [each for each in told if each != "006"] == ["000", "001", "010", "011", "004", "001", "009"]


def test_hold_ends_the_run_and_release_lets_it_begin_anew(shared: Pool) -> None:
    cluster = shared.submit("", "echo $$ > held.pid; sleep 600 & wait")
    pid = int(eventually(lambda: _read(shared, "held.pid")))
    shared("hold", str(cluster), "--reason", "not now")
    held = shared.seen(f"{cluster}.0", JobStatus=5, HoldReasonCode=1, HoldReason="not now")
    assert held["NumHolds"] == 1
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    assert eventually(lambda: shared.events(cluster)[-2:] == ["004", "012"])
    (shared.work / "held.pid").unlink()
    shared("release", str(cluster))
    eventually(lambda: _read(shared, "held.pid"))
    shared("rm", str(cluster))
    shared.wait(cluster, status=1)


def test_policy_at_exit_decides_whether_a_job_runs_again(shared: Pool) -> None:
    counted = "echo x >> $1; test $(wc -l < $1) -ge 3"
    retried = shared.submit("arguments = tries\nmax_retries = 5\n", counted)
    shared.wait(retried)
    assert shared.job(f"{retried}.0")["NumJobStarts"] == 3
    exhausted = shared.submit("max_retries = 1\n", "exit 4")
    shared.wait(exhausted, status=1)
    assert shared.job(f"{exhausted}.0")["NumJobStarts"] == 2
    held = shared.submit(
        'on_exit_hold = ExitCode == 9\non_exit_hold_reason = "nine"\non_exit_hold_subcode = 42\n', "exit 9"
    )
    ad = shared.seen(f"{held}.0", JobStatus=5)
    assert (ad["HoldReasonCode"], ad["HoldReasonSubCode"], ad["HoldReason"]) == (3, 42, "nine")
    shared("rm", str(held))


def test_a_job_that_checkpoints_itself_goes_on_from_what_it_saved(shared: Pool) -> None:
    directory = shared.work / "checkpointing"
    directory.mkdir()
    text = f"""
initialdir = {directory}
should_transfer_files = YES
transfer_checkpoint_files = state
checkpoint_exit_code = 85
transfer_output_files = state
output = out
arguments = {directory}
"""
    script = """
test -f state && read n < state || n=0
n=$((n+1)); echo $n > state
test $n -lt 3 && exit 85
until test -f $1/go; do sleep 0.1; done
"""
    cluster = shared.submit(text, script)
    # Saved twice: the queue and the event log say so while the job runs.
    eventually(lambda: shared.job(f"{cluster}.0")["NumCkpts"] == 2)
    assert shared.job(f"{cluster}.0")["JobStatus"] == 2
    eventually(lambda: shared.events(cluster).count("003") == 2)
    assert "005" not in shared.events(cluster)
    (directory / "go").touch()
    shared.wait(cluster)
    assert (directory / "state").read_text() == "3\n"
    ad = shared.job(f"{cluster}.0")
    assert (ad["ExitCode"], ad["NumCkpts"]) == (0, 2)
    events = shared.events(cluster)
    assert "004" not in events
    assert events.count("003") == 2


def test_each_checkpoint_that_the_machine_asks_for_is_in_the_log_while_the_job_runs(start: Callable[..., Pool]) -> None:
    pool = start("POLLING_INTERVAL = 1\nPERIODIC_CHECKPOINT = CurrentTime - LastPeriodicCheckpoint > 2\n")
    text = """
should_transfer_files = YES
transfer_checkpoint_files = state
checkpoint_exit_code = 85
+WantCheckpointSignal = True
+CheckpointSig = "SIGUSR2"
"""
    script = """
test -f state && read n < state || n=0
trap 'echo $((n+1)) > state; exit 85' USR2
while :; do sleep 0.1; done
"""
    cluster = pool.submit(text, script)
    eventually(lambda: pool.events(cluster).count("003") >= 2)
    ad = pool.job(f"{cluster}.0")
    assert (ad["JobStatus"], ad["NumShadowStarts"]) == (2, 1)
    assert ad["NumCkpts"] >= 2
    assert "004" not in pool.events(cluster)


def test_what_a_job_printed_before_its_checkpoint_is_kept_when_it_is_evicted_after_it(shared: Pool) -> None:
    directory = shared.work / "printing"
    directory.mkdir()
    text = f"""
initialdir = {directory}
should_transfer_files = YES
transfer_checkpoint_files = state
checkpoint_exit_code = 85
arguments = {directory}
output = out
"""
    script = """
test -f state && read n < state || n=0
n=$((n+1)); echo step $n; echo $n > state
test $n -lt 3 && exit 85
test -f $1/begun && exit 0
touch $1/begun; sleep 60
"""
    cluster = shared.submit(text, script)
    eventually(lambda: (directory / "begun").exists())
    shared("vacate", "--fast", f"{cluster}.0")
    shared.wait(cluster)
    assert (directory / "out").read_text() == "step 1\nstep 2\nstep 3\n"
    assert shared.job(f"{cluster}.0")["CommittedTime"] >= 0


def test_what_an_evicted_job_saved_is_there_when_it_runs_again(shared: Pool) -> None:
    directory = shared.work / "evicted"
    directory.mkdir()
    text = f"""
initialdir = {directory}
should_transfer_files = YES
when_to_transfer_output = ON_EXIT_OR_EVICT
arguments = {directory}
output = out
"""
    script = """
test -f state && { cat state; exit 0; }
trap "echo saved > state; exit 1" TERM
touch $1/begun
while :; do sleep 0.05; done
"""
    cluster = shared.submit(text, script)
    eventually(lambda: (directory / "begun").exists())
    shared.seen(f"{cluster}.0", JobStatus=2)
    shared("vacate", f"{cluster}.0")
    shared.wait(cluster)
    assert (directory / "out").read_text() == "saved\n"
    ad = shared.job(f"{cluster}.0")
    assert (ad["NumJobStarts"], ad["NumVacates"], ad["ExitCode"]) == (2, 1, 0)
    eventually(lambda: not list((shared.home / "spool").glob(f"{cluster}.0*")), "the end of what is kept of the job")


def test_what_an_earlier_run_saved_stays_saved_and_comes_home(shared: Pool) -> None:
    """Each run changes another file; none of those that it got may be lost when it is evicted, or at the end."""
    directory = shared.work / "evicted often"
    directory.mkdir()
    (directory / "given").write_text("as given\n")
    (directory / "unused").write_text("as given\n")
    text = f"""
initialdir = {directory}
should_transfer_files = YES
when_to_transfer_output = ON_EXIT_OR_EVICT
transfer_input_files = given, unused
output = out
"""
    script = f"""
n=1; while [ -e run$n ]; do n=$((n + 1)); done
[ $n = 1 ] && echo changed > given
[ $n = 4 ] && {{ cat run1 run2 run3 given; exit 0; }}
echo in run $n > run$n
touch "{directory}/begun$n"
sleep 600
"""
    cluster = shared.submit(text, script)
    for run in (1, 2, 3):
        eventually(lambda run=run: (directory / f"begun{run}").exists(), shared.logs)  # type: ignore[misc]
        shared.seen(f"{cluster}.0", JobStatus=2, NumJobStarts=run)
        shared("vacate", f"{cluster}.0")
    shared.wait(cluster)
    assert (directory / "out").read_text() == "in run 1\nin run 2\nin run 3\nchanged\n"
    for name in ("run1", "run2", "run3"):
        assert (directory / name).read_text() == f"in run {name[-1]}\n"
    assert (directory / "given").read_text() == "changed\n"
    assert sorted(each.name for each in directory.iterdir() if not each.name.startswith("begun")) == [
        "given", "out", "run1", "run2", "run3", "unused",
    ]  # fmt: skip


def test_policy_is_looked_at_as_time_passes(shared: Pool) -> None:
    removed = shared.submit("periodic_remove = JobStatus == 2 && NumJobStarts > 0\n", "sleep 600")
    held = shared.submit(
        'periodic_hold = JobStatus == 2 && NumHolds < 1\nperiodic_hold_reason = "enough"\nperiodic_hold_subcode = 7\n'
        "periodic_release = HoldReasonSubCode == 7\n",
        "test -f second && exit 0; touch second; sleep 600",
    )
    idle = shared.submit("request_memory = 900000\nperiodic_remove = JobStatus == 1\nexecutable = /bin/true\n")
    shared.wait(removed, idle, status=1)
    shared.wait("--held", held)
    assert shared.job(f"{removed}.0")["JobStatus"] == 3
    assert shared.job(f"{idle}.0")["JobStatus"] == 3
    ad = shared.job(f"{held}.0")
    assert (ad["JobStatus"], ad["NumHolds"], ad["LastHoldReason"], ad["LastHoldReasonSubCode"]) == (4, 1, "enough", 7)
    assert [kind for kind in shared.events(held) if kind != "006"] == ["000", "001", "004", "012", "013", "001", "005"]
    assert set(shared.ends().values()) == {1}


def test_bad_descriptions_are_refused_with_their_place(shared: Pool) -> None:
    done = shared.try_("submit", text="executable = /bin/true\nrequirements = (Memory >\nqueue\n")
    assert done.returncode != 0
    assert "2" in done.stderr
    assert "requirements" in done.stderr.lower()
    assert shared.jobs() == [] or all(row["ClusterId"] for row in shared.jobs())


def test_edit_changes_what_a_job_needs(shared: Pool) -> None:
    cluster = shared.submit("request_memory = 900000\n", "true")
    shared("edit", f"{cluster}.0", "--set", "RequestMemory=10")
    shared.wait(cluster)
    assert "033" in shared.events(cluster) or shared.job(f"{cluster}.0")["RequestMemory"] == 10


def _read(pool: Pool, name: str) -> str:
    try:
        return (pool.work / name).read_text().strip()
    except OSError:
        return ""


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _frozen(pid: int) -> bool:
    def used() -> list[str]:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]

    before = used()
    time.sleep(0.2)
    return used() == before


def test_jobs_are_told_which_units_of_a_resource_are_theirs(start: Callable[..., Pool]) -> None:
    pool = start("MACHINE_RESOURCE_GPUs = CUDA0, CUDA1\nSLOT_TYPE_1 = 100%\nSLOT_TYPE_1_PARTITIONABLE = True\n"
                 "NUM_SLOTS_TYPE_1 = 1\n", cpus=3)  # fmt: skip
    script = "env > env.$1\nwhile ! test -f go; do sleep 0.05; done\n"
    with_gpus = pool.submit("request_gpus = 1\narguments = $(Process)\nqueue 2\n", script=script)
    without = pool.submit("arguments = none\n", script=script)
    files = [pool.work / f"env.{name}" for name in ("0", "1", "none")]
    eventually(lambda: all(each.exists() and "PATH=" in each.read_text() for each in files))
    pool.work.joinpath("go").touch()
    pool.wait(with_gpus, without)
    found = [dict(line.partition("=")[::2] for line in each.read_text().splitlines()) for each in files]
    for name in ("CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"):
        assert sorted(each[name] for each in found[:2]) == ["0", "1"]
        assert found[2][name] == "10000"
    assert sorted(each["_CONDOR_AssignedGPUs"] for each in found[:2]) == ["CUDA0", "CUDA1"]
    assert {each["OMP_NUM_THREADS"] for each in found} == {"1"}
