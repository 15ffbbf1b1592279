"""``roost config diff OLD NEW``: names whose values differ between two configurations.

Values are compared, not lines: a name that one of them sets to the other's default, or through another macro, does not
differ; a name that neither sets and whose default refers to a differing name does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from roost.base.records import dataclass
from roost.config import Config, ConfigError

#: Stands for a value that cannot be expanded.
_BROKEN = "(cannot be expanded)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A name with two values; None is undefined or empty."""

    name: str
    first: str | None
    second: str | None
    #: Where they are set; empty for nowhere.
    first_place: str
    second_place: str


def differences(first: Config, second: Config) -> Iterator[Difference]:
    """The names whose values differ, by name."""
    names = {key: key.upper() for key in {**first.defaults, **second.defaults}}
    for config in (second, first):
        names |= {key: chain[-1].name for key, chain in config.chains.items()}
    for key in sorted(names):
        a, b = _value(first, key), _value(second, key)
        if _plain(a) != _plain(b):
            yield Difference(
                name=names[key], first=a, second=b, first_place=_place(first, key), second_place=_place(second, key)
            )


def _value(config: Config, key: str) -> str | None:
    try:
        return config.get(key)
    except ConfigError:
        return _BROKEN


def _plain(value: str | None) -> str:
    """A value normalised: without insignificant spaces, and with true and false in one case."""
    text = " ".join((value or "").split())
    return text.lower() if text.lower() in ("true", "false") else text


def _place(config: Config, key: str) -> str:
    found = config.find(key)
    return "" if found is None else found.span.chain()


def show(first: Config, second: Config, names: tuple[str, str], *, as_json: bool) -> int:
    """Print the differences; 1 if there are any."""
    found = list(differences(first, second))
    if as_json:
        rows = [
            {
                "name": one.name,
                "first": {"value": one.first, "place": one.first_place or None},
                "second": {"value": one.second, "place": one.second_place or None},
            }
            for one in found
        ]
        print(json.dumps({"first": names[0], "second": names[1], "differences": rows}, indent=2))
        return int(bool(found))
    for one in found:
        print(one.name)
        for sign, value, place in (("-", one.first, one.first_place), ("+", one.second, one.second_place)):
            shown = "(not defined)" if value is None else value.replace("\n", "\n      ")
            print(f"  {sign} {shown}" + (f"    # {place}" if place else ""))
    count = len(found)
    print(f"{count or 'no'} name{'s' * (count != 1)} differ{'s' * (count == 1)}", file=sys.stderr)
    return int(bool(found))
