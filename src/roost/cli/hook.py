"""``roost hook test``: run one hook by hand with sample ads, and print what would follow."""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import platform
import stat
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from roost.classad import ClassAd, ParseError
from roost.classad.forms import Form, parse_ad
from roost.cli.listing import print_json
from roost.cli.parsing import also
from roost.cli.terminal import CommandError, Exit, say
from roost.config import Config, ConfigError
from roost.model.command_line import CommandLineError, split_raw
from roost.model.starter import HookPoint, ScriptPoint
from roost.node.hook_table import HOOK_NAMED, HOOKS, HookRow, RunBy
from roost.node.hook_trial import after_failure, after_script, sample_job, sample_slot, sample_values, what_follows
from roost.node.host_plan import SlotPlan
from roost.node.plan import make_plan
from roost.runtime.clock import Clock
from roost.runtime.home import Home
from roost.runtime.node.fetching import own_environment
from roost.runtime.node.messages import system_platform
from roost.runtime.node.runs.job_environment import JobPlace, job_program
from roost.runtime.node.runs.scratch import directories_of
from roost.runtime.node.sensors import Sensors
from roost.runtime.processes.accounts import NoSuchAccount, account_named, can_switch_user, own_account
from roost.runtime.processes.fork_server import ForkServer, ForkServerFailed
from roost.runtime.processes.hook_programs import (
    HookCall,
    HookFailed,
    HookResult,
    ads_text,
    printed_ad,
    run_hook,
    script_call,
)
from roost.runtime.processes.spawn_order import NotStarted
from roost.startd.configured import fetch_hook, hook_keyword
from roost.startd.layout.problems import LayoutRefused
from roost.startd.slot_ad.ad import host_identity
from roost.starter.scripts import expanded, script_environment

_SCRIPTS: Final = {"PROLOG": ScriptPoint.PROLOG, "EPILOG": ScriptPoint.EPILOG}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``hook``."""
    parser = subparsers.add_parser(
        "hook",
        help="test a hook without a pool",
        description="Test programs that fetch jobs for slots and report on them.",
    )
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", title="commands", required=True)
    test = actions.add_parser(
        "test",
        help="run one hook with sample ads, and show what would follow",
        description="Run one hook as a machine would, with sample ads, and show what would follow. The hook "
        "runs under your account and has its real effects; a running pool is not affected.",
    )
    test.add_argument(
        "name",
        metavar="HOOK",
        help=f"{', '.join(row.name for row in HOOKS)}, PROLOG or EPILOG; or a whole knob, DB_HOOK_FETCH_WORK",
    )
    test.add_argument("--home", metavar="DIR", help="state directory of the pool (default: ROOST_HOME)")
    test.add_argument("--json", action="store_true", help="print JSON")
    test.add_argument("--keyword", metavar="WORD", help="prefix of the hook (default: the slot's, or the starter's)")
    test.add_argument(
        "--slot", metavar="N", type=int, default=1, help="number of the slot whose hook it is (default: 1)"
    )
    test.add_argument("--word", metavar="WORD", help="argument of the hook, such as reject or evict")
    job = test.add_argument(
        "--job-ad", metavar="FILE", help="use this job ad instead of the sample, one attribute per line"
    )
    also(test, job, "--job")
    test.add_argument("--slot-ad", metavar="FILE", help="use this slot ad instead of the sample")
    timeout = test.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=60.0, help="time limit of the hook (default: 60)"
    )
    also(test, timeout, "--time")


def run(args: argparse.Namespace) -> int:
    """Run ``hook``."""
    name = args.name.upper()
    home = Home.find(args.home)
    try:
        config = home.config(None, "STARTD")
        if name in _SCRIPTS:
            return _try_script(args, config, _slot(args, home, config), _SCRIPTS[name])
        keyword, at, plain = name.rpartition("_HOOK_")
        row = HOOK_NAMED.get({"FETCH_JOB": "FETCH_WORK", "REPLY_CLAIM": "REPLY_FETCH"}.get(plain, plain))
        if row is None:
            raise CommandError(f"{args.name} is not a hook; the hooks are {', '.join(HOOK_NAMED)}, PROLOG, EPILOG")
        slot = _slot(args, home, config)
        return _try_hook(args, config, slot, row, keyword if at else _keyword(args, config, row))
    except ConfigError as error:
        raise CommandError(str(error)) from None


def _slot(args: argparse.Namespace, home: Home, config: Config) -> SlotPlan:
    """The slot in this machine's configuration. Raises ConfigError."""
    first, *more = dict.fromkeys(directories_of(config).values())
    execute = next(each for each in (first, home.path, *home.path.parents) if each.is_dir())
    identity = host_identity(
        config, machine=platform.node(), address="<trial>", started_at=0.0, platform=system_platform(config)
    )
    reading = Sensors.configured(config, execute, tuple(more)).host()
    plan = make_plan(config, reading, identity, zone_offset_s=Clock().zone_offset_s(), as_root=can_switch_user())
    if isinstance(plan, LayoutRefused):
        raise CommandError(str(plan))
    slots = {slot.id.number: slot for slot in plan.slot_plans()}
    if args.slot not in slots:
        raise CommandError(f"this machine has no slot {args.slot}; its configuration defines {len(slots)}")
    return slots[args.slot]


def _keyword(args: argparse.Namespace, config: Config, row: HookRow) -> str:
    if args.keyword:
        return str(args.keyword).upper()
    found = None
    if row.by is RunBy.STARTER:
        found = config.get("STARTER_JOB_HOOK_KEYWORD", subsys="STARTER")
    found = found or hook_keyword(config, args.slot)
    if row.by is RunBy.STARTER:
        found = found or config.get("STARTER_DEFAULT_JOB_HOOK_KEYWORD", subsys="STARTER")
    if not found:
        raise CommandError(f"slot {args.slot} has no hooks; set STARTD_JOB_HOOK_KEYWORD, or use --keyword")
    return found.upper()


def _try_hook(args: argparse.Namespace, config: Config, slot: SlotPlan, row: HookRow, keyword: str) -> int:
    knob = f"{keyword}_HOOK_{row.name}"
    path = fetch_hook(config, keyword, row.name)
    if not path:
        raise CommandError(f"{knob} is not set, so a machine would not run this hook")
    word = args.word or (row.words[0] if row.words else "")
    if row.name == HookPoint.PREPARE:
        word = args.word or config.get(f"{knob}_ARGS", subsys="STARTER") or ""
    job = _ad(args.job_ad) or sample_job(own_account().name, row, word)
    slot_ad = _ad(args.slot_ad) or sample_slot(slot, row, word)
    text = ads_text(job, slot_ad) if row.has_job else ads_text(slot_ad)
    by_slot = row.by is RunBy.SLOT
    with tempfile.TemporaryDirectory(prefix="roost-hook-") as place:
        scratch = Path(place) / "scratch"
        scratch.mkdir()
        environment = own_environment(os.environ) if by_slot else _starter_environment(scratch)
        try:
            words = split_raw(word)
        except CommandLineError as problem:
            raise CommandError(f"{knob}_ARGS: {problem}") from None
        call = HookCall(
            key="trial",
            path=Path(path),
            arguments=words,
            text=text,
            environment=environment,
            directory=Path("/") if by_slot else scratch,
            timeout_s=args.timeout,
        )
        result = _called(Path(place), call)
    printed, fault = _parsed(row, result)
    if isinstance(result, HookFailed):
        follows = list(after_failure(row))
    else:
        follows = list(
            what_follows(
                row,
                status=result.status,
                printed=printed,
                keyword=keyword,
                slot=slot,
                slot_ad=slot_ad,
                job_problem=partial(_job_problem, config, keyword),
            )
        )
    return _tell(args, knob, call, result, follows, fault)


def _job_problem(config: Config, keyword: str, job: ClassAd) -> str:
    """Why the program of a job cannot be started on this machine; "" if no reason is known."""
    owner = job.eval("Owner")
    if can_switch_user() and isinstance(owner, str):
        try:
            account_named(owner)
        except NoSuchAccount as error:
            return str(error)
    found = _missing(job)
    if found is None:
        return ""
    prepares = [name for name in (HookPoint.PREPARE_EARLY, HookPoint.PREPARE) if fetch_hook(config, keyword, name)]
    return found.text + (f"; {' or '.join(prepares)} would have to create it" if prepares else "")


def _missing(job: ClassAd) -> NotStarted | None:
    """A directory, program, or standard input of the job that does not exist, as the machine would report it."""
    in_scratch = not isinstance(job.cell("iwd"), str)
    try:
        program = job_program(job, JobPlace(sandbox=Path("/"), slot="slot1", cpus=1, moves_files=False))
    except ValueError:
        # A missing Cmd is reported elsewhere.
        return None
    of_job = ("directory", program.directory, "iwd"), ("input", program.stdin, "in"), ("program", program.path, "cmd")
    for stage, path, name in of_job:
        if in_scratch and not str(job.cell(name)).startswith("/"):
            # It is in its scratch directory, of which nothing is known.
            continue
        try:
            if path is not None and not stat.S_ISDIR(path.stat().st_mode) and stage == "directory":
                return NotStarted(key="", stage=stage, errno=errno.ENOTDIR, detail=str(path))
        except (FileNotFoundError, NotADirectoryError) as problem:
            return NotStarted(key="", stage=stage, errno=problem.errno or 0, detail=str(path))
        except OSError:
            # The job's user may have more access.
            continue
    return None


def _parsed(row: HookRow, result: HookResult | HookFailed) -> tuple[ClassAd | None, str]:
    """The output of a hook as an ad, if it is used; and the errors in it."""
    if isinstance(result, HookFailed) or row.prints == "ignored" or not result.output.strip():
        return None, ""
    found = printed_ad(result.output, is_job=row.name == "FETCH_WORK")
    return (None, found.text) if isinstance(found, HookFailed) else (found, "")


def _try_script(args: argparse.Namespace, config: Config, slot: SlotPlan, point: ScriptPoint) -> int:
    knob = f"STARTER_{point.upper()}"
    command = slot.starter.prolog if point is ScriptPoint.PROLOG else slot.starter.epilog
    try:
        found = script_call(command)
    except CommandLineError as problem:
        raise CommandError(f"{knob}: {problem}") from None
    if found is None:
        raise CommandError(f"{knob} is not set for slot {args.slot}")
    user, path, words = found
    values = sample_values(platform.node(), slot, own_account().name)
    with tempfile.TemporaryDirectory(prefix="roost-hook-") as place:
        scratch = Path(place) / "scratch"
        scratch.mkdir()
        call = HookCall(
            key="trial",
            path=path,
            arguments=expanded(words, values),
            environment=_starter_environment(scratch)
            | script_environment(values, 0 if point is ScriptPoint.EPILOG else None),
            directory=scratch,
            timeout_s=args.timeout,
        )
        result = _called(Path(place), call)
    follows = list(after_script(point, result.status if isinstance(result, HookResult) else None))
    if user is not None and user != own_account().name:
        allowed = (config.get("STARTER_SCRIPT_USERS", subsys="STARTER") or "").replace(",", " ").split()
        if user in allowed:
            follows.append(f"A machine whose daemon runs as root or as {user} would run it as {user}.")
        else:
            refused = f"STARTER_SCRIPT_USERS does not name {user}, so a machine would not run it"
            follows = [f"{refused} for jobs of other users. For them:", *after_script(point, None)]
    return _tell(args, knob, call, result, follows, "")


def _starter_environment(scratch: Path) -> dict[str, str]:
    return {"PATH": os.defpath, "TMPDIR": str(scratch), "_CONDOR_SCRATCH_DIR": str(scratch), "_CONDOR_SLOT": "slot1"}


def _ad(path: str | None) -> ClassAd | None:
    if path is None:
        return None
    try:
        return parse_ad(Path(path).read_text(), Form.OLD)
    except OSError as problem:
        raise CommandError(f"{path}: {problem.strerror}") from None
    except (ParseError, ValueError) as problem:
        raise CommandError(f"{path}: {problem}") from None


def _called(place: Path, call: HookCall) -> HookResult | HookFailed:
    async def work() -> HookResult | HookFailed:
        fork_server = await ForkServer.start(place / "nursery", use_groups=False)
        try:
            return await run_hook(fork_server, place, call)
        finally:
            await fork_server.close()

    try:
        return asyncio.run(work())
    except ForkServerFailed as problem:
        raise CommandError(str(problem)) from None


def _tell(
    args: argparse.Namespace,
    knob: str,
    call: HookCall,
    result: HookResult | HookFailed,
    follows: list[str],
    problem: str,
) -> int:
    failed = result.text if isinstance(result, HookFailed) else problem
    if failed:
        follows = [f"A machine would log: {failed}", *follows]
    if args.json:
        data: dict[str, object] = {"knob": knob, "path": str(call.path), "arguments": list(call.arguments)}
        if isinstance(result, HookResult):
            data |= {"status": result.status, "output": result.output, "errors": result.errors}
        print_json({**data, "input": call.text, "failed": failed, "follows": follows})
        return Exit.NO if failed else Exit.OK
    say(f"{knob} = {' '.join((str(call.path), *call.arguments))}")
    _block("It read", call.text)
    if isinstance(result, HookResult):
        _block("It printed", result.output)
        _block("Its standard error", result.errors, none="is empty.")
        say(f"It exited with status {result.status}." if result.status >= 0 else f"Signal {-result.status} killed it.")
    say("\nWhat would follow:")
    for line in follows:
        say(line if line.startswith(" ") else f"  {line}")
    return Exit.NO if failed else Exit.OK


def _block(title: str, text: str, *, none: str = "nothing.") -> None:
    say(f"{title}:" if text.strip() else f"{title} {none}")
    for line in text.splitlines():
        say(f"    {line}")
