"""A pool of root's with other users: everything of a user's is touched with that user's identity, and no other."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.runtime.bus.pool_client import PoolClient, PoolRefused
from roost.runtime.home import Home
from roost.wire.requests import queue
from roost.wire.requests.verb import Asker, Daemon
from roost.wire.verbs import VERBS
from tests.cli.condor.kit import run
from tests.integration.kit import Pool, eventually, running
from tests.integration.test_results import wrong

#: A user that every machine has, and no person is.
USER = "nobody"

if os.geteuid() != 0:
    pytest.skip("only root can run jobs of several users", allow_module_level=True)
try:
    UID = pwd.getpwnam(USER).pw_uid
except KeyError:
    pytest.skip(f"this machine has no user {USER}", allow_module_level=True)


@pytest.fixture(scope="module")
def roots() -> Iterator[Pool]:
    """A pool of root's that knows a user, in a place that the user can get to."""
    place = Path(tempfile.mkdtemp(prefix="roost-users-", dir="/tmp"))
    place.chmod(0o755)
    try:
        with running(place / "pool", f"ROOST_USERS = {USER}\nWEB_SERVER = True\n", cpus=4) as pool:
            os.chown(pool.work, UID, -1)
            yield pool
    finally:
        shutil.rmtree(place)


@pytest.fixture
def user(roots: Pool) -> Pool:
    """The same pool, asked with what only the user can read."""
    theirs = copy.copy(roots)
    theirs.home = roots.place / "theirs"
    (theirs.home / "run").mkdir(parents=True, exist_ok=True)
    shutil.copy(roots.home / "users" / f"{USER}.json", theirs.home / "run" / "contact.json")
    return theirs


@pytest.fixture
def secret(roots: Pool) -> Path:
    """A file that is root's alone, in a directory of root's."""
    directory = roots.place / "closed"
    directory.mkdir(mode=0o755, exist_ok=True)
    found = directory / "secret"
    found.write_text("secret\n")
    found.chmod(0o600)
    return found


def _held(pool: Pool, cluster: int, code: int, *words: str) -> None:
    ad = pool.seen(f"{cluster}.0", JobStatus=5)
    assert ad["HoldReasonCode"] == code, ad["HoldReason"]
    for word in words:
        assert word in ad["HoldReason"]
    pool("rm", str(cluster))


def test_a_job_is_its_users_from_its_input_to_its_output(user: Pool) -> None:
    source = user.work / "data"
    source.write_text("data\n")
    os.chown(source, UID, -1)
    source.chmod(0o400)
    cluster = user.submit(
        'output = out\nerror = err\ntransfer_input_files = data\nshould_transfer_files = YES\n+Owner = "root"\n',
        "cat data; id -u; stat -c %u . data .job.ad; echo new > new; mkdir d; echo deep > d/f",
    )
    user.wait(cluster)
    assert user.job(f"{cluster}.0")["Owner"] == USER
    assert (user.work / "out").read_text().split() == ["data", *[str(UID)] * 4]
    for name in ("out", "err", "new", "log"):
        assert (user.work / name).stat().st_uid == UID, name


def test_spooled_files_belong_to_the_jobs_user_and_are_nobody_elses(user: Pool, roots: Pool) -> None:
    (user.work / "data").unlink(missing_ok=True)
    (user.work / "data").write_text("data\n")
    script = user.work / "spooled.sh"
    script.write_text("#!/bin/sh\ncat data\nid -u\necho made > made\n")
    text = "executable = spooled.sh\ntransfer_input_files = data\noutput = spooled.out\nlog = spooled.log\nqueue\n"
    asked = {"cwd": user.work, "ROOST_HOME": str(user.home)}
    done = run("condor_submit", "-terse", "-spool", text=text, **asked)  # type: ignore[arg-type]
    assert done.status == 0, done
    cluster = done.out.partition(".")[0]
    place = roots.home / "spool" / "staged" / f"{cluster}.0"
    assert (place.stat().st_uid, stat.S_IMODE(place.stat().st_mode)) == (UID, 0o700)
    assert {each.name: each.stat().st_uid for each in place.iterdir()}["data"] == UID
    eventually(lambda: user.job(f"{cluster}.0")["JobStatus"] == 4, "the end of the job")
    assert {each.name: each.stat().st_uid for each in place.iterdir()} == dict.fromkeys(
        ("spooled.sh", "data", "spooled.out", "spooled.log", "made"), UID
    )
    done = run("condor_transfer_data", cluster, **asked)  # type: ignore[arg-type]
    assert done.status == 0, done
    assert (user.work / "spooled.out").read_text() == f"data\n{UID}\n"
    # Root's own job is none of the user's.
    done = run("condor_submit", "-terse", "-spool", text=text, cwd=user.work, ROOST_HOME=str(roots.home))
    theirs = done.out.partition(".")[0]
    refused = pytest.raises(PoolRefused, match=f"job {theirs}.0 belongs to root")
    with PoolClient.connected(Home(user.home)) as pool, refused:
        pool.ask(queue.SpooledFiles(job=f"{theirs}.0"))
    roots("rm", cluster, theirs)


def test_the_proof_of_who_one_is_can_be_read_by_that_user_alone(roots: Pool) -> None:
    found = (roots.home / "users" / f"{USER}.json").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (UID, 0o400)
    assert stat.S_IMODE((roots.home / "run").stat().st_mode) == 0o700
    assert json.loads((roots.home / "users" / f"{USER}.json").read_text())["client"]["name"] == USER


def test_files_of_root_are_no_input(user: Pool, secret: Path) -> None:
    asked = [
        user.submit(f"transfer_input_files = {secret}\nshould_transfer_files = YES\nexecutable = /bin/true\n"),
        user.submit(f"input = {secret}\nshould_transfer_files = YES\nexecutable = /bin/true\n"),
        user.submit(f"executable = {secret}\nshould_transfer_files = YES\n"),
    ]
    for cluster in asked:
        _held(user, cluster, 13, str(secret), "Permission denied for user nobody")
    cluster = user.submit(f"input = {secret}\nshould_transfer_files = NO\nexecutable = /bin/true\n")
    _held(user, cluster, 8, str(secret), "Permission denied")


def test_output_goes_over_no_file_of_roots_directly_or_through_a_link(user: Pool, secret: Path) -> None:
    link = user.work / "link"
    link.symlink_to(secret)
    moved = "should_transfer_files = YES\n"
    asked = [
        user.submit(f"output = {secret}\n{moved}", "echo mine"),
        user.submit(f"output = link\n{moved}", "echo mine"),
        user.submit(f'{moved}transfer_output_remaps = "new = {secret.parent}/new"\n', "echo mine > new"),
    ]
    for cluster in asked:
        _held(user, cluster, 12, "for user nobody")
    cluster = user.submit("output = link\nshould_transfer_files = NO\n", "echo mine")
    _held(user, cluster, 7, "Permission denied")
    assert secret.read_text() == "secret\n"
    assert [each.name for each in secret.parent.iterdir()] == ["secret"]


def test_a_link_in_the_scratch_directory_brings_nothing_out(user: Pool, secret: Path) -> None:
    moved = "should_transfer_files = YES\ntransfer_output_files = stolen\n"
    cluster = user.submit(moved, f"ln -s {secret} stolen")
    _held(user, cluster, 12, "leads outside the scratch directory")


def test_a_log_that_the_user_cannot_write_holds_the_job(user: Pool, secret: Path) -> None:
    link, pipe = user.work / "loglink", user.work / "pipe"
    link.symlink_to(secret)
    os.mkfifo(pipe)
    os.chown(pipe, UID, -1)
    for log, words in (
        (secret, "Permission denied for user nobody"),
        (link, "Permission denied for user nobody"),
        (secret.parent / "log", "Permission denied for user nobody"),
        (user.work / "absent" / "log", "No such file or directory"),
        (pipe, "No such device"),
    ):
        cluster = user.submit(f"log = {log}\nexecutable = /bin/true\n")
        _held(user, cluster, 22, str(log), words)
    assert secret.read_text() == "secret\n"
    assert [each.name for each in secret.parent.iterdir()] == ["secret"]


def test_a_working_directory_that_the_user_cannot_enter_holds_the_job(user: Pool, secret: Path) -> None:
    closed = secret.parent / "inside"
    closed.mkdir(mode=0o700)
    try:
        cluster = user.submit(f"initialdir = {closed}\nshould_transfer_files = NO\nexecutable = /bin/true\n")
        _held(user, cluster, 14, str(closed), "not allowed")
    finally:
        closed.rmdir()


def test_a_user_administers_nothing(roots: Pool, user: Pool) -> None:
    refused = user.try_("drain", "--reason", "mine")
    assert refused.returncode != 0
    assert "QUEUE_SUPER_USERS" in refused.stderr
    # Not to the log of the user's jobs: whoever writes it first has it.
    other = roots.submit(f"log = {roots.place / 'roots.log'}\nhold = true\nexecutable = /bin/true\n")
    assert user.try_("rm", str(other)).returncode != 0
    mine = user.submit("hold = true\nexecutable = /bin/true\n")
    assert user.try_("edit", f"{mine}.0", "Owner", '"root"').returncode != 0
    roots("rm", str(other), str(mine))


#: Arguments with which a request that is allowed does nothing.
HARMLESS = {
    "act": {"action": "hold", "jobs": ["999999.0"]},
    "drain": {"check": "FALSE"},
    "cancel-drain": {"request_id": "absent"},
    "vacate": {"slot": "absent"},
    "reopen": {"slot": "absent"},
    "explain-job": {"schedd": "", "submitter": "", "autocluster": 0},
    "explain-slot": {"slot": "absent"},
    "userprio-set": {"action": "delete", "user": "absent"},
    "autocluster": {"job": "999999.0"},
    "submit": {"clusters": []},
}


#: Requests that always do something where they are allowed, and are only made where they are not.
NEVER_HARMLESS = {"stop"}


@pytest.mark.parametrize(("daemon", "what"), [(daemon, what) for daemon in Daemon for what in VERBS[daemon]])
def test_each_request_is_answered_to_those_who_may_make_it(roots: Pool, user: Pool, daemon: Daemon, what: str) -> None:
    asker = VERBS[daemon][what].asker
    for pool, may in ((roots, True), (user, asker in (Asker.USER, Asker.OWNER))):
        if may and what in NEVER_HARMLESS:
            continue
        with PoolClient.connected(Home(pool.home)) as line:
            subjects = {
                Daemon.QUEUE: line.line.subjects.ask_schedd(line.contact["schedd"], line.user),
                Daemon.MACHINE: line.line.subjects.ask_node(line.contact["node"], line.user),
                Daemon.CENTRAL: line.line.subjects.ask_central(line.user),
            }
            answer = line.line.ask(subjects[daemon], what, HARMLESS.get(what, {}))
        assert (answer.code == "permission-denied") is not may, answer
        assert answer.code not in ("bad-message", "internal"), answer
        assert "cannot answer" not in answer.text


def test_a_user_opens_no_slots_that_a_prolog_has_closed(roots: Pool, user: Pool) -> None:
    refused = user.try_("reopen", "slot1")
    assert refused.returncode == 2
    assert f"{USER} may not open slots that a failed prolog or epilog has closed" in refused.stderr
    audit = ("audit", "--user", USER, "--json")
    said = eventually(lambda: [each for each in json.loads(roots.try_(*audit).stdout or "[]") if "reopen" in str(each)])
    assert said[0]["effect"] == "refused"


def test_a_user_logs_in_over_the_socket_as_that_user_and_no_other(roots: Pool) -> None:
    code = (
        "import sys, json; from pathlib import Path; from roost.cli.web import asked;"
        "from roost.runtime.home import Home;"
        "print(json.dumps(asked(Home(Path(sys.argv[1])), 'GET', '/me')))"
    )

    def said(uid: int) -> subprocess.CompletedProcess[str]:
        # The interpreter of the tests may be root's alone: it is started as root, and gives that up.
        run = f"import os; os.setgroups([]); os.setgid(65534); os.setuid({uid}); {code}"
        return subprocess.run(
            [sys.executable, "-c", f"import roost.cli.web, http.client, roost.runtime.files.long_paths\n{run}",
             str(roots.home)],
            check=False, capture_output=True, text=True, env=roots.environment,
        )  # fmt: skip

    eventually(lambda: said(UID).returncode == 0, lambda: said(UID).stderr)
    assert json.loads(said(UID).stdout) == {"user": USER, "role": "user", "by": "socket"}
    stranger = said(64_999)
    assert stranger.returncode != 0
    assert "user number" in stranger.stderr or "may not use the pool" in stranger.stderr


def _file_workers(pool: Pool) -> list[int]:
    tasks = [path for role in ("schedd", "node") for path in Path(f"/proc/{pool.pid(role)}/task").glob("*/children")]
    return [
        int(pid)
        for path in tasks
        for pid in _read(path).split()
        if b"files.worker.serve" in _read(Path(f"/proc/{int(pid)}/cmdline"))
    ]


def _read(path: Path) -> bytes:
    """What the kernel says of a process or thread; nothing of one that has just ended."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_whoever_acts_for_a_user_may_be_killed(roots: Pool, user: Pool) -> None:
    """A user can kill the processes that act as that user: nothing is lost, others take their place."""
    user.wait(user.submit("output = out\nshould_transfer_files = YES\n", "true"))

    old = _file_workers(roots)
    assert old
    for pid in old:
        assert f"Uid:\t{UID}\t{UID}\t{UID}\t{UID}" in Path(f"/proc/{pid}/status").read_text()
        os.kill(pid, 9)
    user.wait(user.submit("output = out\nshould_transfer_files = YES\n", "echo again"))
    assert (user.work / "out").read_text() == "again\n"
    assert not set(_file_workers(roots)) & set(old)
    eventually(lambda: set(user.ends().values()) == {1})


def test_a_stopped_file_worker_delays_no_other_user(roots: Pool, user: Pool) -> None:
    """A user can stop the processes that act as that user: the jobs of others begin, end and are told of meanwhile."""
    user.wait(user.submit("output = out\nshould_transfer_files = YES\n", "true"))
    stopped = _file_workers(roots)
    assert stopped
    try:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        # They keep two of the four slots until their files are given up or answer.
        theirs = [user.submit("output = out\nshould_transfer_files = YES\n", "true") for _ in range(2)]
        log = roots.work / "others.log"
        for _ in range(3):
            other = roots.submit(f"log = {log}\noutput = others.out\nshould_transfer_files = YES\n", "echo done")
            roots.wait(other)
            assert f"005 ({other:03}.000.000)" in log.read_text()
        # They were not given up for hanging before: nothing waited for them.
        assert set(stopped) <= set(_file_workers(roots))
    finally:
        for pid in stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    for cluster in theirs:
        user.wait(cluster)


def test_results_of_many_jobs_at_once_are_each_their_own(user: Pool) -> None:
    out = user.work / "many"
    out.mkdir()
    os.chown(out, UID, -1)
    cluster = user.submit(
        "initialdir = many\noutput = $(Process).out\narguments = $(Process)\nshould_transfer_files = YES\n"
        'transfer_output_files = result, same\ntransfer_output_remaps = "result = $(Process).result"\nqueue 100\n',
        "printf %05d $1; printf %05d $1 > result; printf %05d $1 > same",
    )
    user.wait(cluster)
    assert wrong(out, "{}.out", 100) + wrong(out, "{}.result", 100) == []
    assert (out / "same").read_text() in {f"{number:05}" for number in range(100)}
    assert {path.stat().st_uid for path in out.iterdir()} == {UID} and len(list(out.iterdir())) == 201
