"""Assumed run times of jobs, for runs with reservations.

A job runs as long as its request for ``h_rt`` or ``s_rt`` allows, else for `default_duration`; starting and ending it
takes `DURATION_OFFSET` more. A job that has exceeded its time is assumed to end after that offset.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from typing import Final

from roost.gridengine.objects.calendar import Calendar, State
from roost.gridengine.objects.complex import Type, value_number
from roost.gridengine.objects.scheduler import SchedulerConfiguration, parameters
from roost.gridengine.objects.values import seconds
from roost.gridengine.scheduling.ledger import Window
from roost.gridengine.scheduling.snapshot import CellSnapshot, Request, RunningTask

_OFFSET_S: Final = 60.0
#: how many coming changes of a calendar are considered
_CHANGES_MAX: Final = 20


class Durations:
    """Durations of the jobs of one cell."""

    def __init__(self, scheduler: SchedulerConfiguration, now: float) -> None:
        self._default, self._now = scheduler.default_duration.number, now
        offset = seconds(dict(parameters(scheduler.params)).get("DURATION_OFFSET", ""))
        self._offset_s = _OFFSET_S if offset is None else offset

    def of(self, request: Request) -> float:
        """How long a job occupies its resources, in seconds."""
        asked = [value_number(Type.TIME, text) for name, text in request.hard if name in ("h_rt", "s_rt")]
        return min([one for one in asked if one is not None], default=float(self._default)) + self._offset_s

    def window(self, request: Request, start: float) -> Window:
        """The window of a job that starts at `start`."""
        return Window(start, start + self.of(request))

    def running(self, task: RunningTask) -> Window:
        """The window of a running task."""
        return Window(task.started, max(task.started + self.of(task.request), self._now + self._offset_s))


def closures(calendar: Calendar, snapshot: CellSnapshot) -> Iterator[Window]:
    """When a calendar closes queues, up to a year ahead."""
    when, state = snapshot.local_time, calendar.state_at(snapshot.local_time)
    for _ in range(_CHANGES_MAX):
        change = calendar.next_change(when)
        end = math.inf if change is None else _later(snapshot, change[0])
        if state is not State.ON:
            yield Window(_later(snapshot, when), end)
        if change is None:
            return
        when, state = change


def _later(snapshot: CellSnapshot, when: datetime.datetime) -> float:
    return snapshot.now + (when - snapshot.local_time).total_seconds()
