"""A pool of several machines, made by the documented commands; what a hostile member tries, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost import __version__
from roost.runtime.bus.certificates import made_authority
from roost.runtime.bus.client import Bus
from roost.runtime.bus.command_client import Line
from roost.runtime.bus.nkeys import Key, KeyKind
from roost.runtime.bus_settings import BusError
from roost.runtime.registrar.invitation import read_invitation
from roost.runtime.registrar.membership import NotSigned, asked
from roost.wire.requests.registrar import Enroll
from roost.wire.subjects import Subjects
from tests.integration.kit import eventually
from tests.integration.members import SERVER, Members, may_connect, may_hear, may_say, refusals, several

SUBJECTS = Subjects("several")
ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    """A server, a machine where users submit, two that run jobs."""
    with several(tmp_path_factory.mktemp("members")) as members:
        members.begin("--role", "central")
        members.add("desk", "--role", "submit", "--administer")
        members.add("ex1")
        members.add("ex2")
        eventually(lambda: members.slots(members.machines["desk"]) == {"ex1", "ex2"}, "slots of both machines")
        yield members


def _enroll(**keys: str) -> Enroll:
    return Enroll(keys=keys, user=ME, version=__version__)


def _public() -> str:
    return Key.new(KeyKind.USER).public


def test_jobs_run_on_members_and_their_output_comes_back(pool: Members) -> None:
    desk = pool.machines["desk"]
    cluster = desk.submit(
        "output = $(Process).out\nshould_transfer_files = YES\narguments = $(Process)\nqueue 8\n",
        "sleep 0.3; printf %03d $1",
    )
    desk.wait(cluster)
    assert [(desk.work / f"{n}.out").read_text() for n in range(8)] == [f"{n:03d}" for n in range(8)]
    hosts = {row["LastRemoteHost"].partition("@")[2] for row in json.loads(desk("history", "--json", "--long"))}
    assert hosts == {"ex1", "ex2"}


def test_members_are_listed_with_versions_and_last_words(pool: Members) -> None:
    found = json.loads(pool.server("pool", "members", "--json"))["members"]
    assert {row["machine"]: row["roles"] for row in found} == {
        SERVER: ["central"], "desk": ["submit"], "ex1": ["execute"], "ex2": ["execute"],
    }  # fmt: skip
    assert all(row["version"] == __version__ and row["last_heard_at"] >= row["joined_at"] for row in found), found
    assert "ex1      execute" in pool.server("pool", "members")


def test_each_machine_finds_nothing_wrong_with_itself(pool: Members) -> None:
    for name, machine in pool.machines.items():
        found = machine.try_("pool", "check")
        assert found.returncode == 0, f"{name}: {found.stdout}"
        assert "connection of member" in found.stdout


def test_check_says_what_is_wrong_and_what_to_do(pool: Members) -> None:
    machine = pool.machines["ex1"]
    keys, config = machine.home / "member" / "keys.json", machine.home / "roost.config"
    text = config.read_text()
    keys.chmod(0o644)
    config.write_text(text + "NATS_SERVERS = nats://127.0.0.1:1\n")
    try:
        found = machine("pool", "check", status=1)
    finally:
        keys.chmod(0o600)
        config.write_text(text)
    assert f"WRONG  keys: other users can reach {keys}" in found
    assert f"WRONG  configuration: NATS_SERVERS is nats://127.0.0.1:1, not tls://127.0.0.1:{pool.port}" in found
    assert f"include {machine.home / 'member' / 'pool.config'}" in found


def test_secret_keys_are_in_files_of_their_owner_and_of_no_other_machine(pool: Members) -> None:
    for name in pool.machines:
        seeds = set()
        for purpose, entry in pool.member(name).data.items():
            seeds |= {entry["seed"]} if isinstance(entry, dict) and purpose != "users" else set()
        assert len(seeds) >= 3
        for other, machine in pool.machines.items():
            for path in (each for each in machine.home.rglob("*") if each.is_file()):
                content = path.read_text(errors="replace")
                if any(seed in content for seed in seeds):
                    assert other == name, path
                    assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_machine_can_speak_and_hear_as_itself_only(pool: Members) -> None:
    """Every key of a machine is tried on every subject that another member or user has."""
    member = pool.member("ex1")
    for purpose in ("node", "client", "member"):
        settings = member.settings(purpose)
        for other in ("ex2", "desk", f"central@{SERVER}", f"web@{SERVER}", ME, "root", "invited@1"):
            for subject in (
                SUBJECTS.node("ex2", other),
                SUBJECTS.matched("ex2", other),
                SUBJECTS.tasks("ex2", other),
                SUBJECTS.schedd("desk", other),
                SUBJECTS.given("desk", other),
                SUBJECTS.slots(other),
                SUBJECTS.demand(other),
                SUBJECTS.ads(other),
                SUBJECTS.audit(other),
                SUBJECTS.ask_central(other),
                SUBJECTS.ask_schedd("desk", other),
                SUBJECTS.ask_node("ex2", other),
                SUBJECTS.ask_registrar(other),
                SUBJECTS.everybody(other),
                "$SYS.REQ.CLAIMS.UPDATE",
            ):
                assert not may_say(settings, subject), (purpose, subject)
            for subject in (f"{SUBJECTS.inbox(other)}.>", SUBJECTS.node(other, "*"), SUBJECTS.schedd(other, "*")):
                assert not may_hear(settings, subject), (purpose, subject)
        for subject in (">", "_INBOX.>", "roost.>", f"{SUBJECTS.prefix}.central.>", "$SYS.>"):
            assert not may_hear(settings, subject), (purpose, subject)
    assert may_say(member.settings("node"), SUBJECTS.slots("ex1"))


def test_who_administers_a_machine_administers_that_one_and_not_the_pool(pool: Members) -> None:
    machine = pool.machines["ex1"]
    assert pool.member("ex1").settings("client").name == f"{ME}@ex1"
    refused = machine.try_("drain", "ex2")
    assert refused.returncode == 2 and "may not drain the machine" in refused.stderr
    refused = machine.try_("userprio", "--set-factor", ME, "7")
    assert refused.returncode == 2, refused
    machine("drain", "ex1")
    machine("drain", "--cancel", "ex1")


def test_a_member_gets_no_key_that_is_not_its_own(pool: Members) -> None:
    member = pool.member("ex1")
    taken = pool.server.home / "authority" / "registry.json"
    other = json.loads(taken.read_text())["members"]["ex2"]["keys"]["node"]
    for request, why in (
        (_enroll(central=_public()), "may not have a key for 'central': it was invited for execute"),
        (_enroll(schedd=_public()), "may not have a key for 'schedd'"),
        (_enroll(registrar=_public()), "may not have a key for 'registrar'"),
        (_enroll(**{"user:ann": _public()}), "may not vouch for users"),
        (_enroll(node=other), "is or was in use"),
        (_enroll(node="U"), "the text is not a key"),
    ):
        with pytest.raises(NotSigned, match=why):
            member.sign(request)
    assert may_connect(pool.member("ex2").settings("node"))


def test_a_machine_where_users_submit_cannot_vouch_for_administrators_nor_for_daemons(pool: Members) -> None:
    pool.machine("lobby")("join", text=pool.invitation("lobby", "--role", "submit"))
    member = pool.member("lobby")
    assert member.settings("client").name == f"{ME}@lobby"
    for name, why in (
        ("root", "may not vouch for root, who is an administrator"),
        ("central", "'central' cannot be the name of a user"),
        (f"central@{SERVER}", "cannot be the name of a user"),
        ("*", "cannot be the name of a user"),
        (">", "cannot be the name of a user"),
    ):
        with pytest.raises(NotSigned, match=why.replace("*", r"\*")):
            member.sign(_enroll(**{f"user:{name}": _public()}))
    signed = member.sign(_enroll(**{"user:ann": _public()})).signed["user:ann"]
    assert signed.name == "ann"
    pool.server("pool", "remove", "lobby")


def test_an_invitation_works_once_and_lets_its_owner_do_nothing_else(pool: Members) -> None:
    word = pool.invitation("ex3")
    settings = read_invitation(word).settings()
    for subject in (SUBJECTS.slots("ex3"), SUBJECTS.ask_central(settings.name), SUBJECTS.ask_registrar("ex1")):
        assert not may_say(settings, subject)
    assert not may_hear(settings, "roost.>")
    machine = pool.machine("ex3")
    machine("join", text=word)
    for _ in range(2):
        again = machine.try_("join", text=word)
        assert again.returncode == 2 and "was used already" in again.stderr, again.stderr
    cut = machine.try_("join", text=word[:-20])
    assert cut.returncode == 2 and "cut or changed" in cut.stderr
    assert may_connect(pool.member("ex3").settings("node"))
    pool.server("pool", "remove", "ex3")


def test_a_withdrawn_invitation_does_not_work(pool: Members) -> None:
    word = pool.invitation("ex4")
    assert "invited: ex4 as execute" in pool.server("pool", "members")
    pool.server("pool", "remove", "ex4", status=1)
    with pytest.raises(NotSigned, match="was withdrawn"):
        asked(read_invitation(word).settings(), _enroll(node=_public()))


def test_a_server_with_another_certificate_is_given_nothing(pool: Members) -> None:
    settings = pool.member("ex1").settings("node")
    for wrong in (
        settings._replace(authority=made_authority("several").certificate),
        settings._replace(authority="", pinned="0" * 64),
    ):
        with pytest.raises(BusError, match=r"CERTIFICATE_VERIFY_FAILED|it has another certificate"):
            Line.connect(wrong)


def test_a_server_that_offers_no_encryption_is_given_nothing(pool: Members) -> None:
    """One in the middle that speaks plain NATS could pass on what proves who a machine is."""
    settings, heard = pool.member("ex1").settings("node"), bytearray()

    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"nonce":"abc","auth_required":true}\r\n')
        while piece := await reader.read(4096):
            heard.extend(piece)
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(pretend, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        lured = settings._replace(urls=(f"tls://127.0.0.1:{port}",))
        with pytest.raises(BusError):
            await asyncio.to_thread(Line.connect, lured)
        # A daemon goes on trying.
        with pytest.raises((BusError, TimeoutError)):
            async with asyncio.timeout(1):
                await Bus.connect(lured)
        server.close()

    asyncio.run(main())
    assert heard, "nothing but the beginning of an encrypted connection"
    assert b"CONNECT" not in heard and settings.token.encode() not in heard


def test_a_removed_machine_is_cut_off_at_once_and_no_server_is_restarted(pool: Members) -> None:
    machine = pool.add("ex5")
    desk = pool.machines["desk"]
    eventually(lambda: "ex5" in pool.slots(desk), "slots of ex5")
    server, settings = pool.server.pid("nats"), pool.member("ex5").settings("node")
    with Line.connect(settings) as line:
        pool.server("pool", "remove", "ex5")
        with pytest.raises((OSError, BusError)):
            while True:
                said = line._line()
                assert not said.startswith("-ERR") or "Revoked" in said
    assert not may_connect(settings)
    found = machine("pool", "check", status=1)
    assert "WRONG  connection of node: the message server refuses the key" in found
    assert "WRONG  clock" not in found, "what follows from it is not repeated"
    assert "ex5" not in pool.server("pool", "members")
    machine.down("--fast")
    pool.add("ex5")
    assert not may_connect(settings), "the former key stays revoked"
    assert machine.try_("pool", "check").returncode == 0
    assert pool.server.pid("nats") == server
    assert "Reload" not in (pool.server.home / "run" / "nats" / "nats.log").read_text()


def test_new_keys_replace_the_former_ones(pool: Members) -> None:
    machine = pool.machines["ex2"]
    former = [pool.member("ex2").settings(purpose) for purpose in ("node", "client", "member")]
    machine("pool", "renew")
    assert not any(may_connect(settings) for settings in former)
    machine.down("--leave-jobs")
    machine.up()
    assert machine.try_("pool", "check").returncode == 0


def test_the_server_goes_on_after_a_restart_with_what_it_knew(pool: Members) -> None:
    gone = pool.member("ex1").settings("node")
    pool.machines["ex1"]("pool", "renew")
    pool.server("pool", "renew")
    pool.server.down("--leave-jobs")
    pool.server.up()
    assert not may_connect(gone)
    pool.machines["ex1"].down("--leave-jobs")
    pool.machines["ex1"].up()
    desk = pool.machines["desk"]
    eventually(lambda: {"ex1", "ex2"} <= pool.slots(desk), "slots of both machines")
    assert pool.server.try_("pool", "check").returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can serve other users")
def test_users_of_a_machine_speak_under_their_own_names(pool: Members, tmp_path: Path) -> None:
    hall = pool.add("hall", "--role", "submit", config="ROOST_USERS = nobody\n")
    assert json.loads((hall.home / "users" / "nobody.json").read_text())["client"]["name"] == "nobody"
    (row,) = [
        row for row in json.loads(pool.server("pool", "members", "--json"))["members"] if row["machine"] == "hall"
    ]
    assert row["users"] == ["nobody"]
    settings = pool.member("hall").settings("client")
    entry = pool.member("hall").data["users"]["nobody"]
    user = settings._replace(name=entry["name"], token=entry["token"], seed=entry["seed"])
    assert may_say(user, SUBJECTS.ask_schedd("hall", "nobody"))
    assert not may_say(user, SUBJECTS.ask_schedd("hall", "root"))
    # Without the user in ROOST_USERS the key is revoked at the next start.
    config = hall.home / "roost.config"
    config.write_text(config.read_text().replace("ROOST_USERS = nobody", ""))
    hall.down("--fast")
    hall.up()
    assert not may_connect(user)
    assert refusals(settings) == []
    hall.down("--fast")
    pool.server("pool", "remove", "hall")
