"""``condor_submit_dag`` and ``condor_dagman``: the former submits a run of DAG files, the latter is the job that runs
it.

The description is written, and the run is executed, by the code of `roost dag`; the wording and the names of the files
are DAGMan's.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from roost.base.records import replace
from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given
from roost.cli.terminal import CommandError, complain

if TYPE_CHECKING:
    from roost.runtime.workflow.description import SubmitOptions

#: Options without effect here: `help` says why.
_WITHOUT_EFFECT: Final = (
    Option("verbose", "there is no more to print", least=1),
    Option("debug", "the log of a run has one level of detail", takes="LEVEL", least=2),
    Option("SubmitMethod", "nodes go to the queue directly", takes="N", least=4),
)  # fmt: skip
#: Options that are refused, because a run without their effect would be a different one: `help` says why.
_REFUSED: Final = (
    Option("valgrind", "condor_dagman is a Python program", least=2),
    Option("dagman", "Roost's own condor_dagman runs DAGs", takes="FILE", least=3),
    Option("outfile_dir", "the files of a run are next to its DAG file", takes="DIRECTORY", least=3),
    Option("lockfile", "the lock is next to the DAG file", takes="FILE", least=4),
    Option("schedd-daemon-ad-file", "this command submits only to the queue of ROOST_HOME", takes="FILE", least=3),
    Option("schedd-address-file", "this command submits only to the queue of ROOST_HOME", takes="FILE", least=8),
    Option("r", "this command submits only to the queue of ROOST_HOME", takes="NAME"),
)  # fmt: skip
_SUBMIT: Final = (
    Option("no_submit", "write the submit description without submitting it", least=3),
    Option("update_submit", "overwrite an existing submit description", least=3),
    Option("force", "start over: replace files of earlier runs and rename rescue files", least=1),
    Option("maxidle", "at most N idle jobs", takes="N", least=4),
    Option("maxjobs", "at most N nodes with jobs in the queue", takes="N", least=4),
    Option("MaxPre", "at most N PRE scripts at once", takes="N", least=5),
    Option("MaxPost", "at most N POST scripts at once", takes="N", least=5),
    Option("MaxHold", "at most N HOLD scripts at once", takes="N", least=4),
    Option("AlwaysRunPost", "run POST scripts even after a failed PRE script", least=2),
    Option("DontAlwaysRunPost", "do not (default)", least=3),
    Option("UseDagDir", "run nodes in the directory of their DAG file", least=3),
    Option("autorescue", "1: continue from the newest rescue file; 0: do not", takes="0|1", least=2),
    Option("dorescuefrom", "continue from this rescue file; newer ones are renamed", takes="N", least=4),
    Option("dorescue", "the same as -autorescue 1", least=8),
    Option("DoRecovery", "recover from the event log of an earlier run", least=5),
    Option("batch-name", "name of the run's batch", takes="NAME", least=1),
    Option("append", "line to add to the run's own submit description; may be repeated", takes="LINE", least=2),
    Option("insert_sub_file", "file with lines to add to the run's own submit description", takes="FILE", least=8),
    Option("config", "file with DAGMan's settings", takes="FILE", least=1),
    Option("priority", "priority of the run's own job, added to that of its nodes", takes="N", least=2),
    Option("import_env", "pass the whole environment to the run", least=2),
    Option("include_env", "names of environment variables to pass", takes="NAMES", least=4),
    Option("insert_env", "environment variables to set: NAME=VALUE;…", takes="TEXT", least=8),
    Option("notification", "accepted; Roost sends no mail", takes="WHEN", least=3),
    Option("suppress_notification", "accepted; Roost sends no mail", least=2),
    Option("dont_suppress_notification", "accepted; Roost sends no mail", least=6),
    Option("load_save", "continue from this save file", takes="FILE", least=4),
    Option("RescueFile", "continue from this rescue file, whatever its name", takes="FILE", least=4),
    Option("do_recurse", "accepted: nested runs write their own descriptions", least=6),
    Option("no_recurse", "accepted: nested runs write their own descriptions", least=4),
    Option("allowversionmismatch", "accepted: versions are not compared", least=2),
    *(each._replace(help=f"without effect: {each.help}") for each in _WITHOUT_EFFECT),
    *(each._replace(help=f"refused: {each.help}") for each in _REFUSED),
)  # fmt: skip

_DAGMAN: Final = (
    Option("Dag", "a DAG file; may be repeated", takes="FILE", least=3),
    Option("Lockfile", "file that exists while the run is active", takes="FILE", least=2),
    *(each for each in _SUBMIT if each.name.lower() in (
        "maxidle", "maxjobs", "maxpre", "maxpost", "maxhold", "alwaysrunpost", "usedagdir", "autorescue",
        "dorescuefrom", "dorecovery", "priority", "import_env", "force",
    )),
)  # fmt: skip

OPTIONS_OF: Final = {"condor_submit_dag": _SUBMIT, "condor_dagman": _DAGMAN}

#: Option to the field of `SubmitOptions` that is a number.
_NUMBERS: Final = {
    "maxidle": "idle_max", "maxjobs": "jobs_max", "maxpre": "pre_max", "maxpost": "post_max", "maxhold": "held_max",
    "dorescuefrom": "rescue", "priority": "priority",
}  # fmt: skip
_FLAGS: Final = {
    "force": "force", "alwaysrunpost": "always_post", "usedagdir": "use_dag_directory", "dorecovery": "recover",
    "import_env": "keep_environment",
}  # fmt: skip
_TEXTS: Final = {"batch-name": "batch_name", "config": "config", "notification": "notification"}
_WHY_WITHOUT_EFFECT: Final = {each.name.lower(): each.help for each in _WITHOUT_EFFECT}
_WHY_REFUSED: Final = {each.name.lower(): each.help for each in _REFUSED}
_RULE: Final = "-" * 71


def run(name: str, arguments: list[str]) -> int:
    """Run one of them."""
    if name == "condor_dagman":
        from roost.cli.dagman import run_process

        return run_process(arguments)
    return _submit(arguments)


def _submit(arguments: list[str]) -> int:
    from roost.cli.dag import write_description
    from roost.runtime.workflow.description import SubmitOptions
    from roost.runtime.workflow.files import RunFiles
    from roost.runtime.workflow.starting import save_file

    options, files, flags = SubmitOptions(), list[str](), set[str]()
    for option in given(arguments, _SUBMIT):
        if not option.name:
            files.append(option.value)
        else:
            options = _with(options, option, flags)
    if not files:
        raise ToolError("ERROR: No DAG file specified")
    names = RunFiles(primary=files[0], several=len(files) > 1)
    if "load_save" in flags:
        options = replace(options, rescue_file=save_file(names, options.rescue_file))
    _refuse_running(names, options, flags)
    try:
        description = write_description(tuple(files), options)
    except CommandError as error:
        raise ToolError(f"ERROR: {error}") from None
    sys.stdout.write(
        f"\n{_RULE}\n"
        f"File for submitting this DAG to HTCondor           : {description}\n"
        f"Log of DAGMan debugging messages                   : {names.debug}\n"
        f"Log of HTCondor library output                     : {names.out}\n"
        f"Log of HTCondor library error messages             : {names.err}\n"
        f"Log of the life of condor_dagman itself            : {names.log}\n\n"
    )
    if "no_submit" in flags:
        sys.stdout.write(f"-no_submit given, not submitting DAG to HTCondor.  You can do this with:\n"
                         f'"condor_submit {description}"\n{_RULE}\n')  # fmt: skip
        return 0
    from roost.cli.condor import submit

    status = submit.run("condor_submit", [str(description)])
    sys.stdout.write(f"{_RULE}\n")
    return status


def _with(options: SubmitOptions, option: Given, flags: set[str]) -> SubmitOptions:
    """The options, with one more. Raises ToolError."""
    more: dict[str, Any] = {}
    match option.name.lower():
        case name if name in _NUMBERS:
            try:
                more = {_NUMBERS[name]: int(option.value)}
            except ValueError:
                raise ToolError(f"ERROR: {option.written} {option.value}: must be a number") from None
        case name if name in _FLAGS:
            more = {_FLAGS[name]: True}
        case name if name in _TEXTS:
            more = {_TEXTS[name]: option.value}
        case "autorescue":
            more = {"use_rescue": option.value != "0"}
        case "append":
            more = {"append": (*options.append, option.value)}
        case "insert_sub_file":
            more = {"append": (*options.append, *_lines(option.value))}
        case "include_env":
            more = {"environment_kept": tuple(option.value.replace(",", " ").split())}
        case "insert_env":
            more = {"environment_set": option.value}
        case "load_save" | "rescuefile":
            more = {"rescue_file": option.value}
            flags.add(option.name.lower())
        case name if name in _WHY_REFUSED:
            raise ToolError(f"ERROR: {option.written} is refused: {_WHY_REFUSED[name]}")
        case name if name in _WHY_WITHOUT_EFFECT:
            complain(f"WARNING: {option.written} has no effect: {_WHY_WITHOUT_EFFECT[name]}")
        case name:
            flags.add(name)
    return replace(options, **more)


def _lines(path: str) -> list[str]:
    from roost.runtime.workflow.files import read_text

    text = read_text(path)
    if text is None:
        raise ToolError(f"ERROR: {path} cannot be read")
    return text.splitlines()


def _refuse_running(names: Any, options: SubmitOptions, flags: set[str]) -> None:
    """Refuse a DAG whose files show that it ran before, so that it is not rerun by mistake. Raises ToolError."""
    if options.force or "update_submit" in flags or options.rescue or options.rescue_file:
        return
    if names.last_rescue() and options.use_rescue:
        sys.stdout.write(f"Running rescue DAG {names.last_rescue()}\n")
        return
    from roost.runtime.workflow.starting import in_the_way

    left = in_the_way(names)
    if left and not options.recover:
        listed = "\n".join(f'ERROR: "{path}" already exists.' for path in left)
        raise ToolError(
            f"{listed}\n\nSome file(s) needed by condor_dagman already exist. Either rename them,\n"
            'use the "-f" option to force them to be overwritten, or use\n'
            'the "-update_submit" option to update the submit file and continue.'
        )
