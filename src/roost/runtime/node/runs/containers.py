"""Jobs of the container universe: the command line of apptainer or singularity that runs a program in an image.

The runtime has no daemon, so the processes of such a job are the job's own: they are suspended, measured and killed
like any others. The container sees the scratch directory under its path on the machine, and the job's initial directory
if no files are transferred. It sees none of the machine's other directories, not even the home directory. Jobs of the
docker universe are in `docker`.
"""

from __future__ import annotations

import functools
import logging
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from roost.base.records import dataclass

if TYPE_CHECKING:
    from roost.classad import ClassAd
    from roost.config import Config

_log = logging.getLogger("roost.node")

#: How long a runtime may take for each of the commands that check it, s.
CHECK_S: Final = 10.0
_REGISTRY: Final = "docker://"


class RuntimeKind(NamedTuple):
    """Interchangeable programs that run containers."""

    #: The knob that names the program.
    knob: str
    #: The programs that are looked for if the knob is not set.
    names: tuple[str, ...]
    #: Commands that succeed if the runtime works; the last one prints its version.
    checks: tuple[tuple[str, ...], ...]
    #: What cannot run without it.
    jobs: str


APPTAINER: Final = RuntimeKind("SINGULARITY", ("apptainer", "singularity"), (("--version",),), "container jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The container runtime on this machine."""

    path: str
    #: Its version output: ``apptainer version 1.3.4``.
    version: str


def runtime_of(config: Config, kind: RuntimeKind = APPTAINER) -> Runtime | None:
    """The runtime of a kind on this machine; None if none works."""
    named = (config.get(kind.knob, subsys="STARTER") or "").strip()
    path = named or next(filter(None, map(shutil.which, kind.names)), "")
    try:
        changed = Path(path).stat().st_mtime_ns if path else 0
    except OSError as problem:
        if named:
            _log.warning("%s: %s: %s; %s cannot run here", kind.knob, path, problem.strerror, kind.jobs)
        return None
    return _checked(path, changed, kind, logging.WARNING if named else logging.INFO) if path else None


@functools.lru_cache(maxsize=16)
def _checked(path: str, changed: int, kind: RuntimeKind, level: int) -> Runtime | None:
    """The runtime if it works, checked again after each change of the program; problems are logged at a level."""
    try:
        for words in kind.checks:
            done = subprocess.run(
                [path, *words], capture_output=True, text=True, timeout=CHECK_S, check=True, stdin=subprocess.DEVNULL
            )
    except (OSError, subprocess.SubprocessError) as problem:
        _log.log(level, "%s: %s; %s cannot run here", path, problem, kind.jobs)
        return None
    return Runtime(path=path, version=done.stdout.strip())


def container_abilities(config: Config) -> dict[str, Any]:
    """The attributes of a machine's ad about containers; none if it cannot run any."""
    found = runtime_of(config)
    if found is None:
        return {}
    kinds = dict.fromkeys(("HasContainer", "HasSingularity", "HasSIF", "HasSandboxImage", "HasDockerURL"), True)
    return {**kinds, "SingularityVersion": found.version}


def wants_container(job_ad: ClassAd) -> bool:
    """Whether a job belongs to the container universe."""
    return job_ad.cell("wantcontainer") is True


def in_container(
    job_ad: ClassAd,
    config: Config,
    arguments: tuple[str, ...],
    *,
    sandbox: Path,
    directory: Path,
    gpus: bool,
    moved: bool,
) -> tuple[Path, tuple[str, ...]]:
    """The program and its arguments that run `arguments` in a job's image; without `arguments`, the image's own
    program.

    Raises ValueError if this machine has no runtime, or the job no image.
    """
    runtime = runtime_of(config)
    if runtime is None:
        raise ValueError("the job needs a container, but this machine has no working apptainer or singularity")
    bound = dict.fromkeys((sandbox, directory))
    options = [word for each in bound for word in ("--bind", str(each))] + (["--nv"] if gpus else [])
    words = (
        runtime.path,
        "--silent",
        "exec" if arguments and arguments[0] else "run",
        "--contain",
        "--no-home",
        *options,
        "--pwd",
        str(directory),
        _image(job_ad, sandbox, directory, moved=moved),
        *(arguments if arguments and arguments[0] else arguments[1:]),
    )
    return Path(runtime.path), words


def _image(job_ad: ClassAd, sandbox: Path, directory: Path, *, moved: bool) -> str:
    docker, image = job_ad.cell("dockerimage"), job_ad.cell("containerimage")
    if isinstance(docker, str) and docker:
        return docker if docker.startswith(_REGISTRY) else f"{_REGISTRY}{docker}"
    if not isinstance(image, str) or not image:
        raise ValueError("the job's ad has no ContainerImage")
    if "://" in image:
        return image
    if moved and job_ad.cell("wantsif") is True:
        return str(sandbox / os.path.basename(image.rstrip("/")))  # noqa: PTH119
    return str(directory / image)
