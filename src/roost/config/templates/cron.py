"""Templates for programs that a daemon runs periodically and whose output it publishes in its ad.

The knobs of such a program begin with STARTD_CRON or SCHEDD_CRON; a template says which, or takes it as its first
argument.
"""

from __future__ import annotations

from roost.config.template import Argument, Template, template

DAEMON = Argument(name="daemon", meaning="beginning of the knobs' names: STARTD_CRON or SCHEDD_CRON", default=None)
NAME = Argument(name="name", meaning="name of the program in the daemon's ad and in messages")
PERIOD = Argument(name="period", meaning="interval between runs, with a suffix s, m or h")
EXECUTABLE = Argument(name="executable", meaning="path of the program")
ARGUMENTS = Argument(name="arguments", meaning="its arguments", default="")


def cron(name: str, meaning: str, mode: str) -> Template:
    """A program of the daemon that the template's name begins with; only one that runs regularly has a period."""
    return _hook(name, meaning, mode, f"{name.partition('Cron')[0].upper()}_CRON", first=1)


def cron_hook(name: str, meaning: str, mode: str) -> Template:
    """The same for the daemon that the first argument says."""
    return _hook(name, meaning, mode, "$(1)", first=2)


def _hook(name: str, meaning: str, mode: str, prefix: str, first: int) -> Template:
    periodic = mode == "Periodic"
    tag, executable = f"$({first})", first + (2 if periodic else 1)
    lines = (
        f"{prefix}_JOBLIST = $({prefix}_JOBLIST) {tag}",
        f"{prefix}_{tag}_MODE = {mode}",
        *((f"{prefix}_{tag}_PERIOD = $({first + 1})",) if periodic else ()),
        f"{prefix}_{tag}_EXECUTABLE = $({executable})",
        f"{prefix}_{tag}_ARGS = $({executable + 1}+)",
    )
    arguments = (NAME, *((PERIOD,) if periodic else ()), EXECUTABLE, ARGUMENTS)
    daemon = (DAEMON,) if first == 2 else ()
    return template("FEATURE", name, meaning, "convention", "\n".join(lines), *daemon, *arguments, rest=True)
