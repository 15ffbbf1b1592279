"""The reference library's answers. Runs in a process of its own: the library can crash on odd input.

Reads lines of JSON, each a list of cases, from standard input, and writes the answer to each case as a line of
JSON as soon as it is known, so that the parent can tell at which case the library crashed. Its argument is the zone.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

#: Seconds for one case; the process is killed by SIGALRM beyond it (no handler runs inside C++ code).
CASE_S = 20

REFUSED = "!refused"


def main() -> None:
    """Answer until end of input."""
    os.environ["TZ"] = sys.argv[1]
    time.tzset()
    library = Library()
    for line in sys.stdin:
        for case in json.loads(line):
            signal.alarm(CASE_S)
            try:
                answer = library.answer(*case)
            except Exception as error:
                # A mistake of this program, not of the library: it shows as a difference.
                answer = {"raised": f"{type(error).__name__}: {error}"}
            signal.alarm(0)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


class Library:
    """classad2 behind the questions of `cases.Kind`."""

    def __init__(self) -> None:
        import classad2  # type: ignore[import-untyped]
        import htcondor2  # type: ignore[import-untyped]  # noqa: F401  (switches the old evaluation semantics on)

        self.ad: Any = classad2.ClassAd
        self.tree: Any = classad2.ExprTree
        self.value: Any = classad2.Value
        self.forms: Any = classad2.ParserType
        self.read_ads: Any = classad2.parseAds
        self.refusal: Any = (classad2.ClassAdException, ValueError)
        self._kinds: dict[str, Callable[..., dict[str, str]]] = {
            "expression": self.expression,
            "ad": self.whole_ad,
            "old": self.old,
            "json": self.json,
            "references": self.references,
            "match": self.match,
        }

    def answer(self, kind: str, text: str, my: str | None, target: str | None) -> dict[str, str]:
        """Every observation about one case."""
        return self._kinds[kind](text, my, target)

    def expression(self, text: str, my: str | None, target: str | None) -> dict[str, str]:
        tree = self._tree(text)
        if tree is None:
            return {"text": REFUSED}
        scope, other = self._scopes(my, target)
        if scope is REFUSED or other is REFUSED:
            return {"text": repr(tree), "value": REFUSED}
        return {"text": repr(tree), "value": self._evaluate(tree, scope, other, text)}

    def whole_ad(self, text: str, _my: str | None, _target: str | None) -> dict[str, str]:
        ad = self._ad(text)
        if ad is REFUSED:
            return {"text": REFUSED}
        again = self._ad(repr(ad))
        answer = {"text": repr(ad), "again": REFUSED if again is REFUSED else repr(again)}
        for form, write in (("old", ad.printOld), ("json", ad.printJson)):
            try:
                written = write()
            except UnicodeDecodeError:
                continue
            answer[form] = written
            answer[f"{form} again"] = self._read(written, form)
        for name in ad:
            answer[f"value of {name}"] = self._evaluate(ad.lookup(name), ad, None, None)
        return answer

    def old(self, text: str, _my: str | None, _target: str | None) -> dict[str, str]:
        return {"text": self._read(text, "old")}

    def json(self, text: str, _my: str | None, _target: str | None) -> dict[str, str]:
        return {"text": self._read(text, "json")}

    def references(self, text: str, my: str | None, _target: str | None) -> dict[str, str]:
        tree = self._tree(text)
        if tree is None:
            return {"text": REFUSED}
        ad = self._ad(my or "[]")
        if ad is REFUSED:
            return {"text": repr(tree), "external": REFUSED}
        answer = {"text": repr(tree)}
        for name, ask in (("external", ad.externalRefs), ("internal", ad.internalRefs)):
            try:
                answer[name] = ",".join(ask(tree))
            except (*self.refusal, TypeError):
                answer[name] = "!none"
        return answer

    def match(self, _text: str, my: str | None, target: str | None) -> dict[str, str]:
        left, right = self._scopes(my or "[]", target or "[]")
        if left is REFUSED or right is REFUSED:
            return {"text": REFUSED}
        return {"my matches": self._matches(left, right), "target matches": self._matches(right, left)}

    def _matches(self, one: Any, other: Any) -> str:
        try:
            return str(one.matches(other))
        except (*self.refusal, UnicodeDecodeError, SystemError):
            # Requirements with a string that the binding cannot hand to Python are no truth either.
            return "False"

    def _tree(self, text: str) -> Any:
        # ExprTree reads "[expression = text]": parentheses keep the text from ending that early.
        try:
            self.ad(f"[x=({text})]")
            return self.tree(text)
        except (*self.refusal, KeyError, AssertionError):
            return None

    def _ad(self, text: str) -> Any:
        # ClassAd ignores what follows the ad; inside another one it must be all.
        try:
            self.ad(f"[x=({text}\n)]")
            self.ad(f"[x={{{text}\n}}]")
            return self.ad(text)
        except self.refusal:
            return REFUSED

    def _scopes(self, my: str | None, target: str | None) -> tuple[Any, Any]:
        return (None if my is None else self._ad(my)), (None if target is None else self._ad(target))

    def _read(self, text: str, form: str) -> str:
        syntax = self.forms.Old if form == "old" else self.forms.JSON
        try:
            ads = " ".join(repr(ad) for ad in self.read_ads(text, syntax))
            # An ad without attributes is not told from none.
            return REFUSED if ads in ("", "[  ]") else ads
        except self.refusal:
            return REFUSED

    def _evaluate(self, tree: Any, scope: Any, other: Any, text: str | None) -> str:
        try:
            value = tree.eval(scope, other)
        except UnicodeDecodeError:
            return "s:" + unescape(repr(tree.simplify(scope, other)))
        except SystemError:
            return "l:" + repr(tree.simplify(scope, other))
        except self.refusal:
            return self._encode_refused(tree, scope, other)
        return self._encode(value, tree, scope, other, text)

    def _encode_refused(self, tree: Any, scope: Any, other: Any) -> str:
        # Evaluation fails, or it gives an instant that Python's datetime cannot hold.
        try:
            printed = repr(tree.simplify(scope, other))
        except (*self.refusal, SystemError):
            return "e"
        return "at:beyond" if printed.startswith("absTime(") else "e"

    def _encode(self, value: Any, tree: Any, scope: Any, other: Any, text: str | None) -> str:
        if value.__class__ is bool:
            return "t" if value else "f"
        if value.__class__ is int:
            return f"i:{value}"
        if value.__class__ is str:
            return f"s:{value}"
        if value.__class__ is float:
            return self._encode_float(value, tree, scope, other, text)
        if isinstance(value, self.value):
            return "u" if value == self.value.Undefined else "e"
        if isinstance(value, datetime):
            return encode_instant(value, repr(tree.simplify(scope, other)))
        if isinstance(value, self.ad):
            return "c:" + repr(value)
        return "l:" + repr(tree.simplify(scope, other))

    def _encode_float(self, value: float, tree: Any, scope: Any, other: Any, text: str | None) -> str:
        # In Python a duration is no longer told from a real.
        try:
            question = self.tree(f"isReltime({text if text is not None else repr(tree)})")
            is_duration = question.eval(scope, other) is True
        except self.refusal:
            # The library cannot read what it printed: a selection's name lost its quotes.
            is_duration = repr(tree.simplify(scope, other)).startswith("relTime(")
        if is_duration:
            return f"rt:{value!r}"
        return "r:nan" if value != value else f"r:{value!r}"


def encode_instant(value: datetime, printed: str) -> str:
    """An instant and the zone offset, which only the printed form tells."""
    found = re.search(r'([+-])(\d\d+):(\d\d)"\)$', printed)
    assert found, printed
    sign, hours, minutes = found.groups()
    offset = (int(hours) * 3600 + int(minutes) * 60) * (-1 if sign == "-" else 1)
    return f"at:{int(value.timestamp())} {offset}"


_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


def unescape(literal: str) -> str:
    """The contents of a printed string literal, bytes that are not UTF-8 as surrogate escapes."""
    out = bytearray()
    inner = literal[1:-1]
    at = 0
    while at < len(inner):
        if inner[at] != "\\":
            out += inner[at].encode("utf-8")
            at += 1
        elif inner[at + 1].isdigit():
            out.append(int(inner[at + 1 : at + 4], 8))
            at += 4
        else:
            letter = inner[at + 1]
            out.append(_ESCAPES.get(letter, ord(letter)))
            at += 2
    return out.decode("utf-8", "surrogateescape")


if __name__ == "__main__":
    main()
