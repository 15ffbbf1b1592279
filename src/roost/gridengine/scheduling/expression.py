"""Requests for text values: patterns joined by ``!``, ``&``, ``|`` and parentheses."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from roost.gridengine.objects.complex import Type, text_matches

_TOKEN: Final = re.compile(r"[!&|()]|[^!&|()\[]*(?:\[[^\]]*\]?[^!&|()\[]*)*")


def satisfies(type: Type, expression: str, value: str) -> bool:
    """Whether a value satisfies an expression; a malformed one is never satisfied."""
    tokens = _tokens(expression)
    if len(tokens) == 1:
        return text_matches(type, tokens[0], value)
    parser = _Parser(tokens, type, value)
    found = parser.either()
    return found and parser.position == len(tokens)


@cache
def _tokens(expression: str) -> tuple[str, ...]:
    return tuple(found for found in _TOKEN.findall(expression) if found)


class _Parser:
    def __init__(self, tokens: tuple[str, ...], type: Type, value: str) -> None:
        self.tokens, self.type, self.value, self.position = tokens, type, value, 0

    def _next_is(self, token: str) -> bool:
        if self.position < len(self.tokens) and self.tokens[self.position] == token:
            self.position += 1
            return True
        return False

    def either(self) -> bool:
        found = self.both()
        while self._next_is("|"):
            found = self.both() or found
        return found

    def both(self) -> bool:
        found = self.one()
        while self._next_is("&"):
            found = self.one() and found
        return found

    def one(self) -> bool:
        if self._next_is("!"):
            return not self.one()
        if self._next_is("("):
            found = self.either()
            return self._next_is(")") and found
        if self.position == len(self.tokens):
            return False
        self.position += 1
        return text_matches(self.type, self.tokens[self.position - 1], self.value)
