"""``roost pool``: make a pool of several machines, invite and remove machines; ``roost join``: join one.

The authority of a pool is on the machine where ``roost pool init`` was run; commands that need it run there, too.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable
from typing import Any, Final

from roost.cli.listing import print_json, table
from roost.cli.pool_connection import add_pool_options, connected
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.cli.up import master_runs
from roost.cli.web import lifetime_s
from roost.runtime.files.whole_files import write_first
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import host_name
from roost.runtime.registrar.registry import Duty, Member

_DUTIES: Final = [each.value for each in Duty]
_PORT: Final = 4222
#: The initial configuration of a member.
_CONFIG: Final = """\
# The configuration of this machine. `roost config explain NAME` tells where a value comes from, `roost config check`
# and `roost policy lint` tell what is wrong with it, `roost reconfig` makes the daemons read it again.
include : $(ROOST_HOME)/member/pool.config
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``pool`` and ``join``."""
    pool = subparsers.add_parser(
        "pool",
        help="make a pool of several machines, and manage its members",
        description="Make a pool of several machines, and manage its members.",
    )
    commands = pool.add_subparsers(dest="pool_command", metavar="COMMAND", title="commands", required=True)
    _add_init(commands)
    _add_invite(commands)
    members = commands.add_parser(
        "members",
        help="list the machines of the pool",
        description="List the machines of the pool with what they do, their version and when they were last heard of, "
        "and the invitations that can still be used. Run it where `roost pool init` was run.",
    )
    add_pool_options(members)
    remove = commands.add_parser(
        "remove",
        help="remove machines from the pool at once",
        description="Remove machines from the pool: their keys are revoked, the message server drops their "
        "connections at once, and invitations for them are withdrawn. Run it where `roost pool init` was run.",
    )
    add_pool_options(remove, as_json=False)
    remove.add_argument("machine", metavar="MACHINE", nargs="+", help="machines, as `roost pool members` names them")
    renew = commands.add_parser(
        "renew",
        help="replace the keys of this machine",
        description="Make new keys for this machine, its daemons and its users, and have the former ones revoked. "
        "Where `roost pool init` was run, the message server gets a new certificate, too. The daemons use the new keys "
        "after a restart (`roost down --leave-jobs`, then `roost up`); until then, they cannot reach the pool.",
    )
    add_pool_options(renew, as_json=False)
    check = commands.add_parser(
        "check",
        help="check this machine's membership and its links",
        description="Check this machine as a member of the pool: configuration, permissions of its keys, certificates, "
        "each connection, clock, disk, daemons and versions. Print what is wrong and what to do; exit with status 1 if "
        "something is wrong.",
    )
    add_pool_options(check)
    join = subparsers.add_parser(
        "join",
        help="make this machine a member of a pool",
        description="Make this machine a member of the pool that has invited it. The invitation, which `roost pool "
        "invite` prints, is read from standard input. The machine makes its keys itself; the secret ones never leave "
        "it.",
    )
    add_pool_options(join, as_json=False)


def _add_init(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "init",
        help="make this machine the first of a pool",
        description="Make this machine the first of a pool of several: make its keys, its message server's certificate "
        "and the configuration. `roost up` then starts it.",
    )
    add_pool_options(parser, as_json=False)
    parser.add_argument("--name", metavar="NAME", help="name of the pool (default: the name of this machine)")
    parser.add_argument(
        "--address",
        metavar="HOST[:PORT]",
        help=f"name or IP address, and port, at which other machines reach the message server on this one (default: "
        f"the name of this machine, port {_PORT})",
    )
    parser.add_argument(
        "--listen",
        metavar="ADDRESS",
        default="0.0.0.0",
        help="IP address on which the message server listens (default: 0.0.0.0, all of IPv4)",
    )
    parser.add_argument(
        "--role", choices=_DUTIES, action="append", help="what this machine does (default: central and submit)"
    )
    parser.add_argument("--database", metavar="URL", help="database of the queue (default: SQLite)")


def _add_invite(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "invite",
        help="print a command that lets a machine join",
        description="Print the command by which a machine joins the pool, once. Run it where `roost pool init` was "
        "run.",
    )
    add_pool_options(parser)
    parser.add_argument("machine", metavar="MACHINE", help="name of the machine in the pool, usually its host name")
    parser.add_argument("--role", choices=_DUTIES, action="append", help="what the machine does (default: execute)")
    parser.add_argument(
        "--administer",
        action="store_true",
        help="accept commands of the pool's administrators from that machine, too: root on it can then administer "
        "the pool",
    )
    parser.add_argument(
        "--expires", metavar="DURATION", default="24h", help="validity, for example 2h or 7d (default: 24h)"
    )


def run(args: argparse.Namespace) -> int:
    """Run ``pool`` or ``join``."""
    home = Home.find(args.home)
    if args.command == "join":
        return _join(home)
    if args.pool_command == "check":
        from roost.cli.pool_check import run as check

        return check(home, as_json=args.json)
    commands = {"init": _init, "invite": _invite, "members": _members, "remove": _remove, "renew": _renew}
    return commands[args.pool_command](home, args)


# -- the machine that the pool begins with -----------------------------------------------------------


def _init(home: Home, args: argparse.Namespace) -> int:
    from roost.runtime.registrar.authority import Authority
    from roost.runtime.registrar.membership import become_member
    from roost.wire.subjects import Role

    machine = _machine(host_name())
    host, port = _address(args.address or machine)
    duties = _duties(args.role or ["central", "submit"])
    name = args.name or machine
    _begin(home)
    if home.authority.exists():
        raise CommandError(f"{home.authority} exists: this machine has made a pool already")
    authority = Authority.make(
        home.authority, pool=name, machine=machine, host=host, port=port, listen=f"{_in_brackets(args.listen)}:{port}"
    )
    become_member(home, duties, lambda request: authority.found(duties, request), more=(Role.REGISTRAR.value,))
    _configure(home, f"DATABASE_URL = {args.database}\n" if args.database else "")
    say(f"This machine is the first of the pool {name}. Members reach it at {authority.url}.")
    say(f"Its keys are in {home.authority}: keep a copy of that directory in a safe place.")
    say("Next: `roost up --detach`, then `roost pool invite MACHINE` for each machine.")
    return Exit.OK


def _invite(home: Home, args: argparse.Namespace) -> int:
    authority = _authority(home)
    machine, duties = _machine(args.machine), _duties(args.role or ["execute"])
    registry = authority.registry()
    if machine == authority.machine:
        raise CommandError(f"{machine} is the machine that the pool began with; it cannot be invited")
    others = [name for name, each in registry.members.items() if Duty.CENTRAL in each.duties and name != machine]
    if Duty.CENTRAL in duties and others:
        raise CommandError(f"{others[0]} is the central manager of the pool, which has one; remove it first")
    seconds = lifetime_s(args.expires)
    if seconds is None:
        raise CommandError("--expires: an invitation has to expire; write a time such as 2h or 7d")
    invited = authority.invite(machine, duties, administers=args.administer, lifetime_s=seconds)
    if args.json:
        print_json({"machine": machine, "invitation": invited.word(), "expires_at": int(invited.expires_at)})
        return Exit.OK
    if machine in registry.members:
        complain(f"warning: {machine} is a member; when it joins again, its present keys are revoked")
    say(f"echo {invited.word()} | roost join")
    complain(f"Run this on {machine} within {args.expires}. It works once. Keep it secret until then.")
    return Exit.OK


def _members(home: Home, args: argparse.Namespace) -> int:
    from roost.cli.happenings import clock

    authority = _authority(home)
    registry, now = authority.registry(), time.time()
    registry.drop_expired(now)
    heard = _heard(home)
    rows = [
        {
            "machine": name,
            "roles": [each.value for each in member.duties],
            "administer": member.administers,
            "users": sorted(key.removeprefix("user:") for key in member.keys if key.startswith("user:")),
            "joined_at": int(member.joined_at),
            "keys_made_at": int(member.keyed_at),
            **_word(member, heard.get(name)),
        }
        for name, member in sorted(registry.members.items())
    ]
    invitations = [
        {"machine": each.machine, "roles": [duty.value for duty in each.duties], "expires_at": int(each.expires_at)}
        for each in registry.invitations.values()
    ]
    if args.json:
        print_json({"members": rows, "invitations": invitations})
        return Exit.OK
    lines = [
        [
            str(row["machine"]),
            ",".join(row["roles"]),
            str(row["version"]),
            clock(row["joined_at"]),
            clock(row["last_heard_at"]) if row["last_heard_at"] else "never",
        ]
        for row in rows
    ]
    table(lines, ["MACHINE", "ROLES", "VERSION", "JOINED", "LAST HEARD"])
    for each in invitations:
        say(f"invited: {each['machine']} as {','.join(each['roles'])}, until {clock(each['expires_at'])}")
    return Exit.OK


def _word(member: Member, heard: dict[str, Any] | None) -> dict[str, Any]:
    """The version of a member, and when its last ad was received; otherwise when its keys were made."""
    if heard is None:
        return {"version": member.version, "last_heard_at": None}
    return {"version": heard.get("RoostVersion") or member.version, "last_heard_at": heard["LastHeardFrom"]}


def _heard(home: Home) -> dict[str, dict[str, Any]]:
    """For each machine, the ad of a daemon received last; empty if the pool does not answer."""
    from roost.wire.requests import central

    found: dict[str, dict[str, Any]] = {}
    try:
        with connected(home) as pool:
            for kind in ("DaemonMaster", "Scheduler", "Collector"):
                names = ("Machine", "LastHeardFrom", "RoostVersion", "DaemonStartTime")
                for ad in pool.ask(central.Ads(kind=kind, projection=names, values=True)):
                    ad.setdefault("LastHeardFrom", int(time.time()))
                    machine = str(ad.get("Machine"))
                    if machine not in found or found[machine]["LastHeardFrom"] <= ad["LastHeardFrom"]:
                        found[machine] = ad
    except CommandError as error:
        complain(f"warning: the pool does not say when its machines were last heard of: {error}")
    return found


def _remove(home: Home, args: argparse.Namespace) -> int:
    from roost.runtime.bus_settings import BusError

    authority, status = _authority(home), Exit.OK
    for machine in args.machine:
        if machine == authority.machine:
            raise CommandError(f"{machine} is the machine that the pool began with; it cannot be removed")
        try:
            if authority.remove(machine):
                say(f"{machine} is no longer a member of the pool")
                continue
            complain(f"{machine} is not a member; `roost pool members` lists them")
            status = Exit.NO
        except BusError as error:
            complain(f"{machine} is removed, but the message server learns of it only at its next start: {error}")
            status = Exit.BAD
    return status


# -- any member --------------------------------------------------------------------------------------


def _renew(home: Home, args: argparse.Namespace) -> int:
    from roost.runtime.bus_settings import BusError
    from roost.runtime.registrar.authority import Authority
    from roost.runtime.registrar.membership import Membership, NotSigned
    from roost.runtime.registrar.registry import NotAllowed
    from roost.runtime.role import superusers

    try:
        member = Membership(home)
        if home.authority.is_dir():
            authority = Authority(home.authority)
            administrators = superusers(home.config(None, "COLLECTOR"))
            authority.new_certificate()
            member.renew(
                lambda request: authority.enroll(member.machine, request, administrators),
                lambda: authority.retire(member.machine),
            )
        else:
            member.renew(member.sign, member.retire)
    except (HomeError, NotSigned, NotAllowed, BusError) as error:
        raise CommandError(str(error)) from None
    say(f"{member.machine} has new keys; the former ones are revoked")
    say("Restart the daemons now: `roost down --leave-jobs`, then `roost up`")
    return Exit.OK


def _join(home: Home) -> int:
    from roost.runtime.registrar.invitation import BadInvitation, read_invitation
    from roost.runtime.registrar.membership import NotSigned, join

    if sys.stdin.isatty():
        complain("Paste the invitation, then press Enter:")
    try:
        invited = read_invitation(sys.stdin.readline(65_536).strip())
    except BadInvitation as error:
        raise CommandError(str(error)) from None
    if invited.expires_at < time.time():
        raise CommandError("the invitation has expired, or the clock of this machine is ahead; ask for another one")
    _begin(home)
    if home.authority.exists():
        raise CommandError(f"{home.path} is where the pool of {home.authority} began; join with another --home")
    try:
        member = join(home, invited)
    except NotSigned as error:
        raise CommandError(f"the pool did not admit this machine: {error}") from None
    _configure(home, "")
    say(f"This machine is a member of the pool {member.pool}, as {member.machine}: {', '.join(member.duties)}.")
    say(
        "Next: set its policy in " + str(home.config_file) + ", then `roost up --detach`; `roost pool check` checks it."
    )
    return Exit.OK


def _begin(home: Home) -> None:
    """Create the state directory, in which no pool may be running. Raises CommandError."""
    try:
        contact = home.contact()
    except HomeError:
        contact = None
    if contact is not None and master_runs(contact):
        raise CommandError(f"a pool is running in {home.path}: stop it first with `roost down`, or name another --home")
    try:
        home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{home.path}: {error.strerror}; name another directory with --home") from None


def _configure(home: Home, more: str) -> None:
    """Write the configuration of a member, or print what an existing one must contain."""
    try:
        write_first(home.config_file, _CONFIG + more)
        home.make()
        return
    except FileExistsError:
        pass
    except HomeError as error:
        raise CommandError(str(error)) from None
    wanted = [_CONFIG.splitlines()[-1], *more.splitlines()]
    present = home.config_file.read_text()
    missing = [line for line in wanted if line not in present]
    if missing:
        complain(f"warning: {home.config_file} is as it was; this has to be in it, after its other settings:")
        for line in missing:
            complain(f"    {line}")


def _authority(home: Home) -> Any:
    from roost.runtime.registrar.authority import Authority

    try:
        return Authority(home.authority)
    except FileNotFoundError:
        raise CommandError(
            f"{home.authority} does not exist; run this on the machine where `roost pool init` was run, or name its "
            "state directory with --home"
        ) from None
    except PermissionError:
        raise CommandError(
            f"{home.authority} belongs to another user; run this as the user who made the pool"
        ) from None


def _duties(names: Iterable[str]) -> tuple[Duty, ...]:
    return tuple(each for each in Duty if each.value in names)


def _machine(name: str) -> str:
    from roost.wire.requests.registrar import MACHINE_PATTERN

    if not re.fullmatch(MACHINE_PATTERN, name):
        raise CommandError(f"{name!r} cannot be the name of a machine: use letters, digits, . and -")
    return name


def _address(text: str) -> tuple[str, int]:
    """The host and the port of HOST, HOST:PORT, or [ADDRESS]:PORT. Raises CommandError."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::(\d{1,5}))?", text)
    port = int(found[3] or _PORT) if found else 0
    if found is None or not 0 < port < 65_536:
        raise CommandError(
            f"--address is {text!r}; write a host name or an IP address, and a port: server.example:4222"
        )
    return found[1] or found[2], port


def _in_brackets(address: str) -> str:
    import ipaddress

    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        raise CommandError(f"--listen is {address!r}; write an IP address of this machine") from None
    return f"[{found}]" if found.version == 6 else str(found)
