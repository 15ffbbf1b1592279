"""The JSON form: an ad is an object, a list an array, UNDEFINED is null.

What JSON has no word for is a string of the shape ``"\\/Expr(text)\\/"``, in which the slashes are escaped:
an expression, ERROR, a time, a real that is not finite. A string that merely looks so has slashes without
backslashes; therefore the reader looks at strings as they are written.

The reader also accepts the extensions of the reference library: words in any case, comments, adjacent strings,
spare commas between members. Unlike there, ``\\uXXXX`` gives the character it names, and a duration is
written as an expression: as a number, which the reference library writes, it would be read back as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from typing import Final

from roost.classad.ad import ClassAd
from roost.classad.errors import ParseError
from roost.classad.expr import Expr, parse_expression
from roost.classad.forms.brackets import Brackets, pieces
from roost.classad.forms.building import build_ad
from roost.classad.forms.form import Order, names_of
from roost.classad.forms.source import Source
from roost.classad.limits import NAME_BYTES_MAX, NESTING_MAX
from roost.classad.pretty import ordered_attributes
from roost.classad.syntax import AdNode, Constant, ListNode, Literal, Node
from roost.classad.unparse import item_node, unparse
from roost.classad.values import INT_MAX, INT_MIN, UNDEFINED

_BRACKETS: Final = Brackets(open="{", close="}", list_open="[", list_close="]", wanted="{ or an array of objects")


# -- reading -------------------------------------------------------------------------------------


def read_json(source: Source) -> Iterator[ClassAd]:
    """The ads of a source, each as soon as it ends. Raises ParseError."""
    for text, offset in pieces(source, _BRACKETS):
        try:
            parser = _Parser(text)
            ad = build_ad(parser.parse(), expressions=parser.expressions)
        except ParseError as error:
            raise source.placed(error, offset) from None
        yield ad


_TOKEN: Final = re.compile(
    r"""
      (?P<space>  (?: [ \t\n\r\f\v]+ | //[^\n]*(?:\n|\Z) | /\*.*?\*/ )+ )
    | (?P<string> "[^"\\\0]*(?:\\[^\0][^"\\\0]*)*" )
    | (?P<number> -?(?: (?:0|[1-9][0-9]*)(?![0-9]) (?:\.[0-9]+)? | \.[0-9]+ ) (?:[eE][+-]?[0-9]+)?
                  (?![0-9A-Za-z_.]) )
    | (?P<word>   [A-Za-z_][A-Za-z0-9_]* )
    | (?P<sign>   [][{},:] )
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS: Final[dict[str, Constant]] = {"true": True, "false": False, "null": UNDEFINED}
_ESCAPE: Final = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_EXPR_OPEN: Final = '"\\/Expr('
_EXPR_CLOSE: Final = ')\\/"'


class _Open:
    """An object or array that is being read."""

    __slots__ = ("attributes", "items", "name", "start", "wants_comma")

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.attributes: list[tuple[str, Node]] | None = [] if is_object else None
        self.items: list[Node] = []
        #: The name that the next value belongs to; in an array always None.
        self.name: str | None = None
        self.wants_comma = False


class _Parser:
    """Reads one object."""

    __slots__ = ("_at", "_kind", "_start", "_text", "expressions")

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._start = 0
        self._kind = ""
        #: The interned expressions, by the identity of their trees.
        self.expressions: dict[int, Expr] = {}

    def parse(self) -> AdNode:
        """The tree of the object that is the whole text."""
        stack: list[_Open] = []
        while True:
            sign = self._next()
            top = stack[-1] if stack else None
            if self._kind == "sign" and sign in "[{":
                self._expect_value(top)
                if len(stack) >= NESTING_MAX:
                    raise self._error(f"values are nested deeper than {NESTING_MAX} levels", code="limit")
                stack.append(_Open(self._start, sign == "{"))
                continue
            if self._kind == "sign" and sign in "]}":
                value = self._closed(stack, sign)
                if not stack:
                    assert isinstance(value, AdNode)
                    return value
                top = stack[-1]
            elif self._kind == "sign":
                self._separator(top, sign)
                continue
            elif top is not None and top.attributes is not None and top.name is None:
                self._member_name(top, sign)
                continue
            else:
                self._expect_value(top)
                value = self._scalar(sign)
            assert top is not None
            _add(top, value)

    def _next(self) -> str:
        """The next token that is not a blank."""
        while True:
            found = _TOKEN.match(self._text, self._at)
            self._start = self._at
            if found is None:
                raise self._bad_token()
            self._at = found.end()
            self._kind = found.lastgroup or ""
            if self._kind != "space":
                return found.group()

    def _closed(self, stack: list[_Open], sign: str) -> Node:
        opened = stack[-1] if stack else None
        if opened is None or (opened.attributes is not None) is not (sign == "}") or opened.name is not None:
            raise self._error(f"{sign} is not expected here", code="bracket")
        stack.pop()
        span = (opened.start, self._at)
        if opened.attributes is not None:
            return AdNode(tuple(opened.attributes), span)
        if opened.items and not opened.wants_comma:
            raise self._error("a value is expected after the comma", code="operand", hint="remove the comma")
        return ListNode(tuple(opened.items), span)

    def _separator(self, top: _Open | None, sign: str) -> None:
        if sign == "," and top is not None and top.name is None and (top.wants_comma or top.attributes is not None):
            top.wants_comma = False
            return
        raise self._error(f"{sign} is not expected here", code="operator")

    def _member_name(self, top: _Open, token: str) -> None:
        if top.wants_comma:
            raise self._error(", or } is expected", code="operator", hint="separate the members by commas")
        if self._kind != "string":
            raise self._error("a name between double quotes is expected", code="ad")
        name = self._unescape(token[1:-1], self._start + 1)
        if not name or len(name) > NAME_BYTES_MAX:
            what = "empty" if not name else f"longer than {NAME_BYTES_MAX} bytes"
            raise self._error(f"an attribute name cannot be {what}", code="limit" if name else "ad")
        start, end = self._start, self._at
        if self._next() != ":" or self._kind != "sign":
            self._start, self._at = start, end
            raise self._error("a colon must follow this name", code="ad")
        top.name = name

    def _expect_value(self, top: _Open | None) -> None:
        if top is None:
            return
        if top.wants_comma:
            raise self._error(f", or {']' if top.attributes is None else '}'} is expected", code="operator")
        if top.attributes is not None and top.name is None:
            raise self._error("a name between double quotes is expected", code="ad")

    def _scalar(self, token: str) -> Node:
        span = (self._start, self._at)
        if self._kind == "string":
            return self._string(token, span)
        if self._kind == "word":
            word = token.lower()
            if word not in _WORDS:
                hint = r'an expression is written "\/Expr(…)\/"'
                raise self._error(f"{token} is not a JSON value", code="operand", hint=hint)
            return Literal(_WORDS[word], span)
        if token.lstrip("-").isdigit():
            number = int(token) if len(token) <= 20 else INT_MAX + 1
            # As elsewhere in the language, an integer beyond 64 bits is read as 0.
            return Literal(number if INT_MIN <= number <= INT_MAX else 0, span)
        return Literal(float(token), span)

    def _string(self, token: str, span: tuple[int, int]) -> Node:
        if token.startswith(_EXPR_OPEN) and token.endswith(_EXPR_CLOSE) and len(token) >= len(_EXPR_OPEN + _EXPR_CLOSE):
            text = self._unescape(token[len(_EXPR_OPEN) : -len(_EXPR_CLOSE)], span[0] + len(_EXPR_OPEN))
            try:
                # The string ends a comment as a line end does.
                expression = parse_expression(f"{text}\n" if "//" in text else text)
                self.expressions[id(expression.tree)] = expression
                return expression.tree
            except ParseError as error:
                # Escapes shift the columns: the whole string is shown.
                raise ParseError(
                    f"in this expression: {error.message}",
                    code=error.code,
                    start=span[0],
                    end=span[1],
                    hint=error.hint,
                ) from None
        parts = [self._unescape(token[1:-1], span[0] + 1)]
        while (again := self._adjacent_string()) is not None:
            parts.append(again)
        return Literal("".join(parts), (span[0], self._at))

    def _adjacent_string(self) -> str | None:
        """The string that follows with only blanks between, if one does."""
        at = self._at
        while (found := _TOKEN.match(self._text, at)) is not None and found.lastgroup == "space":
            at = found.end()
        if found is None or found.lastgroup != "string":
            return None
        self._at = found.end()
        return self._unescape(found.group()[1:-1], at + 1)

    def _unescape(self, body: str, offset: int) -> str:
        if "\\" not in body:
            return body

        def replace(found: re.Match[str]) -> str:
            code = found.group(1)
            if len(code) == 1:
                return _LETTERS.get(code, code)
            if len(code) > 5:
                return chr(0x10000 + ((int(code[1:5], 16) & 0x3FF) << 10) + (int(code[7:], 16) & 0x3FF))
            number = int(code[1:], 16)
            if number == 0:
                self._start, self._at = offset + found.start(), offset + found.end()
                raise self._error("a string cannot hold a NUL character", code="string")
            # Half of a surrogate pair is not a character.
            return "\ufffd" if 0xD800 <= number < 0xE000 else chr(number)

        return _ESCAPE.sub(replace, body)

    def _bad_token(self) -> ParseError:
        rest = self._text[self._start :]
        if not rest:
            self._start = 0
            return self._error("this object is not closed", code="bracket", hint="add the missing }", width=1)
        if rest[0] == '"':
            return self._error("this string is not closed", code="string", hint='add the closing "', width=1)
        if rest[0] in "-.0123456789":
            return self._error("this is not a JSON number", code="number", width=1)
        if rest.startswith("/*"):
            return self._error("this comment is not closed", code="comment", width=2)
        shown = rest[0] if rest[0].isprintable() else f"U+{ord(rest[0]):04X}"
        return self._error(f"the character {shown} has no meaning in JSON", code="token", width=1)

    def _error(self, message: str, *, code: str, hint: str | None = None, width: int = 0) -> ParseError:
        end = self._start + width if width else self._at
        return ParseError(message, code=code, source=self._text, start=self._start, end=end, hint=hint)


def _add(top: _Open, value: Node) -> None:
    top.wants_comma = True
    if top.attributes is None:
        top.items.append(value)
    else:
        assert top.name is not None
        top.attributes.append((top.name, value))
        top.name = None


# -- writing -------------------------------------------------------------------------------------

_INDENT: Final = 2
_ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES: Final = {
    **{chr(code): f"\\u{code:04X}" for code in range(32)},
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    '"': '\\"',
    "\\": "\\\\",
}


def format_json(ad: ClassAd, order: Order = Order.REFERENCE, *, oneline: bool = False) -> str:
    """The object of an ad, without a line end after it; `oneline`: all in one line."""
    attributes = [(name, item_node(ad[name])) for name in names_of(ad, order)]
    out: list[str] = []
    level = 0
    work: list[str | Node | int | None] = []
    _push_object(work, attributes)
    while work:
        part = work.pop()
        if isinstance(part, str):
            out.append(part)
        elif part is None:
            out.append("" if oneline else "\n" + " " * level)
        elif isinstance(part, int):
            level += part
        elif isinstance(part, AdNode):
            _push_object(work, ordered_attributes(part))
        elif isinstance(part, ListNode):
            _push_array(work, part.items)
        else:
            out.append(_scalar(part))
    return "".join(out)


def _push_object(work: list[str | Node | int | None], attributes: list[tuple[str, Node]]) -> None:
    work += ("}", None, -_INDENT)
    for index in range(len(attributes) - 1, -1, -1):
        name, node = attributes[index]
        work += (node, f'"{_escape(name)}": ', None)
        if index:
            work.append(",")
    work += (_INDENT, "{")


def _push_array(work: list[str | Node | int | None], items: tuple[Node, ...]) -> None:
    work += ("]", None, -_INDENT)
    for index in range(len(items) - 1, -1, -1):
        work += (items[index], None)
        if index:
            work.append(",")
    work += (_INDENT, "[")


def _scalar(node: Node) -> str:
    if isinstance(node, Literal):
        value = node.value
        if isinstance(value, str):
            return f'"{_escape(value)}"'
        if value is UNDEFINED:
            return "null"
        if isinstance(value, int) or (isinstance(value, float) and isfinite(value)):
            return unparse(node, old=True)
    return f"{_EXPR_OPEN}{_escape(unparse(node))}{_EXPR_CLOSE}"


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found.group()], text)
