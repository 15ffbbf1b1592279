"""``qrstat``: the advance reservations, as a list or individually."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import ask
from roost.cli.gridengine.tables import date
from roost.cli.gridengine.xml import escape, quoted
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import Given, Option, taken, usage
from roost.gridengine.pool.requests import pairs, parallel
from roost.model.cell_requests import ranges
from roost.wire.requests import central

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool
    from roost.wire.requests.central import ReservationState

OPTIONS: Final = (
    Option("ar", "all that there is to say of these reservations", "ar_id_list"),
    Option("explain", "also what is wrong with their queue instances"),
    Option("u", "reservations of these users, or * for all; else your own", "user_list"),
    Option("xml", "print XML"),
)
_HEAD: Final = "ar-id   name       owner        state start at             end at               duration"
_RULE: Final = "-" * 90
_LINE: Final = "-" * 80
_OPEN: Final = (
    "<?xml version='1.0'?>\n"
    '<qrstat xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qrstat/qrstat.xsd">\n'
)


def run(name: str, arguments: list[str]) -> int:
    """Run ``qrstat``."""
    try:
        given, rest = taken("error", arguments, OPTIONS)
    except Failure as failure:
        raise Failure(str(failure), FAILED) from None
    if rest:
        sys.stdout.write(usage("qrstat", OPTIONS))
        raise Failure("error: too many options", FAILED)
    wanted = _numbers(given)
    return ask("qrstat", lambda pool: _show(pool, given, wanted))


def _numbers(given: Sequence[Given]) -> list[int] | None:
    words = [word for each in given if each.name == "ar" for word in each.value.split(",") if word]
    if not all(word.isdecimal() for word in words):
        raise Failure("error: ERROR! invalid id, must be an unsigned integer", FAILED)
    return [int(word) for word in words] if any(each.name == "ar" for each in given) else None


def _show(pool: Pool, given: Sequence[Given], wanted: list[int] | None) -> int:
    names = {each.name for each in given}
    rows = sorted(pool.ask(central.CellReservations()), key=lambda row: row.reservation.number)
    if wanted is not None:
        return _details({row.reservation.number: row for row in rows}, wanted, as_xml="xml" in names)
    users = {user for each in given if each.name == "u" for user in each.value.split(",") if user} or {pool.user}
    chosen = [row for row in rows if "*" in users or row.reservation.owner in users]
    say = sys.stdout.writelines
    if "xml" in names:
        say((_OPEN, *(line for row in chosen for line in _xml(row, whole=False)), "</qrstat>\n"))
    elif chosen:
        say((f"{_HEAD}\n{_RULE}\n", *(line for row in chosen for line in _listed(row, explain="explain" in names))))
    return 0


def _listed(row: ReservationState, *, explain: bool) -> Iterator[str]:
    one = row.reservation
    yield (
        f"{one.number:>7} {one.name:<10.10} {one.owner:<12.12} {row.state:<5} {date(one.start)}  {date(one.end)}  "
        f"{_clock(one.end - one.start)}\n"
    )
    yield from (f"       {message}\n" for message in row.messages if explain)


def _details(rows: dict[int, ReservationState], wanted: list[int], *, as_xml: bool) -> int:
    missing = [number for number in wanted if number not in rows]
    found = [rows[number] for number in wanted if number in rows]
    say = sys.stdout.write
    if as_xml:
        say(_OPEN)
        for number in missing:
            say(f"   <ar_unknown>\n      <id>{number}</id>\n   </ar_unknown>\n")
        for row in found if not missing else ():
            say("".join(_xml(row, whole=True)))
        say("</qrstat>\n")
    elif missing:
        say(f"Following advance reservations do not exist:\n{', '.join(map(str, missing))}\n")
    else:
        for row in found:
            say(f"{_LINE}\n")
            say("".join(f"{name:<31}{value}\n" for name, value in _values(row)))
    return FAILED if missing else 0


def _clock(duration: float) -> str:
    whole = int(duration)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def _values(row: ReservationState) -> Iterator[tuple[str, object]]:
    one = row.reservation
    yield "id", one.number
    yield "name", one.name
    yield "owner", one.owner
    yield "state", row.state
    yield "start_time", date(one.start)
    yield "end_time", date(one.end)
    yield "duration", _clock(one.end - one.start)
    yield from (("message", message) for message in row.messages)
    yield "submission_time", date(one.submitted)
    yield "group", one.group
    yield "account", one.account
    if one.hard_errors:
        yield "error_handling", "true"
    if one.resources:
        yield "resource_list", ",".join(f"{pair.name}={pair.text}" for pair in pairs(one.resources))
    yield "granted_slots_list", ",".join(f"{each.instance}={each.slots}" for each in one.grants)
    if one.environment:
        yield "granted_parallel_environment", f"{one.environment} slots {_asked(row)}"
    if one.checkpoint:
        yield "checkpoint_name", one.checkpoint
    if one.mail_options:
        yield "mail_options", one.mail_options
    if one.mail_list:
        yield "mail_list", ",".join("@".join(each) for each in _mail(row))
    if one.users:
        yield "acl_list", ",".join(one.users)


def _asked(row: ReservationState) -> str:
    """The requested ranges of slots."""
    return ranges(parallel(row.reservation.parallel)[1])


def _mail(row: ReservationState) -> list[tuple[str, str]]:
    words = (word.partition("@") for word in row.reservation.mail_list.split(",") if word)
    return [(user, host or "NONE") for user, _, host in words]


def _xml(row: ReservationState, *, whole: bool) -> Iterator[str]:
    one = row.reservation
    yield "   <ar_summary>\n"
    yield from _element("id", one.number)
    yield from _element("name", one.name)
    yield from _element("owner", one.owner)
    yield from _element("state", row.state)
    for name, instant in (("start_time", one.start), ("end_time", one.end)):
        yield from _element(name, _stamp(instant))
    yield from _element("duration", _clock(one.end - one.start))
    if whole:
        yield from _rest(row)
    yield "   </ar_summary>\n"


def _rest(row: ReservationState) -> Iterator[str]:
    one = row.reservation
    for message in row.messages:
        yield from _element("message", message)
    yield from _element("submission_time", _stamp(one.submitted))
    yield from _element("group", one.group)
    yield from _element("account", one.account)
    if one.hard_errors:
        yield from _element("error_handling", "true")
    if one.resources:
        yield from _list(
            "resource_list",
            (f"<resource name={quoted(pair.name)} type={quoted(pair.text)}/>" for pair in pairs(one.resources)),
        )
    slots = (f'<granted_slots  queue_instance={quoted(each.instance)} slots="{each.slots}"/>' for each in one.grants)
    yield from _list("granted_slots_list", slots)
    if one.environment:
        yield from _list(
            "granted_parallel_environment",
            (
                f"<parallel_environment>{escape(one.environment)}</parallel_environment>",
                f"<slots>{_asked(row)}</slots>",
            ),
        )
    if one.checkpoint:
        yield from _element("checkpoint_name", one.checkpoint)
    if one.mail_options:
        yield from _element("mail_options", one.mail_options)
    if one.mail_list:
        addresses = (f"<mail  user={quoted(user)} host={quoted(host)}/>" for user, host in _mail(row))
        yield from _list("mail_list", addresses)
    if one.users:
        yield from _list("acl_list", (f"<acl  user={quoted(user)}/>" for user in one.users))


def _list(name: str, lines: Iterator[str] | Sequence[str]) -> Iterator[str]:
    yield f"      <{name}>\n"
    yield from (f"         {line}\n" for line in lines)
    yield f"      </{name}>\n"


def _element(name: str, value: object) -> Iterator[str]:
    text = escape(str(value))
    yield f"      <{name}>{text}</{name}>\n" if text else f"      <{name}/>\n"


def _stamp(instant: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(instant))
