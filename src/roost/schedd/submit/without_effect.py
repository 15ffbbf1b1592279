"""Commands that are accepted and kept in the job's ad, but that nothing in a Roost pool acts on; a warning says so."""

from __future__ import annotations

from typing import Final

from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.job import PlannedJob

_SHARE: Final = "Use `should_transfer_files = NO` where disks are shared."
#: Command to what happens instead, and the remedy.
COMMANDS: Final = {
    "stream_input": (
        "files are transferred before the job starts",
        "Use `should_transfer_files = NO` where disks are shared.",
    ),
    "stream_output": (
        "output is returned when the job ends",
        "Use `should_transfer_files = NO` where disks are shared.",
    ),
    "stream_error": ("output is returned when the job ends", _SHARE),
    "dont_encrypt_input_files": ("only the connection is encrypted, with tls:// in NATS_SERVERS", ""),
    "dont_encrypt_output_files": ("only the connection is encrypted, with tls:// in NATS_SERVERS", ""),
    "output_destination": (
        "output is returned to the directory that you submitted from",
        "Copy it from there, or within the job.",
    ),
    "transfer_plugins": ("URLs are not fetched", "Download in the job, or transfer files."),
    "remote_initialdir": ("a job whose files are not moved starts in initialdir", "Set `initialdir`."),
    "manifest": ("no list of the job's files is kept", "List them in the job."),
    "checkpoint_destination": ("the state is kept by the queue", "Leave it out."),
    "keep_claim_idle": (
        "a slot without a next job is released at once",
        "Omit it: matching is quick.",
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
#: Values that request nothing.
_NOTHING: Final = frozenset(("never", "false", "no", "f", "0", "off", "undefined", ""))


def tell(job: PlannedJob) -> None:
    """Report commands that have no effect."""
    for command, (instead, remedy) in COMMANDS.items():
        text = job.text(command)
        if text is None or text.strip().lower() in _NOTHING:
            continue
        if command.startswith("stream_") and (job.text("should_transfer_files") or "").strip().upper() != "YES":
            # With shared disks, the job writes where its user reads.
            continue
        job.report(
            SubmitCode.NO_EFFECT, f"{command} = {text} has no effect here: {instead}", command, remedy=remedy or None
        )
    max_idle = job.text("max_idle", "materialize_max_idle")
    if max_idle is not None and (job.defaults.spooled or job.text("my.dagmannodeslog")):
        whose = "spooled jobs" if job.defaults.spooled else "the jobs of a DAG's node"
        text = f"max_idle = {max_idle} has no effect here: {whose} are all in the queue from the start"
        remedy = "Use `max_materialize` to limit how many of them have slots at a time."
        job.report(SubmitCode.NO_EFFECT, text, "max_idle", remedy=remedy)
