"""Jobs of the container universe: the command line of apptainer or singularity that runs a program in an image.

The runtime has no daemon, so the processes of such a job are the job's own: they are suspended, measured and killed as
any others. The image sees the scratch directory under the path that it has on the machine, and the job's initial
directory where no files are moved; of the machine's other directories, of the home directory among them, it sees none.
Jobs of the docker universe are in `docker`.
"""

from __future__ import annotations

import functools
import logging
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.base.records import dataclass

if TYPE_CHECKING:
    from roost.classad import ClassAd
    from roost.config import Config

_log = logging.getLogger("roost.node")

#: The programs that are looked for where SINGULARITY is not set.
NAMES: Final = ("apptainer", "singularity")
#: How long the runtime may take to say its version, s.
VERSION_S: Final = 10.0
_REGISTRY: Final = "docker://"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What runs containers on this machine."""

    path: str
    #: As it says it: ``apptainer version 1.3.4``.
    version: str


def runtime_of(config: Config) -> Runtime | None:
    """The runtime of this machine; None if there is none that works."""
    named = (config.get("SINGULARITY", subsys="STARTER") or "").strip()
    path = named or next(filter(None, map(shutil.which, NAMES)), "")
    try:
        changed = Path(path).stat().st_mtime_ns if path else 0
    except OSError as problem:
        if named:
            _log.warning("SINGULARITY: %s: %s; jobs in containers cannot run here", path, problem.strerror)
        return None
    return _checked(path, changed) if path else None


@functools.lru_cache(maxsize=8)
def _checked(path: str, changed: int) -> Runtime | None:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=VERSION_S, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as problem:
        _log.warning("%s --version: %s; jobs in containers cannot run here", path, problem)
        return None
    return Runtime(path=path, version=done.stdout.strip())


def container_abilities(config: Config) -> dict[str, Any]:
    """What a machine's ad says of containers; nothing where none can run."""
    found = runtime_of(config)
    if found is None:
        return {}
    kinds = dict.fromkeys(("HasContainer", "HasSingularity", "HasSIF", "HasSandboxImage", "HasDockerURL"), True)
    return {**kinds, "SingularityVersion": found.version}


def wants_container(job_ad: ClassAd) -> bool:
    """Whether a job is one of the container universe."""
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
    """The program and its arguments that run `arguments`, none for what the image runs itself, in a job's image.

    Raises ValueError where this machine has no runtime, or the job no image.
    """
    runtime = runtime_of(config)
    if runtime is None:
        raise ValueError("the job needs a container, and this machine has no apptainer or singularity that works")
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
