"""A job of `qsub` as a plan for the queue: the part common to all jobs, and the part only for a cell.

The part known to the submit language (streams, directory, holds, tasks as processes) is a description that is parsed
like any other; the rest is added to the plan as attributes.
"""

from __future__ import annotations

import os
import posixpath
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.classad import parse_expression
from roost.gridengine.commands.names import check_account, check_environment, check_name
from roost.gridengine.commands.paths import Streams, checked
from roost.gridengine.commands.plan import SubmitSite, describe, plain
from roost.gridengine.commands.qsub import Asked, requests_of, requirements_of
from roost.model import cell_requests as cell
from roost.model.command_line import environment_to_raw, join_raw
from roost.runtime.identity import host_name, user_name
from roost.runtime.local_time import instant

if TYPE_CHECKING:
    from roost.cli.gridengine.script import Script
    from roost.schedd.submit.plan import ClusterPlan

#: Variables of the submitter that a job gets as SGE_O_…
_SUBMITTER: Final = {"HOME": "HOME", "LOGNAME": "LOGNAME", "PATH": "PATH", "SHELL": "SHELL", "TZ": "TZ", "MAIL": "MAIL"}


class Work(NamedTuple):
    """What to run."""

    #: A script, or the command of `-b y`.
    script: Script | None
    command: str
    arguments: tuple[str, ...]


def plan_of(asked: Asked, work: Work) -> tuple[str, ClusterPlan]:
    """Return the name of the job and its plan. Raises Failure."""
    name = asked.texts.get("N")
    if name is None:
        name = posixpath.basename(work.script.file if work.script else work.command)
    check_name(name)
    check_account(asked.texts.get("A", ""))
    check_environment(asked.texts.get("pe", "").rpartition(" ")[0])
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
    """The part of the plan known to the submit language: streams, directory, holds, and tasks as processes."""
    return describe(asked, site(asked, name))


def site(asked: Asked, name: str) -> SubmitSite:
    """Where a job is submitted, and its name."""
    from roost.runtime.queue.submit_host import SystemSubmitHost

    return SubmitSite(
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
    """The directory in which a job runs."""
    here = os.environ.get("PWD") or str(Path.cwd())
    if not (here.startswith("/") and Path(here).exists() and Path(here).samefile(Path.cwd())):
        here = str(Path.cwd())
    if "cwd" in asked.flags:
        return here
    return posixpath.join(here, asked.texts["wd"]) if "wd" in asked.texts else str(Path("~").expanduser())


def environment_of(asked: Asked) -> dict[str, str]:
    """The environment of a job."""
    found = dict(os.environ) if "V" in asked.flags else {}
    # Functions exported by a shell, and variables without a name, cannot be passed to a job.
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
    """Options as attributes of a job; None for those not given."""
    texts = asked.texts
    return {
        cell.SHELL: checked(texts["S"]) if "S" in texts else None,
        cell.NOT_BEFORE: instant(texts["a"]) if "a" in texts else None,
        cell.DEADLINE: instant(texts["dl"], "dl") if "dl" in texts else None,
        **requests_of(asked),
    }
