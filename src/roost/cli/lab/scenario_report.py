"""The output of ``roost lab test``: one line per scenario, details of failures, progress, and totals; or one
document.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roost.cli.terminal import complain, say, width

if TYPE_CHECKING:
    from roost.lab.scenario.coverage import Coverage
    from roost.lab.scenario.outcome import Outcome, ReplayDifference
    from roost.lab.scenario.run import Failure
    from roost.lab.scenario.values import Scenario
    from roost.lab.worker_pool import Progress

#: Maximum length of a scenario's name on the progress line.
_NAME: Final = 20


class Report:
    """The report of one call."""

    def __init__(self, whole: int, *, as_json: bool, shows_progress: bool = True, unread: Sequence[str] = ()) -> None:
        from roost.lab.progress_line import ProgressLine
        from roost.lab.scenario.coverage import Coverage

        self._whole = whole
        self._json = as_json
        #: Errors of files that cannot be read.
        self._unread = list(unread)
        self._begun = time.monotonic()
        self._line = ProgressLine() if shows_progress else None
        self._made: Progress | None = None
        self._counts = {"scenarios": 0, "expectations": 0, "failed": 0}
        self._real = False
        #: Scenarios that real daemons cannot run.
        self._alone = 0
        #: The requested minimum coverage, percent, if it was not reached.
        self._missed: float | None = None
        self._files: list[dict[str, Any]] = []
        self._file = Path()
        self._outcomes: list[Outcome] = []
        self._coverage = Coverage()
        #: Parts of configurations that the lab does not act on, each once.
        self._notes: dict[str, None] = {}

    @property
    def passed(self) -> bool:
        """Whether all scenarios passed, and coverage suffices."""
        return not self._counts["failed"] and self._missed is None

    # -- file by file ----------------------------------------------------------------------------------

    def begin(self, file: Path, scenarios: int) -> None:
        """Begin the report of a file."""
        from roost.lab.scenario.coverage import Coverage

        self._file, self._outcomes, self._coverage = file, [], Coverage()
        if scenarios:
            self._say([str(file)])

    def add(self, outcome: Outcome) -> None:
        """Report the end of a scenario."""
        self._outcomes.append(outcome)
        self._coverage.add(outcome.coverage)
        self._notes |= dict.fromkeys(outcome.verdict.notes)
        self._real |= outcome.differences is not None
        self._alone += bool(outcome.unreplayed)
        self._counts["scenarios"] += 1
        self._counts["expectations"] += outcome.verdict.checked
        self._counts["failed"] += not outcome.passed
        self._say(_outcome_lines(outcome))

    def end(self, *, coverage: bool, minimum: float | None) -> None:
        """End the report of a file, with its coverage if asked for."""
        self._end_file()
        if minimum is not None and 100 * self._coverage.share < minimum:
            self._missed = minimum
        if coverage or minimum is not None:
            self._say(_coverage_lines(self._coverage))

    def _end_file(self) -> None:
        self._files.append(_file_data(self._file, self._outcomes, self._coverage))
        self._outcomes = []

    def progress(self, made: Progress) -> None:
        """Show the progress."""
        self._made = made
        if self._line is None or not self._line.visible:
            return
        running = ", ".join(f"{_short(name)} {time_s:.0f} s" for name, time_s in made.running if time_s >= 1)
        failed = f", {made.failed} failed" if made.failed else ""
        self._line.show(made.done / made.whole, f"{made.done} of {made.whole}{failed}  {running}", width())

    # -- the end ---------------------------------------------------------------------------------------

    def summarise(self) -> None:
        """Print the totals: all requested scenarios have run."""
        self._say([*(f"note: {each}" for each in self._notes), self._summary()])
        self._document({})

    def interrupted(self) -> None:
        """Report that the user has interrupted the run."""
        if self._outcomes:
            self._end_file()
        self._clear()
        told, failed = self._counts["scenarios"], self._counts["failed"]
        # Some have ended before others that must be reported first.
        done, failed = (told, failed) if self._made is None else (self._made.done, self._made.failed)
        complain(f"interrupted: {done} of {_many(self._whole, 'scenario')} done, {failed} failed")
        self._document({"interrupted": True, "left": self._whole - told})

    def _document(self, more: dict[str, Any]) -> None:
        if self._json:
            self._clear()
            unread: dict[str, Any] = {"unread": self._unread} if self._unread else {}
            if self._notes:
                unread["notes"] = list(self._notes)
            say(json.dumps({"version": 1, **self._counts, **unread, **more, "files": self._files}, indent=2))

    def _say(self, lines: Iterable[str]) -> None:
        if not self._json:
            self._clear()
            for line in lines:
                say(line)
            sys.stdout.flush()

    def _clear(self) -> None:
        if self._line is not None:
            self._line.clear()

    def _summary(self) -> str:
        from roost.lab.inputs.durations import shown

        counts = self._counts
        text = f"{_many(counts['scenarios'], 'scenario')}, {_many(counts['expectations'], 'expectation')}: "
        text += f"{counts['failed']} failed" if counts["failed"] else "all passed"
        text += " in both worlds" if self._real and not counts["failed"] else ""
        text += f", {self._alone} in simulation only" if self._alone else ""
        text += f", in {shown(round(time.monotonic() - self._begun))}" if self._real else ""
        return text + (f"; coverage below {self._missed:g} %" if self._missed is not None else "")


def _many(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


# -- text ------------------------------------------------------------------------------------------------------


def _outcome_lines(outcome: Outcome) -> Iterable[str]:
    verdict = outcome.verdict
    alone = f" (only in simulation: {outcome.unreplayed})" if outcome.unreplayed else ""
    yield f"  {'pass' if outcome.passed else 'FAIL'}  {verdict.scenario.name}{alone}"
    shown: tuple[float, str, str] | None = None
    for failure in verdict.failures:
        instant = (failure.at_s, failure.expectation.machine, failure.expectation.slot)
        yield from _failure_lines(verdict.scenario, failure, again=instant == shown)
        shown = instant
    for each in outcome.differences or ():
        yield from _difference_lines(verdict.scenario, each)
    if outcome.problem:
        yield from ("", f"        {verdict.scenario.file}:{verdict.scenario.line}: {outcome.problem}", "")


def _failure_lines(scenario: Scenario, failure: Failure, *, again: bool) -> Iterable[str]:
    """A failure; without the timeline if the previous one was at the same instant."""
    from roost.lab.scenario.run import shown_at

    yield ""
    yield f"        {scenario.file}:{failure.expectation.line}: at {shown_at(failure)}"
    yield f"        expected {failure.wanted}"
    yield f"        found    {failure.found}"
    if not again:
        yield ""
        for line in failure.timeline:
            yield f"        | {line}"
    if failure.explanation:
        yield ""
    for line in failure.explanation.splitlines():
        yield f"        {line}".rstrip()
    yield ""


def _difference_lines(scenario: Scenario, each: ReplayDifference) -> Iterable[str]:
    """Where the two worlds diverge."""
    from roost.lab.inputs.durations import shown

    yield ""
    yield f"        {scenario.file}:{scenario.line}: {each.slot} differs at {shown(each.at_s)}"
    yield ""
    for line in each.lines:
        yield f"        | {line}"
    yield ""


def _coverage_lines(coverage: Coverage) -> Iterable[str]:
    untried = coverage.untried
    yield (
        f"  coverage: {len(coverage.seen) - len(untried)} of {len(coverage.seen)} clauses evaluated both true and false"
    )
    named = ""
    for each in untried:
        if each.name != named:
            named = each.name
            place = "" if each.origin is None else f"  ({each.origin.file}:{each.origin.line})"
            yield f"        {each.name}{place}"
        yield f"          {each.side:<13}{each.clause}"


# -- data ------------------------------------------------------------------------------------------------------


def _file_data(file: Path, outcomes: Iterable[Outcome], coverage: Coverage) -> dict[str, Any]:
    return {
        "file": str(file),
        "scenarios": [_outcome_data(each) for each in outcomes],
        "coverage": {
            "clauses": len(coverage.seen),
            "share": round(coverage.share, 4),
            "untried": [
                {
                    "expression": each.name,
                    "clause": each.clause,
                    "side": each.side,
                    "origin": None if each.origin is None else str(each.origin),
                }
                for each in coverage.untried
            ],
        },
    }


def _outcome_data(outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict
    real: dict[str, Any] = {}
    if outcome.differences is not None:
        shown = ("slot", "at_s", "simulated", "real", "lines")
        real["differences"] = [{name: getattr(each, name) for name in shown} for each in outcome.differences]
    if outcome.problem:
        real["problem"] = outcome.problem
    if outcome.unreplayed:
        real["unreplayed"] = outcome.unreplayed
    return {
        "name": verdict.scenario.name,
        "line": verdict.scenario.line,
        "passed": outcome.passed,
        **real,
        "expectations": verdict.checked,
        "failures": [
            {
                "line": each.expectation.line,
                "at_s": each.at_s,
                "machine": each.expectation.machine or verdict.scenario.machines[0].name,
                "slot": each.expectation.slot,
                "wanted": each.wanted,
                "found": each.found,
                "timeline": list(each.timeline),
                "explanation": each.explanation,
            }
            for each in verdict.failures
        ],
    }
