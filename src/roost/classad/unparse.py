"""Trees and values to text, as the reference library prints them.

Two styles share one walker. *New* is canonical: reals as ``%1.15E``, strings escaped to ASCII, ``is`` for
``=?=``. *Old* is the text after ``name =`` in the long form: shortest reals, strings raw but for the double
quote, ``=?=``. Parentheses are printed where the tree has them; a tree that was built without them gets those it needs.
Every prefix operator has a blank before it.

The walker keeps its own stack, so the depth of the tree is not limited.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from roost.classad.parser import ELVIS_PRECEDENCE, PRECEDENCE, PREFIX_PRECEDENCE
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
from roost.classad.values import AbsTime, Exceptional, ListValue, RelTime, Value, fold, to_bytes

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd

#: Pending output: a text, a node, or a value with the binding strength that its place requires.
_Work: TypeAlias = list["str | tuple[Node, int]"]

#: The strength required of an operand that may be any expression.
ANY_STRENGTH: Final = -1
#: The strength required of the base of a selection or subscript.
_POSTFIX: Final = 13
_PRIMARY: Final = 13


def unparse(node: Node, *, old: bool = False, exact: bool = False) -> str:
    """The text of a tree, in the new style or (`old`) the style of the long form.

    Both round reals to 16 digits as the reference library does; `exact` text gives every real back unchanged.
    """
    out: list[str] = []
    work: _Work = [(node, ANY_STRENGTH)]
    while work:
        item = work.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        node, least = item
        if strength_of(node) < least:
            out.append("(")
            work.append(")")
        if exact and isinstance(node, Literal) and isinstance(node.value, float):
            work.append(_special_real(node.value) or repr(node.value))
        else:
            push_node(work, node, old)
    return "".join(out)


def unparse_value(value: Value, *, old: bool = False) -> str:
    """The text of a value."""
    if isinstance(value, ListValue):
        return unparse(list_node(value), old=old)
    if isinstance(value, _PLAIN):
        return _constant(value, old)
    text = _text_of_plain_ad(value, old, exact=False)
    if text is not None:
        return text
    from roost.classad.evaluation import deeply

    try:
        return unparse(ad_node(value), old=old)
    except RecursionError:
        return deeply(lambda: unparse(ad_node(value), old=old))


def exact_text(cell: object) -> str:
    """The text of a cell of an ad or an item of a list, which gives every real back unchanged."""
    text = _text_of_plain_ad(cell, old=False, exact=True) if hasattr(cell, "cells") else None  # type: ignore[arg-type]
    return unparse(item_node(cell), exact=True) if text is None else text


def _text_of_plain_ad(ad: ClassAd, old: bool, exact: bool) -> str | None:
    """The result of `unparse` for an ad with plain values only, without building a tree; None for any other ad."""
    if ad.chained is not None:
        return None
    parts = []
    for key in keys_in_reference_order(tuple(ad.cells)):
        cell = ad.cells[key]
        if isinstance(cell, float):
            text = _special_real(cell) or repr(cell) if exact else format_real_old(cell) if old else format_real(cell)
            parts.append(f"{quote_name(ad.spelling(key), old=old)} = {text}")
        elif isinstance(cell, int) or (isinstance(cell, str) and len(cell) <= _KEPT_CHARS):
            parts.append(_plain_part(ad.spelling(key), cell, isinstance(cell, bool), old))
        else:
            return None
    return f"[ {'; '.join(parts)} ]"


#: Texts of longer strings are not kept.
_KEPT_CHARS: Final = 200


# Without `typed`, True and 1 would be one key.
@lru_cache(maxsize=10_000)
def _plain_part(name: str, cell: int | str, is_truth: bool, old: bool) -> str:
    return f"{quote_name(name, old=old)} = {_constant(cell, old)}"


# Jobs and slots often have the same attributes.
@lru_cache(maxsize=256)
def keys_in_reference_order(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The folded names of attributes in the reference library's order."""
    return tuple(sorted(keys, key=reference_order))


def ad_node(ad: ClassAd) -> AdNode:
    """The tree of an ad, attributes in the reference library's order."""
    return AdNode(tuple((name, ad.tree(name)) for name in sorted(ad, key=reference_order)))


def list_node(value: ListValue) -> ListNode:
    """The tree of a list."""
    return ListNode(tuple(item_node(item) for item in value.items))


def item_node(item: object) -> Node:
    """The tree of a cell of an ad or of an item of a list."""
    from roost.classad.expr import Expr

    if isinstance(item, Expr):
        return item.tree
    if isinstance(item, _PLAIN):
        return Literal(item)
    if isinstance(item, ListValue):
        return list_node(item)
    return ad_node(item)  # type: ignore[arg-type]


@lru_cache(maxsize=10_000)
def reference_order(name: str) -> tuple[int, str]:
    """Sort key under which the reference library keeps attributes: shorter names first, then by letter, any case."""
    return len(to_bytes(name)), fold(name)


def strength_of(node: Node) -> int:
    """How strongly the outermost operator of `node` binds."""
    match node:
        case Binary(op=op):
            return PRECEDENCE[op]
        case Unary():
            return PREFIX_PRECEDENCE
        case Elvis():
            return ELVIS_PRECEDENCE
        case Conditional():
            return 0
        case _:
            return _PRIMARY


def push_node(work: _Work, node: Node, old: bool) -> None:
    """Put the parts of `node` on the stack, last part first."""
    match node:
        case Literal(value=value):
            work.append(_constant(value, old))
        case Name(name=name, absolute=absolute):
            work.append(("." if absolute else "") + quote_name(name, old=old))
        case Paren(inner=inner):
            work += (")", (inner, ANY_STRENGTH), "(")
        case Binary(op=op, left=left, right=right):
            strength = PRECEDENCE[op]
            spelled = _OLD_SPELLING.get(op, op.value) if old else op.value
            work += ((right, strength + 1), f" {spelled} ", (left, strength))
        case Unary(op=op, operand=operand):
            work += ((operand, PREFIX_PRECEDENCE), f" {op.value}")
        case Conditional(test=test, then=then, otherwise=otherwise):
            work += ((otherwise, 0), " : ", (then, ANY_STRENGTH), " ? ", (test, 1))
        case Elvis(left=left, right=right):
            work += ((right, ELVIS_PRECEDENCE), " ?: ", (left, _PRIMARY))
        case Select(base=base, name=name):
            work += (f".{quote_name(name, _WORDS, old=old)}", (base, _POSTFIX))
        case Subscript(base=base, index=index):
            work += ("]", (index, ANY_STRENGTH), "[", (base, _POSTFIX))
        case Call(name=name, args=args):
            _push_sequence(work, f"{quote_name(name, _WORDS, old=old)}(", args, ")")
        case ListNode(items=items):
            _push_sequence(work, "{ ", items, " }")
        case AdNode(attributes=attributes):
            _push_ad(work, attributes, old)


def _push_sequence(work: _Work, opener: str, nodes: tuple[Node, ...], closer: str) -> None:
    work.append(closer)
    for index in range(len(nodes) - 1, -1, -1):
        work.append((nodes[index], ANY_STRENGTH))
        if index:
            work.append(",")
    work.append(opener)


def _push_ad(work: _Work, attributes: tuple[tuple[str, Node], ...], old: bool) -> None:
    unique: dict[str, tuple[str, Node]] = {}
    for name, node in attributes:
        key = fold(name)
        unique[key] = (unique[key][0] if key in unique else name, node)
    ordered = sorted(unique.values(), key=lambda pair: reference_order(pair[0]))
    work.append(" ]")
    for index in range(len(ordered) - 1, -1, -1):
        name, node = ordered[index]
        work += ((node, ANY_STRENGTH), f"{'; ' if index else ''}{quote_name(name, old=old)} = ")
    work.append("[ ")


# -- constants -----------------------------------------------------------------------------------


def _constant(value: Exceptional | bool | int | float | str | AbsTime | RelTime, old: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return format_real_old(value) if old else format_real(value)
        case str():
            return quote_string_old(value) if old else quote_string(value)
        case Exceptional():
            return value.value
        case AbsTime():
            return f'absTime("{format_abstime(value)}")'
        case RelTime(secs=secs):
            if abs(secs) < _CLOCK_SECS_MAX:
                return f'relTime("{format_reltime(secs)}")'
            return f"relTime({format_real(secs)})"


def _special_real(value: float) -> str | None:
    if value == 0.0:
        return "-0.0" if str(value)[0] == "-" else "0.0"
    if value - value == 0.0:
        return None
    return 'real("NaN")' if value != value else 'real("INF")' if value > 0 else 'real("-INF")'


def format_real(value: float) -> str:
    """A real in the new form: ``1.500000000000000E+00``."""
    return _special_real(value) or f"{value:.15E}"


def format_real_old(value: float) -> str:
    """A real in the long form and in JSON: ``1.5``, ``1000.0``, ``1E+20``."""
    text = _special_real(value)
    if text is None:
        text = f"{value:.16G}"
        if "." not in text and "E" not in text:
            text += ".0"
    return text


def format_abstime(value: AbsTime) -> str:
    """``yyyy-mm-ddThh:mm:ss±hh:mm``, in the zone of the value."""
    days, secs = divmod(value.secs + value.offset, 86400)
    year, month, day = _civil(days)
    # The reference library does not pad the year, and prints the zone of UTC with a minus sign.
    sign = "+" if value.offset > 0 else "-"
    offset = abs(value.offset)
    clock = f"{secs // 3600:02d}:{secs // 60 % 60:02d}:{secs % 60:02d}"
    return f"{year}-{month:02d}-{day:02d}T{clock}{sign}{offset // 3600:02d}:{offset // 60 % 60:02d}"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day count from 1970-01-01, in the proleptic Gregorian calendar."""
    days += 719468
    era, day_of_era = divmod(days, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def format_reltime(secs: float) -> str:
    """``[-][days+][[hh:]mm:]ss[.fff]``: leading parts that are zero are left out."""
    sign = "-" if secs < 0 else ""
    whole = int(abs(secs))
    fraction = abs(secs) - whole
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    text = sign
    if days:
        text += f"{days}+"
    if days or hours:
        text += f"{hours:02d}:"
    if days or hours or minutes:
        text += f"{minutes:02d}:"
    return text + (f"{seconds + fraction:g}" if fraction else f"{seconds:02d}")


# -- strings and names ---------------------------------------------------------------------------

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WORDS: Final = frozenset(("true", "false", "undefined", "error", "is", "isnt"))
#: Words that are quoted as the name of an attribute; "parent" does not need quotes, but is printed with them.
_RESERVED: Final = _WORDS | {"parent"}
_PLAIN: Final = (bool, int, float, str, Exceptional, AbsTime, RelTime)
#: Durations from here on, and those that are not a number, print as a real.
_CLOCK_SECS_MAX: Final = 2.0**53
_OLD_SPELLING: Final = {Op.IS: "=?=", Op.ISNT: "=!="}

_LETTER_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 92: "\\\\"}
_ESCAPES: Final = {byte: _LETTER_ESCAPES.get(byte, f"\\{byte:03o}") for byte in (*range(32), 92, *range(127, 256))}
_CLEAN: Final = re.compile(r"[ !#-&(-\[\]-~]*\Z")


def _escape(text: str, delimiter: str) -> str:
    if _CLEAN.match(text):
        return text
    quote = ord(delimiter)
    return "".join("\\" + delimiter if byte == quote else _ESCAPES.get(byte) or chr(byte) for byte in to_bytes(text))


def quote_string(text: str) -> str:
    """A string literal in the new form: ASCII only, escaped."""
    return f'"{_escape(text, chr(34))}"'


def quote_string_old(text: str) -> str:
    """A string literal in the long form: only the double quote is escaped."""
    escaped = text.replace('"', '\\"')
    return f'"{escaped}"'


def quote_name(name: str, reserved: frozenset[str] | None = None, *, old: bool = False) -> str:
    """An attribute name, between single quotes where it would not read as a name or is in `reserved`."""
    if _NAME.match(name) and name.lower() not in (_RESERVED if reserved is None else reserved):
        return name
    if old:
        escaped = name.replace("'", "\\'")
        return f"'{escaped}'"
    return f"'{_escape(name, chr(39))}'"
