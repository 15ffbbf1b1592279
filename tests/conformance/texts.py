"""Texts in old form and in JSON form."""

from __future__ import annotations

from tests.conformance.paths import Paths
from tests.conformance.typed import TYPES


class Texts(Paths):
    """Draws texts that hold ads, some of them spoilt."""

    def old_text(self) -> str:
        """One or more ads in old form, sometimes with bad lines."""
        lines = [self._old_line() for _ in range(self.rng.randrange(7))]
        return self._pick(("\n", "\n", "\n", "\r\n")).join(lines) + self._pick(("", "\n", "\n\n"))

    def _old_line(self) -> str:
        roll = self._unit()
        if roll < 0.08:
            return self._pick(("", " ", "\t", "# note", "  # note", "***", "// x", "junk"))
        name = self._attribute_name() if roll < 0.95 else self._pick(("a b", "1a", "", "a.b", "'q'", "é", "[ a"))
        equals = self._pick((" = ", "=", " =", "= ", "  =  ", "\t=\t"))
        value = self._old_strings(self.typed(self._pick(TYPES), 2) if self._chance(0.5) else self.wild(2))
        tail = self._pick(("", "", "", "", " ", " junk", ";", " // x", " $", '"', ")", " /* x */"))
        return f"{self._pick(('', '', '', '  ', chr(9)))}{name}{equals}{value}{tail}"

    def _old_strings(self, text: str) -> str:
        if self._chance(0.7):
            return text
        inner = self._pick(("x", "a\\b", 'a\\"b', "a\\\\", "end\\", "\\n", "", "é", "a'b", "\\"))
        return f'"{inner}"' if self._chance(0.6) else f'{text} == "{inner}"'

    def json_text(self, level: int = 0) -> str:
        """One object in JSON form."""
        items = []
        for _ in range(self.rng.randrange(5)):
            name = self._pick(("a", "b", "Foo", "aa", "a b", "is", "parent", "x"))
            items.append(f'{self._gap()}"{name}"{self._gap()}:{self._gap()}{self._json_value(level)}')
        return "{" + ",".join(items) + "}"

    def _json_value(self, level: int) -> str:
        roll = self._unit()
        if roll < 0.3:
            return self._pick(("0", "1", "-5", "1.5", "2.0", "1e5", "1E-7", "-0.0", "9223372036854775807", "1e400"))
        if roll < 0.45:
            return self._pick(("true", "false", "null", "True", "NULL", "TRUE"))
        if roll < 0.7:
            return '"' + self._pick(("", "x", "a b", "\\n\\t", '\\"', "\\\\", "\\/", "é", "/Expr(1)/", "\\u0001")) + '"'
        if roll < 0.85:
            inner = self.wild(2).replace("\\", "\\\\").replace('"', '\\"')
            return '"\\/Expr(' + inner + ')\\/"'
        if roll < 0.93 and level < 2:
            return "[" + ",".join(self._json_value(level + 1) for _ in range(self.rng.randrange(4))) + "]"
        return self.json_text(level + 1) if level < 2 else "{}"
