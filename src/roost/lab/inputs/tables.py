"""Tables of a TOML file, with their places and checks of their contents.

`read_toml` returns the root. Each method reads a key and returns a value of the right type, or raises a `LabError` that
names file, line, key and remedy; `known` refuses unknown keys.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from roost.base.records import dataclass
from roost.config import Setting, Span
from roost.lab.inputs.durations import seconds_of
from roost.lab.inputs.places import Path as KeyPath
from roost.lab.inputs.places import places
from roost.lab.machines import LabError

#: The place in an error message of the TOML parser.
_TOML_PLACE: Final = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a file."""

    file: str
    lines: Mapping[KeyPath, int]
    path: KeyPath
    values: Mapping[str, Any]
    #: What it is, for messages: "step", "scenario 'x'".
    what: str = ""

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def line(self, key: str | None = None) -> int:
        """The line of the table, or of a key in it."""
        path = self.path if key is None else (*self.path, key)
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)

    def fail(self, message: str, key: str | None = None) -> NoReturn:
        """Raise a LabError that names the place."""
        what = f"{self.what}: " if self.what else ""
        raise LabError(f"{self.file}:{self.line(key)}: {what}{message}")

    def known(self, keys: Iterable[str]) -> None:
        """Refuse every other key."""
        names = list(keys)
        for key in self.values:
            if key not in names:
                near = difflib.get_close_matches(key, names, 1)
                hint = f"did you mean {near[0]!r}? known" if near else "known"
                self.fail(f"unknown key {key!r}; {hint}: {', '.join(names)}", key)

    def attributes(self, keys: Iterable[str], shared: Iterable[str] = ()) -> None:
        """Allow attributes of ads in addition to keys; refuse what looks like a misspelt key: a name in lower case, or
        a key with a capital letter unless it is also an attribute (`shared`).
        """
        names, shared = list(keys), frozenset(shared)
        for key in self.values:
            if key not in names and key.lower() in names and key.lower() not in shared:
                self.fail(f"unknown key {key!r}; did you mean {key.lower()!r}?", key)
            near = difflib.get_close_matches(key, names, 1, 0.65)
            if near and key not in names and key.islower():
                self.fail(f"did you mean {near[0]!r}? If {key!r} is an attribute, write it with a capital letter", key)

    def child(self, key: str, what: str) -> Table:
        """A table in this one; an empty one if there is none."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.fail(f"{key} must be a table; found {value!r}", key)
        return Table(self.file, self.lines, (*self.path, key), value, what)

    def children(self, key: str, what: str) -> Iterator[Table]:
        """The tables of an array."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            self.fail(f"{key} must be an array of tables", key)
        for index, each in enumerate(value):
            yield Table(self.file, self.lines, (*self.path, key, index), each, what)

    def text(self, key: str, otherwise: str) -> str:
        """A string."""
        value = self.values.get(key, otherwise)
        if not isinstance(value, str):
            self.fail(f"{key} must be a quoted string; found {value!r}", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """One string or several; none if the key is missing."""
        value = self.values.get(key, [])
        several = [value] if isinstance(value, str) else value
        if not isinstance(several, list) or not all(isinstance(each, str) for each in several):
            self.fail(f'{key} must be "NAME" or ["NAME", …]; found {value!r}', key)
        return tuple(several)

    def whole(self, key: str, otherwise: int) -> int:
        """A positive whole number."""
        value = self.values.get(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.fail(f"{key} must be a positive whole number; found {value!r}", key)
        return value

    def number(self, key: str, otherwise: float) -> float:
        """A number that is not negative."""
        value = self.values.get(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
            self.fail(f"{key} must be a number that is not negative; found {value!r}", key)
        return float(value)

    def truth(self, key: str, otherwise: bool) -> bool:
        """true or false."""
        value = self.values.get(key, otherwise)
        if not isinstance(value, bool):
            self.fail(f"{key} must be true or false; found {value!r}", key)
        return value

    def duration(self, key: str, otherwise: float) -> float:
        """A duration, s."""
        if key not in self.values:
            return otherwise
        seconds = seconds_of(self.values[key])
        if seconds is None or not 0 <= seconds < 1e9:
            self.fail(f'{key} must be a duration such as 90, "5m" or "1h30m"; found {self.values[key]!r}', key)
        return seconds

    def choice(self, key: str, among: Iterable[str]) -> str:
        """One of several keywords."""
        words = list(among)
        value = self.values[key]
        if value not in words:
            there = ", ".join(word or '""' for word in words)
            self.fail(f"{key} must be one of {there}; found {value!r}", key)
        return str(value)

    def settings(self, key: str, what: str) -> tuple[Setting, ...]:
        """The knobs of a table in this one, with their places."""
        given = self.child(key, what)
        return tuple(Setting(name, given.knob_text(name), Span(self.file, given.line(name))) for name in given.values)

    def knob_text(self, name: str) -> str:
        """The value of a knob as its text in a configuration."""
        value = self.values[name]
        if isinstance(value, bool):
            return "True" if value else "False"
        if not isinstance(value, str | int | float):
            self.fail(f"the value of {name} must be a string as in a configuration, or a number; found {value!r}", name)
        return str(value)


def read_toml(path: Path) -> Table:
    """The root of a file. Raises LabError with file, line and column, OSError."""
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise LabError(f"{path}: it is not valid UTF-8 (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        text, place = str(error), ""
        if (found := _TOML_PLACE.search(text)) is not None:
            text, place = text[: found.start()], f":{found[1]}:{found[2]}"
        raise LabError(f"{path}{place}: it is not TOML: {text}") from None
    except RecursionError:
        raise LabError(f"{path}: it is nested too deeply") from None
    return Table(str(path), places(text), (), values)
