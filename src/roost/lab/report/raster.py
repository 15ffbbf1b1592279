"""A picture of many rows of coloured cells as a PNG file, written without any library: one byte per cell, and a
palette.

So a report can show a thousand slots over a week in a few kilobytes, even without matplotlib.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Final

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def png(rows: Sequence[bytes], colours: Sequence[str], clear: int | None = None) -> bytes:
    """The file of a picture. Each byte of a row is an index into `colours`, which are texts such as ``#2a9d73``.

    `clear` is the index of the transparent colour.
    """
    assert rows, "a picture has a row"
    assert len({len(row) for row in rows}) == 1, "rows are of one length"
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    palette = b"".join(bytes.fromhex(colour.removeprefix("#")) for colour in colours)
    # Every row begins with the number of its filter: none.
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    alphas = b"" if clear is None else b"\xff" * clear + b"\0"
    parts = ((b"IHDR", header), (b"PLTE", palette), (b"tRNS", alphas), (b"IDAT", data), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in parts if content or name == b"IEND")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
