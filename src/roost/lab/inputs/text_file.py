"""Text of files of jobs and owners, whole or compressed with gzip, as archives of recorded workloads provide them."""

from __future__ import annotations

import gzip
import zlib
from io import BytesIO
from pathlib import Path
from typing import Final

from roost.lab.machines import LabError

#: Largest file, unpacked, bytes.
SIZE_MAX: Final = 2_000_000_000
_GZIP: Final = b"\x1f\x8b"


def read_text(path: Path) -> str:
    """The text of a file; letters that are not UTF-8 (names in comments, mostly) are replaced.

    Raises LabError if it is not text, OSError.
    """
    data = path.read_bytes()
    if data.startswith(_GZIP):
        try:
            with gzip.open(BytesIO(data)) as packed:
                data = packed.read(SIZE_MAX + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise LabError(f"{path}: it cannot be unpacked: {error}; copy the file again") from None
    if len(data) > SIZE_MAX:
        raise LabError(f"{path}: it is larger than {SIZE_MAX:,} bytes; use a part of it")
    if (place := data.find(0)) >= 0:
        line = data.count(b"\n", 0, place) + 1
        raise LabError(f"{path}:{line}: it is not a text file (byte {place} is zero); is it the right file?")
    return data.decode("utf-8-sig", errors="replace")


def kind_of(path: Path) -> str:
    """The kind of a file by its name: its suffix in lower case, without that of gzip."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix
