"""The paths of a job's streams: ``-o``, ``-e``, ``-i`` and ``-S`` with hosts, variables and directories."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from roost.gridengine.commands.errors import rejected
from roost.model.path_lists import HostPath, path_list

_VARIABLE: Final = re.compile(r"\$(HOME|USER|JOB_ID|JOB_NAME|HOSTNAME|TASK_ID)")
_NULL: Final = "/dev/null"
_MACHINE: Final = "$$(Machine)"
#: What the submit language replaces before it parses an expression.
_MACRO: Final = re.compile(r"(\$(?:INT)?\(\w+\))")
#: Characters that a string within ``$$([ ])`` cannot have as they are.
_OCTAL: Final = {ord(letter): f"\\{ord(letter):03o}" for letter in '"\\()[]'}


class Streams(NamedTuple):
    """The common context of the paths of one job."""

    #: Base of relative paths.
    directory: str
    home: str
    user: str
    name: str
    is_array: bool
    #: Whether variables in the directory are replaced, as with `-wd`.
    expands: bool = False
    #: Whether there is a directory of that path.
    is_directory: Callable[[str], bool] = lambda path: False

    @property
    def place(self) -> str:
        """The directory as a submit value."""
        return self._expanded(self.directory) if self.expands else escaped(self.directory)

    def default(self, letter: str) -> str:
        """The default file of a stream, ``NAME.oNUMBER`` or ``NAME.oNUMBER.TASK``, as a submit value."""
        task = ".$INT(task)" if self.is_array else ""
        return f"{escaped(self.name)}.{letter}$(Cluster){task}"

    def path(self, given: str | None, letter: str) -> str:
        """The path of an option as the value of a command in a submit description. Raises Failure.

        Among paths for hosts, one is chosen when the job starts.
        """
        listed = entries(given) if given else []
        if not listed:
            return f"{self.place}/{self.default(letter)}"
        paths = [self._path(entry.path, letter) for entry in listed]
        if len({*paths}) == 1:
            return paths[0]
        # `path_for`, as an expression that the queue evaluates for the machine; files are absolute.
        hosts = [(entry.host, path) for entry, path in zip(listed, paths, strict=True) if entry.host]
        rest = next((path for entry, path in zip(listed, paths, strict=True) if not entry.host), paths[-1])
        chosen = _quoted(rest)
        for host, path in reversed(hosts):
            chosen = f"ifThenElse({_names_machine(host)},{_quoted(path)},{chosen})"
        return f"/$$([{chosen}])"

    def _path(self, text: str, letter: str) -> str:
        found = self._expanded(text)
        plain = posixpath.join(self.directory, text)
        is_directory = text.endswith("/") or (
            not _VARIABLE.search(text) and plain != _NULL and self.is_directory(plain)
        )
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
            "HOSTNAME": _MACHINE,
        }
        return values.get(part) or escaped(part)


def escaped(text: str) -> str:
    """A text escaped so that the submit language expands nothing in it."""
    return text.replace("$", "$(DOLLAR)")


def _names_machine(host: str) -> str:
    """An expression of the submit language: whether a name matches the machine (`is_host`)."""
    label, dot, _ = host.lower().partition(".")
    if not dot:
        found = re.escape(label)
        return f'regexp({_literal(f"^{found}[.]|^{found}$")},TARGET.Machine,"i")'
    # `==` takes no notice of case.
    return f"(TARGET.Machine=={_literal(host)}||TARGET.Machine=={_literal(label)})"


def _quoted(path: str) -> str:
    """A path of the submit language as an expression, without its leading slash."""
    parts = path.removeprefix("/").split(_MACHINE)
    return f"strcat({',TARGET.Machine,'.join(_literal(part) for part in parts)})"


def _literal(text: str) -> str:
    """A text of the submit language as a string of an expression; its macros stay."""
    pieces = _MACRO.split(text)
    quoted = (piece.translate(_OCTAL) if number % 2 == 0 else piece for number, piece in enumerate(pieces))
    return f'"{"".join(quoted)}"'


def checked(given: str) -> str:
    """A list of ``[host:]path``. Raises Failure."""
    entries(given)
    return given


def entries(given: str) -> list[HostPath]:
    try:
        return path_list(given)
    except ValueError as problem:
        raise rejected(str(problem)) from None


def told(given: str) -> str:
    """A list of paths as `qstat -j` prints it: host, file host and path of each."""
    return ",".join(f"{host or 'NONE'}:NONE:{path}" for host, path in entries(given))


def shells_told(given: str) -> str:
    """A list of shells as `qstat -j` prints it: host and path of each."""
    return ",".join(f"{host or 'NONE'}:{path}" for host, path in entries(given))
