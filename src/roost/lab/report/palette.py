"""The colours of states and activities: the same in every picture."""

from __future__ import annotations

from typing import Final

#: Pair to colour, in the order of legends.
COLOURS: Final[dict[str, str]] = {
    "Owner/Idle": "#c9c3b6",
    "Unclaimed/Idle": "#e9eef2",
    "Unclaimed/Benchmarking": "#b7d3e4",
    "Matched/Idle": "#8fb8d6",
    "Claimed/Idle": "#7fc4b4",
    "Claimed/Busy": "#2a9d73",
    "Claimed/Suspended": "#f2b134",
    "Claimed/Retiring": "#b5c334",
    "Claimed/Cleaning": "#7fae9f",
    "Preempting/Vacating": "#ee7733",
    "Preempting/Killing": "#c1272d",
    "Backfill/Idle": "#d5c8e8",
    "Backfill/Busy": "#8a63b8",
    "Backfill/Killing": "#5b3a86",
    "Drained/Retiring": "#9aa5b1",
    "Drained/Idle": "#6b7683",
}

#: Colour of the time in which keys are pressed.
OWNER_PRESENT: Final = "#5a4632"
#: Colour of jobs that wait.
WAITING: Final = "#7a8fa6"
