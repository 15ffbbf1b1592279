"""``roost pool check``: problems of this machine's membership and its connections, and their remedies."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from roost import __version__
from roost.cli.listing import print_json
from roost.cli.pool_connection import connected
from roost.cli.terminal import CommandError, Exit, say
from roost.cli.up import daemon_of, master_runs
from roost.runtime.bus.certificates import RENEW_DAYS, ends_at
from roost.runtime.bus.command_client import Line
from roost.runtime.bus_settings import BusError
from roost.runtime.home import Home, HomeError
from roost.runtime.registrar.membership import Membership, NotSigned, keys_file

#: Maximum difference between the clocks of a member and of the registrar, s.
CLOCK_S: Final = 2.0
#: Minimum free space on the disk of the state directory, bytes.
FREE_BYTES: Final = 1 << 30
_DAY_S: Final = 86_400


class Finding(NamedTuple):
    """The result of a check."""

    what: str
    #: The problem; "" for none.
    wrong: str = ""
    remedy: str = ""
    #: The value observed.
    seen: str = ""


def run(home: Home, *, as_json: bool) -> int:
    """Check this machine and print what was found."""
    try:
        found = list(_checks(home, Membership(home)))
    except HomeError as error:
        raise CommandError(str(error)) from None
    wrong = [each for each in found if each.wrong]
    if as_json:
        print_json([each._asdict() for each in found])
        return Exit.NO if wrong else Exit.OK
    for each in found:
        say(f"{'WRONG' if each.wrong else 'ok':<6} {each.what}: {each.wrong or each.seen}")
        if each.remedy and each.wrong:
            say(f"{'':<6} {each.remedy}")
    return Exit.NO if wrong else Exit.OK


def _checks(home: Home, member: Membership) -> Iterator[Finding]:
    yield _configuration(home, member)
    yield _permissions(home)
    yield _certificate(home, member)
    connections = list(_connections(member))
    yield from connections
    if not any(each.wrong for each in connections):
        yield _registrar(member)
    yield _disk(home)
    yield from _daemons(home)


def _configuration(home: Home, member: Membership) -> Finding:
    from roost.runtime.start_checks import errors

    what, config = "configuration", home.config(None, "MASTER")
    problems = list(config.errors) or errors(config)
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        return Finding(what, f"{problems[0].message}{more}", "`roost config check` shows the place")
    include = f"include {home.member / 'pool.config'} in {home.config_file}"
    for name, wanted in (("NATS_CREDENTIALS", str(keys_file(home))), ("COLLECTOR_NAME", member.pool)):
        if config.get(name) != wanted:
            return Finding(what, f"{name} is {config.get(name) or 'not set'}, not {wanted}", include)
    urls = (config.get("NATS_SERVERS") or "").replace(",", " ").split()
    if urls != list(member.urls):
        return Finding(what, f"NATS_SERVERS is {' '.join(urls) or 'not set'}, not {' '.join(member.urls)}", include)
    return Finding(what, seen=f"member {member.machine} of the pool {member.pool}: {', '.join(member.duties)}")


def _permissions(home: Home) -> Finding:
    what, uid = "keys", os.geteuid()
    paths = [home.member, keys_file(home)]
    paths += [home.authority, *sorted(home.authority.iterdir())] if home.authority.is_dir() else []
    for path in paths:
        found = path.stat()
        # Certificates are not secret, but nothing else needs access to them there.
        if stat.S_IMODE(found.st_mode) & 0o077 and not (path.parent == home.authority and path.name == "lock"):
            return Finding(what, f"other users can reach {path}", f"chmod go= {path}; then `roost pool renew`")
        if found.st_uid != uid:
            return Finding(what, f"{path} belongs to another user", f"chown it to {uid}")
    return Finding(what, seen="only their owner can read them")


def _certificate(home: Home, member: Membership) -> Finding:
    what, end = "certificates", ends_at(member.data["authority"])
    if home.authority.is_dir():
        end = min(end, ends_at((home.authority / "server.pem").read_text()))
    days = int((end - time.time()) // _DAY_S)
    if days < RENEW_DAYS // 2:
        return Finding(what, f"one expires in {days} days", "restart the pool where `roost pool init` was run")
    return Finding(what, seen=f"valid for {days} days")


def _connections(member: Membership) -> Iterator[Finding]:
    own = [purpose for purpose in member.data if isinstance(member.data[purpose], dict) and purpose != "users"]
    for purpose in own:
        what, settings = f"connection of {purpose}", member.settings(purpose)
        try:
            began = time.monotonic()
            Line.connect(settings).close()
            yield Finding(what, seen=f"{settings.name} in {(time.monotonic() - began) * 1000:.0f} ms")
        except BusError as error:
            if "uthorization" in str(error):
                remedy = "the machine was removed, or its keys were: ask for another invitation and join again"
                yield Finding(what, "the message server refuses the key", remedy)
            else:
                yield Finding(what, str(error), "is the server up, and does a firewall let this machine reach it?")
            return


def _registrar(member: Membership) -> Finding:
    what, began = "clock", time.time()
    try:
        clock = member.clock()
    except NotSigned as error:
        return Finding(what, f"the registrar does not answer: {error}", "`roost status --daemons` on the server")
    off_s = clock.now - (began + time.time()) / 2
    if abs(off_s) > CLOCK_S:
        way = "behind" if off_s > 0 else "ahead of"
        return Finding(what, f"{abs(off_s):.1f} s {way} the server's", "synchronise both with a time server (NTP)")
    if clock.version != __version__:
        return Finding("version", f"this machine has {__version__}, the server {clock.version}", "install the same one")
    return Finding(what, seen=f"{abs(off_s):.1f} s from the server's, whose version is {clock.version}, as here")


def _disk(home: Home) -> Finding:
    disk = os.statvfs(home.path)
    free = disk.f_bavail * disk.f_frsize
    if disk.f_blocks and free < FREE_BYTES:
        return Finding("disk", f"{free >> 20} MB are free for {home.path}", "make room")
    return Finding("disk", seen=f"{free >> 20} MB free")


def _daemons(home: Home) -> Iterator[Finding]:
    what = "daemons"
    try:
        contact = home.contact()
    except HomeError:
        contact = None
    if contact is None or not master_runs(contact):
        yield Finding(what, "none is running", "`roost up --detach`")
        return
    for role in contact["roles"]:
        problem = home.problem(role)
        if not daemon_of(home, contact, role):
            problem = problem or "it does not run"
        yield Finding(role, problem, f"see {Path(home.log) / f'{role}.log'}", "runs")
    yield _answers(home)


def _answers(home: Home) -> Finding:
    from roost.wire.requests import central

    try:
        with connected(home) as pool:
            slots = pool.ask(central.Ads(kind="Machine", projection=("Name",)))
        return Finding("central manager", seen=f"it answers, and has {len(slots)} slots")
    except CommandError as error:
        return Finding("central manager", str(error).splitlines()[0], "`roost pool check` on its machine")
