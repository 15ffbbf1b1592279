"""The cost limits of one request to a daemon, and how it yields to others while it is served.

    budget = Budget("the query", time_max_s=10.0)
    for ad in ads:
        if budget.due:
            await budget.pause()
        if budget.fits(ad, constraint, author=owner, name=(cluster, proc)):
            ...

Two limits apply. A single evaluation may take `STEPS_EACH` steps, so that even one hostile regular expression ends
within a fraction of a second. All slices of a request together may take REQUEST_TIME_MAX seconds of processor time. If
a request exceeds the second limit, or if its own constraint takes too many steps, the whole request fails with
`OverBudget`: an incomplete answer must not look like a complete one. But the contents of one user's ad must not keep
other users from their answers: an expression of an ad that takes too many steps is ERROR, and `warning` names the ad.
After `COSTLY_ADS` such ads of one author, each further one of the same author gets `STEPS_THEN` steps.

Between slices of `SLICE_S` the event loop serves everything else. A long request sends a heartbeat now and then, so
that the requester can distinguish it from a daemon that hangs.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, Final, TypeVar

from roost.classad import ClassAd, Expr
from roost.classad.allowance import EXPRESSION_STEPS, UNLIMITED, Allowance
from roost.classad.refs import mentioned_in
from roost.config import Config

T = TypeVar("T")

#: REQUEST_TIME_MAX, s.
TIME_MAX_S: Final = 10.0
#: How long a request may block the event loop at a time, s, apart from one evaluation.
SLICE_S: Final = 0.005
#: Maximum number of steps of one evaluation: of an expression that a user wrote, in one ad.
STEPS_EACH: Final = EXPRESSION_STEPS
#: Number of ads of one author that may take as many; further ones get `STEPS_THEN`.
COSTLY_ADS: Final = 3
STEPS_THEN: Final = 100
#: Maximum number of ads that a warning names.
_NAMED_MAX: Final = 5
#: Maximum number of steps of an evaluation over many ads at once.
STEPS_AT_ONCE: Final = 100_000
#: Interval of heartbeats, s; requesters wait several times as long.
SIGN_OF_LIFE_S: Final = 2.0
#: Maximum length of an expression that is read, characters.
EXPRESSION_CHARS_MAX: Final = 64 * 1024


class OverBudget(Exception):
    """A request that costs too much. The text says which limit it exceeded, `remedy` what to do."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy


def time_max_of(config: Config) -> float:
    """REQUEST_TIME_MAX, s. Raises ConfigError."""
    return config.get_float("REQUEST_TIME_MAX", TIME_MAX_S)


class Budget:
    """The remaining budget of one request."""

    def __init__(
        self, what: str, time_max_s: float = TIME_MAX_S, alive: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._what = what
        self._time_max_s = self._left_s = time_max_s
        self._alive = alive
        self._shown_at = time.monotonic()
        self._began_s = time.thread_time()
        #: Steps of single evaluations, and of those in ads of authors whose ads took too many.
        self._allowance = Allowance(UNLIMITED, STEPS_EACH)
        self._small = Allowance(UNLIMITED, STEPS_THEN)
        #: Author to the number of ads that took too many steps; the names of these ads in order.
        self._costly: Counter[str] = Counter()
        self._named: dict[str, None] = {}

    @property
    def due(self) -> bool:
        """Whether others have to be served before the request continues."""
        return time.thread_time() - self._began_s >= SLICE_S

    async def pause(self) -> None:
        """Let others be served. Raises OverBudget."""
        self.spend(time.thread_time() - self._began_s)
        if self._alive is not None and time.monotonic() - self._shown_at >= SIGN_OF_LIFE_S:
            self._shown_at = time.monotonic()
            await self._alive()
        await asyncio.sleep(0)
        self.resume()

    def resume(self) -> None:
        """Start counting time: what passed since the last slice was not spent on the request."""
        self._began_s = time.thread_time()

    def spend(self, took_s: float) -> None:
        """Count processor time. Raises OverBudget."""
        self._left_s -= took_s
        if self._left_s < 0:
            text = f"{self._what} took more than {self._time_max_s:g} s of processor time (REQUEST_TIME_MAX)"
            remedy = (
                "Name jobs, clusters, users or slots to narrow it down, ask for fewer attributes, or simplify the "
                "constraint. An administrator can raise REQUEST_TIME_MAX."
            )
            raise OverBudget(text, remedy)

    def run(self, function: Callable[..., T], *arguments: Any, author: str, name: tuple[object, ...]) -> T:
        """Call a function that evaluates expressions in one ad, whose author and name (in parts) are given.

        An evaluation that takes too many steps is ERROR.
        """
        allowance = self._allowance_of(author)
        with allowance:
            found = function(*arguments)
        if allowance.exceeded:
            self._note(allowance, author, name)
        return found

    def fits(self, ad: ClassAd, constraint: Expr, *, author: str, name: tuple[object, ...]) -> bool:
        """Whether the constraint of the request is true for an ad; `author` and `name` as in `run`.

        Raises OverBudget if it takes too many steps, and the ad's attributes to which it refers account for less than
        half of them.
        """
        allowance = self._allowance_of(author)
        with allowance:
            found = ad.eval_expr(constraint)
        if allowance.exceeded:
            if allowance is self._allowance and not self._has_costly(ad, constraint):
                raise too_many_steps(self._what)
            self._note(allowance, author, name)
        return found is True

    def _allowance_of(self, author: str) -> Allowance:
        few = self._costly and self._costly[author] >= COSTLY_ADS
        return self._small if few else self._allowance

    def _has_costly(self, ad: ClassAd, constraint: Expr) -> bool:
        names = mentioned_in(constraint.tree)
        half = STEPS_EACH // 2
        with Allowance(half, half) as alone:
            for name in names.plain | names.my:
                ad.eval(name)
        return alone.exceeded

    def _note(self, allowance: Allowance, author: str, name: tuple[object, ...]) -> None:
        allowance.exceeded = False
        self._costly[author] += 1
        whole = ".".join(map(str, name))
        self._named[f"{whole} ({author})" if author else whole] = None

    @property
    def warning(self) -> str:
        """A warning that names what took too many steps; "" for none."""
        if not self._costly:
            return ""
        more = len(self._named) - _NAMED_MAX
        names = ", ".join(islice(self._named, _NAMED_MAX)) + (f" and {more} more" if more > 0 else "")
        return f"expressions that take more than {STEPS_EACH} evaluation steps count as ERROR: in {names}"


def too_many_steps(what: str) -> OverBudget:
    """The error for an evaluation that took too long."""
    text = f"{what} has an expression that takes more than {STEPS_EACH} evaluation steps for one ad"
    return OverBudget(text, "Simplify it. Nested repeats in a regular expression, such as (a+)+, are the usual cause.")


def check_length(text: str, what: str) -> str:
    """Check that an expression is short enough to be read. Raises OverBudget."""
    if len(text) > EXPRESSION_CHARS_MAX:
        raise OverBudget(
            f"{what} has {len(text)} characters; a daemon reads at most {EXPRESSION_CHARS_MAX}",
            "Split it into several requests.",
        )
    return text
