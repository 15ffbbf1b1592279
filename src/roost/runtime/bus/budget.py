"""What one request may cost a daemon, and how it makes way for others while it is served.

    budget = Budget("the query", time_max_s=10.0)
    for ad in ads:
        if budget.due:
            await budget.pause()
        if budget.run(ad.eval_expr, constraint) is True:
            ...

Two limits hold. A single evaluation may take `STEPS_EACH` steps, so that even one hostile regular expression ends
within a fraction of a second. All slices of a request together may take REQUEST_TIME_MAX seconds of processor time.
Beyond either the whole request fails with `OverBudget`: an incomplete answer must not look like a complete one.

Between slices of `SLICE_S` the event loop serves everything else. A request that takes long shows a sign of life now
and then, so that the asker can tell it from a daemon that hangs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from roost.classad.allowance import EXPRESSION_STEPS, UNLIMITED, Allowance
from roost.config import Config

T = TypeVar("T")

#: REQUEST_TIME_MAX, s.
TIME_MAX_S: Final = 10.0
#: How long a request may hold the event loop at a time, s, but for one evaluation.
SLICE_S: Final = 0.005
#: Steps of one evaluation: of an expression that a user wrote, in one ad.
STEPS_EACH: Final = EXPRESSION_STEPS
#: Steps of what is evaluated for many ads at once.
STEPS_AT_ONCE: Final = 100_000
#: Time between two signs of life, s; askers wait several times as long.
SIGN_OF_LIFE_S: Final = 2.0
#: More characters of an expression are not read.
EXPRESSION_CHARS_MAX: Final = 64 * 1024


class OverBudget(Exception):
    """A request costs too much. The text says which limit it exceeded, `remedy` what to do."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy


def time_max_of(config: Config) -> float:
    """REQUEST_TIME_MAX, s. Raises ConfigError."""
    return config.get_float("REQUEST_TIME_MAX", TIME_MAX_S)


class Budget:
    """What is left for one request."""

    def __init__(
        self, what: str, time_max_s: float = TIME_MAX_S, alive: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._what = what
        self._time_max_s = self._left_s = time_max_s
        self._alive = alive
        self._shown_at = time.monotonic()
        self._began_s = time.thread_time()
        #: For evaluations one at a time.
        self.allowance = Allowance(UNLIMITED, STEPS_EACH)

    @property
    def due(self) -> bool:
        """Whether others have to be served before the request goes on."""
        return time.thread_time() - self._began_s >= SLICE_S

    async def pause(self) -> None:
        """Serve others. Raises OverBudget."""
        self.spend(time.thread_time() - self._began_s)
        if self._alive is not None and time.monotonic() - self._shown_at >= SIGN_OF_LIFE_S:
            self._shown_at = time.monotonic()
            await self._alive()
        await asyncio.sleep(0)
        self.resume()

    def resume(self) -> None:
        """Count time from now on: what passed since the last slice was not spent on the request."""
        self._began_s = time.thread_time()

    def spend(self, took_s: float) -> None:
        """Account for processor time. Raises OverBudget."""
        self._left_s -= took_s
        if self._left_s < 0:
            text = f"{self._what} took more than {self._time_max_s:g} s of processor time (REQUEST_TIME_MAX)"
            remedy = (
                "Name jobs, clusters, users or slots to narrow it down, ask for fewer attributes, or simplify the "
                "constraint. An administrator can raise REQUEST_TIME_MAX."
            )
            raise OverBudget(text, remedy)

    def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call what evaluates an expression in one ad. Raises OverBudget if that takes too many steps."""
        with self.allowance:
            found = function(*arguments)
        if self.allowance.exceeded:
            raise too_many_steps(self._what)
        return found


def too_many_steps(what: str) -> OverBudget:
    """The error for an evaluation that took too long."""
    text = f"{what} has an expression that takes more than {STEPS_EACH} evaluation steps for one ad"
    return OverBudget(text, "Simplify it. Nested repeats in a regular expression, such as (a+)+, are the usual cause.")


def check_length(text: str, what: str) -> str:
    """An expression that is short enough to be read. Raises OverBudget."""
    if len(text) > EXPRESSION_CHARS_MAX:
        raise OverBudget(
            f"{what} has {len(text)} characters; a daemon reads at most {EXPRESSION_CHARS_MAX}",
            "Split it into several requests.",
        )
    return text
