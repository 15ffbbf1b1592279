"""``qrsub``: make an advance reservation, which is granted at once or not at all."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.request_files import words_of_file
from roost.cli.pool_connection import Refused
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.names import check_name
from roost.gridengine.commands.options import Given, Option, is_yes, taken, usage
from roost.model.cell_reservations import ACCOUNT, AdvanceReservation
from roost.runtime.local_time import instant
from roost.wire.requests import central

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

OPTIONS: Final = (
    Option("a", "when it begins, [[CC]YY]MMDDhhmm[.SS]; now if it is left out", "date_time"),
    Option("A", "account string", "account_string"),
    Option("ckpt", "queues have to have this checkpointing environment", "ckpt_name"),
    Option("d", "how long it lasts, hours:minutes:seconds or seconds", "time"),
    Option("e", "when it ends, [[CC]YY]MMDDhhmm[.SS]", "date_time"),
    Option("he", "y: start no job of it while one of its queues is in trouble", "y[es]|n[o]"),
    Option("l", "request resources", "resource_list"),
    Option("M", "addresses for mail; the pool sends none", "mail_list"),
    Option("m", "when to send mail; only n acts, others are answered with a warning", "mail_options"),
    Option("masterq", "request queues for the master task", "wc_queue_list"),
    Option("N", "name of the reservation", "ar_name"),
    Option("now", "y: only interactive queues", "y[es]|n[o]"),
    Option("pe", "parallel environment and slots, n[-[m]]|[-]m,...", "pe_name slot_range"),
    Option("q", "request queues", "wc_queue_list"),
    Option("u", "who may use it: users, and user lists as @name; else the owner", "user_list"),
    Option("w", "v: only find out whether there is enough", "e|v"),
)
_FILE: Final = "sge_ar_request"
#: Exit status if the cell has as many reservations as allowed.
_TOO_MANY: Final = 25
_NONE: Final = "no suitable queues"
#: How far in the past a start may be, s: the command itself takes a while.
_LATE_S: Final = 5


class _Denied(Exception):
    """A refusal: Grid Engine prints it on standard output."""


def run(name: str, arguments: list[str]) -> int:
    """Run ``qrsub``."""
    if not arguments:
        raise Failure(f"{usage('qrsub', OPTIONS)}ERROR! no option argument", FAILED)
    try:
        given = [each for words in (*_files(), arguments) for each in _options(words)]
        one = _reservation(given)
        verify = next((each.value for each in reversed(given) if each.name == "w"), "e")
        return ask("qrsub", lambda pool: _reserve(pool, one, verify=verify == "v"))
    except _Denied as denied:
        sys.stdout.write(f"{denied}\n")
        return FAILED
    except Failure as failure:
        raise Failure(str(failure).replace("qsub: ", "qrsub: "), FAILED) from None


def _files() -> Iterator[list[str]]:
    """The options of request files, lowest precedence first."""
    if root := os.environ.get("SGE_ROOT"):
        yield words_of_file(Path(root, os.environ.get("SGE_CELL") or "default", "common", _FILE))
    yield words_of_file(Path("~").expanduser() / f".{_FILE}")


def _options(words: Sequence[str]) -> list[Given]:
    given, rest = taken("qrsub", words, OPTIONS)
    if rest:
        raise Failure(f"qrsub: {rest[0]!r} is not an option, and a reservation takes nothing else")
    return given


def _reservation(given: Sequence[Given]) -> AdvanceReservation:
    """The request; the last of repeated options counts, except that resources and queues are merged. Raises Failure."""
    texts = {each.name: " ".join(each.values) for each in given}
    for each in given:
        if each.name in ("he", "now"):
            is_yes("qrsub", each)
    if texts.get("w", "e") not in ("e", "v"):
        raise Failure(f'qrsub: invalid option argument "-w {texts["w"]}"')
    events = texts.get("m", "n")
    if not events or not set(events) <= set("bean"):
        raise Failure(f'qrsub: Wrong mail options list format "{events}" specified to -m option')
    if events != "n":
        sys.stderr.write(f"qrsub: the pool sends no mail: -m {events} has no effect\n")
    users = tuple(word for word in texts.get("u", "").split(",") if word)
    for user in users:
        _check_user(user)
    if "N" in texts:
        _check_name(texts["N"])
    start, end = _times(texts)
    return AdvanceReservation(
        number=0,
        owner="",
        submitted=0.0,
        start=start,
        end=end,
        name=texts.get("N", ""),
        group=_group(),
        account=texts.get("A", ACCOUNT),
        resources=",".join(each.value for each in given if each.name == "l"),
        queues=",".join(each.value for each in given if each.name == "q"),
        master_queues=texts.get("masterq", ""),
        parallel=_parallel(texts.get("pe", "")),
        checkpoint=texts.get("ckpt", ""),
        interactive=texts.get("now", "n").lower().startswith("y"),
        users=users,
        hard_errors=texts.get("he", "n").lower().startswith("y"),
        mail_options="" if events == "n" else "".join(sorted(set(events) - {"n"})),
        mail_list=texts.get("M", ""),
    )


def _times(texts: dict[str, str]) -> tuple[float, float]:
    """Start and end. Raises Failure and _Denied."""
    from roost.gridengine.objects.values import seconds

    now = int(time.time())
    start = instant(texts["a"], "a", "qrsub") if "a" in texts else now
    end = instant(texts["e"], "a", "qrsub") if "e" in texts else 0
    duration = seconds(texts["d"]) if "d" in texts else 0.0
    if duration is None:
        raise Failure(f'qrsub: Wrong time format "{texts["d"]}" specified to -d option')
    if start < now - _LATE_S:
        raise _Denied("start time is in the past")
    if not end and not duration:
        raise _Denied('missing value for "end time or duration" in advance reservation request')
    if end and end <= start:
        raise _Denied("start time is later than end time")
    if end and duration and end - start != duration:
        raise _Denied("difference between end and start time does not correspond to duration")
    return float(start), float(end or start + duration)


def _parallel(text: str) -> str:
    from roost.gridengine.commands.qsub import parallel_request

    return parallel_request(*text.split(" ", 1)) if text else ""


def _check_user(user: str) -> None:
    import pwd

    if user.startswith("@"):
        return
    try:
        pwd.getpwnam(user)
    except KeyError:
        raise Failure(f"error: {user} is not known as a user") from None


def _check_name(name: str) -> None:
    try:
        check_name(name)
    except Failure as failure:
        raise _Denied(str(failure).removeprefix("Unable to run job: ").removesuffix("\nExiting.")) from None


def _group() -> str:
    import grp

    try:
        return grp.getgrgid(os.getgid()).gr_name
    except KeyError:
        return str(os.getgid())


def _reserve(pool: Pool, one: AdvanceReservation, *, verify: bool) -> int:
    say = sys.stdout.write
    try:
        found = pool.ask(central.Reserve(reservation=one, verify=verify))
    except Refused as refused:
        say(f"{refused.answer.text or refused}\n")
        return _TOO_MANY if refused.answer.code == "too-many-reservations" else FAILED
    if verify:
        for reason in found.reasons:
            say(f"Your job {reason}\n")
        if found.reasons:
            say(f"verification: {_NONE}\n")
            return FAILED
        parallel = f"possible assignment with {found.slots} slots" if one.parallel else "suitable queue(s)"
        say(f"verification: found {parallel}\n")
        return 0
    if not found.number:
        say(f"advance_reservation: {_NONE}\n")
        return FAILED
    say(f"Your advance reservation {found.number} has been granted\n")
    return 0
