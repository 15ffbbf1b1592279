"""The text forms of the ClassAd room under the names that `ours` uses."""

from __future__ import annotations

import importlib.util

from roost.classad.ad import ClassAd
from roost.classad.errors import ParseError
from roost.classad.parser import parse_tree
from roost.classad.syntax import AdNode

#: Whether old and JSON forms can be asked.
COMPLETE = False
#: Whether references can be asked.
REFERENCES = importlib.util.find_spec("roost.classad.refs") is not None


def read_new(text: str) -> ClassAd:
    """The ad of a text in new form. Raises ParseError."""
    tree = parse_tree(text)
    if not isinstance(tree, AdNode):
        raise ParseError("not an ad")
    ad = ClassAd()
    for name, node in tree.attributes:
        ad.put_tree(name, node)
    return ad


def read_old(text: str) -> list[ClassAd]:
    raise NotImplementedError(text)


read_json = read_old


def write_old(ad: ClassAd) -> str:
    raise NotImplementedError(ad)


write_json = write_old
