"""The daemon ``web``: the application, served on a Unix socket for this machine and on TCP for browsers.

The application is loaded in the background once the sockets listen: the pool does not wait for it, and a browser waits
only briefly.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from roost.api.asking import Lines
from roost.api.feed import PROJECTION, Feed
from roost.api.lab_runs import LabRuns
from roost.api.people import People
from roost.config import Config, ConfigError
from roost.runtime.bus.client import Bus
from roost.runtime.bus_settings import BusError, BusSettings
from roost.runtime.daemon_orders import DaemonEnding
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import HomeError
from roost.runtime.role import CannotStart, ConfigurationRefused, RoleContext, must_go_on, superusers
from roost.runtime.web_settings import WebSettings, web_settings
from roost.wire.messages import Ask
from roost.wire.requests import central
from roost.wire.structs import data_of

if TYPE_CHECKING:
    import uvicorn

_log = logging.getLogger("roost.web")

#: Interval at which all slots are requested again in case a message was lost, s.
REFILL_S: Final = 120.0
#: Delay before a request without an answer is repeated, s.
AGAIN_S: Final = 1.0
#: Time limit for requests at shutdown, s.
END_S: Final = 3.0


class WebDaemon:
    """See the module."""

    def __init__(self, context: RoleContext, config: Config, bus: Bus) -> None:
        self.home = context.home
        self.now = context.clock.now
        self._context = context
        self._bus = bus
        try:
            self.settings: WebSettings = web_settings(config)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        self._take(config)
        self.people = People(self.home.web / "access.json", self.now, self.settings.session_s)
        self.feed = Feed()
        self.labs = LabRuns(self.home.web / "lab", self.settings)
        self.lines: Lines
        self._tasks: set[asyncio.Task[Any]] = set()
        self._servers: list[uvicorn.Server] = []
        self._tcp: socket.socket | None = None
        self._filled = False
        self._is_ending = False

    def _take(self, config: Config) -> None:
        self.administrators = superusers(config)
        #: The people who may use the pool: those who could use its commands.
        self.users = frozenset((*self.administrators, *config.get_list("ROOST_USERS")))

    # -- life ----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. Raises OSError."""
        from roost.api.peers import listening

        try:
            self.home.web.mkdir(mode=0o700, exist_ok=True)
            others = self.home.users.exists()
            if others:
                self.home.let_others_to(self.home.web)
            local = listening(self.home.web / "socket", others=others)
            self._tcp = _tcp_socket(self.settings, self._kept_port())
        except OSError as error:
            where = f"{self.settings.address}:{self.settings.port}" if self._tcp is None else str(self.home.web)
            raise CannotStart(f"{error.filename or where}: {error.strerror}") from None
        write_whole(self.home.web / "port", str(self._port()))
        await self._bus.listen(self._bus.subjects.slots("*"), self.feed.take)
        self._bus.on_reconnect = self._forget
        must_go_on(self._spawn(self._keep_filled(), "the table of slots"))
        must_go_on(self._spawn(self._serve(local), "the application"))

    async def _serve(self, local: socket.socket) -> None:
        contact = await self._contact()
        self.lines = Lines(self._context.bus, self.home, contact)
        made = await asyncio.to_thread(self._made, local)
        await asyncio.gather(*(server.serve(sockets=[each]) for server, each in made))

    async def _contact(self) -> dict[str, Any]:
        """The pool's contact information: the master writes it when all daemons have started."""
        while True:
            try:
                return self.home.contact()
            except HomeError:
                await asyncio.sleep(0.05)

    def _made(self, local: socket.socket) -> list[tuple[uvicorn.Server, socket.socket]]:
        """The servers, each with its socket: all large modules are imported here."""
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol

        from roost.api.app import application
        from roost.api.door import Rates
        from roost.api.peers import PeerProtocol

        class Quiet(uvicorn.Server):
            """A server that leaves signals to the daemon."""

            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        app = application(self, Rates(self.settings.requests_per_minute))
        common: dict[str, Any] = {
            "log_config": None, "access_log": False, "lifespan": "off", "proxy_headers": False, "server_header": False,
            "date_header": True, "timeout_keep_alive": 30, "limit_concurrency": 1_000, "ws": "none",
            "timeout_graceful_shutdown": int(END_S), "h11_max_incomplete_event_size": 64 * 1024,
        }  # fmt: skip
        tls: dict[str, Any] = {"ssl_certfile": self.settings.certificate, "ssl_keyfile": self.settings.key}
        assert self._tcp is not None
        made: list[tuple[uvicorn.Server, socket.socket]] = [
            (Quiet(uvicorn.Config(app, http=PeerProtocol, **common)), local),
            (Quiet(uvicorn.Config(app, http=H11Protocol, **common, **tls)), self._tcp),
        ]
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        self._servers = [server for server, _ in made]
        return made

    async def reconfigure(self, config: Config) -> list[str]:
        """Use another configuration; sockets and limits stay until a restart."""
        try:
            settings = web_settings(config)
        except ConfigError as error:
            raise ConfigurationRefused(str(error)) from None
        self._take(config)
        self.people.session_s = settings.session_s
        return []

    async def stop(self, ending: DaemonEnding) -> None:
        """Answer pending requests, and end."""
        self._is_ending = True
        for server in self._servers:
            server.should_exit = True
        ends = [task for task in self._tasks if task.get_name() == "the application"]
        if ends and self._servers:
            await asyncio.wait(ends, timeout=END_S + 1)
        for task in list(self._tasks):
            task.cancel()
        self.labs.close()
        if hasattr(self, "lines"):
            self.lines.close()

    def _spawn(self, work: Any, name: str) -> asyncio.Task[Any]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- the table of slots --------------------------------------------------------------------------

    def _forget(self) -> None:
        self._filled = False

    async def _keep_filled(self) -> None:
        """Request all slots periodically; machines report changes in between."""
        subject = self._bus.subjects.ask_central(self._context.name)
        asked = Ask(what="ads", args=data_of(central.Ads(kind="Machine", projection=PROJECTION, values=True)))
        while True:
            try:
                answer = await self._bus.ask(subject, asked)
            except BusError:
                await asyncio.sleep(AGAIN_S)
                continue
            if answer.ok and isinstance(answer.data, list):
                self.feed.fill(answer.data)
                self._filled = True
            until = asyncio.get_running_loop().time() + REFILL_S
            while self._filled and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(AGAIN_S)

    # -- what calls need ---------------------------------------------------------------------------

    def pool_config(self, daemon: str) -> Config:
        """The configuration of the pool, as a daemon reads it."""
        return self.home.config(self._context.roots, daemon)

    def lab_order(self) -> tuple[BusSettings, dict[str, Any]]:
        """What the process of a lab run needs: how it reaches the pool, and the present configuration."""
        roots = self._context.roots
        files = (str(self.home.config_file),) if roots is None else roots
        return self._context.bus, {"home": str(self.home.path), "contact": self.lines.contact, "roots": files}

    def pool_name(self) -> str:
        """What the pool is called."""
        return self._context.bus.pool

    def url(self) -> str:
        """Its HTTP address."""
        if self.settings.origins:
            return f"{self.settings.origins[0]}{self.settings.prefix}"
        address = self.settings.address
        shown = f"[{address}]" if ":" in address else address
        return f"{'https' if self.settings.certificate else 'http'}://{shown}:{self._port()}{self.settings.prefix}"

    def is_ready(self) -> bool:
        """Whether it has the pool's slots and reaches the message servers."""
        return self._filled and self._bus.connected

    def is_ending(self) -> bool:
        """Whether streams have to end."""
        return self._is_ending

    def _port(self) -> int:
        assert self._tcp is not None
        port: int = self._tcp.getsockname()[1]
        return port

    def _kept_port(self) -> int:
        try:
            return int((self.home.web / "port").read_text())
        except (OSError, ValueError):
            return 0


def _tcp_socket(settings: WebSettings, kept: int) -> socket.socket:
    """A listening socket; without a configured port it takes its last one, if that is free."""
    family = socket.AF_INET6 if ":" in settings.address else socket.AF_INET
    for port in dict.fromkeys((settings.port,) if settings.port else (kept, 0)):
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((settings.address, port))
        except OSError:
            found.close()
            if port == 0 or settings.port:
                raise
            continue
        found.listen(256)
        found.setblocking(False)
        return found
    raise AssertionError("port 0 is always tried")


def make(context: RoleContext, config: Config, bus: Bus) -> WebDaemon:
    """The daemon of the role."""
    return WebDaemon(context, config, bus)
