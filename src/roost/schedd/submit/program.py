"""What a job runs: universe, executable, arguments, environment, containers."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from roost.base.records import dataclass
from roost.model.command_line import (
    CommandLineError,
    environment_from_submit,
    environment_to_raw,
    is_quoted,
    join_raw,
    split_old,
    split_raw,
    unescape_old,
    unquote,
)
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob

VANILLA: Final = 5
#: Universes whose jobs run on the queue's machine, and on no machine of the pool.
LOCAL_UNIVERSES: Final = {"scheduler": 7, "local": 12}
_UNIVERSES: Final = {
    "standard": 1,
    "vanilla": 5,
    "scheduler": 7,
    "mpi": 8,
    "grid": 9,
    "java": 10,
    "parallel": 11,
    "local": 12,
    "vm": 13,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """The image in which the job runs."""

    #: The command that names it.
    command: str
    image: str
    #: Docker itself runs it, instead of the machine's container runtime.
    docker: bool = False

    @property
    def from_registry(self) -> bool:
        """Whether the image comes from a registry of images."""
        return self.command == "docker_image" or self.image.startswith("docker://")

    @property
    def is_file(self) -> bool:
        """Whether the image is a file that is transferred with the job."""
        return self.image.endswith(".sif") and "://" not in self.image


def universe_of(job: PlannedJob) -> str:
    """The universe's name in lower case; an invalid one is reported, and treated as vanilla."""
    text = (job.text("universe") or "vanilla").lower()
    if text.isdecimal():
        text = next((name for name, number in _UNIVERSES.items() if number == int(text)), text)
    if text in ("vanilla", "docker", "container", *LOCAL_UNIVERSES):
        return text
    known = text in _UNIVERSES
    message = f"Roost runs no jobs of the {text} universe" if known else f"there is no universe {text!r}"
    job.report(SubmitCode.UNIVERSE, message, "universe")
    return "vanilla"


def is_local(job: PlannedJob) -> bool:
    """Whether the job runs on the queue's machine."""
    return job.fact(universe_of) in LOCAL_UNIVERSES


def container_of(job: PlannedJob) -> Container | None:
    """The container of the job; None for a job without one."""
    universe = job.fact(universe_of)
    docker, image = job.text("docker_image"), job.text("container_image")
    if docker is not None:
        return Container(command="docker_image", image=docker, docker=universe == "docker")
    if image is not None:
        return Container(command="container_image", image=image)
    if universe in ("docker", "container"):
        wanted = "docker_image" if universe == "docker" else "container_image"
        job.report(SubmitCode.UNIVERSE, f"a job of the {universe} universe needs {wanted}", "universe",
                   remedy=f"Add a line `{wanted} = IMAGE`.")  # fmt: skip
    return None


def transfers_executable(job: PlannedJob) -> bool:
    """Whether the program is transferred."""
    return job.text("shell") is None and job.truth("transfer_executable", "TransferExecutable") is not False


def executable_of(job: PlannedJob) -> str | None:
    """Cmd; None if the description does not set it."""
    if job.text("shell") is not None:
        return "/bin/sh"
    text = job.text("executable", "Cmd") if job.text("executable") else None
    if text is None:
        container = job.fact(container_of)
        if container is None:
            job.report(SubmitCode.NO_EXECUTABLE, "no executable is given")
        return None
    if not job.fact(transfers_executable) or "://" in text:
        return text
    return posixpath.join(job.defaults.cwd, text)


def universe(job: PlannedJob) -> None:
    """JobUniverse, and the attributes of containers."""
    job.put("JobUniverse", LOCAL_UNIVERSES.get(job.fact(universe_of), VANILLA))
    container = job.fact(container_of)
    if container is None:
        return
    if container.docker:
        job.put("WantDocker", True)
    else:
        job.put("WantContainer", True)
        if container.from_registry:
            job.put("WantDockerImage", True)
        else:
            job.put("WantSIF" if container.is_file else "WantSandboxImage", True)
    if container.command == "docker_image":
        job.put("DockerImage", container.image)
    else:
        job.put("ContainerImage", container.image)


def executable(job: PlannedJob) -> None:
    """Cmd and TransferExecutable."""
    path = job.fact(executable_of)
    if path is not None:
        job.put("Cmd", path)
    elif job.fact(container_of) is not None:
        # The image says what it runs.
        job.put("Cmd", "")
    if path is None or not job.fact(transfers_executable):
        job.put("TransferExecutable", False)


def arguments(job: PlannedJob) -> None:
    """Arguments in the new form, or Args in the old one, as the user wrote them."""
    line = job.text("shell")
    if line is not None:
        job.put("Arguments", join_raw(("-c", line)))
        return
    name = job.given("arguments2", "arguments", "args", "Arguments")
    text = job.text(name) if name else None
    if name is None or text is None:
        job.put("Arguments", "")
        return
    try:
        if is_quoted(text):
            job.put("Arguments", join_raw(split_raw(unquote(text))))
        else:
            job.put("Args", " ".join(split_old(unescape_old(text))))
    except CommandLineError as problem:
        job.report(SubmitCode.ARGUMENTS, f"{name} = {text}: {problem.problem}: {problem.text[problem.at:][:40]}", name,
                   offset=_offset(text, problem), remedy=_remedy(problem))  # fmt: skip


def _offset(text: str, problem: CommandLineError) -> int:
    """Where the problem is in a command's value; the offset may be relative to the text without its quotes."""
    return problem.at if problem.text == text else max(0, text.find(problem.text[problem.at :][:20]))


def _remedy(problem: CommandLineError) -> str:
    return problem.remedy[:1].upper() + problem.remedy[1:] + "."


def environment(job: PlannedJob) -> None:
    """Environment: inherited variables, overridden by explicit ones."""
    found = dict(inherited_by(job))
    name = job.given("environment2", "environment", "env")
    text = job.text(name) if name else None
    if name is not None and text is not None:
        try:
            found |= environment_from_submit(text)
        except CommandLineError as problem:
            job.report(SubmitCode.ENVIRONMENT, f"{name} = {text}: {problem.problem}", name,
                       offset=_offset(text, problem), remedy=_remedy(problem))  # fmt: skip
    job.put("Environment", environment_to_raw(found))


def inherited_by(job: PlannedJob) -> Mapping[str, str]:
    """The variables of the user's environment that the job inherits (getenv)."""
    text = job.text("getenv")
    if text is None or text.lower() in ("false", "f", "no", "0"):
        return {}
    variables = job.defaults.inherited
    if text.lower() in ("true", "t", "yes", "1"):
        return variables
    patterns = [pattern for pattern in text.replace(",", " ").split() if pattern]
    return {name: value for name, value in variables.items() if _wanted(name, patterns)}


def _wanted(name: str, patterns: list[str]) -> bool:
    """Whether a list of patterns selects a name: some pattern matches, and none with ``!`` before it."""
    folded = name.lower()
    taken = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if fnmatchcase(folded, pattern[1:].lower()):
                return False
        elif fnmatchcase(folded, pattern.lower()):
            taken = True
    return taken
