"""The maps that userMap() uses in a queue.

SCHEDD_CLASSAD_USER_MAP_NAMES lists them; each is a file, CLASSAD_USER_MAPFILE_<NAME>, or CLASSAD_USER_MAPDATA_<NAME>.

A map has a line ``* user value`` for each user, or ``* /regular expression/ value``, where ``\\1`` in the value stands
for the match of the first group; a final ``i`` ignores case. The first matching line counts. Lines that begin with
``#`` are comments. The first word is an authentication method in HTCondor; only ``*``, for all methods, is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from roost.classad.values import fold
from roost.config import Code, Config, Diagnostic, Severity

_LINE: Final = re.compile(
    r"""\s*(?P<method>\S+)\s+
        (?:/(?P<pattern>(?:[^/\\]|\\.)*)/(?P<flags>i?)|"(?P<quoted>[^"]*)"|(?P<user>\S+))\s+
        (?P<value>\S.*?)\s*\Z""",
    re.VERBOSE,
)
_SUBSYSTEM: Final = "SCHEDD"
#: Maximum number of lines of one map.
LINES_MAX: Final = 200_000


class UserMap(Mapping[str, str]):
    """One map."""

    def __init__(self, text: str) -> None:
        self._users: dict[str, str] = {}
        self._patterns: list[tuple[int, re.Pattern[str], str]] = []
        self._places: dict[str, int] = {}
        #: Numbers of the lines that were ignored.
        self.unread: list[int] = []
        for number, line in enumerate(text.splitlines()[:LINES_MAX], 1):
            if line.strip() and not line.lstrip().startswith("#"):
                self._add(number, line)

    def _add(self, number: int, line: str) -> None:
        found = _LINE.match(line)
        if found is None or found["method"] != "*":
            self.unread.append(number)
        elif found["pattern"] is None:
            user = found["quoted"] if found["quoted"] is not None else found["user"]
            if user not in self._users:
                self._users[user], self._places[user] = found["value"], number
        else:
            try:
                pattern = re.compile(found["pattern"], re.IGNORECASE if found["flags"] else 0)
                self._patterns.append((number, pattern, found["value"]))
            except re.error:
                self.unread.append(number)

    def __getitem__(self, user: str) -> str:
        exact = self._places.get(user)
        for number, pattern, value in self._patterns:
            if exact is not None and exact < number:
                break
            match = pattern.search(user)
            if match is not None:
                return _filled(value, match)
        return self._users[user]

    def __iter__(self) -> Iterator[str]:
        return iter(self._users)

    def __len__(self) -> int:
        return len(self._users) + len(self._patterns)


def _filled(value: str, match: re.Match[str]) -> str:
    """A value with the groups of a match inserted; a missing group is empty."""
    groups = (match[0], *match.groups(""))
    return re.sub(r"\\(\d)", lambda part: groups[int(part[1])] if int(part[1]) < len(groups) else "", value)


class UserMaps(dict[str, Mapping[str, str]]):
    """Maps by name, in any case."""

    def get(self, name: str, default: object = None) -> Mapping[str, str] | None:  # type: ignore[override]
        """The map of that name; None if there is none."""
        return super().get(fold(name))


def user_maps(config: Config) -> tuple[UserMaps, list[Diagnostic]]:
    """The maps of the configuration, and the problems in them."""
    maps: UserMaps = UserMaps()
    wrong: list[Diagnostic] = []
    names = "SCHEDD_CLASSAD_USER_MAP_NAMES"
    for name in dict.fromkeys(config.get_list(names, subsys=_SUBSYSTEM)):
        file, data = f"CLASSAD_USER_MAPFILE_{name}", f"CLASSAD_USER_MAPDATA_{name}"
        path = config.get(file, subsys=_SUBSYSTEM)
        text = config.get(data, subsys=_SUBSYSTEM) if path is None else config.host.read_text(path)
        said, remedy = "", "Write each line as `* user value`."
        if text is None:
            said = f"cannot read {path}" if path else f"neither it nor {data} is set"
            said, remedy = (
                f"{said}; userMap() returns UNDEFINED for this map",
                f"Set it, or remove {name} from {names}.",
            )
        else:
            found = maps[fold(name)] = UserMap(text)
            lines = ", ".join(map(str, found.unread[:10]))
            said = f"ignored lines that do not have the form `* user value`: {lines}" if lines else ""
        if said:
            knob = file if path is not None or text is None else data
            wrong.append(
                config.problem(
                    Code.BAD_CHOICE,
                    knob,
                    said,
                    listed_in=names,
                    subsys=_SUBSYSTEM,
                    remedy=remedy,
                    severity=Severity.WARNING,
                )
            )
    return maps, wrong
