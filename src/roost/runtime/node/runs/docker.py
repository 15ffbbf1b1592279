"""Jobs of the docker universe: the command line of docker or podman that keeps a container for a run.

The container is created before the job is started, so that an unavailable image holds the job. The job's process is the
client attached to the container: it forwards signals, and exits with the status of the container's program. The
container's own processes may belong to a daemon, so signalling the client is not enough: whatever suspends, continues
or kills the job does the same to the container. The container is removed with the scratch directory, and its name is
derived from the run, so that a restarted daemon finds it.

The client runs as the job's user, who must be allowed to use it. The container is limited to the memory of the job's
slot. Usage is not measured in the container: the use of a job is that of the processes below the client; docker's
daemon keeps its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.runtime.node.runs.containers import RuntimeKind, runtime_of
from roost.runtime.processes.accounts import Account

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roost.classad import ClassAd
    from roost.config import Config

_log = logging.getLogger("roost.node")

#: `ps` also queries the daemon behind docker.
DOCKER: Final = RuntimeKind("DOCKER", ("podman", "docker"), (("ps", "--quiet"), ("--version",)), "docker jobs")
#: How long a container may take to be created, including fetching its image, s.
CREATE_S: Final = 1200.0
#: How long a command to a container may take, s.
ORDER_S: Final = 20.0
#: Number of characters of the program's output that a hold reason shows.
_SHOWN_MAX: Final = 500
#: Variables that an image sets itself.
_OF_IMAGE: Final = frozenset(("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "HOSTNAME"))


class NoContainer(Exception):
    """The container could not be created; the text says why."""


def wants_docker(job_ad: ClassAd) -> bool:
    """Whether a job belongs to the docker universe."""
    return job_ad.cell("wantdocker") is True


def docker_of(config: Config) -> str | None:
    """The program on this machine that manages containers; None if none works."""
    found = runtime_of(config, DOCKER)
    return None if found is None else found.path


def docker_abilities(config: Config) -> dict[str, Any]:
    """The attributes of a machine's ad about docker; none if it does not work."""
    found = runtime_of(config, DOCKER)
    return {} if found is None else {"HasDocker": True, "DockerVersion": found.version}


def attached(docker: str, name: str) -> tuple[Path, tuple[str, ...]]:
    """The program and its arguments that start and attach to a created container."""
    return Path(docker), (docker, "start", "--attach", "--interactive", name)


def shell_in(docker: str, name: str, words: tuple[str, ...], *, terminal: bool) -> tuple[Path, tuple[str, ...]]:
    """The program and its arguments that run another program in a container."""
    return Path(docker), (docker, "exec", "--interactive", *(("--tty",) if terminal else ()), name, *words)


class Docker:
    """The container of one run."""

    def __init__(self, path: str, run: str, home: Path, account: Account | None) -> None:
        self.path = path
        digest = hashlib.blake2b(f"{home}\0{run}".encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()
        self.name = f"roost-{digest}"
        self._account = account
        self._creating: asyncio.subprocess.Process | None = None
        self._given_up = False

    async def create(
        self,
        job_ad: ClassAd,
        arguments: tuple[str, ...],
        *,
        environment: Mapping[str, str],
        sandbox: Path,
        directory: Path,
        slot_ad: ClassAd,
    ) -> None:
        """Create the container, replacing one from an earlier start of the job. Raises NoContainer.

        It gets the memory and the cores of the slot, and all GPUs if the job has some.
        """
        await self.remove()
        image = job_ad.cell("dockerimage")
        if not isinstance(image, str) or not image or image.startswith("-"):
            raise NoContainer(f"{image!r} is not the name of an image")
        options = ["--name", self.name, "--interactive", "--workdir", str(directory)]
        for each in dict.fromkeys((sandbox, directory)):
            options += ["--volume", f"{each}:{each}"]
        uid, gid = (os.getuid(), os.getgid()) if self._account is None else (self._account.uid, self._account.gid)
        memory_mb, cpus = slot_ad.cell("memory"), slot_ad.cell("cpus")
        cores = max(1, cpus) if isinstance(cpus, int) else 1
        options += ["--user", f"{uid}:{gid}", "--cpu-shares", str(100 * cores)]
        options += ["--memory", f"{memory_mb}m"] if isinstance(memory_mb, int) and memory_mb > 0 else []
        options += ["--gpus", "all"] if "CUDA_VISIBLE_DEVICES" in environment else []
        if Path(self.path).name == "podman" and uid:
            # In a rootless container all user ids are remapped, except this one.
            options += ["--userns", "keep-id"]
        for name in sorted(set(environment) - _OF_IMAGE):
            options += ["--env", name]
        command = arguments if arguments and arguments[0] else arguments[1:]
        status, words = await self._asked(CREATE_S, "create", *options, image, *command, environment=environment)
        if self._given_up:
            raise NoContainer("the run is over")
        if status:
            raise NoContainer(f"{self.path} create {image}: {words[-_SHOWN_MAX:] or f'exit status {status}'}")

    def give_up(self) -> None:
        """Stop waiting for an image, because the run must end."""
        self._given_up = True
        if self._creating is not None:
            with contextlib.suppress(ProcessLookupError):
                self._creating.kill()

    async def pause(self) -> None:
        """Stop all processes of the container."""
        await self._order("pause")

    async def unpause(self) -> None:
        """Continue them."""
        await self._order("unpause")

    async def remove(self) -> None:
        """Kill what runs in the container, and remove it."""
        await self._asked(ORDER_S, "rm", "--force", self.name)

    async def _order(self, verb: str) -> None:
        status, words = await self._asked(ORDER_S, verb, self.name)
        if status:
            _log.warning("%s %s %s: %s", self.path, verb, self.name, words)

    async def _asked(
        self, within_s: float, *words: str, environment: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """The program's exit status and output."""
        account = self._account
        identity: dict[str, Any] = {}
        if account is not None and os.geteuid() == 0:
            identity = {"user": account.uid, "group": account.gid, "extra_groups": list(account.groups)}
        process = await asyncio.create_subprocess_exec(
            self.path, *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=self._environment(environment or {}), cwd="/", start_new_session=True, **identity,
        )  # fmt: skip
        self._creating = process if environment is not None else self._creating
        try:
            async with asyncio.timeout(within_s):
                out, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return 1, f"it took more than {within_s:g} s"
        finally:
            self._creating = None
        return int(process.returncode or 0), out.decode(errors="replace").strip()

    def _environment(self, job: Mapping[str, str]) -> dict[str, str]:
        home = str(self._account.home) if self._account is not None else os.environ.get("HOME", "/")
        own = {name: value for name, value in os.environ.items() if name in _CLIENTS}
        return {**job, **own, "HOME": home}


#: Variables with which the client finds its daemon.
_CLIENTS: Final = frozenset(("PATH", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR", "LANG"))
