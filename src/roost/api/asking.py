"""Making requests to the daemons in the name of a person.

The web server has an account of its own at the message servers, which may make requests in any user's name; the daemons
decide, as for a command of that user. Connections are kept for the next request.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final

from roost.api.people import Person
from roost.api.problems import DaemonRefused, PoolSilent
from roost.runtime.bus.command_client import Line
from roost.runtime.bus.pool_client import PoolClient
from roost.runtime.bus_settings import BusError, BusSettings
from roost.runtime.home import Home

_log = logging.getLogger("roost.web")

#: Number of connections kept between requests.
_KEPT_MAX: Final = 8


class PersonPool(PoolClient):
    """The pool, as a person sees it."""

    error_class: ClassVar[type[Exception]] = PoolSilent
    refused_class: ClassVar[type[Exception]] = DaemonRefused

    def __init__(self, line: Line, home: Home, contact: dict[str, Any], person: Person) -> None:
        super().__init__(line, home, contact)
        self.person = person
        #: Warnings about the replies.
        self.warnings: list[str] = []

    @property
    def user(self) -> str:
        """The user in whose name requests are made."""
        return self.person.name

    def warn(self, text: str) -> None:
        """Keep a warning for the answer."""
        self.warnings.append(text)


class Lines:
    """Connections to the message servers; one serves one request at a time."""

    def __init__(self, settings: BusSettings, home: Home, contact: dict[str, Any]) -> None:
        self._settings = settings
        self._home = home
        self.contact = contact
        self._free: list[Line] = []
        self._lock = threading.Lock()

    @contextmanager
    def pool(self, person: Person) -> Iterator[PersonPool]:
        """The pool for one request. Raises PoolSilent."""
        line = self._taken()
        try:
            yield PersonPool(line, self._home, self.contact, person)
        except DaemonRefused:
            self._give_back(line)
            raise
        except BaseException:
            # Its answer may still arrive.
            line.close()
            raise
        self._give_back(line)

    def _taken(self) -> Line:
        with self._lock:
            while self._free:
                line = self._free.pop()
                if line.is_whole():
                    return line
                line.close()
        try:
            return Line.connect(self._settings)
        except BusError as error:
            raise PoolSilent(str(error)) from None

    def _give_back(self, line: Line) -> None:
        with self._lock:
            if len(self._free) < _KEPT_MAX:
                self._free.append(line)
                return
        line.close()

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for line in self._free:
                line.close()
            self._free.clear()
