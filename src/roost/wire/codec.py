"""Bytes to messages and back."""

from __future__ import annotations

import functools
import operator
from typing import Final, TypeVar

import msgspec

from roost.wire.errors import WireError
from roost.wire.messages import ALL, VERSION, Ask, Message
from roost.wire.structs import Struct, data_of

M = TypeVar("M", bound=Message)

#: Largest message, bytes; the embedded server is told the same.
MESSAGE_BYTES_MAX: Final = 8 * 1024 * 1024


def _plain(value: object) -> object:
    if not isinstance(value, Struct):
        raise TypeError(f"{type(value).__name__} has no form in JSON")
    return data_of(value)


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)
_DECODER: Final = msgspec.json.Decoder(functools.reduce(operator.or_, ALL))


def encode(message: Message) -> bytes:
    """The bytes of a message. Raises WireError for one that is too large.

    What daemons tell may have names of files in it, which need not be UTF-8: their odd bytes are written as `as_text`
    does. What a user asks for is not changed, but refused.
    """
    try:
        try:
            data = _ENCODER.encode(message)
        except UnicodeEncodeError:
            if isinstance(message, Ask):
                raise
            data = _ENCODER.encode(_readable(msgspec.to_builtins(message, enc_hook=_plain)))
    except (UnicodeEncodeError, TypeError, OverflowError) as error:
        raise WireError(f"{type(message).__name__}: {error}") from None
    if len(data) > MESSAGE_BYTES_MAX:
        raise WireError(f"{type(message).__name__}: {len(data)} bytes are more than MESSAGE_BYTES_MAX")
    return data


def as_text(name: str) -> str:
    r"""The name of a file as other programs can read it: of one that is not UTF-8, odd bytes as ``\xff``."""
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _readable(value: object) -> object:
    match value:
        case str():
            return as_text(value)
        case dict():
            return {_readable(key): _readable(each) for key, each in value.items()}
        case list() | tuple():
            return [_readable(each) for each in value]
        case _:
            return value


def decode(data: bytes) -> Message:
    """The message in `data`. Raises WireError."""
    if len(data) > MESSAGE_BYTES_MAX:
        raise WireError(f"{len(data)} bytes are more than MESSAGE_BYTES_MAX = {MESSAGE_BYTES_MAX}")
    try:
        message = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from None
    assert isinstance(message, Message)
    if message.v > VERSION:
        raise WireError(f"{type(message).__name__}: version {message.v} of the protocol is newer than {VERSION}")
    return message


def expect(kind: type[M], data: bytes) -> M:
    """The message in `data`, which must be of that type. Raises WireError."""
    message = decode(data)
    if not isinstance(message, kind):
        raise WireError(f"{kind.__name__} was expected, not {type(message).__name__}")
    return message
