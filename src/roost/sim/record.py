"""The records of a run: a stream of events, and its digest.

Every record goes through `Recorder.write`: into the digest, and to the sinks. A record is a flat dict: ``t`` (s since
the beginning), ``what``, and the fields of that kind. The digest is computed over its JSON text, keys in the order of
writing. Kinds and fields are described in docs/guides/lab.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

from msgspec.json import Encoder

Record = dict[str, Any]
Sink = Callable[[Record], None]


#: Maximum number of records that are added to the digest together.
TEXTS_MAX: Final = 256


class Recorder:
    """Accepts records."""

    __slots__ = ("_hash", "_lines", "_texts", "count", "sinks", "start")

    def __init__(
        self, start: float, sinks: tuple[Sink, ...] = (), lines: Callable[[str], object] | None = None
    ) -> None:
        self.start = start
        self.sinks = sinks
        #: Number of records written.
        self.count = 0
        self._lines = lines
        self._hash = blake2b(digest_size=16)
        #: Records not yet in the digest.
        self._texts: list[bytes] = []

    def write(self, now: float, what: str, **fields: Any) -> None:
        """A record of something that happened at `now`, epoch s."""
        record: Record = {"t": round(now - self.start, 3), "what": what, **fields}
        text = _encode(record)
        self._texts.append(text)
        if len(self._texts) >= TEXTS_MAX:
            self._digested()
        self.count += 1
        if self._lines is not None:
            self._lines(text.decode() + "\n")
        for sink in self.sinks:
            sink(record)

    def _digested(self) -> None:
        self._hash.update(b"".join(self._texts))
        self._texts.clear()

    @property
    def digest(self) -> str:
        """The digest of all records so far, 32 hexadecimal digits."""
        self._digested()
        return self._hash.hexdigest()


_ENCODER: Final = Encoder()
_ASCII: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, check_circular=False)


def _encode(record: Record) -> bytes:
    """The JSON text of a record, in ASCII."""
    text = _ENCODER.encode(record)
    return text if text.isascii() and b"\\" not in text else _ASCII.encode(record).encode()
