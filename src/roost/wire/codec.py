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

#: Maximum size of a message, bytes; the embedded server gets the same limit.
MESSAGE_BYTES_MAX: Final = 8 * 1024 * 1024


def _plain(value: object) -> object:
    if not isinstance(value, Struct):
        raise TypeError(f"{type(value).__name__} cannot be represented in JSON")
    return data_of(value)


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)
_DECODER: Final = msgspec.json.Decoder(functools.reduce(operator.or_, ALL))


def encode(message: Message) -> bytes:
    """Encode a message. Raises WireError for one that is too large.

    Messages of daemons may contain file names that are not UTF-8: their invalid bytes are written as by `as_text`.
    Requests of users are not changed; those with such names are refused.
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
        raise WireError(f"{type(message).__name__}: {len(data)} bytes exceed MESSAGE_BYTES_MAX")
    return data


def as_text(name: str) -> str:
    r"""A file name that other programs can read: if it is not UTF-8, invalid bytes are written as ``\xff``."""
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
        raise WireError(f"{len(data)} bytes exceed MESSAGE_BYTES_MAX = {MESSAGE_BYTES_MAX}")
    try:
        message = _DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"not a message: {error}") from None
    assert isinstance(message, Message)
    if message.v > VERSION:
        raise WireError(f"{type(message).__name__}: version {message.v} of the protocol is newer than {VERSION}")
    return message


def expect(kind: type[M], data: bytes) -> M:
    """Decode the message in `data`, which must be of that type. Raises WireError."""
    message = decode(data)
    if not isinstance(message, kind):
        raise WireError(f"{kind.__name__} was expected, not {type(message).__name__}")
    return message
