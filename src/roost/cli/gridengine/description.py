"""A job of `qsub` as a plan for the queue: what it has in common with all jobs, and what only a cell asks of it.

The part that the submit language knows (streams, directory, holds, tasks as processes) is a description that is read as
any other; the rest is put into the plan as attributes.
"""

from __future__ import annotations

import os
import posixpath
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.classad import parse_expression
from roost.gridengine.commands.names import check_account, check_name
from roost.gridengine.commands.paths import Streams, checked
from roost.gridengine.commands.plan import Site, describe, plain
from roost.gridengine.commands.qsub import Asked, requests_of, requirements_of
from roost.model import cell_requests as cell
from roost.model.command_line import environment_to_raw, join_raw
from roost.runtime.identity import host_name, user_name
from roost.runtime.local_time import instant

if TYPE_CHECKING:
    from roost.cli.gridengine.script import Script
    from roost.schedd.submit.plan import ClusterPlan

#: Variables of the submitter that a job has as SGE_O_…
_SUBMITTER: Final = {"HOME": "HOME", "LOGNAME": "LOGNAME", "PATH": "PATH", "SHELL": "SHELL", "TZ": "TZ", "MAIL": "MAIL"}


class Work(NamedTuple):
    """What is to be run."""

    #: A script, or the command of `-b y`.
    script: Script | None
    command: str
    arguments: tuple[str, ...]


def plan_of(asked: Asked, work: Work) -> tuple[str, ClusterPlan]:
    """The name of the job and its plan. Raises Failure."""
    name = asked.texts.get("N")
    if name is None:
        name = posixpath.basename(work.script.file if work.script else work.command)
    check_name(name)
    check_account(asked.texts.get("A", ""))
    plan = described(asked, name)
    common = plan.common
    common["CellJobName"] = name
    common["Cmd"] = posixpath.basename(work.script.file) if work.script else work.command
    common["Arguments"] = plain(join_raw(work.arguments))
    common["Environment"] = plain(environment_to_raw(environment_of(asked)))
    common["JobPrio"] = asked.priority
    not_before = instant(asked.texts["a"]) if "a" in asked.texts else None
    requirements = requirements_of(not_before=not_before)
    common.put("Requirements", parse_expression(requirements))
    attributes = attributes_of(asked) | {
        cell.SCRIPT: work.script.text if work.script else None,
        cell.DIRECT: work.script is None and asked.yes.get("shell") is False,
    }
    for attribute, value in attributes.items():
        if value not in (None, "", False):
            common[attribute] = value
    return name, plan


def described(asked: Asked, name: str) -> ClusterPlan:
    """The plan as far as the submit language knows it: streams, directory, holds, and tasks as processes."""
    return describe(asked, site(asked, name))


def site(asked: Asked, name: str) -> Site:
    """Where a job is submitted, and what it is called."""
    from roost.runtime.queue.submit_host import SystemSubmitHost

    return Site(
        streams=Streams(
            directory=directory_of(asked),
            home=str(Path("~").expanduser()),
            user=user_name(),
            name=name,
            is_array=bool(asked.tasks),
            expands="wd" in asked.texts,
            is_directory=lambda path: Path(path).is_dir(),
        ),
        submit_host=SystemSubmitHost(),
        now=time.time(),
    )


def directory_of(asked: Asked) -> str:
    """The directory in which a job is to run."""
    here = os.environ.get("PWD") or str(Path.cwd())
    if not (here.startswith("/") and Path(here).exists() and Path(here).samefile(Path.cwd())):
        here = str(Path.cwd())
    if "cwd" in asked.flags:
        return here
    return posixpath.join(here, asked.texts["wd"]) if "wd" in asked.texts else str(Path("~").expanduser())


def environment_of(asked: Asked) -> dict[str, str]:
    """The environment that a job is given."""
    found = dict(os.environ) if "V" in asked.flags else {}
    # Functions that a shell exports, and variables without a name, are nothing that a job can be given.
    found = {name: value for name, value in found.items() if name and "\n" not in name}
    for name, value in asked.variables.items():
        found[name] = os.environ.get(name, "") if value is None else value
    if "TERM" in os.environ:
        found.setdefault("TERM", os.environ["TERM"])
    origin = {f"SGE_O_{to}": os.environ[name] for name, to in _SUBMITTER.items() if os.environ.get(name)}
    origin.setdefault("SGE_O_HOME", str(Path("~").expanduser()))
    origin["SGE_O_LOGNAME"] = user_name()
    return found | origin | {"SGE_O_HOST": host_name(), "SGE_O_WORKDIR": str(Path.cwd())}


def attributes_of(asked: Asked) -> dict[str, str | int | bool | None]:
    """What options ask for, as attributes of a job; None for what was not given."""
    texts = asked.texts
    return {
        cell.SHELL: checked(texts["S"]) if "S" in texts else None,
        cell.NOT_BEFORE: instant(texts["a"]) if "a" in texts else None,
        cell.DEADLINE: instant(texts["dl"], "dl") if "dl" in texts else None,
        **requests_of(asked),
    }
