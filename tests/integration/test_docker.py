"""Jobs of the docker universe on a real pool, with a stand-in for docker: a client and a daemon.

The daemon is a thread of the test, so that the containers' processes are none of the pool's, as with docker's own.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kit import Pool, eventually, running
from tests.integration.test_ssh_to_job import done, value

CLIENT = """#!{python}
import json, os, signal, socket, sys
if sys.argv[1:] == ["--version"]:
    print("Docker version 99.9"); sys.exit()
line = socket.socket(socket.AF_UNIX); line.connect({path!r})
file = line.makefile("rwb")
def say(**what):
    file.write(json.dumps(what).encode() + b"\\n"); file.flush()
def hand_on(number, frame):
    other = socket.socket(socket.AF_UNIX); other.connect({path!r})
    other.sendall(json.dumps(dict(words=["signal", sys.argv[-1], str(number)], env={{}})).encode() + b"\\n")
signal.signal(signal.SIGTERM, hand_on)
say(words=sys.argv[1:], env=dict(os.environ))
for each in file:
    answer = json.loads(each)
    sys.stdout.write(answer.get("out", "")); sys.stdout.flush()
    if "status" in answer:
        sys.exit(answer["status"])
"""
#: Images that there are.
IMAGES = ("debian:12", "image")


class Daemon(socketserver.ThreadingUnixStreamServer):
    """What has the containers."""

    daemon_threads = True

    def __init__(self, path: str) -> None:
        super().__init__(path, Handler)
        self.containers: dict[str, dict[str, Any]] = {}
        self.heard: list[list[str]] = []


class Handler(socketserver.StreamRequestHandler):
    """One call of the client."""

    server: Daemon

    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        words, env = asked["words"], asked["env"]
        self.server.heard.append(words)
        out, status = getattr(self, f"do_{words[0]}")(words[1:], env)
        self.say(out=out, status=status)

    def say(self, **what: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(json.dumps(what).encode() + b"\n")

    def do_ps(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        return "", 0

    def do_create(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        given: dict[str, list[str]] = {}
        while words[0].startswith("--"):
            name = words.pop(0)
            given.setdefault(name, []).append("" if name == "--interactive" else words.pop(0))
        image, *command = words
        if image not in IMAGES:
            return f"Unable to find image '{image}'\n", 125
        passed = {name: env[name] for name in given.get("--env", ())}
        self.server.containers[given["--name"][0]] = {
            "given": given, "image": image, "command": command or ["/bin/echo", "entry point"],
            "env": {"PATH": os.defpath, "IMAGE": image, **passed},
        }  # fmt: skip
        return "0123\n", 0

    def do_start(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        container = self.server.containers[words[-1]]
        process = subprocess.Popen(
            container["command"], cwd=container["given"]["--workdir"][0], env=container["env"], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        container["process"] = process
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self.say(out=line)
        status = process.wait()
        return "", status if status >= 0 else 128 - status

    def do_exec(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        at = next(index for index, word in enumerate(words) if not word.startswith("--"))
        container = self.server.containers[words[at]]
        ran = subprocess.run(words[at + 1 :], env=container["env"], capture_output=True, text=True, check=False)
        return ran.stdout, ran.returncode

    def do_signal(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        return self.sent(words[0], int(words[1]))

    def do_pause(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        return self.sent(words[0], signal.SIGSTOP)

    def do_unpause(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        return self.sent(words[0], signal.SIGCONT)

    def do_rm(self, words: list[str], env: dict[str, str]) -> tuple[str, int]:
        if words[-1] not in self.server.containers:
            return "No such container\n", 1
        self.sent(words[-1], signal.SIGKILL)
        del self.server.containers[words[-1]]
        return "", 0

    def sent(self, name: str, number: int) -> tuple[str, int]:
        process = self.server.containers.get(name, {}).get("process")
        if process is not None and process.poll() is None:
            os.killpg(process.pid, number)
        return "", 0


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    place = tmp_path_factory.mktemp("dockerd")
    with Daemon(str(place / "sock")) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        client = place / "docker"
        client.write_text(CLIENT.format(python=sys.executable, path=found.server_address))
        client.chmod(0o755)
        yield found
        found.shutdown()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory, daemon: Daemon) -> Iterator[Pool]:
    path = Path(str(daemon.server_address)).with_name("docker")
    with running(tmp_path_factory.mktemp("docker"), f"DOCKER = {path}\n", cpus=2) as found:
        yield found


def submitted(pool: Pool, **lines: str) -> str:
    """The name of a job of the docker universe."""
    given = {"universe": "docker", "output": "out", "error": "err", "should_transfer_files": "yes", **lines}
    (pool.work / "job.sub").write_text("".join(f"{key} = {text}\n" for key, text in given.items()) + "queue\n")
    status, out, err = done(pool, "condor_submit", "-terse", "job.sub")
    assert status == 0, err
    return str(out.split()[0])


def over(pool: Pool, job: str, status: str = "4") -> None:
    eventually(lambda: value(pool, job, "JobStatus") in ("4", "5"), lambda: f"job {job} is over", 60)
    assert value(pool, job, "JobStatus") == status, value(pool, job, "HoldReason")


def test_a_machine_says_that_it_has_docker(pool: Pool) -> None:
    _, out, _ = done(pool, "condor_status", "-af", "HasDocker", "DockerVersion")
    assert set(out.splitlines()) == {"true Docker version 99.9"}


def test_a_program_runs_in_its_container_with_its_files_environment_and_limits(pool: Pool, daemon: Daemon) -> None:
    (pool.work / "in.txt").write_text("input\n")
    (pool.work / "show.sh").write_text('#!/bin/sh\necho "$1 $IMAGE $COLOUR"; cat in.txt; echo made > made; exit 7\n')
    job = submitted(
        pool, docker_image="debian:12", executable="show.sh", arguments="one", environment="COLOUR=green",
        transfer_input_files="in.txt", request_memory="64",
    )  # fmt: skip
    over(pool, job)
    assert (pool.work / "out").read_text() == "one debian:12 green\ninput\n"
    assert (pool.work / "made").read_text() == "made\n"
    assert value(pool, job, "ExitCode") == "7"
    created = next(words for words in daemon.heard if words[0] == "create")
    assert created[created.index("--user") + 1] == f"{os.getuid()}:{os.getgid()}"
    assert int(created[created.index("--memory") + 1].removesuffix("m")) >= 64
    assert not daemon.containers, "the container is removed with the scratch directory"


def test_without_an_executable_the_image_runs_its_own(pool: Pool) -> None:
    job = submitted(pool, docker_image="image")
    over(pool, job)
    assert (pool.work / "out").read_text() == "entry point\n"


def test_an_image_that_cannot_be_had_holds_the_job(pool: Pool) -> None:
    job = submitted(pool, docker_image="nothing:1", executable="/bin/true")
    over(pool, job, "5")
    assert value(pool, job, "HoldReasonCode") == "35"
    assert "Unable to find image 'nothing:1'" in value(pool, job, "HoldReason")
    done(pool, "condor_rm", job)


def ticks(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_a_container_stands_still_with_its_job_and_ends_with_it(pool: Pool, daemon: Daemon, tmp_path: Path) -> None:
    place = tmp_path / "ticks"
    script = pool.work / "tick.sh"
    script.write_text(f"#!/bin/sh\nwhile :; do echo >> {place}; sleep 0.05; done\n")
    job = submitted(pool, docker_image="image", executable="tick.sh")
    eventually(lambda: ticks(place), "the program runs")
    assert done(pool, "condor_ssh_to_job", job, "echo $IMAGE")[1] == "image\n"
    done(pool, "condor_suspend", job)
    eventually(lambda: value(pool, job, "JobStatus") == "7", "the job is suspended")
    before = ticks(place)
    process = next(iter(daemon.containers.values()))["process"]
    state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    assert (state, ticks(place)) == ("T", before)
    done(pool, "condor_continue", job)
    eventually(lambda: ticks(place) > before, "the program goes on")
    done(pool, "condor_rm", job)
    eventually(lambda: not daemon.containers, "the container is gone")
    assert process.wait(10) == -signal.SIGKILL or process.returncode == -signal.SIGTERM


def test_a_daemon_that_was_killed_finds_the_container_again(pool: Pool, daemon: Daemon, tmp_path: Path) -> None:
    place = tmp_path / "ticks"
    script = pool.work / "tick.sh"
    script.write_text(f"#!/bin/sh\nwhile :; do echo >> {place}; sleep 0.05; done\n")
    job = submitted(pool, docker_image="image", executable="tick.sh")
    eventually(lambda: ticks(place), "the program runs")
    pool.kill("node")
    eventually(lambda: pool.pid("node"), "the machine's daemon is back")
    done(pool, "condor_rm", job)
    eventually(lambda: not daemon.containers, "the container is gone")


@pytest.mark.skipif(shutil.which("docker") is None, reason="this machine has no docker client")
def test_the_real_client_understands_the_options() -> None:
    words = [
        "create", "--name", "x", "--interactive", "--workdir", "/w", "--volume", "/w:/w", "--user", "1:1",
        "--cpu-shares", "100", "--memory", "64m", "--gpus", "all", "--env", "A", "image", "/bin/true",
    ]  # fmt: skip
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        host = f"tcp://127.0.0.1:{closed.getsockname()[1]}"
        more = (
            "start --attach --interactive x", "rm --force x", "pause x", "unpause x",
            "exec --interactive --tty x /bin/sh", "ps --quiet",
        )  # fmt: skip
        for each in (words, *map(str.split, more)):
            ran = subprocess.run(
                ["docker", "--host", host, *each], capture_output=True, text=True, check=False, timeout=30
            )
            assert ran.returncode != 0
            assert "unknown" not in ran.stderr and "Usage" not in ran.stderr, ran.stderr
