"""Values as exact texts, the same for both libraries.

A value is its type and its contents: ``i:5``, ``r:0.1`` (shortest repr, so bit for bit), ``s:text``, ``t`` and
``f``, ``u``, ``e``, ``at:seconds offset``, ``rt:seconds``, and the one-line printed form after ``l:`` or ``c:``
for lists and ads. An evaluation that fails altogether in the reference counts as the error value: the
reference's C++ interface tells the two apart, no ClassAd expression of a daemon does.
"""

from __future__ import annotations

UNDEFINED = "u"
ERROR = "e"


def encode_bool(value: bool) -> str:
    return "t" if value else "f"


def encode_int(value: int) -> str:
    return f"i:{value}"


def encode_real(value: float) -> str:
    return "r:nan" if value != value else f"r:{value!r}"


def encode_string(value: str) -> str:
    return f"s:{value}"


def encode_reltime(seconds: float) -> str:
    return f"rt:{seconds!r}"


def encode_abstime(seconds: int, offset: int) -> str:
    if not _DATETIME_FIRST <= seconds <= _DATETIME_LAST:
        return "at:beyond"
    return f"at:{seconds} {offset}"


#: What Python's datetime, in which the reference hands instants out, can hold.
_DATETIME_FIRST, _DATETIME_LAST = -62135596800, 253402300799
