"""The environment of a starting job: variables, its ads as files, its program with arguments.

Variables come in layers, each overriding earlier ones: those inherited from the daemon's own environment
(JOB_INHERITS_STARTER_ENVIRONMENT), those that the administrator gives every job (STARTER_JOB_ENVIRONMENT), those that
the job requests, and those that Roost sets: where the job is, its slot, its number of cores, its units of custom
resources. Of the last layer, the numbers of threads and BATCH_SYSTEM do not override earlier layers; jobs of `qsub` get
neither.

With USER_JOB_WRAPPER the wrapper is the program, and gets the job's program with its arguments to execute.

``$$(CondorScratchDir)`` in arguments and environment is the scratch directory. Any other ``$$(…)`` was already expanded
with the matched machine's ad before the job was sent.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from roost.base.records import dataclass
from roost.classad import ClassAd
from roost.classad.forms import Form, format_ad
from roost.classad.values import to_bytes
from roost.config import Config
from roost.model.command_line import arguments_of, environment_of
from roost.model.queue_context import QueueContext
from roost.runtime.files.input_files import STDERR, STDOUT, initial_directory, program_name, standard_input
from roost.runtime.files.worker.hands import OWN, Hands
from roost.runtime.node.cell_program import SCRIPT_FILE, cell_program, is_cell_job, script_of
from roost.runtime.node.runs.containers import in_container, wants_container
from roost.runtime.node.runs.docker import wants_docker
from roost.runtime.processes.accounts import Account, own_account
from roost.starter.queue_environment import cell_path

#: The host file of a parallel job.
HOSTFILE: Final = ".pe_hostfile"
JOB_AD: Final = ".job.ad"
MACHINE_AD: Final = ".machine.ad"
#: The variable with which a job finds its chirp connection.
CHIRP_CONFIG: Final = ".chirp.config"

_NULL: Final = "/dev/null"
_SCRATCH: Final = re.compile(r"\$\$\(CondorScratchDir\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlace:
    """Where a run of a job takes place."""

    sandbox: Path
    #: ``slot1_1``, as in the job's environment.
    slot: str
    cpus: int
    #: Whether files are transferred into the sandbox, where the job then works; otherwise it works in its initial
    #: directory.
    moves_files: bool
    account: Account | None = None
    #: Path of USER_JOB_WRAPPER.
    wrapper: Path | None = None
    #: The machine's configuration; None for a machine that runs no containers.
    config: Config | None = None
    #: The parsed STARTER_JOB_ENVIRONMENT.
    given: Mapping[str, str] | None = None
    #: Variables that the job inherits from the daemon.
    lent: Mapping[str, str] | None = None
    #: STARTER_NUM_THREADS_ENV_VARS: variables that limit the number of threads of libraries.
    threads: tuple[str, ...] = ()
    #: Variables with the job's units of custom resources.
    units: Mapping[str, str] | None = None
    #: The settings of the job's Grid Engine queue instance; None without a cell.
    context: QueueContext | None = None
    #: TMPDIR of a job in a Grid Engine queue instance; None for the scratch directory.
    tmpdir: Path | None = None
    #: Variables of such a job that describe its submission, itself and its queue instance.
    submitted: Mapping[str, str] | None = None
    queue: Mapping[str, str] | None = None

    def working_directory(self, job_ad: ClassAd) -> Path:
        """The directory in which the program starts."""
        return self.sandbox if self.moves_files else initial_directory(job_ad)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The command to execute, and its streams; None is /dev/null."""

    path: Path
    arguments: tuple[str, ...]
    directory: Path
    stdin: Path | None
    stdout: Path | None
    stderr: Path | None


def job_environment(job_ad: ClassAd, place: JobPlace) -> dict[str, str]:
    """The environment of a job. Raises CommandLineError if its ad's environment cannot be read."""
    environment = _begun_environment(place)
    # Jobs of `qsub` decide themselves how many threads they start; a number from elsewhere could slow them down.
    threads = () if is_cell_job(job_ad) else place.threads
    if not is_cell_job(job_ad):
        environment["BATCH_SYSTEM"] = "HTCondor"
    if place.tmpdir is not None and environment["PATH"] == os.defpath:
        environment["PATH"] = cell_path(place.tmpdir, place.queue or {})
    environment.update(place.submitted or {})
    asked = environment_of(job_ad)
    environment.update(zip(asked, _with_scratch(asked.values(), place), strict=True))
    environment.update({name: str(max(1, place.cpus)) for name in threads if not environment.get(name)})
    environment.update(_said_environment(place, job_ad))
    return {name: value for name, value in environment.items() if name and "\0" not in name + value}


def hook_environment(place: JobPlace, job_ad: ClassAd) -> dict[str, str]:
    """The environment of a hook: that of the job, without the variables that its user adds."""
    environment = _begun_environment(place) | _said_environment(place, job_ad)
    return {name: value for name, value in environment.items() if name and "\0" not in name + value}


def _begun_environment(place: JobPlace) -> dict[str, str]:
    environment = {"PATH": os.defpath, **(place.lent or {}), **(place.given or {})}
    if place.account is not None:
        environment.update(account_environment(place.account))
    return environment


def account_environment(account: Account) -> dict[str, str]:
    """The variables that name the account of a program."""
    return {"HOME": str(account.home), "USER": account.name, "LOGNAME": account.name, "SHELL": account.shell}


def _said_environment(place: JobPlace, job_ad: ClassAd) -> dict[str, str]:
    scratch = str(place.sandbox)
    environment = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(place.tmpdir or scratch))
    environment.update(
        _CONDOR_SCRATCH_DIR=scratch,
        _CONDOR_SLOT=place.slot,
        _CONDOR_JOB_AD=f"{scratch}/{JOB_AD}",
        _CONDOR_MACHINE_AD=f"{scratch}/{MACHINE_AD}",
        _CONDOR_JOB_IWD=str(place.working_directory(job_ad)),
        _CONDOR_JOB_PIDS="",
    )
    if wants_chirp(job_ad):
        environment["_CONDOR_CHIRP_CONFIG"] = f"{scratch}/{CHIRP_CONFIG}"
    return environment | dict(place.units or {}) | dict(place.queue or {})


def wants_chirp(job_ad: ClassAd) -> bool:
    """Whether a job has a chirp connection (want_io_proxy); local jobs have none."""
    return job_ad.cell("wantioproxy") is True and job_ad.cell("jobuniverse") == 5


def lent_environment(setting: str, own: Mapping[str, str]) -> dict[str, str]:
    """The variables of a daemon's environment that jobs inherit, by JOB_INHERITS_STARTER_ENVIRONMENT: a boolean, or
    patterns of names.

    A pattern with ``!`` before it excludes names. Case is ignored.
    """
    word = setting.strip().lower()
    if word in ("", "false", "no", "0", "f", "n"):
        return {}
    if word in ("true", "yes", "1", "t", "y"):
        return dict(own)
    patterns = [each for each in setting.lower().replace(",", " ").split() if each]
    refused = [each[1:] for each in patterns if each.startswith("!")]
    wanted = [each for each in patterns if not each.startswith("!")] or ["*"]
    return {name: value for name, value in own.items() if _any(name, wanted) and not _any(name, refused)}


def _any(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in patterns)


def job_program(job_ad: ClassAd, place: JobPlace) -> Program:
    """The command to execute.

    Raises CommandLineError if the job's arguments or environment cannot be read, ValueError if it has no Cmd.
    """
    command, docker = job_ad.cell("cmd"), wants_docker(job_ad)
    contained = docker or wants_container(job_ad)
    if not isinstance(command, str) or not (command or contained):
        raise ValueError("the job's ad has no Cmd; set 'executable' in the submit description")
    iwd = initial_directory(job_ad)
    instead: Path | None = None
    if is_cell_job(job_ad):
        login_shell = (place.account or own_account()).shell
        search = job_environment(job_ad, place)["PATH"]
        path, arguments, instead = cell_program(job_ad, place.sandbox, iwd, place.context, login_shell, search)
    else:
        moved = program_name(job_ad) if place.moves_files else None
        path = place.sandbox / moved if moved is not None else iwd / command
        if contained and moved is None:
            # It is in the image, which locates it.
            path = Path(command)
        # The program is called by the name under which its user knows it.
        arguments = (str(path) if command else "", *_with_scratch(arguments_of(job_ad), place))
    source = instead or _input(job_ad, place, iwd)
    output, error = _outputs(job_ad, place, iwd)
    directory = place.working_directory(job_ad)
    if contained and not docker:
        path, arguments = contained_program(job_ad, place, arguments)
    if place.wrapper is not None and not docker:
        path, arguments = place.wrapper, (str(place.wrapper), *arguments)
    return Program(path=path, arguments=arguments, directory=directory, stdin=source, stdout=output, stderr=error)


def contained_program(job_ad: ClassAd, place: JobPlace, arguments: tuple[str, ...]) -> tuple[Path, tuple[str, ...]]:
    """The command that runs a program in a job's image. Raises ValueError."""
    assert place.config is not None
    return in_container(
        job_ad,
        place.config,
        arguments,
        sandbox=place.sandbox,
        directory=place.working_directory(job_ad),
        gpus="CUDA_VISIBLE_DEVICES" in (place.units or {}),
        moved=place.moves_files,
    )


def _with_scratch(texts: Iterable[str], place: JobPlace) -> Iterator[str]:
    scratch = str(place.sandbox)
    return (_SCRATCH.sub(lambda _: scratch, text) if "$$(" in text else text for text in texts)


def _input(job_ad: ClassAd, place: JobPlace, iwd: Path) -> Path | None:
    given = job_ad.cell("in")
    if not isinstance(given, str) or given in ("", _NULL):
        return None
    moved = standard_input(job_ad) if place.moves_files else None
    return place.sandbox / moved if moved is not None else iwd / given


def output_files(job_ad: ClassAd, place: JobPlace) -> tuple[Path | None, Path | None]:
    """The files of standard output and error while a job runs; None for one that it does not keep."""
    return _outputs(job_ad, place, initial_directory(job_ad))


def _outputs(job_ad: ClassAd, place: JobPlace, iwd: Path) -> tuple[Path | None, Path | None]:
    """With file transfer, both have their own names in the sandbox; one file for both is one stream."""
    output, error = (
        _output(job_ad, key, transfer, name, place, iwd)
        for key, transfer, name in (("out", "transferout", STDOUT), ("err", "transfererr", STDERR))
    )
    if output is not None and job_ad.cell("out") == job_ad.cell("err"):
        error = output
    return output, error


def _output(job_ad: ClassAd, key: str, transfer: str, name: str, place: JobPlace, iwd: Path) -> Path | None:
    given = job_ad.cell(key)
    if not isinstance(given, str) or given in ("", _NULL):
        return None
    if place.moves_files and job_ad.cell(transfer) is not False:
        return place.sandbox / name
    return iwd / given


def write_hostfile(sandbox: Path, context: QueueContext | None, hands: Hands) -> None:
    """Write the host file of a parallel job where the job and its parallel environment's scripts find it. Raises
    OSError.
    """
    if context is not None and context.parallel is not None:
        hands.make(f"{sandbox}/{HOSTFILE}", to_bytes(context.parallel.hostfile), 0o644)


def write_ads(sandbox: Path, job_ad: ClassAd, machine_ad: ClassAd, hands: Hands = OWN) -> None:
    """Write the ads where the job finds them, one attribute per line, and a script of `qsub`. Raises OSError."""
    script = script_of(job_ad)
    if script is not None:
        hands.make(f"{sandbox}/{SCRIPT_FILE}", script, 0o755)
    for name, ad in ((JOB_AD, job_ad), (MACHINE_AD, machine_ad)):
        text = to_bytes(format_ad(ad, Form.OLD))
        hands.make(f"{sandbox}/{name}", text, 0o644)
