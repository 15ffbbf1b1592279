"""Cases from seeds.

One seed makes one case, whatever the process or the order, so a run is split over processes by ranges of
seeds and a failing case is named by its seed. A generator draws from any `random.Random`; hypothesis lends
one whose choices it can shrink.

Two modes. *Typed* expressions mostly mean something: operators and functions get operands of the types they
take, over the attributes of a machine and a job. *Wild* ones follow the grammar and nothing else: any operand
anywhere, odd literals, odd names, odd spacing, and now and then a spoilt token.

The generators do not produce what has no stable answer: the clock, random numbers, the home directories of
the machine, other than in places where only the type shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, TypeVar

from tests.conformance.cases import Case, Kind
from tests.conformance.literals import command_line, number, pattern, quote, string, string_list, substitute, version
from tests.conformance.vocabulary import (
    ATTRIBUTES,
    BINARY_OPERATORS,
    CLOCK_WHEN_EMPTY,
    COMPARE_NAMES,
    DURATION_TEXTS,
    FUNCTIONS,
    GARBAGE_TOKENS,
    INSTANT_TEXTS,
    INTEGERS,
    NAMES_ODD,
    NAMES_PLAIN,
    NAMES_SCOPE,
    PATTERNS,
    REALS,
    SPACES,
    STRINGS,
    SUBSTITUTES,
    TIME_FORMATS,
    UNARY_OPERATORS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every limit and weight of the generators."""

    #: Levels of operators and calls in one expression.
    depth_max: int = 4
    #: Elements of a list literal.
    list_items_max: int = 4
    #: Attributes of a generated ad.
    attributes_max: int = 6
    #: Levels of ads within ads.
    ad_depth_max: int = 2
    #: Arguments beyond or below what a function takes: share of wild calls.
    wrong_count_share: float = 0.06
    #: Share of function arguments of a type the function does not ask for, in typed mode.
    wrong_type_share: float = 0.08
    #: Share of wild expressions in which a token is dropped, doubled or replaced.
    garbage_share: float = 0.12
    #: Share of tokens set apart by something else than one blank or nothing, in wild mode.
    odd_space_share: float = 0.05
    #: Share of expression cases that are wild.
    wild_share: float = 0.5
    #: Share of expression cases that walk through nested ads and lists.
    path_share: float = 0.2
    #: Share of expression cases evaluated against a second ad.
    two_ads_share: float = 0.5
    #: Share of each kind of case, in the order of `Kind`.
    kind_weights: tuple[int, ...] = (80, 8, 4, 3, 3, 2)


DEFAULTS: Final = Settings()

T = TypeVar("T")

#: Types an argument or result may be asked to have.
TYPES: Final = ("bool", "int", "real", "num", "string", "list", "ad", "abstime", "reltime")


def case_of(seed: int, settings: Settings = DEFAULTS) -> Case:
    """The case of a seed."""
    generator = Generator(Random(seed), settings)
    case = generator.case()
    while unstable(case):
        case = generator.case()
    return case


#: Calls of the clock and of chance, and the places where only the type of their result shows.
_CLOCK: Final = re.compile(r"\b(?:abstime|formattime|time|currenttime|daytime|random)\s*\(\s*\)|\bcurrenttime\b", re.I)
_RANDOM: Final = re.compile(r"\brandom\s*\([^-0)]", re.I)
_TYPE_ONLY: Final = re.compile(r"\b(?:isreal|isinteger)\((?:random\([\d.]*\)|time\(\)|currenttime(?:\(\))?)\)", re.I)


_COMMENT: Final = re.compile(r"/\*.*?\*/|//[^\n]*\n", re.S)


def unstable(case: Case) -> bool:
    """Whether the answer depends on when it is asked."""
    for text in (case.text, case.my, case.target):
        if text:
            if "unresolved" in text.lower():
                return True  # TEMP
            rest = _TYPE_ONLY.sub("", _COMMENT.sub(" ", text))
            if _CLOCK.search(rest) or _RANDOM.search(rest):
                return True
    return False


class Generator:
    """Draws cases and their parts from `rng`."""

    def __init__(self, rng: Random, settings: Settings = DEFAULTS) -> None:
        self.rng = rng
        self.settings = settings
        self._unit = rng.random
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

    # -- whole cases

    def case(self) -> Case:
        """A case of any kind."""
        kind = self.rng.choices(list(Kind), self.settings.kind_weights)[0]
        match kind:
            case Kind.EXPRESSION:
                return self.expression_case()
            case Kind.AD:
                return Case(kind=kind, text=self.ad(wild=self._chance(0.6)))
            case Kind.OLD:
                return Case(kind=kind, text=self.old_text())
            case Kind.JSON:
                return Case(kind=kind, text=self.json_text())
            case Kind.REFERENCES:
                text = self.typed("bool") if self._chance(0.5) else self.wild()
                return Case(kind=kind, text=text, my=self.ad(wild=self._chance(0.5)))
            case Kind.MATCH:
                return Case(kind=kind, my=self._match_ad(), target=self._match_ad())

    def expression_case(self) -> Case:
        """An expression, evaluated in no ad, one ad or two."""
        if self._chance(self.settings.path_share):
            return self._path_case()
        wild = self._chance(self.settings.wild_share)
        text = self.wild() if wild else self.typed(self._pick(TYPES))
        if wild and self._chance(self.settings.garbage_share):
            text = self._spoil(text)
        if self._chance(0.03):
            return Case(kind=Kind.EXPRESSION, text=text)
        my = self.ad(wild=wild)
        target = self.ad(wild=wild) if self._chance(self.settings.two_ads_share) else None
        return Case(kind=Kind.EXPRESSION, text=text, my=my, target=target)

    def _path_case(self) -> Case:
        """An expression that goes from ad to ad and into lists, over ads that point at each other."""
        levels = 1 + self._chance(0.25)
        my = self._path_ad(levels)
        target = self._path_ad(levels) if self._chance(0.7) else None
        return Case(kind=Kind.EXPRESSION, text=self._path(), my=my, target=target)

    def _path_ad(self, levels: int) -> str:
        attributes = []
        for name in ("a", "b", "c", "x", "y"):
            if self._chance(0.55):
                attributes.append((name, self._path_value(levels)))
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

    def _match_ad(self) -> str:
        requirements = self.typed("bool") if self._chance(0.8) else self.wild(2)
        attributes = self._machine_attributes()
        if self._chance(0.9):
            attributes.append(("Requirements", requirements))
        return self._write_ad(attributes)

    # -- wild expressions

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

    def _write_call(self, name: str, arguments: Sequence[str]) -> str:
        name = name if self._chance(0.9) else self._pick((name.upper(), name.lower(), name.swapcase()))
        comma = "," if self._chance(0.9) else self._pick((", ", " , ", ";"))
        return f"{name}({comma.join(arguments)})"

    # -- typed expressions

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

    # -- ads

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

    # -- texts in other forms

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

    # -- small parts

    def _list_of(self, item: Callable[[], str], least: int = 0) -> str:
        count = self.rng.randrange(least, self.settings.list_items_max + 1)
        return "{" + ",".join([item() for _ in range(count)]) + "}"

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

    def _space(self) -> str:
        if self._chance(self.settings.odd_space_share):
            return self._pick(SPACES)
        return " " if self._chance(0.7) else ""

    def _gap(self) -> str:
        return self._pick(SPACES) if self._chance(self.settings.odd_space_share) else ""

    def _chance(self, share: float) -> bool:
        return self._unit() < share

    def _pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._unit() * len(choices))]


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


_FUNCTIONS_BY_RESULT: Final[dict[str, list[tuple[str, tuple[str, ...]]]]] = {}
for _name, _result, _signature in FUNCTIONS:
    for _kind in _result.split():
        _FUNCTIONS_BY_RESULT.setdefault(_kind, []).append((_name, _signature))
