"""``roost dag``: workflows in DAGMan's files: checking, submitting, running, and showing progress."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli.dag_files import contact_of, plan
from roost.cli.listing import counted, duration, print_json
from roost.cli.pool_connection import add_pool_options, connected, with_pool
from roost.cli.terminal import CommandError, Exit, complain, say
from roost.runtime.home import Home
from roost.wire.requests import queue

if TYPE_CHECKING:
    from roost.runtime.workflow.description import SubmitOptions
    from roost.schedd.submit import Submission


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``dag``."""
    parser = subparsers.add_parser(
        "dag",
        help="run workflows: jobs that depend on one another",
        description="Run workflows described in DAGMan's files.",
    )
    commands = parser.add_subparsers(dest="dag_command", metavar="COMMAND", title="commands", required=True)
    check = commands.add_parser("check", help="check DAG files, and print what they contain")
    check.add_argument("file", metavar="FILE", nargs="+", help="DAG file")
    check.add_argument("--json", action="store_true", help="print JSON")
    submit = commands.add_parser("submit", help="submit DAG files as one run")
    add_pool_options(submit)
    submit.add_argument(
        "file", metavar="FILE", nargs="+", help="DAG file; the files of the run are named after the first one"
    )
    for name, what in (("jobs", "nodes with jobs in the queue"), ("idle", "jobs waiting for a slot"),
                       ("pre", "PRE scripts at once"), ("post", "POST scripts at once")):  # fmt: skip
        submit.add_argument(f"--max-{name}", metavar="N", type=int, help=f"at most N {what}")
    submit.add_argument(
        "--rescue", metavar="N", type=int, default=0, help="continue from this rescue file instead of the newest"
    )
    submit.add_argument("--force", action="store_true", help="start over, ignoring earlier runs")
    submit.add_argument("--always-post", action="store_true", help="run POST scripts even after a failed PRE script")
    submit.add_argument("--no-submit", action="store_true", help="write the submit description without submitting it")
    status = commands.add_parser("status", help="show the progress of runs")
    add_pool_options(status)
    status.add_argument(
        "cluster", metavar="CLUSTER", nargs="*",
        help="cluster of a run, or a DAG file for its last run, even if that has ended (default: all runs)",
    )  # fmt: skip
    run = commands.add_parser(
        "run", help="run DAG files in this terminal until they have ended, without submitting the run itself"
    )
    add_pool_options(run, as_json=False)
    run.add_argument("file", metavar="FILE", nargs="+", help="DAG file")


def run(args: argparse.Namespace) -> int:
    """Run ``dag``."""
    match args.dag_command:
        case "check":
            return _check(args)
        case "submit":
            return _submit(args)
        case "status":
            return _status(args)
    from roost.cli.dagman import run_process

    if args.home:
        os.environ["ROOST_HOME"] = args.home
    return run_process(args.file)


def _check(args: argparse.Namespace) -> int:
    from roost.dag import BadDag, read_dag
    from roost.runtime.workflow.files import read_text

    try:
        dag = read_dag(args.file, read_text)
    except BadDag as problem:
        if args.json:
            print_json([{"code": str(each.code), "message": each.message, "place": each.span.chain(),
                         "remedy": each.remedy} for each in problem.problems])  # fmt: skip
        else:
            complain(str(problem))
        return Exit.BAD
    edges = sum(map(len, dag.children.values()))
    if args.json:
        warnings = [each.to_json() for each in dag.warnings]
        print_json({"nodes": len(dag.nodes), "edges": edges, "children": dag.children, "warnings": warnings})
    else:
        for warning in dag.warnings:
            complain(str(warning))
        say(f"{counted(len(dag.nodes), 'node')}, {counted(edges, 'edge')}")
    return Exit.OK


# -- submitting ----------------------------------------------------------------------------------------


def _submit(args: argparse.Namespace) -> int:
    from roost.runtime.workflow.description import SubmitOptions

    options = SubmitOptions(
        jobs_max=args.max_jobs,
        idle_max=args.max_idle,
        pre_max=args.max_pre,
        post_max=args.max_post,
        rescue=args.rescue,
        force=args.force,
        always_post=args.always_post,
    )
    files = tuple(args.file)
    description = write_description(files, options)
    if args.no_submit:
        say(f"wrote {description}; `roost submit {description}` submits it")
        return Exit.OK
    home = Home.find(args.home)
    os.environ["ROOST_HOME"] = str(home.path)
    plans = tuple(each.to_data() for each in _submission(description, home).clusters)
    with connected(home) as pool:
        cluster = pool.ask(queue.Submit(clusters=plans))[0].cluster
    if args.json:
        print_json({"cluster": cluster})
    else:
        say(f"{files[0]} submitted to cluster {cluster}: `roost dag status {cluster}` shows its progress")
    return Exit.OK


def write_description(files: tuple[str, ...], options: SubmitOptions) -> Path:
    """Check DAG files and write the submit description of their run. Raises CommandError."""
    from roost.runtime.workflow import starting

    dag = plan(files)
    for warning in dag.warnings:
        complain(str(warning))
    try:
        return starting.write_description(files, options, dag)
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from None


def _submission(path: Path, home: Home) -> Submission:
    from roost.cli.submit import pool_config, read_description
    from roost.runtime.queue.descriptions import submit_context

    contact = contact_of(home)
    found = read_description(str(path), submit_context(pool_config(home, contact), contact))
    if found.errors:
        from roost.config.not_text import joined

        raise CommandError(joined(found.errors, found.dropped))
    return found


# -- looking -------------------------------------------------------------------------------------------

_COLUMNS: Final = ("Total", "Done", "Prerun", "Queued", "Postrun", "Ready", "Unready", "Failed", "Futile")


def _status(args: argparse.Namespace) -> int:
    files = [each for each in args.cluster if not each.isdecimal()]
    if files and len(files) < len(args.cluster):
        raise CommandError("name clusters or DAG files, not both")
    return _status_of_files(args, files) if files else _status_of_clusters(args)


def _status_of_files(args: argparse.Namespace, files: list[str]) -> int:
    from roost.cli.dag_past import data_of_run, lines_of, past_run

    found = [(file, past_run(file, Home.find(args.home))) for file in files]
    if args.json:
        print_json([{"file": file, **data_of_run(past)} for file, past in found])
    else:
        for file, past in found:
            for line in lines_of(file, past):
                say(line)
    return Exit.OK if all(past.exit_status == 0 for _, past in found) else Exit.NO


def _status_of_clusters(args: argparse.Namespace) -> int:
    names = ("ClusterId", "Owner", "JobStatus", "QDate", "JobBatchName", "Cmd", "DAG_Status")
    request = queue.Query(
        jobs=tuple(args.cluster),
        projection=(*names, *(f"DAG_Nodes{each}" for each in _COLUMNS)),
        constraint="DAG_NodesTotal =!= undefined",
    )
    rows = with_pool(args, lambda pool: pool.ask(request))
    if args.json:
        print_json(rows)
        return Exit.OK
    for row in rows:
        _say_status(row)
    if not rows:
        say("no DAG run is in the queue; `roost history` lists finished runs")
    return Exit.OK if rows or not args.cluster else Exit.NO


def _say_status(row: dict[str, Any]) -> None:
    from roost.dag.states import RunStatus
    from roost.dag.texts import STATUS_WORDS

    numbers = {name: int(row.get(f"DAG_Nodes{name}", 0)) for name in _COLUMNS}
    total = numbers["Total"] or 1
    wide = 40
    done = numbers["Done"] * wide // total
    busy = sum(numbers[each] for each in ("Prerun", "Queued", "Postrun")) * wide // total
    bar = "#" * done + "=" * busy + "-" * (wide - done - busy)
    words = [f"{number} {name.lower()}" for name, number in numbers.items() if number and name != "Total"]
    how = STATUS_WORDS[RunStatus(int(row.get("DAG_Status", 0)))]
    say(f"{row['ClusterId']}: {numbers['Total']} nodes, for {duration(time.time() - row.get('QDate', 0))}: {how}")
    say(f"  [{bar}] {numbers['Done'] * 100 // total} %")
    say(f"  {', '.join(words)}")
