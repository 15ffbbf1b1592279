"""The XML form: ``<c>`` an ad, ``<a n="Name">`` an attribute, and an element for each type of value.

``<i>`` integer, ``<r>`` real, ``<s>`` string, ``<b v="t"/>`` boolean, ``<un/>``, ``<er/>``, ``<at>`` and
``<rt>`` times, ``<l>`` list, ``<e>`` any other expression. Strings and names are escaped twice: as in the
new form (without the quotes), then ``& < >`` as XML wants. The text is plain ASCII.

The reader is a reader of this form, not of XML at large: no namespaces, no custom document types, no
entities but the five of XML and numeric ones. Declarations, comments and unknown elements around ads are
skipped.

Unlike the reference library, which writes a duration and -0.0 as other values, these come back as they were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from roost.classad.ad import ClassAd
from roost.classad.errors import ParseError
from roost.classad.expr import Expr, parse_expression
from roost.classad.forms.building import build_ad
from roost.classad.forms.form import Order, names_of
from roost.classad.forms.source import Source
from roost.classad.limits import NAME_BYTES_MAX, NESTING_MAX
from roost.classad.pretty import ordered_attributes
from roost.classad.syntax import AdNode, ListNode, Literal, Node
from roost.classad.unparse import format_abstime, format_real, format_reltime, item_node, quote_string, unparse
from roost.classad.values import ERROR, INT_MAX, INT_MIN, UNDEFINED, AbsTime, Exceptional, RelTime

HEADER: Final = '<?xml version="1.0"?>\n<!DOCTYPE classads SYSTEM "classads.dtd">\n<classads>\n'
FOOTER: Final = "</classads>\n"

# -- reading -------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"""
      <!--.*?-->
    | (?!<!--) <[?!] (?: [^<>"'] | "[^"]*" | '[^']*' )* >
    | < \s* (?P<close>/?) \s* (?P<tag>[A-Za-z][A-Za-z0-9_-]*)(?![A-Za-z0-9_-])
        (?P<fields> [^"'<>/]* (?: (?: / (?!>) | "[^"\\]*(?:\\.[^"\\]*)*" | '[^'\\]*(?:\\.[^'\\]*)*' ) [^"'<>/]* )* )
        (?P<empty>/?) >
    | (?P<text> [^<]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_FIELD: Final = re.compile(r"""([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""", re.DOTALL)
_ENTITY: Final = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

#: Elements that hold text.
_TEXTS: Final = frozenset(("i", "r", "s", "e", "at", "rt"))
_EMPTY: Final = {"un": UNDEFINED, "er": ERROR}
_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")
_REAL: Final = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z|[+-]?(?:inf|nan)\Z", re.IGNORECASE
)


class _Open:
    """An element that is being read."""

    __slots__ = ("attributes", "items", "name", "start", "tag", "text")

    def __init__(self, tag: str, start: int, name: str | None = None) -> None:
        self.tag = tag
        #: Characters of the ad before it.
        self.start = start
        #: Of an attribute.
        self.name = name
        self.attributes: list[tuple[str, Node]] = []
        self.items: list[Node] = []
        self.text = ""


def read_xml(source: Source) -> Iterator[ClassAd]:
    """The ads of a source, each as soon as it ends. Raises ParseError."""
    reader = _Reader(source)
    while (tree := reader.next_ad()) is not None:
        try:
            ad = build_ad(tree, expressions=reader.expressions)
        except ParseError as error:
            raise source.error(error.message, source.at, code=error.code) from None
        yield ad


class _Reader:
    """Elements of a source to trees of ads."""

    __slots__ = ("_end", "_length", "_source", "_stack", "expressions")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._stack: list[_Open] = []
        #: Offset in ``source.text`` after the token being looked at, which begins at ``source.at``.
        self._end = 0
        #: Characters of the ad read so far.
        self._length = 0
        #: The interned expressions of the ad, by the identity of their trees.
        self.expressions: dict[int, Expr] = {}

    def next_ad(self) -> AdNode | None:
        """The tree of the next ad; None at the end."""
        self.expressions.clear()
        while (found := self._token()) is not None:
            ad = self._take(found)
            self._length += self._end - self._source.at
            self._source.at = self._end
            if ad is not None:
                self._length = 0
                return ad
        if self._stack:
            raise self._error(f"the element {self._stack[-1].tag} is not closed", code="bracket")
        return None

    def _token(self) -> re.Match[str] | None:
        source = self._source
        while True:
            found = _TOKEN.match(source.text, source.at)
            if found is not None and (found.end() < len(source.text) or found.group("text") is None or source.ended):
                self._end = found.end()
                return found
            source.check_length(source.at - self._length)
            if not source.fill():
                if found is not None:
                    continue
                if source.at >= len(source.text):
                    return None
                raise self._error("this is not an element", code="token", hint="write &lt; for < in texts")

    def _take(self, found: re.Match[str]) -> AdNode | None:
        """Handle one token; the ad that it ended, if it did."""
        text = found.group("text")
        if text is not None:
            self._text(text)
            return None
        tag = found.group("tag")
        if tag is None or (tag not in _KNOWN and not self._stack):
            return None
        if tag not in _KNOWN:
            raise self._error(f"there is no element {tag} in ads", code="form")
        if found.group("close"):
            return self._close(tag)
        self._open(tag, found.group("fields"))
        return self._close(tag) if found.group("empty") else None

    def _text(self, text: str) -> None:
        top = self._stack[-1] if self._stack else None
        if top is not None and top.tag in _TEXTS:
            top.text += text
        elif text.strip(" \t\n\r\f\v"):
            where = f"in the element {top.tag}" if top else "outside of ads"
            raise self._error(f"text is not expected {where}", code="form")

    def _open(self, tag: str, fields: str) -> None:
        top = self._stack[-1] if self._stack else None
        inside = None if top is None else top.tag
        if tag == "a":
            if inside != "c":
                raise self._error("an attribute must stand in an ad", code="form", hint="write <c> … </c> around it")
            self._stack.append(_Open(tag, self._length, self._name(fields)))
            return
        if (top is None and tag != "c") or (top is not None and (inside not in ("a", "l") or (top.name and top.items))):
            raise self._error(f"the element {tag} is not expected here", code="form")
        if len(self._stack) >= NESTING_MAX:
            raise self._error(f"elements are nested deeper than {NESTING_MAX} levels", code="limit")
        opened = _Open(tag, self._length)
        if tag == "b":
            opened.text = _fields(fields).get("v", "")
        self._stack.append(opened)

    def _name(self, fields: str) -> str:
        raw = _fields(fields).get("n")
        if raw is None:
            raise self._error("this attribute has no name", code="ad", hint='write <a n="Name">')
        name = self._unescape(raw)
        if not name or len(name) > NAME_BYTES_MAX:
            what = "empty" if not name else f"longer than {NAME_BYTES_MAX} bytes"
            raise self._error(f"an attribute name cannot be {what}", code="limit" if name else "ad")
        return name

    def _close(self, tag: str) -> AdNode | None:
        if not self._stack or self._stack[-1].tag != tag:
            raise self._error(f"</{tag}> closes nothing", code="bracket")
        closed = self._stack.pop()
        if tag == "a":
            if not closed.items:
                raise self._error(f"the attribute {closed.name} has no value", code="ad")
            assert closed.name is not None
            self._stack[-1].attributes.append((closed.name, closed.items[0]))
            return None
        node = self._value(closed)
        if self._stack:
            self._stack[-1].items.append(node)
            return None
        assert isinstance(node, AdNode)
        return node

    def _value(self, closed: _Open) -> Node:
        match closed.tag:
            case "c":
                return AdNode(tuple(closed.attributes))
            case "l":
                return ListNode(tuple(closed.items))
            case "un" | "er":
                return Literal(_EMPTY[closed.tag])
            case "b":
                if closed.text not in ("t", "f", "T", "F"):
                    raise self._error('a boolean is <b v="t"/> or <b v="f"/>', code="operand")
                return Literal(closed.text in "tT")
            case "s":
                return Literal(self._unescape(closed.text))
            case _:
                return self._number_or_expression(closed.tag, _resolved(closed.text).strip(" \t\n\r\f\v"))

    def _number_or_expression(self, tag: str, text: str) -> Node:
        if tag == "i":
            if not _INTEGER.match(text):
                raise self._error("this is not an integer", code="number")
            number = int(text) if len(text) <= 20 else INT_MAX + 1
            return Literal(number if INT_MIN <= number <= INT_MAX else 0)
        if tag == "r":
            if not _REAL.match(text):
                raise self._error("this is not a real number", code="number")
            return Literal(float(text))
        if tag != "e":
            kind = "absTime" if tag == "at" else "relTime"
            text = f"{kind}({quote_string(text)})"
        try:
            expression = parse_expression(text)
        except ParseError as error:
            raise self._error(f"in this expression: {error.message}", code=error.code, hint=error.hint) from None
        self.expressions[id(expression.tree)] = expression
        return expression.tree

    def _unescape(self, text: str) -> str:
        """A string or name: entities, then the escapes of the new form."""
        text = _resolved(text)
        if "\\" not in text:
            if "\0" in text:
                raise self._error("a string cannot hold a NUL character", code="string")
            return text
        escaped = _BARE_QUOTE.sub(lambda found: found.group(1) or '\\"', text)
        try:
            tree = parse_expression(f'"{escaped}"').tree
        except ParseError as error:
            raise self._error(error.message, code="string") from None
        assert isinstance(tree, Literal) and isinstance(tree.value, str)
        return tree.value

    def _error(self, message: str, *, code: str, hint: str | None = None) -> ParseError:
        at = self._source.at
        end = max(at + 1, min(self._end, at + 60))
        return self._source.error(message, at, end, code=code, hint=hint)


#: An escape, or a quote that is none.
_BARE_QUOTE: Final = re.compile(r'(\\.)|"', re.DOTALL)
_KNOWN: Final = frozenset((*_TEXTS, *_EMPTY, "c", "a", "l", "b"))


def _fields(text: str) -> dict[str, str]:
    return {name: double or single for name, double, single in _FIELD.findall(text)}


def _resolved(text: str) -> str:
    """`text` with its entities replaced; unknown ones stay as they are."""
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _entity(found: re.Match[str]) -> str:
    name, decimal, hexadecimal = found.groups()
    if name:
        return _ENTITIES[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    valid = 0 < number < 0xD800 or 0xE000 <= number < 0x110000
    return chr(number) if valid else "\ufffd"


# -- writing -------------------------------------------------------------------------------------

_INDENT: Final = 4


def format_xml(ad: ClassAd, order: Order = Order.REFERENCE) -> str:
    """The element of an ad, with a line end after it but without the header and footer of a file."""
    attributes = [(name, item_node(ad[name])) for name in names_of(ad, order)]
    out: list[str] = []
    level = 0
    work: list[str | Node | int | None] = ["\n"]
    _push_ad(work, attributes)
    while work:
        part = work.pop()
        if isinstance(part, str):
            out.append(part)
        elif part is None:
            out.append("\n" + " " * level)
        elif isinstance(part, int):
            level += part
        elif isinstance(part, AdNode):
            _push_ad(work, ordered_attributes(part))
        elif isinstance(part, ListNode):
            work += ("</l>", *reversed(part.items), "<l>")
        else:
            out.append(_scalar(part))
    return "".join(out)


def _push_ad(work: list[str | Node | int | None], attributes: list[tuple[str, Node]]) -> None:
    work += ("</c>", None, -_INDENT)
    for name, node in reversed(attributes):
        work += ("</a>", node, f'<a n="{_escape_name(name)}">', None)
    work += (_INDENT, "<c>")


def _scalar(node: Node) -> str:
    if not isinstance(node, Literal):
        return f"<e>{_escape(unparse(node))}</e>"
    match node.value:
        case bool() as value:
            return f'<b v="{"t" if value else "f"}"/>'
        case int() as value:
            return f"<i>{value}</i>"
        case float() as value:
            return f"<r>{_real(value)}</r>"
        case str() as value:
            return f"<s>{_escape(quote_string(value)[1:-1].replace(_QUOTE, chr(34)))}</s>"
        case Exceptional() as value:
            return "<un/>" if value is UNDEFINED else "<er/>"
        case AbsTime() as value:
            return f"<at>{format_abstime(value)}</at>"
        case RelTime(secs=secs):
            return f"<rt>{format_reltime(secs)}</rt>"


_QUOTE: Final = '\\"'


def _real(value: float) -> str:
    if value - value == 0.0:
        return format_real(value)
    return "NaN" if value != value else "INF" if value > 0 else "-INF"


def _escape_name(name: str) -> str:
    return _escape(quote_string(name)[1:-1])


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
