"""``qconf -a…``, ``-A…``, ``-m…``, ``-M…``, ``-d…`` and the like: reading files and running editors; the queue makes
the edits.

An option with an editor begins with the text of the object, or of a new one, and submits the file after editing; an
unchanged text is not submitted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.asking import cell_files
from roost.cli.gridengine.qconf_options import OPTIONS
from roost.cli.pool_connection import Refused
from roost.gridengine.commands.errors import FAILED, Failure
from roost.gridengine.commands.options import usage
from roost.runtime.identity import host_name
from roost.wire.requests import central
from roost.wire.requests.cell import ClearUsage, EditCell, EditedCell

if TYPE_CHECKING:
    from roost.cli.pool_connection import Pool

#: Letters after -a and -m to the directory of the objects.
_DIRECTORIES: Final = {
    "q": "cqueues", "hgrp": "hostgroups", "e": "execution", "p": "pe", "ckpt": "ckpt", "cal": "calendars",
    "u": "usersets", "prj": "projects", "user": "users", "rqs": "resource_quotas", "conf": "configurations",
}  # fmt: skip
#: Letters after -m to the file of singletons of a cell.
_FILES: Final = {"c": "centry", "sconf": "schedconf", "stree": "sharetree"}
#: Messages for an object to be changed that does not exist.
_ABSENT: Final = {
    "q": 'Cluster queue entry "{}" does not exist',
    "hgrp": 'Host group "{}" does not exist',
    "e": "{} is not an execution host",
    "p": "{} is not a parallel environment",
    "ckpt": "{} is not a checkpointing interface definition",
    "cal": "{} is not a calendar",
    "prj": '{0} is not known as a project\nerror: invalid option argument "{0}"\nUsage: qconf -help',
    "user": "{} is not known as a user",
    "rqs": "error reading in file",
    "conf": "configuration {} does not exist",
}
_SAME: Final = {"hgrp": "Object has not been changed", "conf": "configuration unchanged"}
#: Final messages for a file that cannot be opened.
_UNOPENED: Final = {
    **dict.fromkeys(("u", "prj", "user", "p", "ckpt", "cal", "stree", "sconf"), "error reading in file"),
    "e": "invalid format",
    "conf": "error reading configuration from file {}",
    "c": 'Complex attribute file "{}" is not correct',
}


class Editing:
    """The options that change the cell of a pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def edit(self, option: str, words: list[str]) -> int:
        """Carry out an option; return its exit status. Raises Failure."""
        if option == "clearusage":
            return self._clear_usage()
        if option == "kec":
            return _kill_clients(words[0])
        letters = option[1:]
        if option[1:] == "attr" and option[0].isupper():
            return self._attributes(option, words)
        if option[0] in "AM":
            return self._with_files(option, letters, words)
        if option[0] in "am" and letters in (*_DIRECTORIES, *_FILES) and option != "au":
            return self._with_editor(option, letters, words)
        return self._order(option, tuple(words))

    def _order(
        self, option: str, words: tuple[str, ...] = (), text: str = "", file: str = "", *, edited: bool = False
    ) -> int:
        asked = EditCell(option=option, words=words, text=text, file=file, edited=edited, host=host_name())
        found = self._pool.ask(asked)
        if found.unknown_hosts:
            known = self._machines(found.unknown_hosts)
            found = self._pool.ask(
                EditCell(option=option, words=words, text=text, file=file, edited=edited, host=host_name(), hosts=known)
            )
        _say(found)
        if any("see node_shares_list format" in line.text for line in found.lines):
            sys.stderr.write(usage("qconf", OPTIONS))
        return found.status

    def _machines(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of some names that are machines of the pool, by full name or its first label."""
        rows = self._pool.ask(central.Ads(kind="Machine", projection=("Machine",), values=True))
        machines = {str(row.get("Machine", "")).lower() for row in rows}
        machines |= {name.partition(".")[0] for name in machines}
        return tuple(name for name in names if name.lower() in machines)

    # -- files -----------------------------------------------------------------------------------------------------

    def _with_files(self, option: str, letters: str, words: list[str]) -> int:
        if letters != "conf":
            path, *rest = words
            return self._order(option, tuple(rest), _text(path, letters, option), path)
        status = 0
        for number, path in enumerate(each for each in words[0].split(",") if each):
            if number:
                print(flush=True)
            found = self._order(option, (path,), self._configuration(option, path), path)
            status = status or found
        return status

    def _configuration(self, option: str, path: str) -> str:
        name = path.rpartition("/")[2].lower()
        if option == "Mconf" and f"configurations/{name}" not in cell_files(self._pool):
            # The file of an object that does not exist is not read.
            return ""
        return _text(path, "conf", option)

    def _attributes(self, option: str, words: list[str]) -> int:
        kind, path, *names = words
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(
                f'{_unopened(path, error)}\nerror: invalid option argument "{path}"\nUsage: qconf -help'
            ) from None
        return self._order(option, (kind, *names), text, path)

    # -- editors ---------------------------------------------------------------------------------------------------

    def _with_editor(self, option: str, letters: str, words: list[str]) -> int:
        adds, named = option[0] == "a", words[0] if words else ""
        if letters in ("u", "conf") and named:
            status = 0
            for name in (each for each in named.split(",") if each):
                found = self._edited(letters, name, adds=adds)
                status = status or found
            return status
        return self._edited(letters, named, adds=adds)

    def _edited(self, letters: str, name: str, *, adds: bool) -> int:
        if letters == "conf" and name != "global":
            name = name.lower()
        files = cell_files(self._pool)
        if not files:
            raise Failure("the pool has no Grid Engine cell; `roost cell import` gives it one")
        before, adds = _beginning(files, letters, name, adds=adds)
        path, after, saved = edited(before)
        if (
            not saved
            and letters not in ("c", "q")
            and not (adds and letters == "hgrp")
            and not (adds and name and letters == "e")
        ):
            same = _SAME.get(letters, "file unchanged")
            if letters == "u":
                print(same)
                return 0
            raise Failure(same)
        words = (name,) if letters == "conf" or (letters == "rqs" and name and not adds) else ()
        return self._order(f"{'A' if adds else 'M'}{letters}", words, after, path, edited=True)

    # -- others ----------------------------------------------------------------------------------------------------

    def _clear_usage(self) -> int:
        try:
            self._pool.ask(ClearUsage())
        except Refused as refused:
            raise Failure(str(refused)) from None
        who = f"{self._pool.user.partition('@')[0]}@{host_name()}"
        files = cell_files(self._pool)
        for directory, kind in (("users", "user"), ("projects", "project")):
            for file in sorted(files):
                if file.startswith(f"{directory}/"):
                    print(f'{who} modified "{file.partition("/")[2]}" in {kind} list')
        return 0


def _say(found: EditedCell) -> None:
    for line in found.lines:
        (sys.stdout if line.out else sys.stderr).write(f"{line.text}\n")
    for warning in found.warnings:
        sys.stderr.write(f"qconf: not yet supported by pools: {warning}\n")
    sys.stdout.flush()


def _kill_clients(wanted: str) -> int:
    """Report that a pool has no event clients."""
    for word in wanted.split(","):
        if word != "all":
            sys.stderr.write(f"no event client known with id {word} to shutdown\n")
    return 0 if wanted == "all" else FAILED


def _unopened(path: str, error: Exception) -> str:
    why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "not a text"
    return f'error: error opening file "{path}" for reading: {why}'


def _text(path: str, letters: str, option: str) -> str:
    """The text of a file. Raises Failure with the message for one that cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        line = _unopened(path, error)
        if letters == "rqs":
            raise Failure(line.removeprefix("error: ")) from None
        last = 'Cluster queue file "{}" is not correct' if option == "Mq" else _UNOPENED.get(letters, "")
        text = f"{line}\n{last.format(path)}".rstrip("\n")
        # Grid Engine exits with 0 if a host group cannot be read.
        raise Failure(text, 0 if letters == "hgrp" else FAILED) from None


def _beginning(files: object, letters: str, name: str, *, adds: bool) -> tuple[str, bool]:
    """The initial text of the editor, and whether it is for a new object. Raises Failure."""
    assert isinstance(files, dict)
    from roost.gridengine.edits.templates import template, without_reports

    text: str | None
    if letters in _FILES:
        return files.get(_FILES[letters]) or template(letters), adds
    if letters == "rqs" and not name and not adds:
        return "".join(text for file, text in files.items() if file.startswith("resource_quotas/")), False
    directory = _DIRECTORIES[letters]
    if adds:
        if letters == "conf" and f"{directory}/{name}" in files:
            raise Failure(f"configuration {name} already exists")
        if letters == "e" and name:
            name = name.lower()
            if f"{directory}/{name}" not in files:
                raise Failure(f'can\'t resolve hostname "{name}"')
            return without_reports(files[f"{directory}/{name}"]), True
        return template(letters, name), True
    key = name.lower() if letters == "e" else name
    if letters == "rqs":
        texts = [files.get(f"{directory}/{one}") for one in key.split(",")]
        if None in texts:
            raise Failure(_ABSENT[letters])
        return "".join(text or "" for text in texts), False
    text = files.get(f"{directory}/{key}")
    if text is None and letters == "u":
        return template(letters, name), True
    if text is None and letters == "e" and not _resolves(key):
        raise Failure(f'can\'t resolve hostname "{name}"')
    if text is None:
        # Grid Engine exits with 0 if there is no such user.
        raise Failure(_ABSENT[letters].format(name), 0 if letters == "user" else FAILED)
    return (without_reports(text) if letters == "e" else text), False


def _resolves(name: str) -> bool:
    import socket

    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def _stamp(path: str) -> tuple[int, int]:
    """Values that change when a file is written."""
    found = Path(path).stat()
    return found.st_ino, found.st_mtime_ns


def edited(text: str) -> tuple[str, str, bool]:
    """Let the user edit a text; return its path, the text afterwards, and whether it was saved. Raises Failure."""
    # Few options need these.
    import shlex
    import subprocess
    import tempfile

    program = shlex.split(os.environ.get("EDITOR", "")) or ["vi"]
    handle, path = tempfile.mkstemp(prefix=f"pid-{os.getpid()}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        before = _stamp(path)
        try:
            done = subprocess.run([*program, path], check=False)
        except OSError as error:
            raise Failure(f"error: can't start editor {program[0]}: {error.strerror}\nedit failed") from None
        if done.returncode:
            raise Failure(f"error: editor exited with error {done.returncode}\nedit failed")
        return path, Path(path).read_text(encoding="utf-8"), _stamp(path) != before
    except UnicodeDecodeError:
        raise Failure(f'error reading file: "{path}"') from None
    finally:
        Path(path).unlink(missing_ok=True)
