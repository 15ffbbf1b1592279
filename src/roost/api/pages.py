"""The web pages: the API's answers, for people.

Each page is made from replies of API calls; nothing here makes requests to a daemon. Pages work without a script;
`live.js` keeps what is shown up to date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from roost.api import lab_views, views
from roost.api.calls import Server, Site
from roost.api.door import check_origin, form_of
from roost.api.people import Person, WebRole
from roost.api.problems import Problem

#: Files next to the templates that pages load, and their types.
_FILES: Final = {
    "style.css": "text/css",
    **dict.fromkeys(("live.js", "output.js", "workbench.js", "lab_run.js"), "text/javascript"),
}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    found = Environment(loader=PackageLoader("roost.api", "templates"), autoescape=True, undefined=StrictUndefined)
    found.filters |= views.FILTERS
    return found


def render(server: Server, template: str, person: Person | None, /, **values: Any) -> str:
    """A page as HTML."""
    common = {"prefix": server.settings.prefix, "person": person, "pool": server.pool_name()}
    return _environment().get_template(template).render(common | values)


def problem(server: Server, problem: Problem, headers: Mapping[str, str]) -> Response:
    """A problem, as a page."""
    text = render(server, "problem.html", None, problem=problem, active="")
    return HTMLResponse(text, problem.status, dict(headers))


def routes(site: Site) -> list[Route]:
    """The routes of all pages."""

    def shown(view: Callable[[views.Asker, Request], tuple[str, dict[str, Any]]]) -> Any:
        async def answer(request: Request, person: Person) -> Response:
            def made() -> str:
                name, values = view(views.Asker(site, person), request)
                return render(site.server, name, person, **values)

            return HTMLResponse(await run_in_threadpool(made))

        return site.endpoint(answer, WebRole.READER, page=True)

    def done(act: Callable[[views.Asker, dict[str, str]], str]) -> Any:
        async def answer(request: Request, person: Person) -> Response:
            given = await form_of(request)
            check_origin(site.server, request, person, given.pop("csrf", ""))
            where = await run_in_threadpool(act, views.Asker(site, person), given | request.path_params)
            return RedirectResponse(f"{site.server.settings.prefix}{where}", 303)

        return site.endpoint(answer, WebRole.USER, page=True)

    pages = [Route(path, shown(view)) for path, view in (*views.VIEWS, *lab_views.VIEWS)]
    forms = [Route(path, done(act), methods=["POST"]) for path, act in (("/act", views.act), *lab_views.FORMS)]
    files = [Route(f"/static/{name}", site.endpoint(partial(_file, name), None)) for name in _FILES]
    return [*pages, *forms, *files]


@lru_cache(maxsize=len(_FILES))
def _text(name: str) -> str:
    loader = _environment().loader
    assert loader is not None
    return loader.get_source(_environment(), name)[0]


async def _file(name: str, request: Request, person: Person | None) -> Response:
    """A file that all pages load; it reveals nothing about the pool."""
    return Response(_text(name), media_type=_FILES[name], headers={"cache-control": "public, max-age=300"})
