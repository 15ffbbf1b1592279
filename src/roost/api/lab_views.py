"""The policy workbench: a trial policy, its comparison with the present one, and the pictures of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from roost.api.lab import SEEDS_MAX, WEEKS_MAX
from roost.api.lab_runs import POLICY_MAX
from roost.api.people import WebRole
from roost.api.views import Asker, View
from roost.lab.report.figures import FIGURES, Figure, number

if TYPE_CHECKING:
    from starlette.requests import Request

#: What the editor begins with.
_EXAMPLE: Final = "START = KeyboardIdle > 15 * 60\nSUSPEND = KeyboardIdle < 60\nPREEMPT = FALSE\n"
_OWNERS: Final = {"diurnal": "people who work by day", "nobody": "none"}
_FIGURES: Final = {figure.name: figure for figure in FIGURES}
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: Height of a picture of jobs over time, in its own units.
_HIGH: Final = 100


def workbench(asker: Asker, request: Request) -> View:
    """A policy is edited, linted and compared with the present one, without touching the pool."""
    of = request.query_params.get("run", "")
    run = asker.reply("/lab/runs/{id}", id=of) if of else None
    return "workbench.html", {
        "active": "workbench",
        "text": _EXAMPLE if run is None else run["text"],
        "given": {"weeks": 1, "seeds": 3, "owners": "diurnal"} if run is None else run,
        "owners": _OWNERS,
        "most": {"weeks": WEEKS_MAX, "seeds": SEEDS_MAX, "policy": POLICY_MAX},
        "may_simulate": asker.person.role >= WebRole.USER,
        "runs": asker.reply("/lab/runs")[:20],
    }


def lab_run(asker: Asker, request: Request) -> View:
    """How far a comparison is, or what it says."""
    run = asker.reply("/lab/runs/{id}", id=request.path_params["id"])
    result = run["result"]
    return "lab_run.html", {
        "active": "workbench",
        "run": run,
        "owners": _OWNERS.get(run["owners"], run["owners"]),
        "rows": [] if result is None else [_row(each) for each in result["figures"]],
        "courses": [] if result is None else [_course(result, name, run["weeks"]) for name in ("running", "waiting")],
        "causes": [] if result is None else [each for each in result["refusals"] if each["old"] != each["new"]],
        "may_remove": run["user"] == asker.person.name or asker.person.role >= WebRole.OPERATOR,
    }


class FigureRow(NamedTuple):
    """A figure under both policies, in words, and as bars from 0 to 1."""

    meaning: str
    old: str
    new: str
    change: str
    margin: str
    verdict: str
    bars: tuple[float, float] | None


def _row(each: dict[str, Any]) -> FigureRow:
    figure = _FIGURES[each["name"]]
    # Means of counts are not whole numbers.
    digits = max(1, figure.digits)
    shown = Figure(name=figure.name, meaning=figure.meaning, unit=figure.unit, more=figure.more, digits=digits)

    def text(value: float | None, sign: str = "") -> str:
        return "–" if value is None else number(value, shown, sign)

    old, new = each["old"], each["new"]
    bars = None
    if old is not None and new is not None:
        most = max(old, new)
        bars = (old / most, new / most) if most > 0 else (0.0, 0.0)
    meaning = figure.meaning + (f" ({figure.unit})" if figure.unit else "")
    margin = "" if each["margin"] is None else f"± {text(each['margin'])}"
    return FigureRow(meaning, text(old), text(new), text(each["change"], "+"), margin, each["verdict"], bars)


class Course(NamedTuple):
    """Jobs over time under both policies, as lines."""

    name: str
    most: float
    #: Of the present and the trial policy: points of a line, and its mean.
    old: tuple[str, float]
    new: tuple[str, float]
    labels: tuple[str, ...]


def _course(result: dict[str, Any], name: str, weeks: int) -> Course:
    old, new = (result["courses"][side][name] for side in ("old", "new"))
    most = max(*old, *new) or 1.0
    labels = _DAYS if weeks == 1 else tuple(f"Week {number + 1}" for number in range(weeks))

    def line(values: list[float]) -> tuple[str, float]:
        step = 100 / max(1, len(values) - 1)
        points = " ".join(f"{at * step:.2f},{_HIGH - value / most * _HIGH:.2f}" for at, value in enumerate(values))
        return points, sum(values) / len(values)

    return Course(name, most, line(old), line(new), labels)


VIEWS: Final[tuple[tuple[str, Callable[[Asker, Request], View]], ...]] = (
    ("/workbench", workbench),
    ("/workbench/runs/{id}", lab_run),
)


# -- forms ---------------------------------------------------------------------------------------------------------


def start_run(asker: Asker, given: dict[str, str]) -> str:
    """Simulate the policy of a form; the path of the run's page. Raises Problem."""
    body: dict[str, Any] = {"text": given.get("policy", "").replace("\r\n", "\n"), "owners": given.get("owners", "")}
    for name in ("weeks", "seeds"):
        value = given.get(name, "")
        body[name] = int(value) if value.isdigit() and len(value) < 9 else value
    run = asker.site.called("POST", "/lab/runs", asker.person, {}, {}, body)
    return f"/workbench/runs/{quote(run['id'])}"


def remove_run(asker: Asker, given: dict[str, str]) -> str:
    """Cancel a run, and forget it. Raises Problem."""
    asker.site.called("DELETE", "/lab/runs/{id}", asker.person, {"id": given["id"]}, {})
    return "/workbench"


FORMS: Final[tuple[tuple[str, Callable[[Asker, dict[str, str]], str]], ...]] = (
    ("/workbench/runs", start_run),
    ("/workbench/runs/{id}/remove", remove_run),
)
