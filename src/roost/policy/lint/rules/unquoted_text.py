"""A text without quotation marks.

What: The value of a published attribute is a single word that is not an attribute; or a text attribute is compared
with such a word, all in small or all in capital letters.

Why: Values in STARTD_ATTRS are expressions: a word is a reference, and this one is UNDEFINED. So is a comparison with
it. Texts need quotation marks.

Example::

    Rack = blue
    STARTD_ATTRS = Rack
    START = OpSys == LINUX

Instead::

    Rack = "blue"
    STARTD_ATTRS = Rack
    START = OpSys == "LINUX"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from roost.base.diagnostics import Severity
from roost.classad.syntax import Name, Op, strip
from roost.classad.values import fold
from roost.policy.lint.abstract import Types
from roost.policy.lint.pool import Expression
from roost.policy.lint.registry import Hit, expression_rule
from roost.policy.lint.shapes import binaries, reference
from roost.policy.model import AdKind


@expression_rule("RST525", Severity.WARNING, "E8", "F1")
def check(expression: Expression) -> Iterator[Hit]:
    yield from _compared(expression)
    tree = expression.tree
    if expression.scope.my is AdKind.JOB and expression.knob.startswith(("+", "my.", "MY.")):
        return  # RST701 says so for submit descriptions.
    if not expression.attribute or expression.policy is not None or not isinstance(tree, Name):
        return
    if expression.scope.knows(tree.name) or fold(tree.name) in ("my", "target", "currenttime"):
        return
    yield Hit(
        message=f"{expression.knob} is UNDEFINED: {tree.name} is taken for the name of an attribute",
        remedy=_remedy(tree.name),
        node=tree,
    )


#: Words that settings of yes or no use, and ads do not.
_TRUTHS: Final = {"yes": True, "on": True, "y": True, "t": True, "no": False, "off": False, "n": False, "f": False}


def _remedy(word: str) -> str:
    if fold(word) in _TRUTHS:
        return f'Write {_TRUTHS[fold(word)]}, or "{word}" if a text is meant.'
    return f'If a text is meant, write "{word}".'


def _compared(expression: Expression) -> Iterator[Hit]:
    """Comparisons of a text with a word that is meant as one; attributes are mostly written LikeThis."""
    for node, _ in binaries(expression, Op.EQ, Op.NE, Op.IS, Op.ISNT):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            word = strip(other)
            if not isinstance(word, Name) or not (word.name.islower() or word.name.isupper()):
                continue
            known = expression.scope.knows(word.name) or fold(word.name) in ("my", "target", "currenttime")
            if not known and reference(side) and expression.alone.of(side).without(Types.UNDEFINED).only(Types.STRING):
                yield Hit(
                    message=f"{word.name} is taken for the name of an attribute, and is UNDEFINED",
                    remedy=f'If a text is meant, write "{word.name}".',
                    node=word,
                )
