"""Expressions that go from ad to ad and into lists, over ads that point at each other."""

from __future__ import annotations

from tests.conformance.cases import Case, Kind
from tests.conformance.literals import quote
from tests.conformance.vocabulary import NAMES_SCOPE
from tests.conformance.wild import Wild


class Paths(Wild):
    """Draws walks."""

    def path_case(self) -> Case:
        """A walk through one ad or two."""
        levels = 1 + self._chance(0.25)
        my = self._path_ad(levels)
        target = self._path_ad(levels) if self._chance(0.7) else None
        return Case(kind=Kind.EXPRESSION, text=self._path(), my=my, target=target)

    def _path_ad(self, levels: int) -> str:
        names = [name for name in ("a", "b", "c", "x", "y") if self._chance(0.55)]
        attributes = [(name, self._path_value(levels)) for name in names]
        if self._chance(0.1):
            attributes.append((self._pick(NAMES_SCOPE), self._path_value(levels)))
        return self._write_ad(attributes)

    def _path_value(self, levels: int) -> str:
        roll = self._unit()
        if roll < 0.22:
            return str(self.rng.randrange(10))
        if roll < 0.45 and levels:
            return self._path_ad(levels - 1)
        if roll < 0.65:
            return self._list_of(lambda: self._path_value(levels - 1) if levels else self._path())
        return self._path()

    def _path(self) -> str:
        roll = self._unit()
        if roll < 0.55:
            text = self._pick(("a", "b", "c", "x", "y"))
        elif roll < 0.85:
            text = self._pick(NAMES_SCOPE)
        elif roll < 0.9:
            text = "." + self._pick(("a", "b", "x"))
        else:
            text = self._path_ad(0) if self._chance(0.5) else "{" + self._path() + "}"
        for _ in range(int(self._unit() * 4)):
            text = self._path_step(text)
        return text

    def _path_step(self, text: str) -> str:
        roll = self._unit()
        name = self._pick(("a", "b", "c", "x", "y"))
        if roll < 0.40:
            return f"{text}.{name}"
        if roll < 0.55:
            return f"{text}.{self._pick(NAMES_SCOPE)}"
        if roll < 0.72:
            return f"{text}[{self.rng.randrange(2)}]"
        if roll < 0.80:
            return f'{text}["{name}"]'
        if roll < 0.86:
            return f"({text} ?: {self._path()})"
        if roll < 0.90:
            return f"ifThenElse({self._path()},{text},{self._path()})"
        if roll < 0.93:
            return f"eval({quote(text)})"
        call = self._pick(("sum", "size", "isUndefined", "isError", "string", "min", "isList", "debug"))
        return f"{call}({text})" if call != "debug" else f"({text}) + 0"
