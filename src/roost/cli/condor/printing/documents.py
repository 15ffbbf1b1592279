"""Whole ads, one after another: ``-long``, ``-json``, ``-jsonl``, ``-xml``.

Names are sorted without regard to case. Of no ads, JSON is nothing at all, and XML its header and footer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from roost.cli.condor.printing.rows import AdRow

if TYPE_CHECKING:
    from roost.classad import ClassAd

LONG: Final = "long"
JSON: Final = "json"
JSON_LINES: Final = "jsonl"
XML: Final = "xml"
NEW: Final = "new"


class Sink(Protocol):
    """A file open for writing text."""

    def write(self, text: str, /) -> object:
        """Take a text."""
        ...


def write_ads(rows: Iterable[AdRow], form: str, stream: Sink, names: Sequence[str] = ()) -> None:
    """Write ads; `names`: only these attributes."""
    wanted = {name.lower() for name in names}
    if form == JSON_LINES:
        _json_lines(rows, wanted, stream)
        return
    rows = list(rows)
    if not rows and form in (JSON, NEW, LONG):
        return
    from roost.classad.forms import Form, Order, write

    forms = {LONG: Form.OLD, JSON: Form.JSON, XML: Form.XML, NEW: Form.NEW}
    write((_only(row, wanted) for row in rows), forms[form], stream, Order.NAME)


def _json_lines(rows: Iterable[AdRow], wanted: set[str], stream: Sink) -> None:
    from roost.classad.forms import Order
    from roost.classad.forms.json import format_json

    for row in rows:
        stream.write(format_json(_only(row, wanted), Order.NAME, oneline=True) + "\n")


def _only(row: AdRow, wanted: set[str]) -> ClassAd:
    from roost.classad import ClassAd

    if not wanted:
        return row.ad
    kept = ClassAd()
    for name in row.ad:
        if name.lower() in wanted:
            kept.put(name, row.ad[name])
    return kept
