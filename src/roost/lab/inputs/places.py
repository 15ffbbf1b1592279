"""Places in a TOML file: the line of each table, key and array element.

The standard library's parser gives values without places, and an error message without a line is of little use in a
file of three hundred lines. `places` reads the text a second time, parsing only what is needed to find where a key or
an element begins: strings, comments and brackets. It assumes valid text, so it runs after the parser has accepted it.

A path is a tuple of keys and indices: ``("scenario", 0, "steps", 3)``. What it does not do: give places of the parts of
dotted keys, or of the contents of inline tables.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

#: Keys and indices from the root to a value.
Path: TypeAlias = tuple[str | int, ...]

#: The path of values without a recorded place.
_NOWHERE: Final = ("",)

_STRING: Final = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
_SKIPPED: Final = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)+")
_BARE: Final = re.compile(r"[^\s,\[\]{}#]+")
_HEADER: Final = re.compile(r"(\[\[?)([^\]\n]*)\]\]?")
_KEY: Final = re.compile(r"(\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[A-Za-z0-9_-]+)\s*")
_EQUALS: Final = re.compile(r"[ \t]*=[ \t]*")


def places(text: str) -> dict[Path, int]:
    """The line, from 1, of each path."""
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}
        #: The table that keys belong to.
        self.table: Path = ()
        self._counted_at = 0
        self._line = 1

    def read(self) -> dict[Path, int]:
        while self._skip():
            if self.text[self.at] == "[":
                self._header()
            else:
                self._pair()
        return self.found

    def _skip(self) -> bool:
        """Skip to the next token; False at the end."""
        found = _SKIPPED.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return self.at < len(self.text)

    def _note(self, path: Path) -> None:
        self._line += self.text.count("\n", self._counted_at, self.at)
        self._counted_at = self.at
        self.found.setdefault(path, self._line)

    def _header(self) -> None:
        found = _HEADER.match(self.text, self.at)
        assert found is not None, "the parser has accepted the text"
        path: Path = ()
        names = _names(found[2])
        for name in names[:-1]:
            path = (*path, name)
            # A header within an array of tables belongs to its last table.
            path = (*path, self.counts[path] - 1) if path in self.counts else path
            # A table without a header of its own begins with the first of its tables.
            self._note(path)
        path = (*path, names[-1])
        if found[1] == "[[":
            self.counts[path] = self.counts.get(path, 0) + 1
            self._note(path)
            path = (*path, self.counts[path] - 1)
        self.table = path
        self._note(path)
        self.at = found.end()

    def _pair(self) -> None:
        begin = self.at
        names: Path = ()
        while (found := _KEY.match(self.text, self.at)) is not None:
            names = (*names, *_names(found[1]))
            self.at = found.end()
            if self.text[self.at : self.at + 1] != ".":
                break
            self.at += 1
            self._skip()
        end, self.at = self.at, begin
        self._note((*self.table, *names))
        equals = _EQUALS.match(self.text, end)
        self.at = equals.end() if equals is not None else end + 1
        self._value((*self.table, *names))

    def _value(self, path: Path) -> None:
        """Skip to the end of a value, recording the elements of arrays."""
        if string := _STRING.match(self.text, self.at):
            self.at = string.end()
        elif self.text[self.at : self.at + 1] == "[":
            self._array(path)
        elif self.text[self.at : self.at + 1] == "{":
            self._inline_table()
        elif bare := _BARE.match(self.text, self.at):
            self.at = bare.end()
        else:
            self.at += 1

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self._skip() and self.text[self.at] != "]":
            if path != _NOWHERE:
                self._note((*path, index))
            self._value(path if path == _NOWHERE else (*path, index))
            index += 1
        self.at += 1

    def _inline_table(self) -> None:
        self.at += 1
        while self._skip() and self.text[self.at] != "}":
            self._value(_NOWHERE)
        self.at += 1


def _names(text: str) -> list[str]:
    """The parts of a dotted key."""
    return [found[1].strip("\"'") for found in _KEY.finditer(text)]
