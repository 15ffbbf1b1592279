"""The application: each row of the API as a route, pages, live changes, and the rendering of answers and problems."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roost.api import lab, metrics, pages, requests, resources, tokens
from roost.api.calls import Call, Row, Server
from roost.api.door import COOKIE, HEADERS, Rates, check_origin, form_of, person_of, read_body
from roost.api.openapi import PREFIX, document
from roost.api.people import Person, WebRole
from roost.api.problems import Problem
from roost.api.schema import checked, from_query
from roost.wire.structs import Struct, whole_data_of

_log = logging.getLogger("roost.web")

#: Interval of a stream's heartbeats, s.
BEAT_S: Final = 15.0
#: Interval at which jobs are counted for open streams, s.
COUNT_S: Final = 2.0
#: Maximum number of streams of changes at a time.
STREAMS_MAX: Final = 200
#: Minimum time between two pieces of a stream, s.
_GATHER_S: Final = 0.2

#: All calls of the API.
ROWS: Final[tuple[Row, ...]] = (*tokens.ROWS, *resources.ROWS, *lab.ROWS, *requests.rows())


def application(server: Server, rates: Rates) -> ASGIApp:
    """The application of a web server."""
    site = Application(server, rates)
    routes = [
        Route(PREFIX + row.path, site.endpoint(partial(site.api, row), row.role), methods=[row.method]) for row in ROWS
    ]
    routes += [
        Route(f"{PREFIX}/events", site.endpoint(site.events, WebRole.READER)),
        Route(f"{PREFIX}/openapi.json", site.endpoint(site.openapi, WebRole.READER)),
        Route("/metrics", site.endpoint(site.metrics, WebRole.READER)),
        Route("/healthz", site.endpoint(site.health, None)),
        Route("/readyz", site.endpoint(site.ready, None)),
        Route("/login/{secret}", site.endpoint(site.log_in, None)),
        Route("/logout", site.endpoint(site.log_out, WebRole.READER), methods=["POST"]),
        *pages.routes(site),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: site.not_routed})
    return _Frame(app, server.settings.prefix)


class _Frame:
    """The frame of every request: headers, the path prefix, and the maximum body size."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if self._prefix and path.startswith(f"{self._prefix}/"):
            scope = {**scope, "path": path[len(self._prefix) :]}

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                fresh = [
                    (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in given
                ]
                message = {**message, "headers": [*message["headers"], *fresh]}
            await send(message)

        await self._app(scope, receive, with_headers)


Answer = Callable[[Request, Person], Any]


class Application:
    """The handlers of the routes."""

    def __init__(self, server: Server, rates: Rates) -> None:
        self.server = server
        self._rates = rates
        self._streams = 0

    def endpoint(self, answer: Any, role: WebRole | None, *, page: bool = False) -> Callable[[Request], Any]:
        """A route for people with a role, None for everyone."""

        async def handle(request: Request) -> Response:
            try:
                try:
                    person = await run_in_threadpool(person_of, self.server, request)
                except Problem:
                    # Invalid credentials count against the address.
                    self._rates.take(_address(request))
                    raise
                self._rates.take(person.name if person else _address(request))
                if role is None:
                    found = await answer(request, person)
                else:
                    if person is None:
                        remedy = "`roost web` prints an address that logs in"
                        raise Problem(401, "the request is not authenticated", remedy=remedy)
                    if person.role < role:
                        text = f"{person.name}'s role {person.role.word} does not permit this; it requires {role.word}"
                        raise Problem(403, text, remedy="log in, or create a token, with a higher role")
                    found = await answer(request, person)
            except Problem as problem:
                return self.told(request, problem, page=page)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception:
                _log.exception("internal error: %s %s", request.method, request.url.path)
                remedy = "the log of `web` shows where; please report it"
                return self.told(request, Problem(500, "internal error (a bug in Roost)", remedy=remedy), page=page)
            assert isinstance(found, Response)
            return found

        return handle

    def told(self, request: Request, problem: Problem, *, page: bool) -> Response:
        """A problem, as a page or as a document."""
        headers = {"www-authenticate": "Bearer"} if problem.status == 401 else {}
        if "retry_after_s" in problem.more:
            headers["retry-after"] = str(max(1, round(problem.more["retry_after_s"])))
        if page:
            return pages.problem(self.server, problem, headers)
        data = problem.data(request.url.path)
        return JSONResponse(data, problem.status, headers, media_type="application/problem+json")

    async def not_routed(self, request: Request, error: Exception) -> Response:
        """There is no such path, or no such method."""
        assert isinstance(error, HTTPException)
        path = request.url.path
        text = f"there is no {path}" if error.status_code == 404 else f"{request.method} is not supported for {path}"
        problem = Problem(error.status_code, text)
        found = self.told(request, problem, page=not path.startswith((PREFIX, "/metrics")) and request.method == "GET")
        found.headers.update(error.headers or {})
        return found

    # -- the API -------------------------------------------------------------------------------------

    async def api(self, row: Row, request: Request, person: Person) -> Response:
        """Answer a call."""
        check_origin(self.server, request, person)
        pairs = request.query_params.multi_items()
        if row.query is None and pairs:
            raise Problem(422, f"the query: unknown parameter {pairs[0][0]}")
        query = None if row.query is None else from_query(row.query, pairs)
        body = await _body(row, request)
        status, data, warnings = await run_in_threadpool(self.asked, row, person, request.path_params, query, body)
        if status == 204:
            return Response(status_code=204)
        headers = {"roost-warning": json.dumps(warnings)} if warnings else {}
        return JSONResponse(data, status, headers)

    def asked(
        self, row: Row, person: Person, path: dict[str, str], query: Struct | None = None, body: Struct | None = None
    ) -> tuple[int, Any, list[str]]:
        """Make a call; return its status, its reply as JSON, and warnings about it. Raises Problem."""
        with self.server.lines.pool(person) as pool:
            found = row.answer(Call(self.server, person, pool, path, query, body))
            return row.status, _json(found), pool.warnings

    def called(
        self,
        method: str,
        path: str,
        person: Person,
        parts: dict[str, str],
        query: dict[str, str],
        data: Any = None,
    ) -> Any:
        """The reply of a call for a page; the person's role counts as for the API. Raises Problem."""
        row = _BY_PATH[method, path]
        if person.role < row.role:
            raise Problem(
                403, f"{person.name}'s role {person.role.word} does not permit this; it requires {row.role.word}"
            )
        struct = None if row.query is None else from_query(row.query, list(query.items()))
        body = None if row.body is None else checked(row.body, data or {}, "the form")
        return self.asked(row, person, parts, struct, body)[1]

    async def openapi(self, request: Request, person: Person) -> Response:
        """The OpenAPI document."""
        return JSONResponse(document(ROWS, self.server.settings.prefix))

    async def metrics(self, request: Request, person: Person) -> Response:
        """The metrics."""

        def figures() -> bytes:
            with self.server.lines.pool(person) as pool:
                return metrics.exposition(Call(self.server, person, pool, {}, None, None))

        return Response(await run_in_threadpool(figures), media_type=metrics.CONTENT_TYPE)

    async def health(self, request: Request, person: Person | None) -> Response:
        """The server answers."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request, person: Person | None) -> Response:
        """The server has the pool's slots and reaches the message servers."""
        is_ready = self.server.is_ready()
        return JSONResponse({"status": "ok" if is_ready else "waiting"}, 200 if is_ready else 503)

    # -- logging in ----------------------------------------------------------------------------------

    async def log_in(self, request: Request, person: Person | None) -> Response:
        """Use a one-time login: begin a session, and open the pages."""
        begun = await run_in_threadpool(self.server.people.log_in, request.path_params["secret"])
        if begun is None:
            problem = Problem(401, "this address has been used or has expired", remedy="`roost web` prints another one")
            return self.told(request, problem, page=True)
        found = RedirectResponse(f"{self.server.settings.prefix}/", 303)
        found.set_cookie(
            COOKIE,
            begun[0],
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path=f"{self.server.settings.prefix}/",
        )
        return found

    async def log_out(self, request: Request, person: Person) -> Response:
        """End the session."""
        form = await form_of(request)
        check_origin(self.server, request, person, form.get("csrf", ""))
        await run_in_threadpool(self.server.people.log_out, person)
        found = RedirectResponse(f"{self.server.settings.prefix}/", 303)
        found.delete_cookie(COOKIE, path=f"{self.server.settings.prefix}/")
        return found

    # -- live changes --------------------------------------------------------------------------------

    async def events(self, request: Request, person: Person) -> Response:
        """Changes of slots and counts of jobs, as server-sent events."""
        if self._streams >= STREAMS_MAX:
            raise Problem(503, f"{STREAMS_MAX} streams are already open", remedy="close some of them")
        last = request.headers.get("last-event-id", "")
        number = int(last) if last.isdigit() and len(last) < 19 else self.server.feed.number
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(self._stream(person, number), media_type="text/event-stream", headers=headers)

    async def _stream(self, person: Person, number: int) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        counted_at, counts, said_at = 0.0, None, loop.time()
        self._streams += 1
        try:
            yield "retry: 2000\n\n"
            while not self.server.is_ending():
                changes = self.server.feed.since(number)
                if changes is None:
                    number = self.server.feed.number
                    yield f"id: {number}\nevent: reset\ndata: {{}}\n\n"
                elif changes:
                    number = changes[-1].number
                    data = {each.name: None if each.slot is None else list(each.slot[1:]) for each in changes}
                    yield f"id: {number}\nevent: slots\ndata: {json.dumps(data)}\n\n"
                    said_at = loop.time()
                if loop.time() - counted_at > COUNT_S:
                    counted_at = loop.time()
                    fresh = await run_in_threadpool(self._counts, person)
                    if fresh != counts:
                        counts, said_at = fresh, loop.time()
                        yield f"event: jobs\ndata: {json.dumps(fresh)}\n\n"
                if loop.time() - said_at > BEAT_S:
                    said_at = loop.time()
                    yield ": still here\n\n"
                await asyncio.sleep(_GATHER_S)
                await self.server.feed.moved(number, COUNT_S)
        finally:
            self._streams -= 1

    def _counts(self, person: Person) -> Any:
        try:
            return self.asked(_POOL, person, {})[1]["jobs"]
        except Problem:
            return None


_BY_PATH: Final = {(row.method, row.path): row for row in ROWS}
_POOL: Final = _BY_PATH["GET", "/pool"]


def _address(request: Request) -> str:
    """The key by which requests without a person are counted."""
    return f"address {request.client.host if request.client else ''}"


async def _body(row: Row, request: Request) -> Struct | None:
    """Read a struct from a body. Raises Problem."""
    raw = await read_body(request)
    if row.body is None:
        if raw:
            raise Problem(422, "the body: this call does not accept one")
        return None
    if raw and request.headers.get("content-type", "application/json").partition(";")[0].strip() != "application/json":
        raise Problem(415, "the body: it must be application/json")
    try:
        data = json.loads(raw) if raw else {}
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from None
    return checked(row.body, data, "the body")


def _json(found: Any) -> Any:
    if isinstance(found, Struct):
        return whole_data_of(found)
    if isinstance(found, list | tuple):
        return [_json(each) for each in found]
    if isinstance(found, dict):
        return {name: _json(each) for name, each in found.items()}
    return found
