"""The start of a run's process: its files, its settings, its own job, and the queue that it submits to.

`roost.cli.dagman` has the command line. What the process then does is in `process`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from roost import __version__
from roost.classad import ClassAd
from roost.classad.forms import Form, parse_ad
from roost.classad.unparse import unparse
from roost.config import Config, ConfigError
from roost.config.not_text import shown
from roost.dag import BadDag, Dag, apply_rescue, read_dag
from roost.dag.configured import configured_settings
from roost.runtime.bus.pool_client import PoolClient, PoolError, PoolRefused
from roost.runtime.files.whole_files import sweep
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import user_name
from roost.runtime.workflow.description import SubmitOptions
from roost.runtime.workflow.files import RunFiles, read_text, take_lock
from roost.runtime.workflow.process import Process, QueueAway, QueueRefused
from roost.runtime.workflow.submitting import Submitter
from roost.schedd.submit import Submission
from roost.wire.requests import queue
from roost.wire.requests.verb import Request

R = TypeVar("R")

_log: Final = logging.getLogger("roost.dag")


class CannotRun(Exception):
    """The run cannot start; the text says why. It is in the log already."""


class _QueueClient(PoolClient):
    """A connection to the queue; what it warns of is logged."""

    def warn(self, text: str) -> None:
        """Log a warning about a reply."""
        _log.warning("%s", text)


class QueueOfPool:
    """The queue interface for the process of a run."""

    def __init__(self, home: Home) -> None:
        # A connection is made for each request: a run may be silent for days.
        self._home = home

    def submit(self, submission: Submission) -> tuple[int, int]:
        """Cluster and number of jobs. Raises QueueAway, QueueRefused."""
        taken = self._ask(queue.Submit(clusters=tuple(each.to_data() for each in submission.clusters)))
        return taken[0].cluster, taken[0].jobs

    def remove(self, cluster: int, reason: str) -> None:
        """Remove a cluster; ignore one that no longer exists. Raises QueueAway."""
        try:
            self._act(queue.Act(action="remove", jobs=(str(cluster),), reason=reason))
        except QueueRefused:
            return

    def tell(self, cluster: int, attributes: dict[str, Any]) -> None:
        """Change attributes of the run's own job. Raises QueueAway, QueueRefused."""
        self._act(queue.Act(action="note", jobs=(str(cluster),), attributes=attributes))

    def clusters_of(self, run_cluster: int) -> dict[int, tuple[str, int]]:
        """Cluster to node and number of jobs. Raises QueueAway."""
        names = ("ClusterId", "DAGNodeName", "TotalSubmitProcs")
        rows = self._ask(queue.Query(projection=names, constraint=f"DAGManJobId =?= {run_cluster}"))
        return {int(row["ClusterId"]): (str(row["DAGNodeName"]), int(row.get("TotalSubmitProcs", 1))) for row in rows}

    def _act(self, request: queue.Act) -> None:
        done = self._ask(request)
        if not done.counts.get("ok"):
            raise QueueRefused(f"{request.action}: {', '.join(done.refused.values()) or 'no such job'}")

    def _ask(self, request: Request[R]) -> R:
        try:
            with _QueueClient.connected(self._home) as pool:
                return pool.ask(request)
        except PoolRefused as refused:
            raise QueueRefused(str(refused)) from None
        except PoolError as error:
            raise QueueAway(str(error)) from None


def run_dag(files: tuple[str, ...], flags: Mapping[str, str], complain: Callable[[str], None]) -> int:
    """Run DAG files until they are done, or the process is told to stop; return the exit status of `condor_dagman`.

    `flags`: options by their folded names. `complain` is called with warnings about the configuration. Raises
    CannotRun, Locked.
    """
    names = RunFiles(primary=files[0], several=len(files) > 1)
    home = Home.find(None)
    try:
        contact = home.contact()
        dag = read_dag(files, read_text, in_their_directories="-usedagdir" in flags)
        config = _configured(home, dag, complain)
        number = partial(_number, config)
        most = number("DAGMAN_MAX_RESCUE_NUM", 100)
        use_rescue = flags.get("-autorescue", "1") != "0"
        for warning in dag.warnings:
            _log.warning("%s", warning)
        settings = configured_settings(config, _limits(flags), always_post="-alwaysrunpost" in flags)
        rescue, named = int(flags.get("-dorescuefrom") or 0), flags.get("-load_save") or flags.get("-rescuefile")
        if not rescue and not named and use_rescue and "-force" not in flags:
            rescue = names.last_rescue(most)
        ad = _own_ad()
        own = os.environ.get("CONDOR_ID") or str(ad.get("clusterid", ""))
        cluster = own.partition(".")[0]
        left = take_lock(names.lock, own_job=own)
        # Files left by an earlier, killed process of the run.
        sweep(names.lock.absolute().parent)
        # A remaining lock belongs to a run that did not finish, which continues.
        recovering = (left or "-dorecov" in flags) and "-force" not in flags
        # A run that continues after a kill uses its rescue file as before: the nodes done in that are in no _log.
        if rescue:
            _log.info("continuing from %s", names.rescue(rescue))
            dag = apply_rescue(dag, str(names.rescue(rescue)), read_text)
        elif named:
            _log.info("continuing from %s", named)
            dag = apply_rescue(dag, named, read_text)
    except (HomeError, ConfigError, BadDag) as problem:
        _log.error("%s", problem)
        raise CannotRun(str(problem)) from None
    batch = {"JobBatchName": f"{Path(files[0]).name}+{cluster}", "JobBatchId": f"{cluster}.0"} if own else {}
    process = Process(
        files=names,
        dag=dag,
        settings=settings,
        queue=QueueOfPool(home),
        submitter=Submitter(
            cluster=int(cluster) if own else None,
            nodes_log=names.nodes_log,
            owner=user_name(),
            uid_domain=str(contact.get("uid_domain", "")),
            config=config,
            options=SubmitOptions(
                use_rescue=use_rescue,
                force="-force" in flags,
                always_post=settings.always_post,
                use_dag_directory="-usedagdir" in flags,
                keep_environment="-import_env" in flags,
            ),
            batch_name=str(ad.get("jobbatchname") or batch.get("JobBatchName", "")),
            batch_id=str(ad.get("jobbatchid") or batch.get("JobBatchId", "")),
            append_variables=config is not None and config.get_bool("DAGMAN_DEFAULT_APPEND_VARS", False),
            priority=int(flags.get("-priority") or number("DAGMAN_DEFAULT_PRIORITY", 0)),
            inherited=_inherited(config),
        ),
        batch={name: value for name, value in batch.items() if name.lower() not in ad},
        version=__version__,
        rescue=rescue,
        rescues_max=most,
        submit_delay_s=number("DAGMAN_SUBMIT_DELAY", 0),
        submits_max=number("DAGMAN_MAX_SUBMITS_PER_INTERVAL", 100),
    )
    return process.work(recovering=recovering)


def _limits(flags: Mapping[str, str]) -> dict[str, int]:
    """The limits of a run on the command line, by the knobs that they override."""
    known = {
        "-maxjobs": "DAGMAN_MAX_JOBS_SUBMITTED",
        "-maxidle": "DAGMAN_MAX_JOBS_IDLE",
        "-maxpre": "DAGMAN_MAX_PRE_SCRIPTS",
        "-maxpost": "DAGMAN_MAX_POST_SCRIPTS",
        "-maxhold": "DAGMAN_MAX_HOLD_SCRIPTS",
    }
    return {knob: int(flags[flag]) for flag, knob in known.items() if flag in flags}


def _configured(home: Home, dag: Dag, complain: Callable[[str], None]) -> Config | None:
    """The pool's configuration, and that of the DAG. Raises HomeError, ConfigError."""
    roots = home.contact().get("roots")
    files = tuple(roots) if roots is not None else (str(home.config_file),) if home.config_file.exists() else ()
    named = os.environ.get("_CONDOR_DAGMAN_CONFIG_FILE") or dag.config
    if named:
        files = (*files, str(Path(named).absolute()))
    if not files:
        return None
    config = home.config(files, "DAGMAN")
    for line in shown(config.errors, config.dropped):
        complain(line)
    return config


def _number(config: Config | None, knob: str, default: int) -> int:
    return default if config is None else config.get_int(knob, default)


def _whole_own_ad() -> ClassAd | None:
    """The ad of this process's own job; None if it is not a job."""
    path = os.environ.get("_CONDOR_JOB_AD")
    if not path:
        return None
    try:
        return parse_ad(Path(path).read_text(), Form.OLD)
    except (OSError, ValueError):
        return None


def _own_ad() -> dict[str, int | str]:
    """Cluster and batch of this process's own job; empty if it is not a job."""
    ad = _whole_own_ad()
    if ad is None:
        return {}
    cells = {name: ad.cell(name) for name in ("clusterid", "jobbatchname", "jobbatchid")}
    return {name: cell for name, cell in cells.items() if isinstance(cell, int | str)}


def _inherited(config: Config | None) -> dict[str, str]:
    """The attributes in DAGMAN_INHERIT_ATTRS of the run's own job: attribute of its nodes to expression."""
    names = [] if config is None else config.get_list("DAGMAN_INHERIT_ATTRS")
    ad = _whole_own_ad() if names else None
    if config is None or ad is None:
        return {}
    prefix = config.get("DAGMAN_INHERIT_ATTRS_PREFIX") or ""
    return {f"{prefix}{name}": unparse(ad.tree(name), old=True) for name in names if name in ad}
