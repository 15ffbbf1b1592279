"""Random ads and expressions that the text forms must carry.

What no form carries, in the reference library as here, is left out: reals beyond 16 digits, durations beyond six,
a minus sign before a number (it reads back as a negative number), a number right before a selection.
"""

from __future__ import annotations

from hypothesis import strategies as st

from roost.classad import ClassAd, unparse
from roost.classad.expr import Expr
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
    strip,
)
from roost.classad.values import ERROR, UNDEFINED, AbsTime, RelTime, fold, from_bytes

_NO_NUL = st.text(st.characters(min_codepoint=1, exclude_categories=("Cs",)), max_size=12)
_BYTES = st.binary(max_size=8).map(lambda data: from_bytes(data.replace(b"\0", b"")))
_TRICKY = st.sampled_from(
    [
        '"',
        "\\",
        '\\"',
        "end\\",
        "a\\nb",
        "'",
        "/Expr(1)/",
        "\\/Expr(x)\\/",
        "&lt;<b>&",
        "a\r",
        "]",
        "}",
        " x ",
        "é\u2028",
        "//",
        "/*",
    ]
)
strings = _NO_NUL | _BYTES | _TRICKY

_names = st.sampled_from(["a", "B", "Memory", "x_1", "my", "TARGET", "parent", "Requirements"]) | (
    (_NO_NUL | _TRICKY | st.sampled_from(["is", "true", "a b", "1a", "a.b", "[ A", "#x", "a=b", "é"])).filter(bool)
)
# Deferred, for hypothesis complains about strategies whose repr is long.
names: st.SearchStrategy[str] = st.deferred(lambda: _names)
_functions = st.sampled_from(["strcat", "size", "f", "real"])

reals = st.floats(allow_nan=True, allow_infinity=True).map(lambda x: x if x != x else float(f"{x:.15E}"))
_instants = st.builds(
    AbsTime, st.integers(-(2**31), 2**33), st.integers(-14 * 60, 14 * 60).map(lambda minutes: minutes * 60)
)
_durations = st.integers(-(10**7), 10**7).map(lambda quarters: RelTime(quarters / 4))
constants = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    reals,
    strings,
    _instants,
    _durations,
    st.just(UNDEFINED),
    st.just(ERROR),
)


def _is_number(node: Node) -> bool:
    node = strip(node)
    return isinstance(node, Literal) and node.value.__class__ in (int, float)


@st.composite
def _attributes(draw: st.DrawFn, inner: st.SearchStrategy[Node]) -> tuple[tuple[str, Node], ...]:
    return tuple((name, draw(inner)) for name in draw(st.lists(names, max_size=3, unique_by=fold)))


def _extend(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    infix = st.sampled_from([op for op in Op if op not in (Op.NOT, Op.INVERT)])
    prefix = st.sampled_from([Op.NOT, Op.INVERT, Op.SUB, Op.ADD])
    postfix_base = inner.filter(lambda node: not _is_number(node))
    return st.one_of(
        st.builds(Binary, infix, inner, inner),
        st.builds(Unary, prefix, inner.filter(lambda node: not unparse(node)[:1].isdigit())),
        st.builds(Conditional, inner, inner, inner),
        st.builds(Elvis, inner, inner),
        st.builds(Subscript, postfix_base, inner),
        st.builds(Select, postfix_base, names),
        st.builds(Call, _functions, st.lists(inner, max_size=3).map(tuple)),
        st.builds(ListNode, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AdNode, _attributes(inner)),
        st.builds(Paren, inner),
    )


_trees = st.recursive(st.builds(Literal, constants) | st.builds(Name, names, st.booleans()), _extend, max_leaves=8)


trees: st.SearchStrategy[Node] = st.deferred(lambda: _trees)


@st.composite
def ads(draw: st.DrawFn, max_size: int = 5) -> ClassAd:
    """An ad with constants, expressions, lists and nested ads."""
    ad = ClassAd()
    for name in draw(st.lists(names, max_size=max_size, unique_by=fold)):
        tree = draw(trees)
        if isinstance(tree, Literal) and not isinstance(tree.value, RelTime):
            ad.put(name, tree.value)
        elif isinstance(tree, AdNode):
            ad.put_tree(name, tree)
        else:
            ad.put(name, Expr(tree))
    return ad
