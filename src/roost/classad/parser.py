"""Tokens to a syntax tree, by operator precedence with an explicit stack.

The parser is one loop with two states, *an operand is expected* and *an operator is expected*; what is still
open (prefix and infix operators, brackets, the halves of a conditional) lies on a stack of frames. Nothing
recurses, so depth is bounded by `NESTING_MAX` and not by the interpreter.

Precedence, low to high: ``?:`` conditional 0, ``||`` 1, ``&&`` 2, ``|`` 3, ``^`` 4, ``&`` 5, equality 6, order 7,
shifts 8, sums 9, products 10, prefix operators 11, and the elvis operator ``?:``, selection and subscript 12.
Binary operators associate to the left, the conditional and elvis to the right. The right operand of elvis is
a postfix expression: it can't begin with a prefix operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from roost.classad.errors import ParseError
from roost.classad.lexer import Kind, Syntax, Token, tokenize
from roost.classad.limits import NESTING_MAX
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


class _Open(IntEnum):
    """What a frame waits for."""

    INFIX = 0
    PREFIX = 1
    ELVIS = 2
    OTHERWISE = 3  # the last operand of a conditional
    THEN = 4  # the middle operand of a conditional: a bracket that ":" closes
    PAREN = 5
    SUBSCRIPT = 6
    CALL = 7
    LIST = 8
    AD = 9


_CLOSER: Final = {
    _Open.THEN: ":",
    _Open.PAREN: ")",
    _Open.SUBSCRIPT: "]",
    _Open.CALL: ")",
    _Open.LIST: "}",
    _Open.AD: "]",
}
_OPENED_BY: Final = {
    _Open.THEN: "?",
    _Open.PAREN: "(",
    _Open.SUBSCRIPT: "[",
    _Open.CALL: "(",
    _Open.LIST: "{",
    _Open.AD: "[",
}


@dataclass(slots=True)
class _Frame:
    """Something that is still open."""

    kind: _Open
    #: Binding strength of an operator; 0 for the conditional, -1 for brackets.
    strength: int
    #: Offset of the operator or the opening bracket.
    start: int
    op: Op = Op.OR
    name: str = ""
    nodes: list[Node] = field(default_factory=list)
    attributes: list[tuple[str, Node]] = field(default_factory=list)


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
        self._frames: list[_Frame] = []
        self._out: list[Node] = []
        self._nested = 0

    @property
    def offset(self) -> int:
        """Offset of the end of the last token read."""
        return self._tokens[self.at - 1].end if self.at else 0

    @property
    def done(self) -> bool:
        """Whether every token has been read."""
        return self._tokens[self.at].kind is Kind.END

    def expect_end(self) -> None:
        """Refuse tokens behind the expression."""
        token = self._tokens[self.at]
        if token.kind is not Kind.END:
            raise self._unexpected_operator(token)

    def expression(self) -> Node:
        """The next expression, as long as it goes."""
        self._frames.clear()
        self._out.clear()
        self._nested = 0
        while True:
            self._operand()
            if self._operators():
                return self._out.pop()

    # -- an operand is expected ----------------------------------------------------------------

    def _operand(self) -> None:
        """Read prefix operators and opening brackets up to and with one operand."""
        tokens, frames = self._tokens, self._frames
        while True:
            token = tokens[self.at]
            self.at += 1
            kind, value = token.kind, token.value
            if kind is Kind.CONSTANT:
                self._out.append(Literal(value, (token.start, token.end)))
                return
            if kind is Kind.NAME:
                assert isinstance(value, str)
                if tokens[self.at].value == "(" and tokens[self.at].kind is Kind.PUNCT:
                    self.at += 1
                    self._open(_Frame(_Open.CALL, -1, token.start, name=value))
                    if self._closes_at_once(")"):
                        return
                    continue
                self._out.append(Name(value, False, (token.start, token.end)))
                return
            if kind is Kind.END:
                self.at -= 1
                raise self._missing_operand(token)
            if value in _PREFIX and not (frames and frames[-1].kind is _Open.ELVIS):
                self._open(_Frame(_Open.PREFIX, PREFIX_PRECEDENCE, token.start, op=_PREFIX[value]))
            elif value == "(":
                self._open(_Frame(_Open.PAREN, -1, token.start))
            elif value == "{":
                self._open(_Frame(_Open.LIST, -1, token.start))
                if self._closes_at_once("}"):
                    return
            elif value == "[":
                self._open(_Frame(_Open.AD, -1, token.start))
                if self._attribute_or_end():
                    return
            elif value == ".":
                name = self._name_after_dot()
                self._out.append(Name(str(name.value), True, (token.start, name.end)))
                return
            else:
                self.at -= 1
                raise self._missing_operand(token)

    def _open(self, frame: _Frame) -> None:
        self._nested += 1
        if self._nested > NESTING_MAX:
            raise self._error(
                f"the expression is nested deeper than {NESTING_MAX} levels", frame.start, frame.start + 1, code="limit"
            )
        self._frames.append(frame)

    def _closes_at_once(self, closer: str) -> bool:
        """Close an empty call or list."""
        token = self._tokens[self.at]
        if token.kind is Kind.PUNCT and token.value == closer:
            self.at += 1
            self._close(self._pop(), token.end)
            return True
        return False

    def _name_after_dot(self) -> Token:
        token = self._tokens[self.at]
        if token.kind is not Kind.NAME:
            raise self._error("an attribute name must follow the point", token.start, token.end, code="operand")
        self.at += 1
        return token

    def _attribute_or_end(self) -> bool:
        """In an ad: read ``name =``, or the closing bracket (then True: the ad is an operand)."""
        while True:
            token = self._tokens[self.at]
            self.at += 1
            if token.kind is Kind.PUNCT and token.value == ";":
                # A separator needs an attribute on one side at least: "[;]" is refused.
                if self._frames[-1].attributes or self._tokens[self.at].value != "]":
                    continue
                token = self._tokens[self.at]
            elif token.kind is Kind.PUNCT and token.value == "]":
                self._close(self._pop(), token.end)
                return True
            if token.kind is not Kind.NAME:
                raise self._bad_attribute_name(token)
            equals = self._tokens[self.at]
            if equals.kind is not Kind.PUNCT or equals.value != "=":
                raise self._error(
                    f"= must follow the attribute name {token.value}", equals.start, equals.end, code="ad"
                )
            self.at += 1
            self._frames[-1].name = str(token.value)
            return False

    # -- an operator is expected ---------------------------------------------------------------

    def _operators(self) -> bool:
        """Read what follows an operand, up to an infix operator; True at the end of the expression."""
        tokens, out, frames = self._tokens, self._out, self._frames
        while True:
            token = tokens[self.at]
            if token.kind is not Kind.PUNCT:
                return self._end(token)
            sign = token.value
            assert isinstance(sign, str)
            strength = PRECEDENCE.get(sign)
            if strength is not None:
                self.at += 1
                self._reduce(strength)
                frames.append(_Frame(_Open.INFIX, strength, token.start, op=Op(sign)))
                return False
            if sign == ".":
                self.at += 1
                name = self._name_after_dot()
                base = out.pop()
                out.append(Select(base, str(name.value), (base.span[0], name.end)))
            elif sign == "[":
                self.at += 1
                self._open(_Frame(_Open.SUBSCRIPT, -1, token.start, nodes=[out.pop()]))
                return False
            elif sign == "?:":
                self.at += 1
                self._open(_Frame(_Open.ELVIS, ELVIS_PRECEDENCE, token.start))
                return False
            elif sign == "?":
                self.at += 1
                self._reduce(1)
                self._open(_Frame(_Open.THEN, -1, token.start, nodes=[out.pop()]))
                return False
            else:
                self._reduce(0)
                if not frames:
                    return True
                if self._bracket(token, sign):
                    return False

    def _bracket(self, token: Token, sign: str) -> bool:
        """Handle a separator or closing bracket: True if an operand is expected after it."""
        frame = self._frames[-1]
        if sign == _CLOSER[frame.kind]:
            self.at += 1
            if frame.kind is _Open.THEN:
                frame.nodes.append(self._out.pop())
                frame.kind, frame.strength = _Open.OTHERWISE, 0
                return True
            if frame.kind is _Open.AD:
                frame.attributes.append((frame.name, self._out.pop()))
            elif frame.kind in (_Open.CALL, _Open.LIST):
                frame.nodes.append(self._out.pop())
            self._close(self._pop(), token.end)
            return False
        # The old language lets ";" separate arguments.
        if (sign == "," and frame.kind in (_Open.CALL, _Open.LIST)) or (sign == ";" and frame.kind is _Open.CALL):
            self.at += 1
            frame.nodes.append(self._out.pop())
            return True
        if sign == ";" and frame.kind is _Open.AD:
            self.at += 1
            frame.attributes.append((frame.name, self._out.pop()))
            return not self._attribute_or_end()
        raise self._unexpected_operator(token)

    def _end(self, token: Token) -> bool:
        """The expression stops at `token`, which is no operator."""
        self._reduce(0)
        if self._frames:
            raise self._unexpected_operator(token)
        return True

    # -- building ------------------------------------------------------------------------------

    def _pop(self) -> _Frame:
        self._nested -= 1
        return self._frames.pop()

    def _reduce(self, strength: int) -> None:
        """Build the open operators that bind at least as strongly as `strength`."""
        frames, out = self._frames, self._out
        while frames and frames[-1].strength >= strength:
            frame = frames.pop()
            right = out.pop()
            if frame.kind is _Open.INFIX:
                left = out.pop()
                out.append(Binary(frame.op, left, right, (left.span[0], right.span[1])))
                continue
            self._nested -= 1
            if frame.kind is _Open.PREFIX:
                out.append(Unary(frame.op, right, (frame.start, right.span[1])))
            elif frame.kind is _Open.ELVIS:
                left = out.pop()
                out.append(Elvis(left, right, (left.span[0], right.span[1])))
            else:
                test, then = frame.nodes
                out.append(Conditional(test, then, right, (test.span[0], right.span[1])))

    def _close(self, frame: _Frame, end: int) -> None:
        """Build what a bracket closed."""
        out = self._out
        span = (frame.start, end)
        match frame.kind:
            case _Open.PAREN:
                out.append(Paren(out.pop(), span))
            case _Open.SUBSCRIPT:
                index = out.pop()
                base = frame.nodes[0]
                out.append(Subscript(base, index, (base.span[0], end)))
            case _Open.LIST:
                out.append(ListNode(tuple(frame.nodes), span))
            case _Open.CALL:
                out.append(self._call(frame, span))
            case _:
                out.append(AdNode(tuple(frame.attributes), span))

    def _call(self, frame: _Frame, span: tuple[int, int]) -> Node:
        """A call; absTime and relTime of a string are the time itself."""
        nodes = frame.nodes
        if len(nodes) == 1 and len(frame.name) == 7 and fold(frame.name) in ("abstime", "reltime"):
            argument = nodes[0]
            if isinstance(argument, Literal) and isinstance(argument.value, str):
                return Literal(self._time(frame.name, argument.value, span), span)
        return Call(frame.name, tuple(nodes), span)

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

    def _missing_operand(self, token: Token) -> ParseError:
        before = self._tokens[self.at - 1] if self.at else None
        if token.kind is Kind.END:
            if before is None:
                return self._error("the expression is empty", token.start, token.end, code="operand")
            opened = self._innermost()
            if opened is not None and before.start == opened.start:
                return self._unclosed(opened)
            return self._error(
                f"an operand is missing after {self._shown(before)}", before.start, before.end, code="operand"
            )
        message = f"an operand is expected, not {self._shown(token)}"
        hint = None
        if token.value == "=":
            hint = "write == to compare"
        elif token.value == ")" and self._innermost() is None:
            return self._error("this parenthesis closes nothing", token.start, token.end, code="bracket")
        elif before is not None and before.value == "," and token.value in (")", "}"):
            hint = "remove the comma before it"
        elif self._frames and self._frames[-1].kind is _Open.ELVIS:
            hint = "put the right operand of ?: in parentheses"
        elif before is not None and before.end == token.start and before.value == token.value and token.value in ("&&", "||"):
            hint = f"write {token.value} once"
        return self._error(message, token.start, token.end, code="operand", hint=hint)

    def _unexpected_operator(self, token: Token) -> ParseError:
        """`token` can't follow the operand before it."""
        opened = self._innermost()
        if token.kind is Kind.END:
            assert opened is not None
            return self._unclosed(opened)
        shown = self._shown(token)
        if token.kind is not Kind.PUNCT:
            word = fold(str(token.value))
            hint = _WORD_OPERATORS.get(word) if token.kind is Kind.NAME else None
            return self._error(f"an operator is missing before {shown}", token.start, token.end, code="operator", hint=hint)
        if token.value == "=":
            return self._error(
                "an expression can't assign", token.start, token.end, code="operator", hint="write == to compare"
            )
        if opened is None and token.value in (")", "]", "}"):
            return self._error(f"{token.value} closes nothing", token.start, token.end, code="bracket")
        if opened is not None:
            wanted, opener = _CLOSER[opened.kind], _OPENED_BY[opened.kind]
            message = f"{wanted} is expected for the {opener} at column {self._column(opened.start)}, not {shown}"
            return self._error(message, token.start, token.end, code="bracket")
        return self._error(f"the expression should end before {shown}", token.start, token.end, code="operator")

    def _unclosed(self, opened: _Frame) -> ParseError:
        opener, closer = _OPENED_BY[opened.kind], _CLOSER[opened.kind]
        start = self.text.find(opener, opened.start)
        message = f"this {opener} is not closed"
        hint = f"add the missing {closer}"
        if opened.kind is _Open.THEN:
            message, hint = "this conditional lacks its second half", "write test ? value : other"
        return self._error(message, start, start + 1, code="bracket", hint=hint)

    def _bad_attribute_name(self, token: Token) -> ParseError:
        if token.kind is Kind.END:
            return self._unclosed(self._frames[-1])
        hint = None
        if token.kind is Kind.CONSTANT and isinstance(token.value, str):
            hint = f"write the name without double quotes, or between single quotes: '{token.value}'"
        elif token.value == ",":
            hint = "attributes are separated by ;"
        elif token.kind is Kind.CONSTANT or token.value in (Op.IS, Op.ISNT):
            hint = f"put a reserved word between single quotes: '{self.text[token.start : token.end]}'"
        return self._error(
            f"an attribute name is expected, not {self._shown(token)}", token.start, token.end, code="ad", hint=hint
        )

    def _innermost(self) -> _Frame | None:
        """The innermost open bracket."""
        for frame in reversed(self._frames):
            if frame.strength < 0:
                return frame
        return None

    def _shown(self, token: Token) -> str:
        if token.kind is Kind.END:
            return "the end of the text"
        text = self.text[token.start : token.end]
        return text if len(text) <= 40 else text[:37] + "…"

    def _column(self, offset: int) -> int:
        return offset - self.text.rfind("\n", 0, offset)

    def _error(self, message: str, start: int, end: int, *, code: str, hint: str | None = None) -> ParseError:
        return ParseError(message, code=code, source=self.text, start=start, end=max(end, start + 1), hint=hint)


_WORD_OPERATORS: Final = {
    "and": "write && for and",
    "or": "write || for or",
    "not": "write ! for not",
    "eq": "write == to compare",
    "ne": "write != to compare",
    "in": "write member(value, list) or stringListMember(value, text)",
}
