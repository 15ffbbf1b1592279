"""``roost install-service``: files with which systemd runs the daemons of this machine."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from roost.cli.terminal import CommandError, Exit, say
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import Home
from roost.wire.requests.registrar import USER_PATTERN

#: Default state directory of root's daemons.
_SYSTEM_HOME: Final = "/var/lib/roost"
#: Jobs outlive the daemons, so systemd only ends the master. Control groups of jobs are created below the unit's own.
_UNIT: Final = """\
[Unit]
Description=Roost workload manager
After=network-online.target nss-user-lookup.target time-sync.target
Wants=network-online.target

[Service]
Type=exec
{user}ExecStart={roost} up --home {home}
ExecReload={roost} reconfig --home {home}
ExecStop={roost} down --leave-jobs --home {home}
KillMode=process
Delegate=yes
Restart=on-failure
RestartSec=5
LimitNOFILE=65536

[Install]
WantedBy={target}
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``install-service``."""
    parser = subparsers.add_parser(
        "install-service",
        help="have systemd run the daemons of this machine",
        description="Write the files by which systemd runs the daemons of this machine: as root, a unit of the system "
        f"and a tmpfiles.d file for the state directory ({_SYSTEM_HOME} unless named); as another user, a unit of that "
        "user's. Print what to run next. Files of the same names are replaced.",
    )
    parser.add_argument("--home", metavar="DIR", help="state directory of the pool (default: ROOST_HOME)")
    parser.add_argument(
        "--as-user",
        metavar="USER",
        help="system account that the daemons run as, with a sysusers.d file that makes it (default: root)",
    )
    parser.add_argument(
        "--root", metavar="DIR", help="directory below which the files are written, for images and packages"
    )


def run(args: argparse.Namespace) -> int:
    """Run ``install-service``."""
    system = os.geteuid() == 0
    files = _system_files(args) if system else _user_files(args)
    below = Path(args.root or "/")
    for name, text in files.items():
        path = below / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text, mode=0o644)
        except OSError as error:
            raise CommandError(f"cannot write {path}: {error.strerror}") from None
        say(f"wrote {path}")
    if args.root is None:
        say(f"Next: {_next(system=system, account=args.as_user)}")
    return Exit.OK


def _next(*, system: bool, account: str | None) -> str:
    if not system:
        return "`systemctl --user daemon-reload && systemctl --user enable --now roost`"
    users = "systemd-sysusers && " if account else ""
    return f"`{users}systemd-tmpfiles --create && systemctl daemon-reload && systemctl enable --now roost`"


def _system_files(args: argparse.Namespace) -> dict[str, str]:
    """Path below the root to the text of a file. Raises CommandError."""
    home, account = _place(args.home or os.environ.get("ROOST_HOME") or _SYSTEM_HOME), args.as_user
    if account is not None and (not re.fullmatch(USER_PATTERN, account) or account == "root"):
        raise CommandError(f"--as-user is {account!r}; name a system account other than root, such as roost")
    owner = account or "root"
    # Users of root's pool access their own files in it, and cannot list it.
    mode = "0700" if account else "0711"
    files = {
        "etc/systemd/system/roost.service": _unit(home, "multi-user.target", f"User={account}\n" if account else ""),
        "etc/tmpfiles.d/roost.conf": f"d {home} {mode} {owner} {owner} -\n",
    }
    if account:
        files["etc/sysusers.d/roost.conf"] = f'u {account} - "Roost workload manager" {home}\n'
    return files


def _user_files(args: argparse.Namespace) -> dict[str, str]:
    """The same for an ordinary user. Raises CommandError."""
    if args.as_user is not None:
        raise CommandError("--as-user takes root: without root, the daemons run as you")
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    unit = _unit(_place(str(Home.find(args.home).path)), "default.target", "")
    return {str(Path(base).absolute() / "systemd/user/roost.service").lstrip("/"): unit}


def _place(name: str) -> str:
    """A directory in the form for units. Raises CommandError."""
    path = str(Path(name).expanduser().absolute())
    if not re.fullmatch(r"[A-Za-z0-9/._+@-]+", path):
        raise CommandError(f"--home is {path!r}; a unit needs a path of letters, digits and / . _ + @ -")
    return path


def _unit(home: str, target: str, user: str) -> str:
    return _UNIT.format(roost=_roost(), home=home, target=target, user=user)


def _roost() -> str:
    """The prefix of every command line. Raises CommandError."""
    beside = Path(sys.executable).with_name("roost")
    found = str(beside) if beside.is_file() else shutil.which("roost")
    return found or f"{sys.executable} -m roost.cli"
