"""Programs of the administrator that run around a job: hooks, prolog and epilog.

They run through the fork server like jobs, so that they inherit only what a call names, and all of their processes are
known, can be killed, and have ended at the end. A hook's input is a file, so that a hook that does not read it does not
hang. Its output goes through named pipes that are read continuously: a hook that prints too much is killed and does not
fill a disk. Both are in a directory for each call, in `execute` of the state directory, where the job's user can reach
it; `remove_hook_calls` cleans up what a killed daemon left there.

A hook is refused if another user could have written it: if it, its directory or a directory above is world-writable.
Directories above with the sticky bit (like /tmp), where only owners can remove a file, are accepted. The same applies
to each symbolic link on the path.

This module does not interpret results (`roost.starter.hooks`), or wait for hooks whose result is not needed: cancel the
call to stop it, or give it a time limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from roost.base.records import dataclass, field
from roost.classad import ClassAd, ParseError
from roost.classad.forms import Form, format_ad, parse_ad, parse_ads
from roost.model.command_line import split_old
from roost.runtime.processes.accounts import Account
from roost.runtime.processes.family import Family, adopt
from roost.runtime.processes.fork_server import AlreadyStarted, ForkServer, ForkServerFailed
from roost.runtime.processes.sandbox import remove_tree
from roost.runtime.processes.spawn_order import NotStarted, OrderTooLarge, ProcessEnd, SpawnOrder

#: Maximum output of a hook, to standard output and standard error each, bytes.
OUTPUT_BYTES_MAX: Final = 1024 * 1024
#: How much of standard error is kept, bytes.
ERRORS_BYTES_MAX: Final = 4096
#: Separator between the ads that a hook reads.
DIVIDER: Final = "-----\n"

_PREFIX: Final = "hook_"
#: Stages of a start that depend on settings of a call besides its program.
_OF_CALL: Final = ("directory", "output", "error")
_READ_BYTES: Final = 64 * 1024

#: Valid attribute names.
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """A program to run, and its settings."""

    #: Globally unique name of the call.
    key: str
    path: Path
    arguments: tuple[str, ...] = ()
    #: Its standard input.
    text: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path = Path("/")
    #: The account as which it runs; None for the node's account.
    account: Account | None = None
    #: Time limit, s; None for none.
    timeout_s: float | None = None
    #: Files to which its output is written instead of being read.
    printed_to: tuple[Path | None, Path | None] | None = None
    #: Whether those files are appended to instead of truncated.
    adds: bool = True
    #: Called with its output as it comes, instead of keeping it; may raise ValueError to have the program killed.
    heard: Callable[[bytes], None] | None = None
    #: Called with a file for the program's input, as long as it runs, instead of `text`.
    feeds: Callable[[int], None] | None = None
    #: Called with the program's processes once they run.
    began: Callable[[Family], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult:
    """How a program ended, and its output."""

    #: Exit status; if negative, the number of the signal that killed it.
    status: int
    output: str = ""
    errors: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFailed:
    """A program that did not run to its end."""

    text: str
    #: It was not started: the directory, the files of its call, or such a large environment were not available.
    by_call: bool = False


def refusal(path: Path) -> str:
    """Why a program must not run as a hook; "" if it may."""
    if not path.is_absolute():
        return f"{path} is not an absolute path"
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or not found.st_mode & 0o111:
            return f"{path} is not an executable file"
        if found.st_mode & stat.S_IWOTH:
            return f"{path} is world-writable (chmod o-w)"
        links = list(_links(path))
        nearest = {each.parent for each in links}
        for place in dict.fromkeys(above for each in links for above in each.parents):
            if _is_open(place, is_nearest=place in nearest):
                return f"{place} is world-writable, so any user could put another program there (chmod o-w)"
    except OSError as problem:
        return f"{path}: {problem.strerror}"
    return ""


def _links(path: Path) -> Iterator[Path]:
    """A path, the targets of its links one by one, and finally the path without any links. Raises OSError."""
    whole = path.resolve(strict=True)
    while path.is_symlink():
        yield path
        path = path.parent / path.readlink()
    yield path
    yield whole


def _is_open(place: Path, *, is_nearest: bool) -> bool:
    """Whether any user may replace the entries of a directory."""
    mode = place.stat().st_mode
    return bool(mode & stat.S_IWOTH) and (is_nearest or not mode & stat.S_ISVTX)


async def run_hook(fork_server: ForkServer, execute: Path, call: HookCall) -> HookResult | HookFailed:
    """Run a program to its end. If the call is cancelled, the program is killed, and has ended when the call ends."""
    refused = refusal(call.path)
    if refused:
        return HookFailed(text=refused)
    work = asyncio.ensure_future(_called(fork_server, execute, call))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        # The caller may cancel this repeatedly: the program is killed in any case.
        work.cancel()
        while not work.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise


async def _called(fork_server: ForkServer, execute: Path, call: HookCall) -> HookResult | HookFailed:
    place = execute / f"{_PREFIX}{_plain(call.key)}"
    prepared = asyncio.ensure_future(asyncio.to_thread(_prepare, place, call))
    try:
        async with asyncio.timeout(call.timeout_s):
            await asyncio.shield(prepared)
            return await _run(fork_server, place, call)
    except TimeoutError:
        return HookFailed(text=f"{call.path} took longer than {call.timeout_s:g} s and was killed")
    except (OSError, ForkServerFailed, OrderTooLarge, AlreadyStarted) as problem:
        return HookFailed(text=str(problem), by_call=isinstance(problem, OrderTooLarge))
    finally:
        cleaned = asyncio.ensure_future(_clean_up(prepared, place))
        # A call that is cancelled now is over when nothing of it is left, and `run_hook` raises the cancellation.
        while not cleaned.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([cleaned])


async def _clean_up(prepared: asyncio.Future[None], place: Path) -> None:
    # A thread cannot be cancelled: nothing is removed while it still writes.
    await asyncio.wait([prepared])
    await asyncio.to_thread(remove_tree, place)


async def _run(fork_server: ForkServer, place: Path, call: HookCall) -> HookResult | HookFailed:
    output, errors = call.printed_to or (place / "out", place / "err")
    order = SpawnOrder(
        key=call.key,
        record=place / "record",
        program=call.path,
        arguments=(str(call.path), *call.arguments),
        environment=call.environment,
        directory=call.directory,
        stdin=place / "in",
        stdout=output,
        stderr=errors,
        append=call.adds,
        account=call.account,
    )
    too_much = asyncio.Event()
    with (
        _listening(place / "out", OUTPUT_BYTES_MAX, too_much, call.heard) as out,
        _listening(place / "err", ERRORS_BYTES_MAX, too_much) as err,
        _feeding(place / "in", call.feeds),
    ):
        started = asyncio.ensure_future(fork_server.spawn(order))
        try:
            family = await asyncio.shield(started)
            if isinstance(family, NotStarted):
                by_call = family.stage in _OF_CALL or family.errno == errno.E2BIG
                return HookFailed(text=family.text, by_call=by_call)
            if call.began is not None:
                call.began(family)
            end = await _end(family, too_much)
        except asyncio.CancelledError:
            await _stop(started)
            raise
        out.hear()
        err.hear()
    if too_much.is_set():
        return HookFailed(text=f"{call.path} {out.refused or err.refused} and was killed")
    if not end.is_seen:
        return HookFailed(text=f"it is unknown how {call.path} ended")
    status = end.exit_code if end.exit_code is not None else -(end.signal or 0)
    return HookResult(status=status, output=out.text, errors=err.text)


async def _end(family: Family, too_much: asyncio.Event) -> ProcessEnd:
    """Wait for the end of a program; kill it if it prints too much."""
    end, full = asyncio.ensure_future(family.wait()), asyncio.ensure_future(too_much.wait())
    try:
        await asyncio.wait((end, full), return_when=asyncio.FIRST_COMPLETED)
        if not end.done():
            await family.kill()
        return await end
    finally:
        full.cancel()
        end.cancel()


class _Pipe:
    """The reading end of a pipe."""

    def __init__(
        self, path: Path, kept_max: int, too_much: asyncio.Event, heard: Callable[[bytes], None] | None
    ) -> None:
        # Open for writing too, so that a reader does not reach the end before there is a writer.
        self.file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._too_much = too_much
        self._kept_max = kept_max
        self._heard = 0
        self._kept = bytearray()
        self._on_output = heard
        #: Why the program's output is no longer read.
        self.refused = ""

    @property
    def text(self) -> str:
        """The output that was kept."""
        return self._kept.decode("utf-8", "replace")

    def hear(self) -> None:
        """Read available output, up to the limit."""
        while self._heard <= OUTPUT_BYTES_MAX:
            try:
                more = os.read(self.file, _READ_BYTES)
            except BlockingIOError:
                return
            if self._on_output is not None and not self._taken(more):
                break
            self._heard += 0 if self._on_output is not None else len(more)
            self._kept += more[: self._kept_max - len(self._kept)]
        self.refused = self.refused or f"printed more than {OUTPUT_BYTES_MAX} bytes"
        self._too_much.set()
        asyncio.get_running_loop().remove_reader(self.file)

    def _taken(self, more: bytes) -> bool:
        assert self._on_output is not None
        try:
            self._on_output(more)
        except ValueError as problem:
            self.refused = str(problem).removeprefix("it ")
            return False
        return True


@contextlib.contextmanager
def _listening(
    path: Path, kept_max: int, too_much: asyncio.Event, heard: Callable[[bytes], None] | None = None
) -> Iterator[_Pipe]:
    pipe, loop = _Pipe(path, kept_max, too_much, heard), asyncio.get_running_loop()
    loop.add_reader(pipe.file, pipe.hear)
    try:
        yield pipe
    finally:
        loop.remove_reader(pipe.file)
        os.close(pipe.file)


@contextlib.contextmanager
def _feeding(path: Path, feeds: Callable[[int], None] | None) -> Iterator[None]:
    """Hold the writing end of a program's input, which ends with the daemon."""
    if feeds is None:
        yield
        return
    # Open for reading too, so that it opens before there is a reader.
    file = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        feeds(file)
        yield
    finally:
        os.close(file)


async def _stop(started: asyncio.Future[Family | NotStarted]) -> None:
    """Kill a program; wait for one that is being started, since its record would be written after all."""
    await asyncio.wait([started])
    family = None if started.exception() else started.result()
    if isinstance(family, Family):
        await family.kill()
        await family.wait()


def ads_text(*ads: ClassAd) -> str:
    """Ads in the form for hooks: one attribute per line, a line of hyphens between two ads."""
    return DIVIDER.join(format_ad(ad, Form.OLD) for ad in ads)


def printed_ad(output: str, *, is_job: bool = False) -> ClassAd | HookFailed:
    """The attributes that a hook printed. `is_job`: they form a job, and may not be two ads separated by an empty
    line.
    """
    try:
        if not is_job:
            return _checked(parse_ad(output, Form.OLD))
        found = ClassAd()
        for each in parse_ads(output, Form.OLD):
            twice = next((name for name in each if name in found), None)
            if twice is not None:
                return HookFailed(text=f"it printed more than one ad: {twice} is repeated after an empty line")
            found.update(each)
        return _checked(found)
    except (ParseError, ValueError) as problem:
        return HookFailed(text=f"its output is not an ad: {problem}")


def _checked(ad: ClassAd) -> ClassAd | HookFailed:
    """The ad, if all its names are valid: one in square brackets would be read as an attribute ``[ Cmd``."""
    odd = next((name for name in ad if not _NAME.fullmatch(name)), None)
    if odd is None:
        return ad
    remedy = "print one NAME = EXPRESSION per line, without square brackets and semicolons"
    return HookFailed(text=f"its output is not an ad: {odd!r} is not a valid attribute name; {remedy}")


def script_call(command: str) -> tuple[str | None, Path, tuple[str, ...]] | None:
    """User, path and arguments of ``[user@]path arguments``; None for a command that names no program."""
    words = split_old(command)
    if not words or words[0].upper() == "NONE":
        return None
    user, at, path = words[0].rpartition("@")
    # An @ after a slash is part of the path.
    if not at or "/" in user:
        return None, Path(words[0]), words[1:]
    return user, Path(path), words[1:]


async def remove_hook_calls(execute: Path) -> int:
    """Stop and remove what calls of an earlier daemon left; return their number. Only after `ForkServer.start`."""
    places = [place for place in execute.glob(f"{_PREFIX}*") if place.is_dir()]
    for place in places:
        try:
            key = (place / "key").read_text(errors="replace")
            found = await adopt(place / "record", key)
        except OSError:
            # It was not started, or its record cannot be read.
            found = None
        if isinstance(found, Family):
            await found.kill()
            await found.wait()
        await asyncio.to_thread(remove_tree, place)
    return len(places)


def _prepare(place: Path, call: HookCall) -> None:
    place.mkdir(mode=0o711)
    place.chmod(0o711)
    (place / "key").write_text(call.key)
    if call.feeds is not None:
        os.mkfifo(place / "in", 0o600)
    else:
        with open(place / "in", "x", encoding="utf-8", opener=_private) as file:
            file.write(call.text)
    for name in ("out", "err"):
        os.mkfifo(place / name, 0o600)
    if call.account is not None and os.geteuid() == 0:
        for name in ("in", "out", "err"):
            os.chown(place / name, call.account.uid, call.account.gid)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _plain(key: str) -> str:
    return "".join(each if each.isalnum() or each in "._-" else "_" for each in key)
