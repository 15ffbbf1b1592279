"""`Submit.from_dag`: the submit description of the job that runs a DAG."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from roost.base.records import replace
from roost.compat.htcondor2.errors import HTCondorException
from roost.dag import BadDag
from roost.runtime.workflow.description import SubmitOptions
from roost.runtime.workflow.files import RunFiles
from roost.runtime.workflow.starting import in_the_way, save_file, write_description


class Option(NamedTuple):
    """An option of `from_dag`."""

    kind: str
    help: str
    #: Field of `SubmitOptions`; empty if it has no effect in Roost.
    field: str = ""
    #: Why it is refused, and what to do instead; empty for accepted options.
    refused: str = ""
    #: Why it has no effect, used in a warning; empty for options that take effect or request what happens anyway.
    without_effect: str = ""


OPTIONS: Final = {
    "AddToEnv": Option("string", "NAME=value;… for the environment of the run", "environment_set"),
    "AllowVersionMismatch": Option("bool", "Understood: versions are not compared"),
    "AppendFile": Option("string", "File of lines for the description"),
    "AutoRescue": Option("integer", "Go on from the newest rescue file (0: no, 1: yes)", "use_rescue"),
    "BatchName": Option("string", "The batch of the run and its nodes", "batch_name"),
    "ConfigFile": Option("string", "Configuration of the run", "config"),
    "DagmanPath": Option("string", "Refused", refused="Roost's own condor_dagman runs DAGs"),
    "DebugLevel": Option("integer", "Without effect", without_effect="the log of a run has one level of detail"),
    "DoRecovery": Option("bool", "Go on by the nodes' event log", "recover"),
    "DoRescueFrom": Option("integer", "Go on from this rescue file", "rescue"),
    "Force": Option("bool", "Run it as if it had never run", "force"),
    "GetFromEnv": Option("string", "Names of the environment to keep", "environment_kept"),
    "ImportEnv": Option("bool", "Keep the whole environment", "keep_environment"),
    "LockFile": Option("string", "Refused", refused="the lock is next to the DAG file"),
    "MaxHold": Option("integer", "HOLD scripts at a time", "held_max"),
    "MaxIdle": Option("integer", "Waiting jobs at a time", "idle_max"),
    "MaxJobs": Option("integer", "Clusters in the queue at a time", "jobs_max"),
    "MaxPost": Option("integer", "POST scripts at a time", "post_max"),
    "MaxPre": Option("integer", "PRE scripts at a time", "pre_max"),
    "Notification": Option("string", "When mail is sent", "notification"),
    "OutfileDir": Option("string", "Refused", refused="the files of a run are next to its DAG file"),
    "PostRun": Option("bool", "Run POST scripts after a PRE script failed", "always_post"),
    "Priority": Option("integer", "Priority of the run and its nodes", "priority"),
    "RescueFile": Option("string", "Go on from this file", "rescue_file"),
    "RunValgrind": Option("bool", "Refused", refused="Roost's condor_dagman is a Python program"),
    "SaveFile": Option("string", "Go on from this save file", "rescue_file"),
    "ScheddAddressFile": Option("string", "Refused", refused="the queue is that of the environment's pool"),
    "ScheddDaemonAdFile": Option("string", "Refused", refused="the queue is that of the environment's pool"),
    "SubmitMethod": Option("integer", "Without effect", without_effect="nodes go to the queue directly"),
    "SuppressNotification": Option("bool", "Understood: no mail is sent"),
    "UpdateSubmit": Option("bool", "Write the description again"),
    "UseDagDir": Option("bool", "Nodes run where their DAG file is", "use_dag_directory"),
}
#: Names of options in the first bindings and on the command line.
_OTHER: Final = {"maxholds": "MaxHold", "import_env": "ImportEnv", "usedagdir": "UseDagDir", "alwaysrunpost": "PostRun",
                 "include_env": "GetFromEnv", "insert_env": "AddToEnv", "config": "ConfigFile"}  # fmt: skip


def description(filename: str, options: Mapping[str, Any]) -> str:
    """The text of the description, which is also written next to the DAG file. Raises KeyError, HTCondorException."""
    path = str(filename)
    if not Path(path).exists():
        raise HTCondorException(f"{path} does not exist")
    chosen, given = _chosen(options)
    names = RunFiles(primary=path, several=False)
    if "SaveFile" in given:
        chosen = replace(chosen, rescue_file=save_file(names, chosen.rescue_file))
    if not (chosen.force or given & {"UpdateSubmit", "DoRescueFrom", "DoRecovery", "RescueFile", "SaveFile"}):
        rescued = chosen.use_rescue and names.last_rescue()
        left = [] if rescued else in_the_way(names)
        if left:
            raise HTCondorException(
                f"Some file(s) needed by condor_dagman already exist: {', '.join(map(str, left))}; "
                "remove them, or set the option Force or UpdateSubmit"
            )
    try:
        return write_description((path,), chosen).read_text(encoding="utf-8")
    except BadDag as error:
        raise HTCondorException(str(error)) from None
    except OSError as error:
        raise HTCondorException(f"{error.filename}: {error.strerror}") from None


def _chosen(options: Mapping[str, Any]) -> tuple[SubmitOptions, set[str]]:
    known = {name.lower(): name for name in OPTIONS} | _OTHER
    found, given = SubmitOptions(), set[str]()
    for written, value in options.items():
        name = known.get(written.lower()) or known.get(written.lower().replace("-", "").replace("_", ""))
        if name is None:
            raise KeyError(f"{written} is not a recognized DAGMan option")
        if OPTIONS[name].refused and value:
            raise HTCondorException(f"{written} is not possible in a Roost pool: {OPTIONS[name].refused}")
        if OPTIONS[name].kind != "bool" or value:
            given.add(name)
            if OPTIONS[name].without_effect:
                warnings.warn(f"{written} has no effect: {OPTIONS[name].without_effect}", stacklevel=4)
        found = _with(found, name, value)
    return found, given


def _with(options: SubmitOptions, name: str, value: Any) -> SubmitOptions:
    field, kind = OPTIONS[name].field, OPTIONS[name].kind
    if name == "AppendFile":
        try:
            lines = Path(str(value)).read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise HTCondorException(f"{value}: {error.strerror}") from None
        return replace(options, append=(*options.append, *lines))
    if not field:
        return options
    made: Any = str(value) if kind == "string" else bool(value) if kind == "bool" else int(value)
    if name == "AutoRescue":
        made = bool(value)
    if name == "GetFromEnv":
        made = tuple(str(value).replace(",", " ").split())
    return replace(options, **{field: made})
