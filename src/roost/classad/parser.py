"""Tokens to a syntax tree, by operator precedence with an explicit stack.

The parser is one loop with two states, *an operand is expected* and *an operator is expected*; what is still
open (prefix and infix operators, brackets, the halves of a conditional) lies on a stack of frames. Nothing
recurses, so depth is bounded by `NESTING_MAX` and not by the interpreter. The loop itself treats names, constants,
infix operators and parentheses; everything else has a method. `diagnosis` explains syntax errors.

Precedence, low to high: ``?:`` conditional 0, ``||`` 1, ``&&`` 2, ``|`` 3, ``^`` 4, ``&`` 5, equality 6, order 7,
shifts 8, sums 9, products 10, prefix operators 11, and the elvis operator ``?:``, selection and subscript 12.
Binary operators associate to the left, the conditional and elvis to the right. The right operand of elvis is
a postfix expression: it cannot begin with a prefix operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from roost.classad.errors import ParseError
from roost.classad.frames import CLOSER, Frame, Open
from roost.classad.lexer import Syntax, Token, TokenKind, tokenize
from roost.classad.limits import AD_NESTING_MAX, NESTING_MAX
from roost.classad.syntax import (
    AdNode,
    Binary,
    Call,
    Conditional,
    Elvis,
    ListNode,
    Literal,
    Name,
    Node,
    Op,
    Paren,
    Select,
    Subscript,
    Unary,
)
from roost.classad.values import AbsTime, RelTime, fold

if TYPE_CHECKING:
    from roost.classad.diagnosis import Diagnosis

#: Binding strength of the infix operators.
PRECEDENCE: Final[dict[str, int]] = {
    Op.OR: 1,
    Op.AND: 2,
    Op.BIT_OR: 3,
    Op.BIT_XOR: 4,
    Op.BIT_AND: 5,
    Op.EQ: 6,
    Op.NE: 6,
    Op.IS: 6,
    Op.ISNT: 6,
    Op.LT: 7,
    Op.LE: 7,
    Op.GT: 7,
    Op.GE: 7,
    Op.SHL: 8,
    Op.SHR: 8,
    Op.USHR: 8,
    Op.ADD: 9,
    Op.SUB: 9,
    Op.MUL: 10,
    Op.DIV: 10,
    Op.MOD: 10,
}
PREFIX_PRECEDENCE: Final = 11
ELVIS_PRECEDENCE: Final = 12

_PREFIX: Final[dict[str, Op]] = {"-": Op.SUB, "+": Op.ADD, "!": Op.NOT, "~": Op.INVERT}


#: Signs that end an operand and are not operators.
_CLOSERS: Final = frozenset((")", "]", "}", ":", ",", ";"))

_NO_PARTS: Final[list[Any]] = []
_BOTTOM: Final[Frame] = (-2, Open.NOTHING, 0, "", _NO_PARTS)


def parse_tree(text: str, syntax: Syntax = Syntax.NEW) -> Node:
    """The tree of the expression that is the whole of `text`. Raises ParseError."""
    parser = Parser(text, tokenize(text, syntax))
    tree = parser.expression()
    parser.expect_end()
    return tree


def parse_leading_tree(text: str, syntax: Syntax = Syntax.NEW) -> tuple[Node, int]:
    """The tree of the expression `text` begins with, and the offset after it. Raises ParseError."""
    parser = Parser(text, tokenize(text, syntax))
    tree = parser.expression()
    return tree, parser.offset


class Parser:
    """Reads expressions one after the other from a list of tokens."""

    __slots__ = ("_frames", "_nested", "_out", "_tokens", "at", "text")

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self._tokens = tokens
        #: Index of the next token.
        self.at = 0
        self._frames: list[Frame] = []
        self._out: list[Node] = []
        self._nested = 0

    @property
    def offset(self) -> int:
        """Offset of the end of the last token read."""
        return self._tokens[self.at - 1][3] if self.at else 0

    @property
    def done(self) -> bool:
        """Whether every token has been read."""
        return self._tokens[self.at][0] is TokenKind.END

    def expect_end(self) -> None:
        """Refuse tokens behind the expression."""
        token = self._tokens[self.at]
        if token[0] is not TokenKind.END:
            raise self._diagnosis().unexpected_operator(token)

    def expression(self) -> Node:
        """The next expression, as long as possible."""
        tokens, out, frames = self._tokens, self._out, self._frames
        punct, name, constant = TokenKind.PUNCT, TokenKind.NAME, TokenKind.CONSTANT
        infix, paren = Open.INFIX, Open.PAREN
        out.clear()
        frames[:] = [_BOTTOM]
        self._nested = 0
        while True:
            kind, value, start, end = tokens[self.at]
            if kind is constant:
                self.at += 1
                out.append(Literal(value, (start, end)))
            elif kind is name and tokens[self.at + 1][1] != "(":
                self.at += 1
                out.append(Name(value, False, (start, end)))  # type: ignore[arg-type]
            elif value == "(" and kind is punct:
                self.at += 1
                self._open((-1, paren, start, "", _NO_PARTS))
                continue
            elif self._opens():
                continue
            while True:
                kind, value, start, end = tokens[self.at]
                strength = PRECEDENCE.get(value) if kind is punct else None  # type: ignore[arg-type]
                if strength is not None:
                    self.at += 1
                    if frames[-1][0] >= strength:
                        self._reduce(strength)
                    frames.append((strength, infix, start, value, _NO_PARTS))  # type: ignore[arg-type]
                    break
                if value == ")" and kind is punct:
                    if frames[-1][0] >= 0:
                        self._reduce(0)
                    if frames[-1][1] is paren:
                        self.at += 1
                        self._nested -= 1
                        out.append(Paren(out.pop(), (frames.pop()[2], end)))
                        continue
                if self._follows():
                    if frames[-1] is _BOTTOM:
                        return out.pop()
                    break

    # -- an operand is expected ----------------------------------------------------------------

    def _opens(self) -> bool:
        """Read a prefix operator or an opening bracket (then True), or an operand."""
        token = kind, value, start, end = self._tokens[self.at]
        self.at += 1
        if kind is TokenKind.NAME:
            return self._opens_call(str(value), start, end)
        if kind is TokenKind.END:
            raise self._diagnosis().missing_operand(token)
        if value in _PREFIX and self._frames[-1][1] is not Open.ELVIS:
            self._open((PREFIX_PRECEDENCE, Open.PREFIX, start, _PREFIX[value], _NO_PARTS))
            return True
        if value == "{":
            self._open((-1, Open.LIST, start, "", []))
            return not self._closes_at_once("}")
        if value == "[":
            if len([frame for frame in self._frames if frame[1] is Open.AD]) >= AD_NESTING_MAX:
                message = f"ads are nested deeper than {AD_NESTING_MAX} levels"
                raise self._error(message, start, end, code="limit")
            self._open((-1, Open.AD, start, "", []))
            return not self._attribute_or_end()
        if value == ".":
            name, end = self._name_after_dot()
            self._out.append(Name(name, True, (start, end)))
            return False
        raise self._diagnosis().missing_operand(token)

    def _opens_call(self, name: str, start: int, end: int) -> bool:
        if self._tokens[self.at][0] is not TokenKind.PUNCT:
            # What follows is the string "(".
            self._out.append(Name(name, False, (start, end)))
            return False
        self.at += 1
        self._open((-1, Open.CALL, start, name, []))
        return not self._closes_at_once(")")

    def _open(self, frame: Frame) -> None:
        self._nested += 1
        if self._nested > NESTING_MAX:
            message = f"the expression is nested deeper than {NESTING_MAX} levels"
            raise self._error(message, frame[2], frame[2] + 1, code="limit")
        self._frames.append(frame)

    def _closes_at_once(self, closer: str) -> bool:
        """Close an empty call or list."""
        kind, value, _, end = self._tokens[self.at]
        if kind is TokenKind.PUNCT and value == closer:
            self.at += 1
            self._close(end)
            return True
        return False

    def _name_after_dot(self) -> tuple[str, int]:
        """The name that must come next, and the offset after it."""
        kind, value, start, end = self._tokens[self.at]
        if kind is not TokenKind.NAME:
            raise self._error("an attribute name must follow the point", start, end, code="operand")
        self.at += 1
        return str(value), end

    def _attribute_or_end(self) -> bool:
        """In an ad: read ``name =``, or the closing bracket (then True: the ad is an operand)."""
        while True:
            token = kind, value, _, end = self._tokens[self.at]
            self.at += 1
            if kind is TokenKind.PUNCT and value == ";":
                # A separator needs an attribute on one side at least: "[;]" is refused.
                if self._frames[-1][4] or self._tokens[self.at][1] != "]":
                    continue
                token = kind, value, _, end = self._tokens[self.at]
            elif kind is TokenKind.PUNCT and value == "]":
                self._close(end)
                return True
            if kind is not TokenKind.NAME or value == "":
                raise self._diagnosis().bad_attribute_name(token)
            sign, equals, start, end = self._tokens[self.at]
            if sign is not TokenKind.PUNCT or equals != "=":
                raise self._error(f"= must follow the attribute name {value}", start, end, code="ad")
            self.at += 1
            strength, opened, start, _, parts = self._frames[-1]
            self._frames[-1] = strength, opened, start, str(value), parts
            return False

    # -- an operator is expected ---------------------------------------------------------------

    def _follows(self) -> bool:
        """Read a token other than an infix operator after an operand; True if an operand, or nothing, may follow."""
        token = kind, sign, start, end = self._tokens[self.at]
        out = self._out
        if kind is not TokenKind.PUNCT or sign in _CLOSERS:
            return self._ends(token)
        self.at += 1
        if sign == ".":
            name, end = self._name_after_dot()
            base = out.pop()
            out.append(Select(base, name, (base.span[0], end)))
            return False
        if sign == "[":
            self._open((-1, Open.SUBSCRIPT, start, "", [out.pop()]))
            return True
        if sign == "?:":
            self._open((ELVIS_PRECEDENCE, Open.ELVIS, start, "", _NO_PARTS))
            return True
        if sign == "?":
            self._reduce(1)
            self._open((-1, Open.THEN, start, "", [out.pop()]))
            return True
        self.at -= 1
        return self._ends(token)

    def _ends(self, token: Token) -> bool:
        """The operand ends here: at a separator, a closing bracket, or the end of the expression."""
        frames = self._frames
        if frames[-1][0] >= 0:
            self._reduce(0)
        _, opened, start, name, parts = frames[-1]
        kind, sign, _, end = token
        if opened is Open.NOTHING:
            return True
        if kind is not TokenKind.PUNCT:
            raise self._diagnosis().unexpected_operator(token)
        if sign == CLOSER[opened]:
            self.at += 1
            if opened is Open.THEN:
                parts.append(self._out.pop())
                frames[-1] = 0, Open.OTHERWISE, start, name, parts
                return True
            if opened is Open.AD:
                parts.append((name, self._out.pop()))
            elif opened is Open.CALL or opened is Open.LIST:
                parts.append(self._out.pop())
            self._close(end)
            return False
        # The old language lets ";" separate arguments.
        if (opened is Open.CALL and sign in (",", ";")) or (opened is Open.LIST and sign == ","):
            self.at += 1
            parts.append(self._out.pop())
            return True
        if opened is Open.AD and sign == ";":
            self.at += 1
            parts.append((name, self._out.pop()))
            return not self._attribute_or_end()
        raise self._diagnosis().unexpected_operator(token)

    # -- building ------------------------------------------------------------------------------

    def _reduce(self, least: int) -> None:
        """Build the open operators that bind at least as strongly as `least`."""
        frames, out = self._frames, self._out
        while frames[-1][0] >= least:
            _, opened, start, op, parts = frames.pop()
            right = out.pop()
            if opened is Open.INFIX:
                left = out.pop()
                out.append(Binary(op, left, right, (left.span[0], right.span[1])))  # type: ignore[arg-type]
                continue
            self._nested -= 1
            if opened is Open.PREFIX:
                out.append(Unary(op, right, (start, right.span[1])))  # type: ignore[arg-type]
            elif opened is Open.ELVIS:
                left = out.pop()
                out.append(Elvis(left, right, (left.span[0], right.span[1])))
            else:
                test, then = parts
                out.append(Conditional(test, then, right, (test.span[0], right.span[1])))

    def _close(self, end: int) -> None:
        """Build what the bracket that ends at `end` closed."""
        out = self._out
        self._nested -= 1
        _, opened, start, name, parts = self._frames.pop()
        span = (start, end)
        match opened:
            case Open.SUBSCRIPT:
                base = parts[0]
                out.append(Subscript(base, out.pop(), (base.span[0], end)))
            case Open.LIST:
                out.append(ListNode(tuple(parts), span))
            case Open.CALL:
                out.append(self._call(name, parts, span))
            case _:
                out.append(AdNode(tuple(parts), span))

    def _call(self, name: str, arguments: list[Node], span: tuple[int, int]) -> Node:
        """A call; absTime and relTime of a string are the time itself."""
        if len(arguments) == 1 and len(name) == 7 and fold(name) in ("abstime", "reltime"):
            argument = arguments[0]
            if isinstance(argument, Literal) and isinstance(argument.value, str):
                return Literal(self._time(name, argument.value, span), span)
        return Call(name, tuple(arguments), span)

    def _time(self, name: str, text: str, span: tuple[int, int]) -> AbsTime | RelTime:
        from roost.classad.functions.times import read_absolute_time, read_relative_time
        from roost.classad.world import WORLD

        absolute = fold(name) == "abstime"
        value = read_absolute_time(text, WORLD.zone_offset) if absolute else read_relative_time(text)
        if isinstance(value, AbsTime | RelTime):
            return value
        form = "yyyy-mm-ddThh:mm:ss±hh:mm" if absolute else "days+hh:mm:ss"
        raise self._error("this text is not a time", *span, code="time", hint=f"the form is {form}")

    # -- errors --------------------------------------------------------------------------------

    def _diagnosis(self) -> Diagnosis:
        from roost.classad.diagnosis import Diagnosis

        return Diagnosis(text=self.text, tokens=self._tokens, at=self.at, frames=self._frames)

    def _error(self, message: str, start: int, end: int, *, code: str, hint: str | None = None) -> ParseError:
        return ParseError(message, code=code, source=self.text, start=start, end=max(end, start + 1), hint=hint)
