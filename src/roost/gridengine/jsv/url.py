"""The naming of verifiers: ``jsv_url`` of the cell, ``-jsv`` of `qsub`, ``jsv_allowed_mod``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from roost.gridengine.objects.configuration import BY_NAME, GLOBAL
from roost.gridengine.objects.values import is_none

if TYPE_CHECKING:
    from roost.gridengine.cell import Cell

_URL: Final = re.compile(r"(?:([^:/@]+):)?(?:([^/@]+)@)?(/?.*)\Z", re.DOTALL)
#: Time limit of a verifier for one answer, s, and the time per job above which it is logged, ms.
TIMEOUT_S: Final = 10.0
THRESHOLD_MS: Final = 5000


class Url(NamedTuple):
    """A verifier."""

    path: str
    #: The account that it runs as; "" for the usual one.
    user: str = ""


class BadUrl(ValueError):
    """A text that does not name a verifier."""


def read_url(text: str) -> Url:
    """The verifier of ``[script:][user@]path``. Raises BadUrl."""
    found = _URL.match(text.strip())
    kind, user, path = found.groups() if found else (None, None, "")
    if kind not in (None, "script"):
        raise BadUrl(f'type "{kind}" in JSV URL is invalid')
    if not path:
        raise BadUrl(f'JSV URL "{text}" is invalid')
    return Url(path, user or "")


class Settings(NamedTuple):
    """The settings of verifiers in the global configuration of a cell."""

    #: None for no verifier.
    url: str | None
    #: Parameters that `qalter` may change if there is a verifier.
    changeable: frozenset[str]
    timeout_s: float = TIMEOUT_S
    threshold_ms: float = THRESHOLD_MS


def settings_of(cell: Cell) -> Settings:
    """The verifier settings of a cell; a value that is not a number counts as not set."""
    configured = cell.configurations.get(GLOBAL)

    def value(name: str) -> str:
        found = None if configured is None else configured.get(name)
        return BY_NAME[name].default if found is None else found

    url, allowed = value("jsv_url"), value("jsv_allowed_mod")
    words = value("qmaster_params").replace(",", " ").split()
    given = {name.lower(): text for name, _, text in (word.partition("=") for word in words)}
    return Settings(
        url=None if is_none(url) else url.strip(),
        changeable=frozenset() if is_none(allowed) else frozenset(allowed.replace(",", " ").split()),
        timeout_s=_number(given.get("jsv_timeout"), TIMEOUT_S, least=1),
        threshold_ms=_number(given.get("jsv_threshold"), THRESHOLD_MS, least=0),
    )


def _number(text: str | None, default: float, *, least: int) -> float:
    return float(text) if text is not None and text.isdecimal() and int(text) >= least else default
