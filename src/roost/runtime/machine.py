"""The machine that runs this program, as the configuration room's host: files, environment, commands, facts.

Everything here is effects: it reads the system and decides nothing.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from roost.classad import WORLD
from roost.config import CommandResult
from roost.config.expressions import constant_value, parsed
from roost.config.limits import DEFAULT_LIMITS
from roost.runtime.files.whole_files import write_whole
from roost.runtime.identity import user_name

#: files looked for when neither --config nor the environment names one
STANDARD_FILES = ("/etc/roost/roost.config", "/etc/condor/condor_config", "/usr/local/etc/condor_config")
#: time that a command whose output is configuration may take
COMMAND_S = 60.0
#: names under which this program's own open files can be read
_HANDED_OVER = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


class SystemHost:
    """The configuration room's view of the machine this program runs on."""

    def read_text(self, path: str) -> str | None:
        """The text of a regular file, or of a pipe passed to this program; bytes that are not UTF-8 become replacement
        characters.
        """
        try:
            # Opening a pipe without a writer would wait forever.
            if not Path(path).is_file() and not path.startswith(_HANDED_OVER):
                return None
            with Path(path).open(encoding="utf-8", errors="replace", newline="") as file:
                return file.read(DEFAULT_LIMITS.file_chars_max + 1)
        except (OSError, ValueError):
            return None

    def list_directory(self, path: str) -> list[str] | None:
        """The names of the regular files in a directory."""
        try:
            return [entry.name for entry in os.scandir(path) if entry.is_file()]
        except (OSError, ValueError):
            return None

    def run_command(self, command: str) -> CommandResult:
        """Run a program with arguments; no shell is involved."""
        # Rarely needed, and otherwise every command that submits would import them.
        import shlex
        import subprocess

        try:
            done = subprocess.run(
                shlex.split(command),
                capture_output=True,
                timeout=COMMAND_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
            print(f"roost config: {command!r}: {problem}", file=sys.stderr)
            return CommandResult(status=127, output="")
        return CommandResult(status=done.returncode, output=done.stdout.decode("utf-8", "replace"))

    def write_cache(self, path: str, text: str) -> bool:
        """Write the file atomically."""
        try:
            write_whole(Path(path), text)
        except (OSError, ValueError):
            return False
        return True

    def environment(self) -> Mapping[str, str]:
        """The environment of this process."""
        return os.environ

    def random_integer(self, low: int, high: int) -> int:
        """A number from the system's random generator."""
        import random

        return random.SystemRandom().randint(low, high)

    def evaluate(self, expression: str) -> object:
        """The value of a constant expression, using the real clock."""
        return constant_value(expression, WORLD)

    def parse_expression(self, expression: str) -> None:
        """Raise unless the text is an expression."""
        parsed(expression)


def detected_values() -> dict[str, str]:
    """Detected facts about this machine."""
    host = socket.gethostname() or "localhost"
    system, machine = os.uname().sysname, os.uname().machine
    release = _distribution()
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = str(os.cpu_count() or 1)
    major = release.get("VERSION_ID", "").partition(".")[0]
    return {
        "HOSTNAME": host.partition(".")[0],
        "FULL_HOSTNAME": host,
        "DETECTED_CPUS": cores,
        "DETECTED_CORES": cores,
        "DETECTED_PHYSICAL_CPUS": cores,
        "DETECTED_CPUS_LIMIT": str(allowed),
        "DETECTED_MEMORY": str(_memory_mb()),
        "ARCH": machine.upper(),
        "UNAME_ARCH": machine,
        "OPSYS": system.upper(),
        "UNAME_OPSYS": system,
        "PID": str(os.getpid()),
        "PPID": str(os.getppid()),
        "REAL_UID": str(os.getuid()),
        "REAL_GID": str(os.getgid()),
        "HOME": str(Path("~").expanduser()),
        "OPSYSMAJORVER": major,
        "OPSYSVER": f"{major}00" if major else "",
        "OPSYSANDVER": release.get("ID", system).capitalize() + major,
        "USERNAME": user_name(),
    }


def _memory_mb() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1024 * 1024)
    except (OSError, ValueError):
        return 0


def _distribution() -> dict[str, str]:
    import platform

    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def root_files(given: list[str] | None, environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """The files to read first; empty for ONLY_ENV, None if there is none."""
    if given:
        return tuple(given)
    for variable in ("ROOST_CONFIG", "CONDOR_CONFIG"):
        value = environment.get(variable)
        if value:
            return () if value == "ONLY_ENV" else (value,)
    for path in STANDARD_FILES:
        if Path(path).is_file():
            return (path,)
    return None
