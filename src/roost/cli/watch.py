"""``roost watch``: the progress of batches until all of their jobs have ended, with rates and the remaining time."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from typing import Any, Final

from roost.cli.batches import Batch, batches_of, formatted, lines_of
from roost.cli.listing import counted, duration
from roost.cli.pool_connection import Pool, add_pool_options, with_pool
from roost.cli.queue import chosen
from roost.cli.redrawing import Redrawing
from roost.cli.terminal import CommandError, Exit, say, width
from roost.wire.requests import queue

#: The time over which rates are computed, s.
WINDOW_S: Final = 60.0
_INTERVAL_S: Final = 1.0
#: Headings of the rate and the remaining time.
_MORE_COLUMNS: Final = 22


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``watch``."""
    parser = subparsers.add_parser(
        "watch",
        help="follow the progress of jobs",
        description="Show the batches in the queue, how many jobs a minute end, and how long the rest will take at "
        f"that rate, until all have ended. Rates are those of the last {WINDOW_S:g} s. Where the output is "
        "not a terminal, each change is a line.",
    )
    add_pool_options(parser, as_json=False)
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each update")
    parser.add_argument("job", metavar="JOB", nargs="*", help="job (12.0), cluster (12) or user (default: all jobs)")
    parser.add_argument(
        "--interval", metavar="SECONDS", type=float, default=_INTERVAL_S, help="time between updates (default: 1)"
    )


def run(args: argparse.Namespace) -> int:
    """Run ``watch``."""
    if not 0.1 <= args.interval <= 3600:
        raise CommandError(f"--interval {args.interval:g} is not between 0.1 and 3600 s")
    return with_pool(args, lambda pool: _watch(pool, args))


def _watch(pool: Pool, args: argparse.Namespace) -> int:
    request = queue.Overview(rows_max=-1, **chosen(args.job, None))
    progress, screen = SeenBatches(), Redrawing()
    told: dict[object, str] = {}
    while True:
        found = pool.ask(request)
        assert isinstance(found, queue.Clusters)
        watched = progress.seen(batches_of(found.clusters), time.monotonic())
        if not watched:
            raise CommandError("no jobs are in the queue: `roost history` lists those that have left it")
        if args.json:
            say(json.dumps([each.data() for each in watched]))
        elif screen.is_terminal:
            screen.show(_frame(watched))
        else:
            for each in watched:
                if told.get(each.key) != (line := each.line()):
                    told[each.key] = line
                    say(f"{time.strftime('%H:%M:%S')}  {line}")
        sys.stdout.flush()
        if not found.clusters:
            return Exit.OK
        time.sleep(args.interval)


def _frame(watched: list[Watched]) -> list[str]:
    titles, rows = lines_of([each.batch for each in watched], width() - _MORE_COLUMNS)
    for row, each in zip(rows, watched, strict=True):
        row[-1:-1] = [each.rate_text, each.left_text]
    titles[-1:-1] = ["RATE", "TO GO"]
    left = sum(each.batch.left for each in watched)
    return [*formatted(titles, rows), "", f"{counted(left, 'job')} to go"]


class Watched:
    """A batch and its rate."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.key = key_of(batch)
        #: Instants, and how many jobs had ended by then.
        self._ends: deque[tuple[float, int]] = deque()

    def seen(self, batch: Batch, now: float) -> None:
        """Note the current state."""
        self.batch = batch
        self._ends.append((now, batch.done))
        while len(self._ends) > 2 and now - self._ends[1][0] >= WINDOW_S:
            self._ends.popleft()

    def gone(self, now: float) -> None:
        """Note that all of its jobs have left the queue."""
        done = self.batch
        done.done, done.idle, done.running, done.suspended, done.held = done.total, 0, 0, 0, 0
        self.seen(done, now)

    @property
    def per_minute(self) -> float:
        """Jobs that end per minute, over the last `WINDOW_S`."""
        (then, before), (now, after) = self._ends[0], self._ends[-1]
        return (after - before) * 60 / (now - then) if now > then else 0.0

    @property
    def left_s(self) -> float | None:
        """How long the rest takes at that rate, s; None if nothing has ended."""
        rate = self.per_minute
        return 0.0 if not self.batch.left else self.batch.left * 60 / rate if rate > 0 else None

    @property
    def rate_text(self) -> str:
        """``12/min``."""
        rate = self.per_minute
        return "-" if not rate or not self.batch.left else f"{rate:.3g}/min" if rate < 1000 else f"{rate:.0f}/min"

    @property
    def left_text(self) -> str:
        """``00:01:30``."""
        if not self.batch.left:
            return "done"
        return "-" if self.left_s is None else duration(self.left_s)

    def line(self) -> str:
        """The batch on one line."""
        batch = self.batch
        states = {"running": batch.running, "idle": batch.idle, "suspended": batch.suspended, "held": batch.held}
        parts = [
            f"{batch.done} of {batch.total} done",
            *(f"{number} {word}" for word, number in states.items() if number),
        ]
        return f"{batch.ids} {batch.name}: {', '.join(parts)}"

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {**self.batch.data(), "per_minute": round(self.per_minute, 3), "left_s": self.left_s}


class SeenBatches:
    """The batches seen since the command began."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int], Watched] = {}

    def seen(self, batches: list[Batch], now: float) -> list[Watched]:
        """Note the batches in the queue now; return all that were seen, ordered by first cluster."""
        there = {key_of(batch): batch for batch in batches}
        for key, batch in there.items():
            self._known.setdefault(key, Watched(batch)).seen(batch, now)
        for seen, watched in self._known.items():
            if seen not in there and watched.batch.left:
                watched.gone(now)
        return sorted(self._known.values(), key=lambda each: each.batch.clusters[0])


def key_of(batch: Batch) -> tuple[str, str, int]:
    """The identity of a batch across updates: clusters may join it and leave it."""
    return batch.owner, batch.name, batch.clusters[0] if not batch.is_named else 0
