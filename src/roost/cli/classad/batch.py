"""``roost classad eval --jsonl``: the evaluator as a server on a pipe, for programs in other languages.

A request is a line with a JSON object: ``expr`` (text in the new syntax) and, if wanted, ``my`` and ``target`` (texts
of ads, in any form). Each is answered with one line, in order:

* ``{"value": …, "type": …}``: the value as a literal in the new form, and the name of its type;
* ``{"parse_error": {"message", "line", "column", "code", "hint", "in"}}``: ``in`` is expr, my or target;
* ``{"error": {"message", "code"}}``: the line is not a request.

A member ``id`` of the request is echoed in the answer. All requests available in the pipe are answered before the
answers are flushed, so both a program that waits for each answer and one that sends thousands are served well.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from typing import IO, Any, Final

from roost.classad import ClassAd, ParseError, evaluate, parse_expression, type_name, unparse_value
from roost.classad.forms import parse_ad
from roost.cli.classad.input import clean

#: Maximum size of one request, bytes; a longer line is answered with an error.
REQUEST_BYTES_MAX: Final = 64 * 1024 * 1024

#: Number of ads cached because the next request may contain the same text.
_ADS_KEPT: Final = 256

_CHUNK: Final = 256 * 1024


class RequestError(Exception):
    """A line is not a request."""


def serve(requests: IO[bytes], answers: IO[str]) -> None:
    """Answer requests until end of input."""
    ads: OrderedDict[str, ClassAd] = OrderedDict()
    for lines in _ready_lines(requests):
        answers.write("".join([f"{json.dumps(_answer(line, ads))}\n" for line in lines]))
        answers.flush()


def _ready_lines(requests: IO[bytes]) -> Iterator[list[bytes]]:
    """Yield the complete lines that are available, repeatedly."""
    read = getattr(requests, "read1", requests.read)
    parts: list[bytes] = []
    size = 0
    while chunk := read(_CHUNK):
        head, newline, tail = chunk.rpartition(b"\n")
        if newline:
            yield b"".join([*parts, head]).split(b"\n")
            parts, size = [], 0
        size += len(tail)
        # Only the beginning of an overlong line is kept, enough to detect that it is too long.
        if tail and size <= REQUEST_BYTES_MAX + _CHUNK:
            parts.append(tail)
    if parts:
        yield [b"".join(parts)]


def _answer(line: bytes, ads: OrderedDict[str, ClassAd]) -> dict[str, Any]:
    """The answer to one line, whatever it contains."""
    answer: dict[str, Any] = {}
    try:
        request = _request(line)
        if "id" in request:
            answer["id"] = request["id"]
        _evaluate(request, ads, answer)
    except RequestError as error:
        answer["error"] = {"message": str(error), "code": "request"}
    except RecursionError:
        answer["error"] = {"message": "the request is nested too deeply", "code": "limit"}
    except Exception as error:
        # The program at the other end must get its line, and the run continues.
        answer["error"] = {"message": f"{type(error).__name__}: {error}", "code": "internal"}
    return answer


def _request(line: bytes) -> dict[str, Any]:
    if len(line) > REQUEST_BYTES_MAX:
        raise RequestError(f"the line is longer than {REQUEST_BYTES_MAX} bytes")
    try:
        request = json.loads(line.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        raise RequestError(f"the line is not JSON: {error.msg} at column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        raise RequestError(f"the line cannot be decoded as JSON: {error}") from None
    if not isinstance(request, dict):
        raise RequestError("the line is not a JSON object")
    if "expr" not in request:
        raise RequestError("the member expr is missing")
    return request


def _text(request: dict[str, Any], member: str) -> str | None:
    text = request.get(member)
    if text is None and member != "expr":
        return None
    if not isinstance(text, str):
        raise RequestError(f"the member {member} is not a string")
    return clean(text)


def _evaluate(request: dict[str, Any], ads: OrderedDict[str, ClassAd], answer: dict[str, Any]) -> None:
    part = "expr"
    try:
        text = _text(request, "expr")
        assert text is not None
        expression = parse_expression(text)
        part = "my"
        my = _ad(_text(request, "my"), ads)
        part = "target"
        target = _ad(_text(request, "target"), ads)
    except ParseError as error:
        answer["parse_error"] = {**described(error), "in": part}
        return
    if target is not None and my is None:
        my = ClassAd()
    value = evaluate(expression, my, target)
    answer["value"] = unparse_value(value)
    answer["type"] = type_name(value)


def _ad(text: str | None, ads: OrderedDict[str, ClassAd]) -> ClassAd | None:
    if text is None:
        return None
    ad = ads.get(text)
    if ad is None:
        ad = parse_ad(text)
        if len(ads) >= _ADS_KEPT:
            ads.popitem(last=False)
        ads[text] = ad
    return ad


def described(error: ParseError) -> dict[str, Any]:
    """A parse error as a JSON object."""
    place = error.place
    return {
        "message": error.message,
        "line": place.line,
        "column": place.column,
        "code": error.code,
        "hint": error.hint,
    }
