"""What can be asked of the API: a row for each call, with who may make it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from roost.api.asking import Lines, PersonPool
from roost.api.feed import Feed
from roost.api.people import People, Person, WebRole
from roost.config import Config
from roost.runtime.home import Home
from roost.runtime.web_settings import WebSettings
from roost.wire.structs import Struct


class Server(Protocol):
    """What calls need of the web server."""

    home: Home
    settings: WebSettings
    administrators: frozenset[str]
    #: Who may use the pool.
    users: frozenset[str]
    people: People
    lines: Lines
    feed: Feed

    def pool_config(self, daemon: str) -> Config:
        """The configuration of the pool, as a daemon reads it."""

    def now(self) -> float:
        """Epoch s."""

    def pool_name(self) -> str:
        """What the pool is called."""

    def url(self) -> str:
        """Where it is reached by HTTP."""

    def is_ready(self) -> bool:
        """Whether it has heard of the pool's slots and reaches the message servers."""

    def is_ending(self) -> bool:
        """Whether streams have to end."""


class Site(Protocol):
    """What pages need of the application."""

    server: Server

    def called(
        self, method: str, path: str, person: Person, parts: dict[str, str], query: dict[str, str], data: Any = None
    ) -> Any:
        """The reply of a call; the person's role counts as for the API. Raises Problem."""

    def endpoint(self, answer: Any, role: WebRole | None, *, page: bool = False) -> Callable[[Any], Any]:
        """A route that people of a role may take, None for everybody."""


class Call(NamedTuple):
    """One call, with all that it is answered from."""

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
    #: What it does, for the document.
    about: str
    answer: Callable[[Call], Any]
    #: The fields of its query, and of its body.
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    #: The type of its reply.
    reply: Any = Any
    #: Status of a reply.
    status: int = 200
