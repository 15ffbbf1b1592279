"""`param`: the configuration, as a mapping; `RemoteParam`: that of a daemon."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, Final

from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.asking import home_of
from roost.compat.htcondor2.errors import HTCondorException
from roost.config import ConfigError
from roost.config.knob import Knob, KnobType
from roost.config.knobs import DEFAULTS, find
from roost.runtime.home import Home
from roost.runtime.queue.descriptions import config_for_tools

if TYPE_CHECKING:
    from roost.config import Config

_TRUTHS: Final = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}


class Param(MutableMapping[str, Any]):
    """The configuration for programs, read on first access and by `reload`.

    Settings made here apply to this program only. A value is a number or boolean if the default of the name is one.
    """

    def __init__(self, subsystem: str = "TOOL", home: Home | None = None) -> None:
        self._subsystem = subsystem
        self._home = home
        self._config: Config | None = None
        self._own: dict[str, str | None] = {}

    def reload(self, subsystem: str | None = None) -> None:
        """Read the configuration again."""
        self._subsystem = subsystem or self._subsystem
        self._config = None
        self._own.clear()

    def _read(self) -> Config:
        if self._config is None:
            self._config = config_for_tools(self._home or Home.find(None), self._subsystem)
        if self._config is None:
            raise HTCondorException("there is no configuration: set ROOST_HOME or CONDOR_CONFIG, or start a pool")
        return self._config

    def _text(self, key: str) -> str | None:
        if not isinstance(key, str):
            raise TypeError("key must be a string")
        if key.lower() in self._own:
            own = self._own[key.lower()]
            return own if own is None or "$" not in own else self._read().expand(own)
        try:
            return self._read().get(key)
        except ConfigError as error:
            raise HTCondorException(f"{key} cannot be expanded: {error}") from None

    def __getitem__(self, key: str) -> Any:
        text = self._text(key)
        if text is None or text == "":
            raise KeyError(key)
        return _typed(text, find(key))

    def __setitem__(self, key: str, value: str) -> None:
        if not isinstance(key, str):
            raise TypeError("key must be a string")
        if not isinstance(value, str):
            raise TypeError("value must be a string")
        self._own[key.lower()] = value

    def __delitem__(self, key: str) -> None:
        self[key]
        self._own[key.lower()] = None

    def __iter__(self) -> Iterator[str]:
        config = self._read()
        names = {key: key.upper() for key in DEFAULTS} | {key: chain[-1].name for key, chain in config.chains.items()}
        names |= {key: key for key in self._own}
        return iter([name for _, name in sorted(names.items()) if name in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _typed(text: str, knob: Knob | None) -> Any:
    """A value in the knob's known type: a number, a boolean, else the text."""
    word = text.strip().lower()
    kind = None if knob is None else knob.type
    if kind is KnobType.BOOLEAN and word in _TRUTHS:
        return _TRUTHS[word]
    if kind is KnobType.INTEGER and re.fullmatch(r"[+-]?\d+", word):
        return int(word)
    if kind is KnobType.REAL:
        try:
            return float(word)
        except ValueError:
            return text
    return text


class RemoteParam(MutableMapping[str, str]):
    """The configuration of a daemon, as strings. It can be changed only in its files."""

    def __init__(self, location: ClassAd) -> None:
        kinds = {"Scheduler": "SCHEDD", "Machine": "STARTD", "DaemonMaster": "MASTER"}
        kind = str(location.get("MyType", ""))
        self._param = Param(kinds.get(kind, kind.upper() or "TOOL"), home_of(location))

    def __getitem__(self, key: str) -> str:
        text = self._param._text(key)
        if text is None:
            raise KeyError(key)
        return text

    def __setitem__(self, key: str, value: str) -> None:
        raise HTCondorException("daemons of Roost are configured by files: change one, and `condor_reconfig`")

    def __delitem__(self, key: str) -> None:
        raise HTCondorException("daemons of Roost are configured by files: change one, and `condor_reconfig`")

    def __iter__(self) -> Iterator[str]:
        return iter(self._param)

    def __len__(self) -> int:
        return len(self._param)

    def refresh(self) -> None:
        """Reread the configuration."""
        self._param.reload()
