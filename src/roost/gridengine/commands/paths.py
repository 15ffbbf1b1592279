"""Where the streams of a job lead: ``-o``, ``-e``, ``-i`` and ``-S`` with hosts, variables and directories."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from roost.gridengine.commands.errors import rejected

_VARIABLE: Final = re.compile(r"\$(HOME|USER|JOB_ID|JOB_NAME|HOSTNAME|TASK_ID)")
_NULL: Final = "/dev/null"


class Streams(NamedTuple):
    """What the paths of one job have in common."""

    #: Where relative paths begin.
    directory: str
    home: str
    user: str
    #: Where the job is submitted.
    host: str
    name: str
    is_array: bool
    #: Variables in the directory are replaced: `-wd` named it.
    expands: bool = False
    #: Whether there is a directory of that path.
    is_directory: Callable[[str], bool] = lambda path: False

    @property
    def place(self) -> str:
        """The directory as a submit value."""
        return self._expanded(self.directory) if self.expands else escaped(self.directory)

    def default(self, letter: str) -> str:
        """The file that a stream has of its own, ``NAME.oNUMBER`` or ``NAME.oNUMBER.TASK``, as a submit value."""
        task = ".$INT(task)" if self.is_array else ""
        return f"{escaped(self.name)}.{letter}$(Cluster){task}"

    def path(self, given: str | None, option: str, letter: str) -> str:
        """The path of an option as the value of a command in a submit description. Raises Failure."""
        text = chosen(given, option, self.host) if given else ""
        if not text:
            return f"{self.place}/{self.default(letter)}"
        found = self._expanded(text)
        plain = posixpath.join(self.directory, text)
        is_directory = text.endswith("/") or ("$" not in text and plain != _NULL and self.is_directory(plain))
        whole = posixpath.join(self.place, found)
        return posixpath.join(whole, self.default(letter)) if is_directory else whole

    def _expanded(self, text: str) -> str:
        return "".join(self._part(part) for part in _VARIABLE.split(text)) if "$" in text else escaped(text)

    def _part(self, part: str) -> str:
        values = {
            "HOME": escaped(self.home),
            "USER": escaped(self.user),
            "JOB_NAME": escaped(self.name),
            "JOB_ID": "$(Cluster)",
            "TASK_ID": "$INT(task)" if self.is_array else "0",
            "HOSTNAME": "$$(Machine)",
        }
        return values.get(part) or escaped(part)


def escaped(text: str) -> str:
    """A text in which the submit language finds nothing to expand."""
    return text.replace("$", "$(DOLLAR)")


def chosen(given: str, option: str, here: str) -> str:
    """The path of a list of ``[host:]path`` that counts: that without a host, or that of this host. Raises Failure."""
    found = dict(_entries(given, option))
    for host in (here, here.partition(".")[0], ""):
        if host in found:
            return found[host]
    raise rejected(
        f"-{option} {given} names no path for this host, and paths of other hosts cannot be used: leave the host out"
    )


def _entries(given: str, option: str) -> list[tuple[str, str]]:
    entries = []
    for word in filter(None, given.split(",")):
        host, colon, path = word.partition(":")
        entries.append((host, path) if colon else ("", word))
    if len({host for host, _ in entries}) < len(entries):
        raise rejected("ERROR! two files are specified for the same host")
    return entries


def told(given: str) -> str:
    """A list of paths as `qstat -j` prints it: host, file host and path of each."""
    return ",".join(f"{host or 'NONE'}:NONE:{path}" for host, path in _entries(given, ""))
