"""``classad_eval``: evaluate expressions, in the context of ads that are built up argument by argument.

Arguments are processed in order: an ad ``[ a = 1; ]`` or an assignment ``a = 1`` changes the context; anything else is
an expression whose value is printed, after the context if that has changed since it was last printed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from roost.classad import ClassAd, ParseError, Syntax, evaluate, parse_expression, unparse_value
from roost.classad.forms import parse_ad
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given

OPTIONS: Final = (
    Option("quiet", "do not print the context before the values that follow", least=1),
    Option("file", "use the first ad of this file as the context", takes="FILE", least=1),
    Option("ad-file", "the same", takes="FILE", least=1),
    Option("my-file", "the same", takes="FILE", least=1),
    Option("target-file", "use the first ad of this file as the target", takes="FILE", least=1),
    Option("target-ad", "the same", takes="FILE", least=8),
    Option("debug", "accepted, has no effect", least=1),
)
_ASSIGNMENT: Final = re.compile(r"\s*([A-Za-z_]\w*|'[^']+')\s*=(?![=?!])(.*)\Z", re.DOTALL)
#: Exit statuses.
_BAD_CONTEXT: Final = 1
_BAD_OPTION: Final = 255


class _Context:
    """The ads used to evaluate expressions."""

    def __init__(self) -> None:
        self.my = ClassAd()
        self.target: ClassAd | None = None
        #: Whether it has changed since it was last printed.
        self.is_new = True
        self.is_quiet = False

    def take(self, word: str) -> None:
        """Change the context, or print a value. Raises ToolError."""
        assignment = _ASSIGNMENT.match(word)
        if word.lstrip().startswith("["):
            self._add(_ad(word, "the ad"))
        elif assignment is not None:
            self._add(_ad(f"[{word.strip().rstrip(';')}]", "the assignment"))
        else:
            self._print(word)

    def read(self, path: str, *, target: bool) -> None:
        """Read an ad from a file. Raises ToolError."""
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError as error:
            raise ToolError(f"Failed to open ad file '{path}': {error.strerror}", _BAD_CONTEXT) from None
        first = text if text.startswith(("[", "{", "<")) else re.split(r"\n[ \t]*\n", text, maxsplit=1)[0]
        try:
            ad = parse_ad(first, origin=path)
        except ParseError as error:
            raise ToolError(f"Failed to parse ad in file '{path}': {error}", _BAD_CONTEXT) from None
        if target:
            self.target = ad
        else:
            self.my = ad
        self.is_new = True

    def _add(self, ad: ClassAd) -> None:
        for name in ad:
            self.my[name] = ad[name]
        self.is_new = True

    def _print(self, text: str) -> None:
        if self.is_new and not self.is_quiet:
            sys.stdout.write(f"{self.my}\n")
            if self.target is not None:
                sys.stdout.write(f"{self.target}\n")
        self.is_new = False
        try:
            expression = parse_expression(text, Syntax.NEW)
        except ParseError as error:
            raise ToolError(f"Failed to parse expression '{text}': {error}", _BAD_CONTEXT) from None
        sys.stdout.write(f"{unparse_value(evaluate(expression, self.my, self.target))}\n")


def _ad(text: str, what: str) -> ClassAd:
    try:
        return parse_ad(text)
    except ParseError as error:
        raise ToolError(f"Failed to parse {what} '{text}': {error}", _BAD_CONTEXT) from None


def run(name: str, arguments: list[str]) -> int:
    """Run ``classad_eval``."""
    context = _Context()
    if not arguments:
        raise ToolError(f"Usage: {name} [options] AD | ASSIGNMENT | EXPRESSION ...", _BAD_OPTION)
    try:
        options = list(given(arguments, OPTIONS))
    except UsageError as error:
        raise ToolError(str(error), _BAD_OPTION) from None
    for option in options:
        match option.name:
            case "":
                context.take(option.value)
            case "quiet":
                context.is_quiet = True
            case "file" | "ad-file" | "my-file" | "target-file" | "target-ad":
                context.read(option.value, target=option.name.startswith("target"))
    return 0
