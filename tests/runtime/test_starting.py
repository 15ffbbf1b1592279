"""What a job's process is when its program begins, and what is said when it cannot begin."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import resource
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from roost.model.starter import StarterHold
from roost.runtime.processes import fork_server as fork_server_module
from roost.runtime.processes.accounts import NoSuchAccount, account_named
from roost.runtime.processes.family import Family
from roost.runtime.processes.fork_server import CROWD, AlreadyStarted, ForkServer, ForkServerFailed
from roost.runtime.processes.shepherd.processes import children
from roost.runtime.processes.spawn_order import UNLIMITED, OrderTooLarge, SpawnOrder
from tests.runtime.kit import Beacon, Place, eventually, not_started, run, started

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs as others")


def test_exit_codes_and_signals_are_told(place: Place) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            for number, script in enumerate(("exit 0", "exit 85", "kill -SEGV $$", "kill -9 $$")):
                end = await (await started(fork_server, place.shell(f"{number}", script))).wait()
                seen.append((end.exit_code, end.signal))
                assert end.started_at is not None and end.ended_at is not None and end.started_at <= end.ended_at

    seen: list[tuple[int | None, int | None]] = []
    run(work())
    assert seen == [(0, None), (85, None), (None, signal.SIGSEGV), (None, signal.SIGKILL)]


def test_two_hundred_jobs_at_once_end_each_with_its_own_code(place: Place) -> None:
    async def one(fork_server: ForkServer, number: int) -> int | None:
        family = await started(fork_server, place.shell(str(number), f"exit {number % 100}"))
        return (await family.wait()).exit_code

    async def work() -> list[int | None]:
        async with place.fork_server() as fork_server:
            return await asyncio.gather(*(one(fork_server, number) for number in range(200)))

    assert run(work()) == [number % 100 for number in range(200)]


def test_the_process_is_as_ordered(one_place: Place) -> None:
    script = (
        'umask; pwd; echo "$A|$B"; ulimit -c; ulimit -S -n; nice; cat; echo err >&2; ls /proc/$$/fd; '
        "grep -E 'SigBlk|SigIgn|Cpus_allowed_list' /proc/self/status; cat /proc/$$/oom_score_adj; "
        "cut -d' ' -f5,6 /proc/$$/stat; echo $$"
    )
    (one_place.path / "in").write_text("hello\n")
    base = os.nice(0)
    order = one_place.shell(
        "1",
        script,
        environment={"A": "x y", "B": "é", "PATH": "/bin:/usr/bin"},
        umask=0o027,
        limits={"core": (0, 0), "nofile": (40, 50)},
        niceness=3,
        processors=(min(os.sched_getaffinity(0)),),
        oom_score=900,
        stdin=Path("in"),
        stdout=Path("out"),
        stderr=Path("err"),
    )

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            assert (await (await started(fork_server, order)).wait()).exit_code == 0

    run(work())
    told = (one_place.path / "out").read_text().split("\n")
    pid = told[-2]
    assert told[:8] == ["0027", str(one_place.path), "x y|é", "0", "40", str(base + 3), "hello", "0"]
    assert told[8:10] == ["1", "2"], "no file but the three streams is open"
    zeros = "0000000000000000"
    first = min(os.sched_getaffinity(0))
    # Signals 32 and 33 belong to the C library, and nobody can reset them.
    ignored = int(told[11].rpartition("\t")[2], 16) & ~(0b11 << 31)
    assert (told[10], ignored) == (f"SigBlk:\t{zeros}", 0)
    assert told[12:14] == [f"Cpus_allowed_list:\t{first}", "900"]
    assert told[14] == f"{pid} {pid}", "group and session are the job's own"
    assert (one_place.path / "err").read_text() == "err\n"
    assert (one_place.path / "out").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("crowd", [1, CROWD], ids=["crowd", "alone"])
def test_a_plain_order_has_a_clean_process_too(place: Place, monkeypatch: pytest.MonkeyPatch, crowd: int) -> None:
    monkeypatch.setattr(fork_server_module, "CROWD", crowd)
    os.mkfifo(place.path / "go")
    script = (
        # What the shepherd took on for the start it has laid down when the start is told.
        f"read go < {place.path}/go; umask; ls /proc/$$/fd; "
        "grep -E 'SigBlk|SigIgn' /proc/self/status; cat /proc/$$/oom_score_adj; "
        "cut -d' ' -f5,6 /proc/$$/stat; echo $$; cat /proc/$PPID/oom_score_adj; grep -c . /proc/$PPID/cgroup; "
        "cmp -s /proc/$PPID/cgroup /proc/$$/cgroup; echo $?"
    )

    async def work() -> None:
        async with place.fork_server() as fork_server:
            family = await started(fork_server, place.shell("1", script, umask=0o077, stdout=Path("out")))
            (place.path / "go").write_text("go\n")
            assert (await family.wait()).exit_code == 0

    run(work())
    told = (place.path / "out").read_text().split("\n")
    assert told[:5] == ["0077", "0", "1", "2", "SigBlk:\t0000000000000000"]
    # Two numbers that the C library keeps for itself are ignored in all that it spawns.
    assert int(told[5].split()[1], 16) & ~0x180000000 == 0
    assert told[6] == "800"
    assert told[7] == f"{told[8]} {told[8]}"
    assert told[9] == Path("/proc/self/oom_score_adj").read_text().strip()
    assert told[11] == ("1" if place.groups else "0"), "the shepherd is not in the job's control group"
    assert (place.path / "out").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("niceness", [0, 1])
def test_streams_that_are_not_wanted_lead_nowhere(one_place: Place, niceness: int) -> None:
    """Both ways of starting a program: a plain order, and one that needs more."""
    source = one_place.path / "in"
    source.write_text("data\n")
    source.chmod(0o600)

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            for number in range(8):
                chosen = {name: number >> bit & 1 for bit, name in enumerate(("stdin", "stdout", "stderr"))}
                streams = {name: source if name == "stdin" else out / name for name, wanted in chosen.items() if wanted}
                for each in out.glob("*"):
                    each.unlink()
                script = 'read x; echo "out $x" || exit 8; echo "err $x" >&2 || exit 9'
                order = one_place.shell(f"{number}", script, niceness=niceness, **streams)
                assert (await (await started(fork_server, order)).wait()).exit_code == 0
                read = "data" if chosen["stdin"] else ""
                found = {each.name: each.read_text() for each in out.iterdir()}
                assert found == {name: f"{name[3:]} {read}\n" for name in ("stdout", "stderr") if chosen[name]}
                assert source.read_text() == "data\n"

    out = one_place.path / "out"
    out.mkdir()
    run(work())


def test_one_path_for_both_outputs_is_one_stream(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            for number, append in ((1, False), (2, True), (3, False)):
                order = one_place.shell(
                    str(number), f"echo a{number}; echo b{number} >&2", stdout=out, stderr=out, append=append
                )
                await (await started(fork_server, order)).wait()
                seen.append(out.read_text())

    out, seen = one_place.path / "both", list[str]()
    run(work())
    assert seen == ["a1\nb1\n", "a1\nb1\na2\nb2\n", "a3\nb3\n"]


@AS_ROOT
def test_root_runs_jobs_as_their_users(one_place: Place) -> None:
    try:
        account = account_named("nobody")
    except NoSuchAccount:
        pytest.skip("no such user here")
    work_dir = one_place.path / "work"
    work_dir.mkdir()
    os.chown(work_dir, account.uid, account.gid)
    secret = one_place.path / "secret"
    secret.write_text("s")
    secret.chmod(0o600)
    limits = {"nofile": (64, 64), "core": (0, 0)}

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            order = one_place.shell(
                "1",
                "id -u; id -g; id -G; touch made",
                account=account,
                directory=work_dir,
                stdout=Path("out"),
                limits=limits,
            )
            assert (await (await started(fork_server, order)).wait()).exit_code == 0
            order = one_place.order("2", "/bin/cat", account=account, stdin=secret)
            failure = await not_started(fork_server, order)
            assert (failure.code, failure.errno) == (StarterHold.UNABLE_TO_OPEN_INPUT, 13)
            order = one_place.order("3", "/bin/true", account=account, stdout=one_place.path / "mine")
            failure = await not_started(fork_server, order)
            assert (failure.code, failure.errno) == (StarterHold.UNABLE_TO_OPEN_OUTPUT, 13)

    run(work())
    told = (work_dir / "out").read_text().split()
    assert told[:2] == [str(account.uid), str(account.gid)]
    assert {int(each) for each in told[2:]} == set(account.groups)
    assert {(each.stat().st_uid, each.stat().st_gid) for each in work_dir.iterdir()} == {(account.uid, account.gid)}


def _file(place: Place, name: str, text: str, mode: int) -> Path:
    path = place.path / name
    path.write_text(text)
    path.chmod(mode)
    return path


def _failing(place: Place) -> list[tuple[SpawnOrder, StarterHold, int, str]]:
    plain = _file(place, "plain", "data", 0o644)
    script = _file(place, "script", "#!/no/such/interpreter -x\n", 0o755)
    nothing = _file(place, "nothing", "neither script nor program\n", 0o755)
    hold = StarterHold
    true = "/bin/true"
    return [
        (place.order("1", "/no/such/program"), hold.FAILED_TO_CREATE_PROCESS, 2, "/no/such/program"),
        (place.order("2", plain), hold.FAILED_TO_CREATE_PROCESS, 13, "chmod +x"),
        (place.order("3", script), hold.FAILED_TO_CREATE_PROCESS, 2, "/no/such/interpreter"),
        (place.order("4", nothing), hold.FAILED_TO_CREATE_PROCESS, 8, "begin with #!"),
        (place.order("5", true, directory=Path("/no/dir")), hold.IWD_ERROR, 2, "initialdir"),
        (place.order("6", true, directory=plain), hold.IWD_ERROR, 20, "plain"),
        (place.order("7", true, stdin=Path("absent")), hold.UNABLE_TO_OPEN_INPUT, 2, "absent"),
        (place.order("8", true, stdin=place.path), hold.UNABLE_TO_OPEN_INPUT, 21, "Is a directory"),
        (place.order("9", true, stdout=Path("no/dir/out")), hold.UNABLE_TO_OPEN_OUTPUT, 2, "no/dir/out"),
        (place.order("10", true, stderr=place.path), hold.UNABLE_TO_OPEN_OUTPUT, 21, "standard error"),
        (place.order("11", true, "x" * 200_000), hold.FAILED_TO_CREATE_PROCESS, 7, "too large"),
    ]


@pytest.mark.parametrize("niceness", [0, 1])
def test_what_cannot_start_says_why_and_with_which_hold(place: Place, niceness: int) -> None:
    cases = [(replace(order, niceness=niceness), code, number, words) for order, code, number, words in _failing(place)]

    async def work() -> None:
        async with place.fork_server() as fork_server:
            for order, code, number, words in cases:
                failure = await not_started(fork_server, order)
                assert (failure.code, failure.errno) == (code, number), failure
                assert words in failure.text
            end = await (await started(fork_server, place.shell("after", "exit 3"))).wait()
            assert end.exit_code == 3, "the fork server goes on"

    run(work())


def test_limits_are_the_jobs_own(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            order = one_place.order("1", "/usr/bin/head", "-c", "5000", "/dev/zero", stdout=Path("out"))
            end = await (await started(fork_server, replace(order, limits={"fsize": (1000, UNLIMITED)}))).wait()
            assert (end.signal, end.core_dumped) == (signal.SIGXFSZ, False) or end.core_dumped
            assert (one_place.path / "out").stat().st_size == 1000
            with pytest.raises(KeyError, match="speed"):
                await fork_server.spawn(one_place.order("2", "/bin/true", limits={"speed": (1, 1)}))
            end = await (await started(fork_server, one_place.shell("3", "exit 3"))).wait()
            assert end.exit_code == 3

    run(work())


@pytest.mark.parametrize("niceness", [0, 1])
def test_a_program_that_is_still_being_written_is_waited_for_a_moment(one_place: Place, niceness: int) -> None:
    program = one_place.path / "program"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o755)

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            for attempt in itertools.count():
                with program.open("ab"):
                    order = one_place.order(f"1.{attempt}", program, niceness=niceness)
                    task = asyncio.create_task(fork_server.spawn(order))
                    await eventually(lambda task=task: task.done() or bool(children(fork_server.pid)))  # type: ignore[misc]
                family = await task
                # Where this test does not get the processor for longer than the moment, it tries again.
                if isinstance(family, Family):
                    break
            assert (await family.wait()).exit_code == 0
            with program.open("ab"):
                failure = await not_started(fork_server, one_place.order("2", program, niceness=niceness))
            assert "it is open for writing" in failure.text

    run(work())


def test_a_pipe_that_nobody_reads_does_not_hold_up_the_node(one_place: Place) -> None:
    os.mkfifo(one_place.path / "pipe")

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            failure = await not_started(fork_server, one_place.order("1", "/bin/true", stdout=Path("pipe")))
            assert "without a reader" in failure.text

    run(work())


def test_a_record_that_cannot_be_written_stops_the_job(one_place: Place) -> None:
    ran = one_place.path / "ran"

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            for name, in_the_way in (("gone/1", "absent"), ("file/1", "a file")):
                if in_the_way == "a file":
                    (one_place.jobs / "file").write_text("")
                failure = await not_started(fork_server, one_place.shell(name, f"touch {ran}"))
                assert (failure.stage, failure.code) == ("record", StarterHold.FAILED_TO_CREATE_PROCESS)

    run(work())
    assert not ran.exists()


def test_a_start_that_cannot_be_recorded_kills_what_had_started(one_place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            # The record can be made, and then the disk is full.
            resource.prlimit(fork_server.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            order = one_place.shell("1", f"echo $$ > {beacon.path}; exec sleep 1000")
            failure = await not_started(fork_server, order)
            assert failure.stage == "record"
            assert not one_place.left()
            assert order.record.stat().st_size == 1

    run(work())


def test_a_start_is_ordered_once(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            family = await started(fork_server, one_place.shell("1", "exit 0"))
            await family.wait()
            with pytest.raises(AlreadyStarted):
                await fork_server.spawn(one_place.shell("1", "exit 0"))

    run(work())


def test_orders_larger_than_any_system_takes_are_refused(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            with pytest.raises(OrderTooLarge):
                await fork_server.spawn(one_place.order("1", "/bin/true", *["x" * 100_000] * 90))
            large = one_place.order("2", "/bin/true", *["x" * 100_000] * 15)
            assert (await (await started(fork_server, large)).wait()).exit_code == 0, "many packets are one order"

    run(work())


def test_a_start_that_nobody_waits_for_any_more_is_undone(place: Place, beacon: Beacon) -> None:
    async def work() -> None:
        async with place.fork_server() as fork_server:
            task = asyncio.create_task(fork_server.spawn(place.shell("1", f"echo up > {beacon.path}; exec sleep 1000")))
            await beacon.line()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                # The answer may have been there already; then the job is the caller's.
                family = await task
                assert isinstance(family, Family) and await family.kill()
            # `close` waits for what is done in the background.

    run(work())


def test_the_fork_server_is_small(one_place: Place) -> None:
    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            await (await started(fork_server, one_place.shell("1", "exit 0"))).wait()
            lines = Path(f"/proc/{fork_server.pid}/smaps_rollup").read_text().splitlines()
            pss_kib = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
            assert pss_kib < 8 * 1024

    run(work())


def test_a_directory_has_one_fork_server(one_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with one_place.fork_server():
            monkeypatch.setattr("roost.runtime.processes.fork_server.START_S", 0.05)
            with pytest.raises(ForkServerFailed, match="another node"):
                await ForkServer.start(one_place.path / "nursery", use_groups=False)

    run(work())
