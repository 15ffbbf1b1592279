"""Scripts of `qsub` as a string in the job's ad: plain text unchanged, binary and long scripts packed.

A packed script is `_MARK`, a line break, and the bytes compressed with zlib in base64.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Final

#: Longest script, bytes.
SCRIPT_BYTES_MAX: Final = 50_000_000
#: Longest script as a string in the ad, which is sent along with the job, characters.
SCRIPT_CHARS_MAX: Final = 3_000_000
#: Scripts up to this length that are UTF-8 stay readable in the ad, bytes.
PLAIN_BYTES_MAX: Final = 500_000
_MARK: Final = "roost-script zlib base64"


class ScriptTooLong(ValueError):
    """A script does not fit into an ad."""


def packed_script(data: bytes) -> str:
    """A script as a text. Raises ScriptTooLong."""
    if len(data) <= PLAIN_BYTES_MAX and not data.startswith(_MARK.encode()):
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    if len(data) > SCRIPT_BYTES_MAX:
        raise ScriptTooLong(f"longer than {SCRIPT_BYTES_MAX} bytes")
    text = f"{_MARK}\n{base64.b64encode(zlib.compress(data)).decode()}"
    if len(text) > SCRIPT_CHARS_MAX:
        raise ScriptTooLong(f"longer than {SCRIPT_CHARS_MAX} bytes when compressed")
    return text


def unpacked_script(text: str) -> bytes:
    """The bytes of a script; a text that `packed_script` did not make is returned as its bytes."""
    mark, _, data = text.partition("\n")
    if mark == _MARK:
        try:
            unpacking = zlib.decompressobj()
            return unpacking.decompress(base64.b64decode(data, validate=True), SCRIPT_BYTES_MAX)
        except (binascii.Error, ValueError, zlib.error):
            pass
    return text.encode(errors="surrogateescape")
