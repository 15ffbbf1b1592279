"""``condor_qsub``: submit a script as users of PBS and Grid Engine do.

Options may also be in the script, on lines that begin with ``#PBS`` or ``#$``; those of the command line take
precedence. The request becomes a submit description, which ``-print`` prints. An option without a meaning here is
refused.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Given, Option, given

OPTIONS: Final = (
    Option("a", "do not start before this time, [[[[CC]YY]MM]DD]hhmm[.SS]", takes="TIME"),
    Option("A", "accounting group", takes="GROUP"),
    Option("b", "y: the command is a program, which is not searched for options", takes="y|n"),
    Option("condor-keep-files", "keep the submit description", least=3),
    Option("cwd", "run the job in the current directory", least=3),
    Option("d", "run the job in this directory", takes="DIR"),
    Option("wd", "the same", takes="DIR", least=2),
    Option("e", "standard error", takes="FILE"),
    Option("f", "read options from this file", takes="FILE"),
    Option("h", "submit the job on hold"),
    Option("hold_jid", "start after this job, unless it ends with exit status 100", takes="JOB", least=6),
    Option("i", "standard input", takes="FILE"),
    Option("j", "eo, oe or y: write standard error to the file of standard output", takes="WORD"),
    Option("l", "resources, name=value, separated by commas", takes="LIST"),
    Option("m", "when to send mail; has no effect, Roost sends no mail", takes="WORD"),
    Option("M", "mail recipient; has no effect", takes="ADDRESS"),
    Option("N", "name of the job", takes="NAME"),
    Option("o", "standard output", takes="FILE"),
    Option("p", "priority", takes="NUMBER"),
    Option("print", "print the submit description, and submit it", least=3),
    Option("r", "n: the job may start only once", takes="y|n"),
    Option("S", "shell that runs the script", takes="PROGRAM"),
    Option("t", "run one job for each number: FIRST[-LAST[:STEP]]", takes="RANGE"),
    Option("test", "submit nothing", least=3),
    Option("v", "environment variables of the job, NAME[=VALUE], separated by commas", takes="LIST"),
    Option("V", "pass the current environment to the job"),
)
_IN_SCRIPT: Final = re.compile(r"#(?:PBS|SGE|\$)\s+(.*)")
_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)(b|w)?\Z", re.IGNORECASE)
_BYTES: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?\Z")
_NUMBER: Final = re.compile(r"[+-]?\d+\Z")
#: Maximum number of jobs of one range.
TASKS_MAX: Final = 1_000_000


class _CommandLine:
    """The parsed options of the command line and the script."""

    def __init__(self, arguments: list[str]) -> None:
        options, self.words = _own(arguments)
        self.flags = {each.name for each in options if not each.values}
        self.by_name: dict[str, str] = {}
        self.lists: dict[str, list[str]] = {"l": [], "v": []}
        source = next((each.value for each in options if each.name == "f"), "")
        is_program = any(each.name == "b" and each.value.lower().startswith("y") for each in options)
        inside = self._inside(source or self.words[0]) if source or not is_program else []
        for each in (*inside, *options):
            if each.name in self.lists:
                self.lists[each.name] += each.value.split(",")
            elif each.values:
                self.by_name[each.name] = each.value
            self.flags |= {each.name} if not each.values else set()
        self.is_program = is_program

    def _inside(self, path: str) -> list[Given]:
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise ToolError(f"condor_qsub: cannot read {path}: {error.strerror}") from None
        found: list[Given] = []
        for line in text.splitlines():
            match = _IN_SCRIPT.match(line)
            if match is not None:
                try:
                    found += given(shlex.split(match[1], comments=True), OPTIONS)
                except ValueError as error:
                    raise ToolError(f"condor_qsub: {path}: {line}: {error}") from None
        if any(each.name == "" for each in found):
            raise ToolError(f"condor_qsub: {path}: an option line contains a word that is not an option")
        return found


def _own(arguments: list[str]) -> tuple[list[Given], list[str]]:
    """The options before the command, and the command as a list of words. Raises UsageError."""
    at, options = 0, []
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        option = next(given(arguments[at : at + 2], OPTIONS))
        options.append(option)
        at += 1 + len(option.values)
    if at == len(arguments):
        raise UsageError("condor_qsub: no command was given")
    return options, arguments[at:]


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_qsub``."""
    order = _CommandLine(arguments)
    text = _description(order)
    if "print" in order.flags:
        sys.stdout.write(text)
    if "test" in order.flags:
        return 0
    path = Path(f".condor_qsub.{os.getpid()}.sub").absolute()
    path.write_text(text)
    try:
        cluster = _submitted(path)
    finally:
        if "condor-keep-files" not in order.flags:
            path.unlink(missing_ok=True)
    if "hold_jid" in order.by_name:
        _watch(order.by_name["hold_jid"], cluster)
    sys.stdout.write(f'Your job {cluster} ("{_name(order)}") has been submitted\n')
    return 0


def _name(order: _CommandLine) -> str:
    return order.by_name.get("N") or Path(order.words[0]).name


# -- the description ---------------------------------------------------------------------------------------------


def _description(order: _CommandLine) -> str:
    """The submit description. Raises ToolError for options that it cannot express."""
    said, place = order.by_name, _directory(order)
    command = str(Path(order.words[0]).absolute()) if Path(order.words[0]).exists() else order.words[0]
    shell = said.get("S")
    program, words = (shell, [command, *order.words[1:]]) if shell else (command, order.words[1:])
    base = place / _name(order)
    out, err = said.get("o") or f"{base}.o$(Cluster)", said.get("e") or f"{base}.e$(Cluster)"
    if "t" in said:
        out, err = (said.get(key) or f"{path}.$(Task)" for key, path in (("o", out), ("e", err)))
    joined = said.get("j", "n").lower()
    if joined.startswith("y") or {"e", "o"} <= set(joined):
        out = err = err if "e" in said and "o" not in said else out
    lines = [
        "universe = vanilla",
        f"executable = {program}",
        f"arguments = {_quoted(words)}",
        f"initialdir = {place}",
        f"output = {_path(out, place)}",
        f"error = {_path(err, place)}",
        f"batch_name = {_name(order)}",
        "notification = never",
    ]
    if shell:
        # The shell reads it from a file system that the machines share.
        lines.append("should_transfer_files = NO")
    else:
        lines += ["should_transfer_files = IF_NEEDED", "when_to_transfer_output = ON_EXIT"]
    lines += [*_further(order), *_resources(order.lists["l"]), f"environment = {_environment(order)}"]
    return "\n".join([*lines, _queue(said.get("t")), ""])


def _directory(order: _CommandLine) -> Path:
    return Path(order.by_name.get("wd") or order.by_name.get("d") or Path.cwd()).absolute()


def _path(text: str, place: Path) -> str:
    """A path, without the host that PBS allows before it."""
    path = text.partition(":")[2] or text if re.match(r"[\w.-]*:/", text) else text
    return str(place / path)


def _quoted(words: list[str]) -> str:
    inside = " ".join("'" + word.replace("'", "''").replace('"', '""') + "'" for word in words)
    return f'"{inside}"'


def _further(order: _CommandLine) -> Iterator[str]:
    said = order.by_name
    if "i" in said:
        yield f"input = {_path(said['i'], _directory(order))}"
    if "p" in said:
        if not _NUMBER.match(said["p"]):
            raise UsageError(f"condor_qsub: -p requires a number, not {said['p']}")
        yield f"priority = {said['p']}"
    if "A" in said:
        yield f"accounting_group = {said['A']}"
    if "V" in order.flags:
        yield "getenv = True"
    if "h" in order.flags or "hold_jid" in said:
        yield "hold = True"
    if said.get("r", "y").lower().startswith("n"):
        yield "requirements = NumJobStarts == 0"
    if "a" in said:
        yield f"deferral_time = {_instant(said['a'])}"
        yield "deferral_window = 31536000"


def _environment(order: _CommandLine) -> str:
    pairs = []
    for each in order.lists["v"]:
        name, equals, value = each.partition("=")
        value = value if equals else os.environ.get(name, "")
        pairs.append(f"{name}='{value.replace(chr(39), chr(39) * 2)}'".replace('"', '""'))
    if "t" in order.by_name:
        pairs += ["SGE_TASK_ID=$(Task)", "PBS_ARRAYID=$(Task)"]
    return f'"{" ".join([*pairs, f"PBS_O_WORKDIR={Path.cwd()}", f"JOB_NAME={_name(order)}"])}"'


def _resources(given_: list[str]) -> Iterator[str]:
    requirements = []
    for each in given_:
        name, _, value = each.strip().partition("=")
        match name.lower():
            case "mem" | "vmem" | "pmem":
                yield f"request_memory = {max(1, _bytes(value, each) >> 20)}"
            case "file":
                yield f"request_disk = {max(1, _bytes(value, each) >> 10)}"
            case "procs" | "ncpus" if value.isdecimal():
                yield f"request_cpus = {value}"
            case "nodes":
                yield from _nodes(value, each)
            case "arch":
                requirements.append(f'TARGET.Arch == "{value.strip(chr(34))}"')
            case "opsys":
                requirements.append(f'TARGET.OpSys == "{value.strip(chr(34))}"')
            case "host":
                requirements.append(f'TARGET.Machine == "{value.strip(chr(34))}"')
            case _:
                raise UsageError(
                    f"condor_qsub: -l {each}: unknown resource; use arch, file, host, mem, nodes, opsys or procs"
                )
    if requirements:
        yield f"requirements = {' && '.join(requirements)}"


def _nodes(value: str, each: str) -> Iterator[str]:
    number, *properties = value.split(":")
    if number != "1":
        raise UsageError(f"condor_qsub: -l {each}: a job can use only one node")
    for one in properties:
        name, _, count = one.partition("=")
        if name not in ("ppn", "gpus") or not count.isdecimal():
            raise UsageError(f"condor_qsub: -l {each}: unknown property; use ppn=N or gpus=N")
        yield f"request_{'cpus' if name == 'ppn' else 'gpus'} = {count}"


def _bytes(value: str, each: str) -> int:
    match = _SIZE.match(value)
    if match is None:
        raise UsageError(f"condor_qsub: -l {each}: {value} is not a size such as 200mb")
    return int(match[1]) * _BYTES[match[2].lower()]


def _instant(text: str) -> int:
    """The epoch second of ``[[[[CC]YY]MM]DD]hhmm[.SS]``; omitted parts have their current value."""
    digits, _, seconds = text.partition(".")
    now = time.localtime()
    known = time.strftime("%Y%m%d", now)
    if not digits.isdecimal() or len(digits) not in (4, 6, 8, 10, 12) or (seconds and len(seconds) != 2):
        raise UsageError(f"condor_qsub: -a {text} is not a time of the form [[[[CC]YY]MM]DD]hhmm[.SS]")
    whole = known[: 12 - len(digits)] + digits
    try:
        return int(time.mktime(time.strptime(whole + (seconds or "00"), "%Y%m%d%H%M%S")))
    except ValueError:
        raise UsageError(f"condor_qsub: -a {text} is not a valid date and time") from None


def _queue(text: str | None) -> str:
    if text is None:
        return "queue"
    match = _RANGE.match(text)
    first, last, step = (int(part or 1) for part in match.groups()) if match else (0, 0, 0)
    if match is not None and match[2] is None:
        last = first
    if match is None or step < 1 or first < 1 or last < first or (last - first) // step >= TASKS_MAX:
        raise UsageError(f"condor_qsub: -t {text} is not FIRST[-LAST[:STEP]] with at most {TASKS_MAX} numbers")
    return f"Task = $INT({first} + $(Process) * {step})\nqueue {(last - first) // step + 1}"


# -- submission --------------------------------------------------------------------------------------------------


def _submitted(path: Path) -> str:
    """Submit a description; return its cluster. Raises ToolError."""
    from roost.cli.condor import submit

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = submit.run("condor_submit", ["-terse", str(path)])
    cluster = printed.getvalue().partition(".")[0].strip()
    if status or not cluster.isdecimal():
        raise ToolError(f"condor_qsub: the job was not submitted\n{printed.getvalue()}")
    return cluster


def _watch(before: str, cluster: str) -> None:
    """Submit the job that releases a cluster when an earlier one has ended successfully."""
    if not before.partition(".")[0].isdecimal():
        raise UsageError(f"condor_qsub: -hold_jid {before}: it must be the number of a job")
    from roost.runtime.home import Home

    script = Path(f".condor_qsub.{cluster}.wait").absolute()
    words = " ".join(shlex.quote(each) for each in (sys.executable, "-m", "roost.cli.condor"))
    script.write_text(
        "#!/bin/sh\n"
        f'while [ -n "$({words} condor_q {before} -af ClusterId)" ]; do sleep 1; done\n'
        f"case \" $({words} condor_history {before} -af ExitCode | tr '\\n' ' ') \" in\n"
        f"*' 100 '*) {words} condor_rm {cluster} ;;\n*) {words} condor_release {cluster} ;;\nesac\nrm -f \"$0\"\n"
    )
    script.chmod(0o700)
    place = Path(__file__).resolve().parents[3]
    description = script.with_suffix(".sub")
    description.write_text(
        f"universe = local\nexecutable = {script}\ntransfer_executable = False\n"
        f'environment = "ROOST_HOME={Home.find(None).path} PYTHONPATH={place} PATH={os.environ.get("PATH", "")}"\n'
        f"batch_name = waits for {before}\nqueue\n"
    )
    try:
        _submitted(description)
    finally:
        description.unlink(missing_ok=True)
