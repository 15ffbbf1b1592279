"""The calls of the API: a row for each call, with who may make it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from roost.api.asking import Lines, PersonPool
from roost.api.feed import Feed
from roost.api.lab_runs import LabRuns
from roost.api.people import People, Person, WebRole
from roost.config import Config
from roost.runtime.bus_settings import BusSettings
from roost.runtime.home import Home
from roost.runtime.web_settings import WebSettings
from roost.wire.structs import Struct


class Server(Protocol):
    """The interface of the web server for calls."""

    home: Home
    settings: WebSettings
    administrators: frozenset[str]
    #: The people who may use the pool.
    users: frozenset[str]
    people: People
    lines: Lines
    feed: Feed
    labs: LabRuns

    def pool_config(self, daemon: str) -> Config:
        """The configuration of the pool, as a daemon reads it."""

    def lab_order(self) -> tuple[BusSettings, dict[str, Any]]:
        """What the process of a lab run needs: how it reaches the pool, and the present configuration."""

    def now(self) -> float:
        """Epoch s."""

    def pool_name(self) -> str:
        """The name of the pool."""

    def url(self) -> str:
        """Its HTTP address."""

    def is_ready(self) -> bool:
        """Whether it has the pool's slots and reaches the message servers."""

    def is_ending(self) -> bool:
        """Whether streams have to end."""


class Site(Protocol):
    """The interface of the application for pages."""

    server: Server

    def called(
        self, method: str, path: str, person: Person, parts: dict[str, str], query: dict[str, str], data: Any = None
    ) -> Any:
        """The reply of a call; the person's role counts as for the API. Raises Problem."""

    def endpoint(self, answer: Any, role: WebRole | None, *, page: bool = False) -> Callable[[Any], Any]:
        """A route for people with a role, None for everyone."""


class Call(NamedTuple):
    """One call, with everything needed to answer it."""

    server: Server
    person: Person
    pool: PersonPool
    #: Parts of the path.
    path: dict[str, str]
    query: Any
    body: Any


class Row(NamedTuple):
    """A call of the API."""

    method: str
    #: Below /api/v1.
    path: str
    role: WebRole
    #: Its description, for the document.
    about: str
    answer: Callable[[Call], Any]
    #: The fields of its query, and of its body.
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    #: The type of its reply.
    reply: Any = Any
    #: Status of a reply.
    status: int = 200
