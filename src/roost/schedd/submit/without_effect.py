"""Commands that are accepted and kept in the job's ad, but that nothing in a Roost pool acts on; a warning says so."""

from __future__ import annotations

from typing import Final

from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import Job

_SHARE: Final = "Use `should_transfer_files = NO` where disks are shared."
#: Command to what happens without it, and what to do instead.
COMMANDS: Final = {
    "stream_input": (
        "files are moved before the job starts",
        "Use `should_transfer_files = NO` where disks are shared.",
    ),
    "stream_output": (
        "output comes back when the job ends",
        "Use `should_transfer_files = NO` where disks are shared.",
    ),
    "stream_error": ("output comes back when the job ends", _SHARE),
    "dont_encrypt_input_files": ("only the connection is encrypted, with tls:// in NATS_SERVERS", ""),
    "dont_encrypt_output_files": ("only the connection is encrypted, with tls:// in NATS_SERVERS", ""),
    "output_destination": ("output comes back to where you submit", "Copy it from there, or in the job."),
    "transfer_plugins": ("URLs are not fetched", "Download in the job, or transfer files."),
    "remote_initialdir": ("a job whose files are not moved starts in initialdir", "Set `initialdir`."),
    "max_idle": (
        "all jobs of a submission are in the queue at once, which costs next to nothing",
        "Use `max_materialize` to limit how many of them run at a time.",
    ),
    "manifest": ("no list of the job's files is kept", "List them in the job."),
    "checkpoint_destination": ("the state is kept by the queue", "Leave it out."),
    "keep_claim_idle": (
        "a slot without a next job is given back at once",
        "Leave it out: matching is quick.",
    ),
    "next_job_start_delay": ("jobs start as slots become free", "Use `deferral_time` for jobs that have to wait."),
    "notification": ("no mail is sent", "Use `roost wait`, or the event log."),
    "notify_user": ("no mail is sent", "Use `roost wait`, or the event log."),
    "email_attributes": ("no mail is sent", "Use `roost wait`, or the event log."),
    "job_machine_attrs": ("attributes of machines are not kept", "Read `.machine.ad` in the job."),
    "load_profile": ("no profile is read", "Read it in the job."),
    "primary_unix_group": ("the job has the account's own group", "Use newgrp in the job."),
    "starter_debug": ("the administrator configures the machine's logs", ""),
}
#: Values that ask for nothing.
_NOTHING: Final = frozenset(("never", "false", "no", "f", "0", "off", "undefined", ""))


def tell(job: Job) -> None:
    """Say of commands that are given that nothing comes of them."""
    for command, (instead, remedy) in COMMANDS.items():
        text = job.text(command)
        if text is None or text.strip().lower() in _NOTHING:
            continue
        if command.startswith("stream_") and (job.text("should_transfer_files") or "").strip().upper() != "YES":
            # Where disks are shared the job writes where its user reads.
            continue
        job.report(
            SubmitCode.NO_EFFECT, f"{command} = {text} has no effect here: {instead}", command, remedy=remedy or None
        )
