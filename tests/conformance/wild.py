"""Expressions that follow the grammar and nothing else, and ads."""

from __future__ import annotations

from collections.abc import Sequence

from tests.conformance.typed import Typed
from tests.conformance.vocabulary import (
    ATTRIBUTES,
    BINARY_OPERATORS,
    CLOCK_WHEN_EMPTY,
    FUNCTIONS,
    GARBAGE_TOKENS,
    NAMES_ODD,
    NAMES_PLAIN,
    NAMES_SCOPE,
    UNARY_OPERATORS,
)


class Wild(Typed):
    """Draws wild expressions and ads of both kinds."""

    def wild(self, depth: int | None = None) -> str:
        """Any expression that the grammar allows."""
        depth = self.rng.randrange(self.settings.depth_max + 1) if depth is None else depth
        return self._wild(depth)

    def _wild(self, depth: int) -> str:
        if depth <= 0:
            return self._atom()
        roll = self._unit()
        less = depth - 1
        if roll < 0.36:
            operator = self._pick(BINARY_OPERATORS)
            return f"{self._wild(less)}{self._space()}{operator}{self._space()}{self._wild(less)}"
        if roll < 0.46:
            return f"{self._pick(UNARY_OPERATORS)}{self._gap()}{self._wild(less)}"
        if roll < 0.52:
            return f"{self._wild(less)} ? {self._wild(less)} : {self._wild(less)}"
        if roll < 0.57:
            return f"{self._wild(less)}{self._pick((' ?: ', '?:', ' ? : '))}{self._wild(less)}"
        if roll < 0.67:
            return f"({self._gap()}{self._wild(less)}{self._gap()})"
        if roll < 0.73:
            return f"{self._postfix_base(less)}[{self._wild(less)}]"
        if roll < 0.80:
            return f"{self._postfix_base(less)}.{self._name()}"
        if roll < 0.92:
            return self._wild_call(less)
        if roll < 0.96:
            return self._list_of(lambda: self._wild(less))
        return self.ad(wild=True, depth=less, level=1)

    def _postfix_base(self, depth: int) -> str:
        text = self._wild(depth)
        return text if self._chance(0.5) else f"({text})"

    def _atom(self) -> str:
        roll = self._unit()
        if roll < 0.45:
            return self._name()
        if roll < 0.49:
            return "." + self._name()
        if roll < 0.53:
            return f"{self._pick(NAMES_SCOPE)}.{self._name()}"
        return self._any_literal()

    def _name(self) -> str:
        roll = self._unit()
        if roll < 0.86:
            return self._pick(NAMES_PLAIN)
        if roll < 0.94:
            return self._pick(NAMES_SCOPE)
        return self._pick(NAMES_ODD)

    def _wild_call(self, depth: int) -> str:
        name, _, signature = self._pick(FUNCTIONS)
        if self._chance(0.02):
            name = "nosuch"
        count = len(signature)
        if self._chance(self.settings.wrong_count_share):
            count = max(name in CLOCK_WHEN_EMPTY, count + self._pick((-1, 1, 2)))
        arguments = [
            self._argument(signature[i], depth) if i < len(signature) and self._chance(0.6) else self._wild(depth)
            for i in range(count)
        ]
        return self._write_call(name, arguments)

    def _spoil(self, text: str) -> str:
        tokens = [token for token in _split(text) if token]
        if not tokens:
            return self._pick(GARBAGE_TOKENS)
        at = self.rng.randrange(len(tokens))
        roll = self._unit()
        if roll < 0.35:
            del tokens[at]
        elif roll < 0.5:
            tokens.insert(at, tokens[at])
        elif roll < 0.8:
            tokens[at] = self._pick(GARBAGE_TOKENS)
        else:
            tokens.insert(at, self._pick(GARBAGE_TOKENS))
        return "".join(tokens)

    def ad(self, *, wild: bool, depth: int = 2, level: int = 0) -> str:
        """An ad in new form."""
        if not wild:
            return self._write_ad(self._machine_attributes())
        count = self.rng.randrange(self.settings.attributes_max + 1)
        return self._write_ad([(self._attribute_name(), self._attribute_value(depth, level)) for _ in range(count)])

    def _attribute_name(self) -> str:
        return self._pick(NAMES_PLAIN) if self._chance(0.95) else self._pick(NAMES_SCOPE + NAMES_ODD)

    def _attribute_value(self, depth: int, level: int) -> str:
        roll = self._unit()
        if roll < 0.10 and level < self.settings.ad_depth_max:
            return self.ad(wild=True, depth=depth - 1, level=level + 1)
        if roll < 0.20:
            return self._list_of(lambda: self._wild(min(depth, 1)))
        return self._wild(self.rng.randrange(max(depth, 0) + 1))

    def _machine_attributes(self) -> list[tuple[str, str]]:
        attributes = []
        for kind, names in ATTRIBUTES.items():
            for name in names:
                if self._chance(0.4):
                    value = self.literal(kind) if self._chance(0.75) else self._of(kind, 1)
                    attributes.append((name, value))
        self.rng.shuffle(attributes)
        return attributes

    def _write_ad(self, attributes: Sequence[tuple[str, str]]) -> str:
        equals = "=" if self._chance(0.9) else " = "
        return "[" + "; ".join(f"{name}{equals}{value}" for name, value in attributes) + "]"


def _split(text: str) -> list[str]:
    """Rough tokens: words, blanks, and single signs."""
    tokens: list[str] = []
    word = ""
    for letter in text:
        if letter.isalnum() or letter == "_":
            word += letter
        else:
            tokens += [word, letter]
            word = ""
    return [*tokens, word]
