"""The value of `-binding`: the cores that a job requests, checked and formatted as in Grid Engine 8.1.9.

``[set|env|pe] linear[:N[:SOCKET,CORE]]``, ``striding:N:STEP[:SOCKET,CORE]`` or ``explicit:SOCKET,CORE[:SOCKET,CORE…]``.
"""

from __future__ import annotations

from typing import Final

from roost.gridengine.commands.errors import USAGE, Failure, rejected

#: How the job gets the cores: by binding, in a variable, or in the host file.
WAYS: Final = ("set", "env", "pe")
#: The note about jobs that request cores.
UNBOUND: Final = "the pool binds no job to cores: -binding has no effect"
_LINEAR: Final = ("linear", "linear_automatic")


def binding_of(text: str, command: str = "qsub") -> str:
    """The canonical form of a value. Raises Failure."""
    way, _, rest = text.partition(" ")
    if way not in WAYS:
        way, rest = "set", text
    strategy, *parts = rest.split(":")
    try:
        if strategy in _LINEAR:
            return f"{way} {_linear(parts)}"
        if strategy == "striding":
            return f"{way} {_striding(parts)}"
        if strategy == "explicit":
            _check_pairs(rest, parts)
            return f"{way} {rest}"
        raise ValueError("couldn't parse binding parameter (no strategy found)")
    except ValueError as problem:
        raise Failure(f"{command}: -binding option contains errors: {problem}", USAGE) from None


def _linear(parts: list[str]) -> str:
    amount = parts[0] if parts else "slots"
    if amount == "slots":
        return "linear:slots"
    if not amount.isdecimal():
        raise ValueError("couldn't parse amount (linear)")
    if not int(amount):
        raise rejected("job rejected: binding parameter not consistent with strategy (BN_parameter is n)")
    return f"linear:{amount}{_first(parts[1:], 'linear')}"


def _striding(parts: list[str]) -> str:
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise ValueError("couldn't parse amount (striding)")
    return f"striding:{parts[0]}:{parts[1]}{_first(parts[2:], 'striding')}"


def _first(parts: list[str], strategy: str) -> str:
    """The first core, preceded by a colon; the rest is ignored."""
    if not parts or not parts[0]:
        return ""
    socket, _, core = parts[0].partition(",")
    if not socket.isdecimal() or not core.isdecimal():
        raise ValueError(f"couldn't parse core number ({strategy})")
    return f":{socket},{core}"


def _check_pairs(text: str, parts: list[str]) -> None:
    """Raise ValueError unless it is a list of distinct sockets with cores."""
    if ":" not in text:
        raise ValueError("'explicit:' not found in string!")
    if not any(parts):
        raise ValueError("No <socket,core> pair given!")
    pairs = [part.partition(",") for part in parts if part]
    for number, (socket, comma, core) in enumerate(pairs):
        if not comma:
            raise ValueError("No core for a given socket!" if number else "Missing first core number!")
        if not socket.isdecimal() or not core.isdecimal():
            raise ValueError(f"{'Core' if number else 'First core'} is not a number!")
    if len({(int(socket), int(core)) for socket, _, core in pairs}) < len(pairs):
        raise ValueError("<socket,core> pairs are not unique!")
