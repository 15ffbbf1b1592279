"""Reading a running job's output, and the files of its scratch directory, in pieces, for its owner."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from roost.runtime.bus.request_answers import BadRequest, NotFound
from roost.runtime.files.file_pieces import read_piece
from roost.runtime.files.file_workers import with_hands
from roost.runtime.files.worker.hands import Hands
from roost.runtime.node.runs.job_environment import output_files
from roost.runtime.node.runs.job_order import BadJob, job_place
from roost.runtime.node.runs.local_run import LocalRun
from roost.wire.messages import Answer
from roost.wire.requests import machine
from roost.wire.requests.verb import FilePiece


def runner_of(runners: Iterable[LocalRun], job: str, global_id: str) -> LocalRun | None:
    """The run of a job (``12.0``) on this machine; None if it has none here."""
    for runner in runners:
        named = global_id or runner.job_ad.cell("globaljobid")
        if runner.run.partition("#")[0] == job and runner.job_ad.cell("globaljobid") == named:
            return runner
    return None


def not_owner(runner: LocalRun, sender: str, administrators: Collection[str]) -> Answer | None:
    """The refusal for a user who neither owns a job nor is an administrator; None if access is allowed."""
    if sender in administrators or sender == str(runner.job_ad.cell("owner")):
        return None
    job = runner.run.partition("#")[0]
    return Answer(ok=False, code="permission-denied", text=f"{sender or 'this user'} does not own job {job}")


async def file_answer(
    runners: Iterable[LocalRun], asked: machine.ReadFile, sender: str, administrators: Collection[str]
) -> FilePiece | Answer:
    """A piece of a file of a running job. Raises NotFound and BadRequest."""
    runner = runner_of(runners, asked.job, asked.global_id)
    if runner is None or runner.sandbox is None:
        raise NotFound(f"job {asked.job} does not run here")
    refused = not_owner(runner, sender, administrators)
    if refused is not None:
        return refused
    hands, root = runner.transfers.hands, runner.sandbox.path
    try:
        path = root / asked.file if asked.file else _stream(runner, asked)
        return await with_hands(hands, _read, hands, path, root if asked.file else None, asked)
    except BadJob as error:
        raise NotFound(str(error)) from None
    except OSError as problem:
        raise NotFound(f"{problem.filename or asked.file}: {problem.strerror}") from None


def _stream(runner: LocalRun, asked: machine.ReadFile) -> Path:
    """Raises BadJob and BadRequest."""
    ad, place = job_place(runner, runner.job_ad)
    path = output_files(ad, place)[asked.stream == "err"]
    if path is None:
        name = "error" if asked.stream == "err" else "output"
        raise BadRequest(f"job {asked.job} keeps no standard {name}: its description has no '{name}'")
    return path


def _read(hands: Hands, path: Path, root: Path | None, asked: machine.ReadFile) -> FilePiece:
    """With `root`, the file has to be below it. Raises BadRequest and OSError."""
    if root is not None and not Path(hands.real(str(path))).is_relative_to(hands.real(str(root))):
        raise BadRequest(f"{asked.file} is not in the scratch directory of job {asked.job}")
    return read_piece(hands, str(path), asked.offset, asked.limit)
