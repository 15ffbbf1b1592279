"""Type-directed expressions: operators and functions get operands of the types they take, mostly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tests.conformance.drawing import DEFAULTS, Drawing, Settings
from tests.conformance.literals import command_line, number, pattern, quote, string, string_list, substitute, version
from tests.conformance.vocabulary import (
    ATTRIBUTES,
    COMPARE_NAMES,
    DURATION_TEXTS,
    FUNCTIONS,
    INSTANT_TEXTS,
    INTEGERS,
    NAMES_PLAIN,
    PATTERNS,
    REALS,
    STRINGS,
    SUBSTITUTES,
    TIME_FORMATS,
)

#: Types an argument or result may be asked to have.
TYPES: Final = ("bool", "int", "real", "num", "string", "list", "ad", "abstime", "reltime")


class Typed(Drawing):
    """Draws typed expressions and literals. Ads and wild expressions come from the class below it."""

    def __init__(self, rng: Random, settings: Settings = DEFAULTS) -> None:
        super().__init__(rng, settings)
        self._typed: dict[str, Callable[[int], str]] = {
            "bool": self._bool,
            "int": self._int,
            "real": self._real,
            "num": self._num,
            "string": self._string,
            "list": self._list,
            "ad": self._ad_value,
            "abstime": self._abstime,
            "reltime": self._reltime,
        }

    def ad(self, *, wild: bool, depth: int = 2, level: int = 0) -> str:
        """An ad in new form."""
        raise NotImplementedError

    def wild(self, depth: int | None = None) -> str:
        """Any expression that the grammar allows."""
        raise NotImplementedError

    def typed(self, kind: str, depth: int | None = None) -> str:
        """An expression that mostly has values of `kind`."""
        depth = self.rng.randrange(self.settings.depth_max + 1) if depth is None else depth
        return self._of(kind, depth)

    def _of(self, kind: str, depth: int) -> str:
        if depth <= 0 or self._chance(0.1):
            return self._leaf(kind)
        roll = self._unit()
        less = depth - 1
        if roll < 0.06:
            return f"({self._of(kind, less)})"
        if roll < 0.10:
            return f"({self._of('bool', less)} ? {self._of(kind, less)} : {self._of(kind, less)})"
        if roll < 0.13:
            return f"ifThenElse({self._of('bool', less)},{self._of(kind, less)},{self._of(kind, less)})"
        if roll < 0.16:
            return f"({self._of(kind, less)} ?: {self._of(kind, 0)})"
        if roll < 0.18:
            return f"{self._list_of(lambda: self._of(kind, less), least=1)}[{self.rng.randrange(3)}]"
        if roll < 0.20:
            return f"[{self._pick(NAMES_PLAIN)} = {self._of(kind, less)}; v = {self._of(kind, less)}].v"
        return self._typed[kind](less)

    def _leaf(self, kind: str) -> str:
        roll = self._unit()
        if roll < 0.45:
            return self._scoped(self._attribute(kind))
        if roll < 0.47:
            return self._pick(("undefined", "error", "NoSuch", "MY.NoSuch", "TARGET.NoSuch"))
        return self.literal(kind)

    def _attribute(self, kind: str) -> str:
        kind = kind if kind != "num" else self._pick(("int", "real"))
        return self._pick(ATTRIBUTES.get(kind) or NAMES_PLAIN)

    def _scoped(self, name: str) -> str:
        roll = self._unit()
        if roll < 0.55:
            return name
        if roll < 0.75:
            return "MY." + name
        return "TARGET." + name if roll < 0.98 else "." + name

    def literal(self, kind: str) -> str:
        """A literal of `kind`."""
        match kind:
            case "bool":
                return self._pick(("true", "false"))
            case "int":
                return self._integer_text()
            case "real":
                return self._pick(REALS)
            case "num":
                return self._integer_text() if self._chance(0.6) else self._pick(REALS)
            case "string":
                return self._string_literal()
            case "list":
                return self._list_of(lambda: self.literal(self._pick(("int", "int", "real", "string", "bool"))))
            case "ad":
                return self.ad(wild=True, depth=0, level=1)
            case "abstime":
                return f"absTime({self._pick(INSTANT_TEXTS)})"
            case "reltime":
                return f"relTime({self._pick(DURATION_TEXTS)})"
            case "pattern":
                return self._pick(PATTERNS) if self._chance(0.4) else quote(pattern(self.rng))
            case "substitute":
                return self._pick(SUBSTITUTES) if self._chance(0.4) else quote(substitute(self.rng))
            case "version":
                return quote(version(self.rng))
            case "words":
                return quote(string_list(self.rng))
            case "command":
                return quote(command_line(self.rng))
            case "number":
                return quote(number(self.rng))
            case "code":
                return quote(self.wild(2))
            case "options":
                return self._pick(('"i"', '""', '"m"', '"s"', '"x"', '"I"', '"im"', '"f"', '"g"', '"fg"', '"q"'))
            case "comparison":
                return self._pick(COMPARE_NAMES)
            case "format":
                return self._pick(TIME_FORMATS)
            case "instant":
                return self._pick(INSTANT_TEXTS)
            case "duration":
                return self._pick(DURATION_TEXTS)
            case "random":
                return self._pick(("random()", "random(1.5)", "random(0)", "random(-1)"))
            case "clock":
                return self._pick(("time()", "CurrentTime", "currentTime()"))
            case "name":
                return self._pick(NAMES_PLAIN)
            case _:
                return self._any_literal()

    def _argument(self, kind: str, depth: int) -> str:
        if self._chance(self.settings.wrong_type_share):
            return self._of(self._pick(TYPES), depth)
        if kind in self._typed:
            return self._of(kind, depth)
        if kind == "numbers":
            return self._list_of(lambda: self._of("num", depth - 1 if self._chance(0.3) else 0))
        if kind == "strings":
            return self._list_of(lambda: self._of("string", 0))
        if kind == "ads":
            return self._list_of(lambda: self.ad(wild=True, depth=0, level=1))
        if kind == "any":
            return self._of(self._pick(TYPES), depth)
        return self.literal(kind)

    def _call(self, result: str, depth: int) -> str:
        choices = _FUNCTIONS_BY_RESULT.get(result)
        if not choices:
            return self._leaf(result)
        name, signature = self._pick(choices)
        return self._write_call(name, [self._argument(kind, depth) for kind in signature])

    def _bool(self, depth: int) -> str:
        roll = self._unit()
        if roll < 0.30:
            return f"{self._of('bool', depth)} {self._pick(('&&', '||'))} {self._of('bool', depth)}"
        if roll < 0.38:
            return f"!{self._of('bool', depth)}"
        if roll < 0.68:
            kind = self._pick(("num", "num", "string", "bool", "abstime", "reltime"))
            operator = self._pick(("==", "!=", "<", "<=", ">", ">=", "=?=", "=!=", "is", "isnt"))
            return f"{self._of(kind, depth)} {operator} {self._of(kind, depth)}"
        return self._call("bool", depth)

    def _int(self, depth: int) -> str:
        roll = self._unit()
        if roll < 0.6:
            operator = self._pick(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>"))
            return f"{self._of('int', depth)} {operator} {self._of('int', depth)}"
        if roll < 0.68:
            return f"{self._pick(('-', '+', '~'))}{self._of('int', depth)}"
        return self._call("int", depth)

    def _real(self, depth: int) -> str:
        roll = self._unit()
        if roll < 0.55:
            return f"{self._of('real', depth)} {self._pick(('+', '-', '*', '/', '%'))} {self._of('num', depth)}"
        return f"-{self._of('real', depth)}" if roll < 0.62 else self._call("real", depth)

    def _num(self, depth: int) -> str:
        return self._of("int" if self._chance(0.6) else "real", depth)

    def _string(self, depth: int) -> str:
        return self._call("string", depth)

    def _list(self, depth: int) -> str:
        if self._chance(0.5):
            return self._list_of(lambda: self._of(self._pick(("num", "string", "bool")), depth))
        return self._call("list", depth)

    def _ad_value(self, depth: int) -> str:
        return self.ad(wild=True, depth=depth, level=1) if self._chance(0.8) else self._call("ad", depth)

    def _abstime(self, depth: int) -> str:
        if self._chance(0.4):
            return f"{self._of('abstime', depth)} {self._pick('+-')} {self._of('reltime', depth)}"
        return self._call("abstime", depth)

    def _reltime(self, depth: int) -> str:
        roll = self._unit()
        if roll < 0.2:
            return f"{self._of('reltime', depth)} {self._pick('+-')} {self._of('reltime', depth)}"
        if roll < 0.4:
            return f"{self._of('reltime', depth)} {self._pick('*/')} {self._of('num', depth)}"
        if roll < 0.5:
            return f"{self._of('abstime', depth)} - {self._of('abstime', depth)}"
        return f"-{self._of('reltime', depth)}" if roll < 0.55 else self._call("reltime", depth)

    def _any_literal(self) -> str:
        roll = self._unit()
        if roll < 0.40:
            return self._integer_text()
        if roll < 0.55:
            return self._pick(REALS)
        if roll < 0.78:
            return self._string_literal()
        if roll < 0.96:
            return self._pick(("true", "false", "undefined", "error", "TRUE", "Undefined"))
        if roll < 0.98:
            return f"absTime({self._pick(INSTANT_TEXTS)})"
        return f"relTime({self._pick(DURATION_TEXTS)})"

    def _string_literal(self) -> str:
        return self._pick(STRINGS) if self._chance(0.7) else quote(string(self.rng))

    def _integer_text(self) -> str:
        return str(self.rng.randrange(-3, 12)) if self._chance(0.7) else self._pick(INTEGERS)

    def _write_call(self, name: str, arguments: Sequence[str]) -> str:
        name = name if self._chance(0.9) else self._pick((name.upper(), name.lower(), name.swapcase()))
        comma = "," if self._chance(0.9) else self._pick((", ", " , ", ";"))
        return f"{name}({comma.join(arguments)})"


_FUNCTIONS_BY_RESULT: Final[dict[str, list[tuple[str, tuple[str, ...]]]]] = {}
for _name, _result, _signature in FUNCTIONS:
    for _kind in _result.split():
        _FUNCTIONS_BY_RESULT.setdefault(_kind, []).append((_name, _signature))
