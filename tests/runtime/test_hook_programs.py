"""Hooks, prolog and epilog: run as programs of their own, whole, bounded, and nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.runtime.processes import hook_programs
from roost.runtime.processes.hook_programs import (
    OUTPUT_BYTES_MAX,
    HookCall,
    HookFailed,
    HookResult,
    ads_text,
    printed_ad,
    refusal,
    remove_hook_calls,
    run_hook,
    script_call,
)
from roost.runtime.processes.sandbox import remove_tree
from roost.runtime.processes.shepherd.processes import MARK
from tests.runtime.kit import Beacon, Place, run


@pytest.fixture
def execute(one_place: Place) -> Iterator[Path]:
    """EXECUTE, in which nothing may be left."""
    path = one_place.path / "execute"
    path.mkdir(mode=0o755)
    yield path
    assert not list(path.iterdir())


def _hook(place: Place, text: str, mode: int = 0o755) -> Path:
    path = place.path / "hook"
    path.write_text(text)
    path.chmod(mode)
    return path


def _result(place: Place, execute: Path, call: HookCall) -> HookResult | HookFailed:
    async def work() -> HookResult | HookFailed:
        async with place.fork_server() as fork_server:
            return await run_hook(fork_server, execute, call)

    return run(work())


def test_a_hook_reads_ads_and_prints_one(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, '#!/bin/sh\necho "Told = \\"$1 $A\\""\ngrep "^Size"\necho careful >&2\nexit 3\n')
    job, slot = ClassAd({"Size": 5, "Owner": "u"}), ClassAd({"Memory": 9})
    text = ads_text(job, slot)
    assert text.count("-----\n") == 1
    call = HookCall(key=one_place.key("h/1"), path=path, arguments=("exit",), text=text, environment={"A": "x"})
    found = _result(one_place, execute, call)
    assert found == HookResult(status=3, output='Told = "exit x"\nSize = 5\n', errors="careful\n")
    assert printed_ad(found.output) == ClassAd({"Told": "exit x", "Size": 5})


def test_a_hook_that_does_not_read_what_it_is_told_ends_all_the_same(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, "#!/bin/sh\nexit 0\n")
    call = HookCall(key=one_place.key("1"), path=path, text="x" * 3_000_000)
    assert _result(one_place, execute, call) == HookResult(status=0)


def test_a_hook_killed_by_a_signal_says_which(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, "#!/bin/sh\nsleep 1000 &\nkill -TERM $$\n")
    assert _result(one_place, execute, HookCall(key=one_place.key("1"), path=path)) == HookResult(status=-15)


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_hook_that_prints_without_end_is_killed(one_place: Place, execute: Path, stream: str) -> None:
    path = _hook(one_place, f"#!/bin/sh\nyes >&{stream} &\nexec yes >&{stream}\n")
    found = _result(one_place, execute, HookCall(key=one_place.key("1"), path=path))
    assert isinstance(found, HookFailed) and "printed more" in found.text
    assert not one_place.left()


def test_a_hook_may_print_just_as_much_as_it_may(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, f"#!/bin/sh\nhead -c {OUTPUT_BYTES_MAX} /dev/zero\n")
    found = _result(one_place, execute, HookCall(key=one_place.key("1"), path=path))
    assert isinstance(found, HookResult) and len(found.output) == OUTPUT_BYTES_MAX


def test_a_hook_that_takes_too_long_is_killed(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, "#!/bin/sh\nsetsid sleep 1000 &\nsleep 1000\n")
    found = _result(one_place, execute, HookCall(key=one_place.key("1"), path=path, timeout_s=0.3))
    assert found == HookFailed(text=f"{path} took longer than 0.3 s and was killed")
    assert not one_place.left()


INHERITED = r"""#!/usr/bin/perl
# What a hook finds besides its streams.
opendir(my $fds, "/proc/self/fd");
my @open = sort grep { /^\d+$/ && $_ > 2 && readlink("/proc/self/fd/$_") ne "/proc/$$/fd" } readdir($fds);
print qq{Files = "@open"\n};
print qq{Names = "}, join(" ", sort keys %ENV), qq{"\n};
use Cwd; print qq{Place = "}, getcwd(), qq{"\n};
open(my $status, "<", "/proc/self/status");
while (<$status>) { print qq{$1 = "$2"\n} if /^(SigBlk|SigIgn):\s+(\S+)/ }
open(my $stat, "<", "/proc/self/stat"); my @f = split / /, <$stat>;
print "Leader = ", ($f[5] == $$ ? "true" : "false"), "\n";
printf qq{Umask = "%03o"\n}, umask;
"""


def test_a_hook_inherits_nothing_but_what_its_call_names(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, INHERITED)
    held, written = os.pipe()
    os.set_inheritable(written, True)
    try:
        call = HookCall(
            key=one_place.key("1"), path=path, environment={"PATH": "/bin", "A": "1"}, directory=one_place.path
        )
        found = _result(one_place, execute, call)
    finally:
        os.close(held)
        os.close(written)
    assert isinstance(found, HookResult)
    ad = printed_ad(found.output)
    assert isinstance(ad, ClassAd)
    assert (ad["Files"], ad["Place"], ad["Umask"]) == ("", str(one_place.path), "022")
    # Perl itself ignores SIGFPE; 32 and 33 are the C library's own.
    ignored = int(ad["SigIgn"], 16) & 0x7FFFFFFF & ~(1 << 7)
    assert (int(ad["SigBlk"], 16), ignored, ad["Leader"]) == (0, 0, True)
    # The mark by which its processes are known is all that is added.
    assert ad["Names"] == f"A PATH {MARK.decode()}"


def test_what_a_hook_leaves_running_is_killed_when_it_ends(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, "#!/bin/sh\nsetsid sleep 1000 > /dev/null 2>&1 &\necho 'A = 1'\n")
    found = _result(one_place, execute, HookCall(key=one_place.key("1"), path=path))
    assert found == HookResult(status=0, output="A = 1\n")
    assert not one_place.left()


def test_what_is_no_ad_is_said_to_be_none() -> None:
    found = printed_ad("A = 1\nthis is nothing\n")
    assert isinstance(found, HookFailed) and "not an ad" in found.text
    assert printed_ad("") == ClassAd()


@pytest.mark.parametrize("is_job", [False, True])
@pytest.mark.parametrize(
    "output", ['[ Cmd = "/bin/sleep"; Owner = "ann" ]\n', '[\nCmd = "/bin/sleep"\n]\n', "A = 1\nB-2 = 3\n", "A B = 1\n"]
)
def test_an_ad_with_an_attribute_that_is_no_name_is_refused_whole(output: str, is_job: bool) -> None:
    found = printed_ad(output, is_job=is_job)
    assert isinstance(found, HookFailed) and found.text.startswith("its output is not an ad:")


def test_a_hook_whose_call_is_cancelled_is_killed(one_place: Place, execute: Path, beacon: Beacon) -> None:
    path = _hook(one_place, f"#!/bin/sh\ntrap '' TERM\nsetsid sleep 1000 &\necho up > {beacon.path}\nsleep 1000\n")

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            task = asyncio.create_task(run_hook(fork_server, execute, HookCall(key=one_place.key("1"), path=path)))
            await beacon.line()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(work())
    assert not one_place.left()


def test_a_call_that_is_cancelled_again_and_again_is_over_only_when_all_of_it_is_gone(
    one_place: Place, execute: Path, beacon: Beacon
) -> None:
    path = _hook(one_place, f"#!/bin/sh\nsetsid sleep 1000 &\necho up > {beacon.path}\nsleep 1000\n")

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            task = asyncio.create_task(run_hook(fork_server, execute, HookCall(key=one_place.key("1"), path=path)))
            await beacon.line()
            while not task.done():
                task.cancel()
                await asyncio.sleep(0)
            assert task.cancelled()
            assert not one_place.left()

    run(work())


def test_a_call_that_is_cancelled_while_its_files_are_removed_leaves_nothing(
    one_place: Place, execute: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _hook(one_place, "#!/bin/sh\nexit 0\n")
    removing, may = threading.Event(), threading.Event()

    def slowly(place: Path) -> None:
        removing.set()
        may.wait()
        remove_tree(place)

    monkeypatch.setattr(hook_programs, "remove_tree", slowly)

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            task = asyncio.create_task(run_hook(fork_server, execute, HookCall(key=one_place.key("1"), path=path)))
            await asyncio.to_thread(removing.wait)
            task.cancel()
            asyncio.get_running_loop().call_later(0.1, may.set)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not list(execute.iterdir())

    run(work())


def test_a_call_that_is_cancelled_at_any_moment_leaves_nothing(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, "#!/bin/sh\nsleep 1000\n")

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            for step in range(60):
                call = HookCall(key=one_place.key(str(step)), path=path)
                task = asyncio.create_task(run_hook(fork_server, execute, call))
                await asyncio.sleep(step * 0.0002)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert not list(execute.iterdir()), f"cancelled after {step * 0.2:.1f} ms"

    run(work())
    assert not one_place.left()


def test_what_others_could_have_written_is_not_run(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, "#!/bin/sh\n")
    assert refusal(path) == ""
    path.chmod(0o757)
    assert "world-writable" in refusal(path)
    path.chmod(0o644)
    assert "not an executable file" in refusal(path)
    path.chmod(0o755)
    one_place.path.chmod(0o777)
    assert "put another program there" in refusal(path)
    one_place.path.chmod(0o755)
    assert "No such file" in refusal(path.with_name("absent"))
    found = _result(one_place, execute, HookCall(key=one_place.key("1"), path=path.with_name("absent")))
    assert isinstance(found, HookFailed) and "No such file" in found.text


def test_what_others_could_have_put_on_the_way_to_a_hook_is_not_run(one_place: Place) -> None:
    upper, lower = one_place.path / "upper", one_place.path / "upper" / "lower"
    lower.mkdir(parents=True)
    path, link = lower / "hook", one_place.path / "link"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    link.symlink_to(path)
    assert refusal(path) == refusal(link) == ""
    upper.chmod(0o777)
    for each in (path, link):
        assert f"{upper} is world-writable, so any user could put another program there" in refusal(each)
    # There only owners remove and rename what there is.
    upper.chmod(0o1777)
    assert refusal(path) == refusal(link) == ""
    lower.chmod(0o1777)
    for each in (path, link):
        assert f"{lower} is world-writable, so any user could put another program there" in refusal(each)
    lower.chmod(0o755)
    link.unlink()
    link.symlink_to("link")
    assert "symbolic links" in refusal(link)


def test_two_jobs_in_what_a_hook_printed_are_none() -> None:
    assert printed_ad("\nA = 1\n\nB = 2\n\n", is_job=True) == ClassAd({"A": 1, "B": 2})
    found = printed_ad("A = 1\n\nB = 2\na = 3\n", is_job=True)
    assert isinstance(found, HookFailed) and "more than one ad: a is repeated" in found.text
    assert printed_ad("A = 1\n\nA = 2\n") == ClassAd({"A": 2})


def test_a_hook_that_cannot_be_executed_says_why(one_place: Place, execute: Path) -> None:
    path = _hook(one_place, "#!/no/such/interpreter\n")
    found = _result(one_place, execute, HookCall(key=one_place.key("1"), path=path))
    assert isinstance(found, HookFailed) and "/no/such/interpreter" in found.text


def test_calls_of_a_daemon_that_was_killed_are_stopped(one_place: Place, execute: Path, beacon: Beacon) -> None:
    path = _hook(one_place, f"#!/bin/sh\necho up > {beacon.path}\nsleep 1000\n")
    script = """
import asyncio, sys
from pathlib import Path
from roost.runtime.processes.hook_programs import HookCall, run_hook
from roost.runtime.processes.fork_server import ForkServer
home, key, path = sys.argv[1:]
async def main():
    fork_server = await ForkServer.start(Path(home) / 'nursery')
    await run_hook(fork_server, Path(home) / 'execute', HookCall(key=key, path=Path(path)))
asyncio.run(main())
"""

    async def work() -> None:
        source = str(Path(__file__).parents[2] / "src")
        node = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, str(one_place.path), one_place.key("1"), str(path),
            env={**os.environ, "PYTHONPATH": source},
        )  # fmt: skip
        await beacon.line()
        node.kill()
        await node.wait()
        async with one_place.fork_server():
            assert await remove_hook_calls(execute) == 1
            assert not one_place.left()
            assert await remove_hook_calls(execute) == 0

    run(work())


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/opt/prolog a b", (None, Path("/opt/prolog"), ("a", "b"))),
        ("root@/opt/prolog", ("root", Path("/opt/prolog"), ())),
        ("/opt/x@y z", (None, Path("/opt/x@y"), ("z",))),
        ("NONE", None),
        (" ", None),
    ],
)
def test_commands_of_queues_name_user_program_and_arguments(command: str, expected: object) -> None:
    assert script_call(command) == expected
