"""The module `classad2`: ads and expressions, as HTCondor's second bindings have them, over `roost.classad`."""

from roost.compat.classad2.ad import ClassAd
from roost.compat.classad2.expr import ExprTree
from roost.compat.classad2.reading import parseAds, parseNext, parseOne, quote, unquote
from roost.compat.classad2.values import ClassAdException, Parser, ParserType, Value
from roost.model.compatible import CONDOR_VERSION_NUMBER

#: The release whose behaviour this is.
__version__: str = CONDOR_VERSION_NUMBER


def version() -> str:
    """The release whose behaviour this is."""
    return __version__


def lastError() -> str:
    """The last error; always empty, because exceptions carry their own messages here."""
    return ""


__all__ = [
    "ClassAd",
    "ClassAdException",
    "ExprTree",
    "Parser",
    "ParserType",
    "Value",
    "lastError",
    "parseAds",
    "parseNext",
    "parseOne",
    "quote",
    "unquote",
    "version",
]
