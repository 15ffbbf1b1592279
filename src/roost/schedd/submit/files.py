"""Files of a job: its initial directory, its three standard files, its log, and the files that are transferred."""

from __future__ import annotations

import posixpath
from typing import Final

from roost.base.records import dataclass
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob, listed, unquoted
from roost.schedd.submit.program import container_of, is_local

_SHOULD: Final = {
    "yes": "YES", "true": "YES", "always": "YES",
    "no": "NO", "false": "NO", "never": "NO",
    "if_needed": "IF_NEEDED", "auto": "IF_NEEDED", "automatic": "IF_NEEDED",
}  # fmt: skip
_WHEN: Final = ("ON_EXIT", "ON_EXIT_OR_EVICT", "ON_SUCCESS")
_OR_EVICT: Final = "ON_EXIT_OR_EVICT"


def directory_of(job: PlannedJob) -> str:
    """Iwd: the directory to which the job's paths are relative."""
    text = job.text("initialdir", "initial_dir", "iwd", "job_iwd")
    return job.defaults.cwd if text is None else posixpath.join(job.defaults.cwd, text)


def directory(job: PlannedJob) -> None:
    """Iwd."""
    job.put("Iwd", job.fact(directory_of))


def standard_files(job: PlannedJob) -> None:
    """In, Out and Err, and whether they are transferred or streamed."""
    for names, word, attribute in (
        (("input", "stdin"), "input", "In"),
        (("output", "stdout"), "output", "Out"),
        (("error", "stderr"), "error", "Err"),
    ):
        text = job.text(*names)
        job.put(attribute, text or "/dev/null")
        if text is None or text == "/dev/null" or job.truth(f"transfer_{word}", f"Transfer{attribute}") is False:
            job.put(f"Transfer{attribute}", False)
        else:
            streamed = job.truth(f"stream_{word}", f"Stream{attribute}")
            job.put(f"Stream{attribute}", bool(streamed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """The settings for file transfer."""

    #: YES, NO or IF_NEEDED.
    should: str
    #: "" with NO.
    when: str
    inputs: tuple[str, ...]
    #: None: all new files.
    outputs: tuple[str, ...] | None

    @property
    def plugins(self) -> tuple[str, ...]:
        """Schemes of the URLs among the inputs."""
        return tuple(dict.fromkeys(one.partition("://")[0].lower() for one in self.inputs if "://" in one))


def moving_of(job: PlannedJob) -> Moving:
    """All settings; contradictions are reported."""
    if job.fact(is_local):
        return Moving(should="NO", when="", inputs=(), outputs=None)
    when = _when(job)
    given = job.text("should_transfer_files", "ShouldTransferFiles")
    if given is None and when == _OR_EVICT:
        should = "YES"
    else:
        should = _should(job, given)
    if should == "NO" and when:
        text = f"when_to_transfer_output = {when} conflicts with should_transfer_files = NO"
        _contradiction(job, text, "when_to_transfer_output")
    if should == "IF_NEEDED" and when == _OR_EVICT:
        _contradiction(
            job,
            "when_to_transfer_output = ON_EXIT_OR_EVICT requires that files are always transferred, not IF_NEEDED",
            "when_to_transfer_output",
            "Write should_transfer_files = YES.",
        )
    inputs, outputs = _inputs(job), _outputs(job)
    if should == "NO" and (inputs or outputs):
        name = "transfer_input_files" if inputs else "transfer_output_files"
        _contradiction(
            job, f"{name} names files to transfer, but should_transfer_files = NO prevents any transfer", name
        )
    return Moving(should=should, when="" if should == "NO" else when or "ON_EXIT", inputs=inputs, outputs=outputs)


def _contradiction(job: PlannedJob, message: str, name: str, remedy: str | None = None) -> None:
    job.report(SubmitCode.TRANSFER, message, name, remedy=remedy)


def _should(job: PlannedJob, given: str | None) -> str:
    word = (given or job.defaults.should_transfer).lower()
    if word not in _SHOULD:
        job.report(
            SubmitCode.WORD,
            f"should_transfer_files = {given} is not one of YES, NO, IF_NEEDED",
            "should_transfer_files",
        )
    return _SHOULD.get(word, "IF_NEEDED")


def _when(job: PlannedJob) -> str:
    """One of the allowed words, or "" if none is given."""
    text = job.text("when_to_transfer_output", "WhenToTransferOutput")
    if text is None:
        return ""
    if text.upper() in _WHEN:
        return text.upper()
    remedy = "Write should_transfer_files = NO." if text.upper() == "NEVER" else None
    message = f"when_to_transfer_output = {text} is not one of {', '.join(_WHEN)}"
    job.report(SubmitCode.WORD, message, "when_to_transfer_output", remedy=remedy)
    return ""


def _inputs(job: PlannedJob) -> tuple[str, ...]:
    text = job.text("transfer_input_files", "TransferInputFiles", "TransferInput")
    found = listed(text) if text else []
    container = job.fact(container_of)
    if container is not None and container.is_file:
        found.append(container.image)
    return tuple(found)


def _outputs(job: PlannedJob) -> tuple[str, ...] | None:
    text = job.text("transfer_output_files", "TransferOutputFiles", "TransferOutput")
    return None if text is None else tuple(listed(text))


def moving(job: PlannedJob) -> None:
    """ShouldTransferFiles and everything that belongs to it."""
    moves = job.fact(moving_of)
    job.put("ShouldTransferFiles", moves.should)
    if moves.when:
        job.put("WhenToTransferOutput", moves.when)
    if moves.should != "YES":
        job.put("FileSystemDomain", job.defaults.filesystem_domain)
    if moves.inputs:
        job.put("TransferInput", ",".join(moves.inputs))
    if moves.outputs is not None:
        job.put("TransferOutput", ",".join(moves.outputs))
    if moves.plugins:
        job.put("WantTransferPluginMethods", ",".join(moves.plugins))
    for command, attribute in (
        ("encrypt_input_files", "EncryptInputFiles"),
        ("encrypt_output_files", "EncryptOutputFiles"),
        ("dont_encrypt_input_files", "DontEncryptInputFiles"),
        ("dont_encrypt_output_files", "DontEncryptOutputFiles"),
    ):
        text = job.text(command)
        if text is None:
            continue
        job.put(attribute, ",".join(listed(text)))
        if job.defaults.clear_text and command.startswith("encrypt_"):
            job.report(
                SubmitCode.UNSUPPORTED,
                f"{command}: the pool's messages, and the files in them, are not encrypted",
                command,
                remedy="Ask an administrator for tls:// in NATS_SERVERS, or remove the line.",
            )


def checkpoints(job: PlannedJob) -> None:
    """Commands for jobs that write their own checkpoints."""
    code = job.integer("checkpoint_exit_code")
    files = job.text("transfer_checkpoint_files", "TransferCheckpoint")
    if code is not None:
        job.put("SuccessCheckpointExitCode", code)
        job.put("WantFTOnCheckpoint", True)
    if files is not None:
        job.put("TransferCheckpoint", ",".join(listed(files)))
        if code is None:
            job.report(
                SubmitCode.SUSPICIOUS,
                "transfer_checkpoint_files has no effect without checkpoint_exit_code",
                "transfer_checkpoint_files",
                remedy="Set checkpoint_exit_code to the exit status with which the job asks for its state to be saved.",
            )


def text_path(job: PlannedJob, text: str) -> str:
    """A path relative to where the job starts."""
    return posixpath.join(job.fact(directory_of), unquoted(text))
