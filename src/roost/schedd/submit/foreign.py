"""Commands of HTCondor that Roost does not act on: refused if the job would behave differently, otherwise reported.

A refused command is an error, because the job would run without what was requested. The others cause a warning that
they have no effect. Both apply only to a line that is read as a command: a name that other lines refer to is a macro.
"""

from __future__ import annotations

from typing import Final

_FALSE: Final = frozenset(("false", "f", "no", "n", "0"))
#: Values that request nothing.
_NOTHING: Final = _FALSE | {"", "undefined", "never", "none"}

_CONTAINERS: Final = "containers run with apptainer or singularity as configured on the machine"
_CREDENTIALS: Final = "no credentials are sent to jobs"

#: Command to the reason and the remedy.
REFUSED: Final[dict[str, tuple[str, str]]] = {
    "encrypt_execute_directory": (
        "machines do not encrypt job directories",
        "Encrypt in the job, or remove the line.",
    ),
    "output_directory": ("output is returned to initialdir", "Set `initialdir` or `transfer_output_remaps`."),
    "erase_output_and_error_on_restart": (
        "output and error are truncated when a job restarts",
        "Let the job append to its own file, and name that file in `transfer_output_files`.",
    ),
    "transfer_common_input": ("files are transferred for each job", "Name the files in `transfer_input_files`."),
    "public_input_files": ("files are transferred for each job", "Name the files in `transfer_input_files`."),
    "tool_daemon_cmd": ("tools cannot be started along with a job", "Start it in the job."),
    "suspend_job_at_exec": ("a job's program starts at once", "Let the program wait, or set `hold = true`."),
    "on_evict_checks": (
        "jobs are not transformed when they are evicted",
        "Use `retry_request_memory`, or `periodic_release` and an expression in the request.",
    ),
    "jobset": ("the queue keeps no job sets", "Name a batch with `batch_name`."),
    "get_env": ("the command is written in one word", "Write `getenv`."),
    **dict.fromkeys(
        (
            "docker_override_entrypoint", "docker_network_type", "docker_pull_policy", "docker_send_credentials",
            "container_service_names", "container_target_dir", "mount_under_scratch",
        ),
        (_CONTAINERS, "Remove the line."),
    ),
    **dict.fromkeys(
        (
            "use_oauth_services", "use_scitoken", "use_scitokens", "scitokens_file", "use_x509userproxy",
            "x509userproxy",
        ),
        (_CREDENTIALS, "Transfer a file with `transfer_input_files`, or let the job obtain its own credentials."),
    ),
}  # fmt: skip

_STANDARD: Final = "it applies to the standard universe, which no longer exists"
_GRID: Final = "it applies to jobs of the grid universe, which Roost does not run"
_VM: Final = "it applies to jobs of the vm universe, which Roost does not run"
_PARALLEL: Final = "it applies to jobs of the parallel universe, which Roost does not run"
_URLS: Final = "URLs are not fetched"
_GROUPS: Final = (
    ("append_files buffer_files buffer_size buffer_block_size compress_files fetch_files file_remaps local_files",
     _STANDARD),
    ("jar_files java_vm_args", "it applies to jobs of the java universe, which Roost does not run"),
    ("machine_count node_count wantparallelscheduling parallel_script_shadow parallel_script_starter", _PARALLEL),
    ("grid_resource remote_universe delegate_job_gsi_credentials_lifetime nordugrid_rsl keystore_file keystore_alias "
     "keystore_passphrase_file cream_attributes", _GRID),
    ("aws_access_key_id_file aws_secret_access_key_file aws_region s3_access_key_id_file s3_secret_access_key_file "
     "gs_access_key_id_file gs_secret_access_key_file", _URLS),
    ("tool_daemon_args tool_daemon_arguments tool_daemon_arguments2 tool_daemon_input tool_daemon_output "
     "tool_daemon_error", "tools cannot be started along with a job"),
    ("transfer_container container_is_common want_job_networking", _CONTAINERS),
    ("copy_to_spool", "a job runs the program as it is when the job starts"),
    ("cuda_version", "require_gpus states the requirements for GPUs"),
    ("log_xml", "event logs are text"),
    ("job_machine_attrs_prefix", "machine attributes are not recorded"),
    ("stream_transfer transfer_queue", "the queue decides in which order files are transferred"),
    ("want_name_tag", "it applies to cloud resources"),
    ("manifest_dir", "no list of the job's files is recorded"),
    ("match_list_length", "no list of the job's matches is recorded"),
    ("dagman_job_id", "the queue sets it for jobs of a DAG"),
    ("submit_event_notes_attrs", "event logs have the notes that the description gives"),
    ("project_name", "the accounting group says for whom a job counts"),
    ("allow_arguments_v1 allow_environment_v1", "both forms are always read"),
    ("skip_filechecks", "SUBMIT_SKIP_FILECHECKS of the configuration says whether files are looked at"),
)  # fmt: skip
#: Command to the reason.
WITHOUT_EFFECT: Final[dict[str, str]] = {name: reason for names, reason in _GROUPS for name in names.split()}
#: The same for commands with that prefix.
PREFIXES: Final = (
    (("ec2_", "gce_", "azure_", "arc_", "batch_", "cloud_label_", "nordugrid_", "globus_", "boinc_"), _GRID),
    (("vm_", "xen_", "vmware_"), _VM),
)
#: Commands of Roost that have one of these prefixes.
_OWN: Final = frozenset(("batch_name", "batch_id"))


def refusal(key: str, text: str) -> tuple[str, str] | None:
    """Why a command is refused, and what to do; None for one that is accepted, or that requests nothing."""
    if key not in REFUSED:
        return None
    word = text.strip().strip('"').lower()
    asked = word in _FALSE if key == "erase_output_and_error_on_restart" else word not in _NOTHING
    # A container without a network is more restricted than the user's default.
    return REFUSED[key] if asked or (key == "docker_network_type" and word == "none") else None


def without_effect(key: str) -> str | None:
    """Why a command of HTCondor has no effect; None for any other name."""
    if key in WITHOUT_EFFECT:
        return WITHOUT_EFFECT[key]
    if key in REFUSED:
        return "it requests the default behaviour"
    if key in _OWN:
        return None
    return next((reason for starts, reason in PREFIXES if key.startswith(starts)), None)
