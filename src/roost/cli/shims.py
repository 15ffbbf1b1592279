"""``roost shims``: put commands of another system on the PATH of a shell.

The commands are small scripts that Roost writes into a directory of its own, one for each version of Roost and each
interpreter, so that several can be used side by side. What is printed is for the shell to evaluate::

    eval "$(roost shims condor)"             # bash, zsh, sh; also MANPATH, and completion in an interactive shell
    roost shims condor --shell fish | source
    eval "$(roost shims gridengine)"         # Grid Engine's commands, SGE_ROOT and SGE_CELL
    eval "$(roost shims drmaa)"              # libdrmaa.so, compiled here, and drmaa.h next to it
    eval "$(roost shims python)"             # modules: htcondor2, classad2, htcondor, classad, drmaa
    roost shims condor --home /srv/pool --dir /usr/local/lib/roost-condor --path

Man pages and completions come with the package (`share` in the package of the commands, written by `make docs`). A link
next to the scripts leads there, for man-db looks for pages in ``share/man`` below each directory of the PATH.

Services that clean the environment lose ROOST_HOME, and with it the pool. With ``--home`` the scripts and modules
contain a state directory, which is used if ROOST_HOME is not set.

Modules are packages that re-export the contents of `roost.compat`; next to them is a link to this copy of Roost only,
so that any interpreter of a supported version can import them.

A script names the interpreter and the copy of Roost that wrote it; nothing needs to be installed or activated.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from roost import __version__
from roost.cli.terminal import CommandError, Exit, say
from roost.runtime.command_scripts import package_parent, script, write_script

_SHELLS: Final = ("sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh")


class Kind(NamedTuple):
    """A family of commands."""

    help: str
    #: The variable to which the directory is added.
    variable: str = "PATH"


KINDS: Final = {
    "drmaa": Kind("the DRMAA C library, built with this machine's compiler", variable="LD_LIBRARY_PATH"),
    "condor": Kind("HTCondor's commands: condor_submit, condor_q, …"),
    "gridengine": Kind("Grid Engine's commands: qsub, qstat, …, with SGE_ROOT and SGE_CELL"),
    "python": Kind(
        "Python modules: HTCondor's htcondor2, classad2, htcondor and classad, and drmaa", variable="PYTHONPATH"
    ),
}
#: Name of a module to the module that it re-exports.
MODULES: Final = {
    "classad": "roost.compat.classad1",
    "classad2": "roost.compat.classad2",
    "drmaa": "roost.compat.drmaa",
    "drmaa.const": "roost.compat.drmaa.const",
    "drmaa.errors": "roost.compat.drmaa.errors",
    "drmaa.session": "roost.compat.drmaa.session",
    "drmaa.version": "roost.compat.drmaa.version",
    "htcondor": "roost.compat.htcondor1",
    "htcondor.dags": "roost.compat.dags",
    "htcondor2": "roost.compat.htcondor2",
    "htcondor2.dags": "roost.compat.dags",
    "htcondor2._utils": "roost.compat.htcondor2._utils",
    "htcondor2._utils.ansi": "roost.compat.htcondor2._utils.ansi",
    "htcondor2._utils.keyboard": "roost.compat.htcondor2._utils.keyboard",
    "htcondor2.htchirp": "roost.compat.htcondor2.htchirp",
    "htcondor2.personal": "roost.compat.htcondor2.personal",
}

#: A module that re-exports another: names are looked up on access, as the other does.
_PASSING_ON: Final = '''\
"""Written by `roost shims`: passes on {real}."""

{finding}import {real} as _real
from {real} import __all__, __version__


def __getattr__(name):
    return getattr(_real, name)


def __dir__():
    return dir(_real)
'''


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``shims``."""
    parser = subparsers.add_parser(
        "shims",
        help="put another system's commands on the PATH",
        description="Write small scripts named like another system's commands, and print the shell commands that put "
        'them on the PATH: eval "$(roost shims condor)".',
    )
    parser.add_argument(
        "kind", choices=list(KINDS), help=" · ".join(f"{name}: {kind.help}" for name, kind in KINDS.items())
    )
    parser.add_argument("--shell", choices=_SHELLS, help="shell to print for (default: that of SHELL, else sh)")
    parser.add_argument("--dir", metavar="DIR", help="directory to write the scripts to (default: below ~/.cache)")
    parser.add_argument("--home", metavar="DIR", help="state directory of the pool to use where ROOST_HOME is not set")
    parser.add_argument("--path", action="store_true", help="print only the directory")


def run(args: argparse.Namespace) -> int:
    """Run ``shims``."""
    home = str(Path(args.home).expanduser().absolute()) if args.home else ""
    if home and args.kind in ("drmaa", "gridengine"):
        raise CommandError(
            f"shims {args.kind} does not accept --home; set ROOST_HOME, which "
            + ("the library reads" if args.kind == "drmaa" else "leads to SGE_ROOT")
        )
    directory = Path(args.dir).expanduser().absolute() if args.dir else default_directory(args.kind, home)
    try:
        library = None
        if args.kind == "drmaa":
            from roost.cli.drmaa_library import build_library

            library = build_library(directory)
        elif args.kind == "python":
            write_modules(directory, home)
        else:
            write_commands(directory, _commands(args.kind), home)
            _link_share(directory, args.kind)
        shell = args.shell or _shell()
        extra = _gridengine(shell) if args.kind == "gridengine" and not args.path else []
        if library is not None and not args.path:
            extra = [assignment(shell, "DRMAA_LIBRARY_PATH", str(library))]
    except OSError as error:
        raise CommandError(
            f"{error.filename or directory}: {error.strerror}; name another directory with --dir"
        ) from None
    if args.kind in ("condor", "gridengine") and not args.path:
        extra += help_words(shell, shared(args.kind))
    for line in extra:
        say(line)
    say(str(directory) if args.path else words(shell, KINDS[args.kind].variable, str(directory)))
    return Exit.OK


def _commands(kind: str) -> dict[str, str]:
    """Name of a command to the lines of its script."""
    names: Iterable[str] = import_module(f"roost.cli.{kind}.names").COMMANDS
    return {name: _script_of(kind, name) for name in names}


def _script_of(kind: str, name: str) -> str:
    """The script of a command of another system."""
    return f"from roost.cli.{kind}.entry import run_and_leave\nrun_and_leave({name!r}, sys.argv[1:])\n"


def _gridengine(shell: str) -> list[str]:
    """Lines that set variables of Grid Engine, whose files are written for the pool of ROOST_HOME. Raises OSError."""
    from roost.cli.gridengine.root import pool_root
    from roost.runtime.cell_root import CELL, arc

    named = {"SGE_ROOT": str(pool_root()), "SGE_CELL": CELL, "SGE_ARCH": arc()}
    return [assignment(shell, name, value) for name, value in named.items()]


def assignment(shell: str, variable: str, value: str) -> str:
    """The shell code that exports a variable with a value."""
    quoted = shlex.quote(value)
    if shell == "fish":
        return f"set -gx {variable} {quoted};"
    return f"setenv {variable} {quoted};" if shell in ("csh", "tcsh") else f"export {variable}={quoted};"


# -- scripts -----------------------------------------------------------------------------------------------------


def default_directory(kind: str, home: str = "") -> Path:
    """The directory of the scripts for this version, interpreter and copy of Roost; separate for a single pool."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    mark = hashlib.sha256(f"{sys.executable}\0{package_parent()}".encode()).hexdigest()[:8]
    pool = f"-{hashlib.sha256(home.encode()).hexdigest()[:8]}" if home else ""
    return base.absolute() / "roost" / "shims" / f"{__version__}-{mark}" / f"{kind}{pool}"


def _finding(home: str) -> str:
    """The lines of a script or module that name its pool."""
    return f'import os\n\nos.environ.setdefault("ROOST_HOME", {home!r})\n' if home else ""


def write_commands(directory: Path, commands: dict[str, str], home: str = "") -> None:
    """Write scripts into a directory; existing ones stay as they are. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, body in commands.items():
        write_script(directory / name, script(_finding(home) + body, "`roost shims`"), mode=0o755)


def write_modules(directory: Path, home: str = "") -> None:
    """Write packages into a directory, and next to them the link to this copy of Roost. Raises OSError."""
    for name, real in MODULES.items():
        package = directory.joinpath(*name.split("."))
        package.mkdir(parents=True, exist_ok=True)
        write_script(package / "__init__.py", _PASSING_ON.format(real=real, finding=_finding(home)), mode=0o644)
    _write_link(directory / "roost", Path(__file__).resolve().parents[1])


def shared(kind: str) -> Path:
    """The directory of the package with the man pages and completions of commands."""
    return Path(__file__).resolve().parent / kind / "share"


def _link_share(directory: Path, kind: str) -> None:
    """Link the man pages and completions of commands next to them, unless something else has the name."""
    link = directory / "share"
    if link.is_symlink() or not link.exists():
        _write_link(link, shared(kind))


def _write_link(link: Path, target: Path) -> None:
    if not link.is_symlink() or link.readlink() != target:
        fresh = link.with_name(f".{link.name}.{os.getpid()}")
        fresh.symlink_to(target, target_is_directory=True)
        fresh.replace(link)


# -- shells ------------------------------------------------------------------------------------------------------


def _shell() -> str:
    name = Path(os.environ.get("SHELL", "sh")).name
    return name if name in _SHELLS else "sh"


def words(shell: str, variable: str, directory: str) -> str:
    """The shell code that puts a directory first in a variable."""
    quoted = shlex.quote(directory)
    if shell == "fish":
        return f"if not contains -- {quoted} ${variable}; set -gx {variable} {quoted} ${variable}; end"
    if shell in ("csh", "tcsh"):
        return f'if ( ! $?{variable} ) setenv {variable} ""; setenv {variable} {quoted}:"${variable}"'
    first = f'case ":${{{variable}-}}" in :{quoted}:*) ;; '
    return f'{first}*) export {variable}={quoted}"${{{variable}:+:${variable}}}" ;; esac'


def help_words(shell: str, share: Path) -> list[str]:
    """The shell code that adds man pages to MANPATH, and loads completions if the shell is interactive.

    An empty element of MANPATH, here after the last colon, stands for the pages of the system.
    """
    pages = shlex.quote(str(share / "man"))
    if shell == "fish":
        return [
            f"if not contains -- {pages} $MANPATH; set -q MANPATH; or set -gx MANPATH ''; "
            f"set -gx MANPATH {pages} $MANPATH; end;",
            f"status is-interactive; and source {shlex.quote(str(share / 'completion.fish'))};",
        ]
    if shell in ("csh", "tcsh"):
        return [f"{words(shell, 'MANPATH', str(share / 'man'))};"]
    bash, zsh = (shlex.quote(str(share / f"completion.{name}")) for name in ("bash", "zsh"))
    return [
        f'case ":${{MANPATH-}}:" in *:{pages}:*) ;; *) export MANPATH={pages}:"${{MANPATH-}}" ;; esac;',
        f'case $- in *i*) if [ -n "${{BASH_VERSION-}}" ]; then . {bash}; '
        f'elif [ -n "${{ZSH_VERSION-}}" ]; then . {zsh}; fi ;; esac;',
    ]
