"""What ``roost explain slot`` says of the hook that fetches work."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.cli.explain.slot import fetching_text, show
from roost.explain.slot import SlotQuestion, explain_slot, fetching
from roost.model.slot_transition import SlotTransition
from roost.wire.structs import read


@pytest.mark.parametrize(
    ("ad", "says"),
    [
        ({}, []),
        ({"LastFetchWorkSpawned": 940}, ["has been running for 00:01:00"]),
        ({"LastFetchWorkSpawned": 940, "LastFetchWorkCompleted": 900}, ["has been running for 00:01:00"]),
        ({"LastFetchWorkSpawned": 970, "LastFetchWorkCompleted": 980}, ["ended 00:00:20 ago."]),
        (
            {"LastFetchWorkSpawned": 980, "LastFetchWorkCompleted": 980, "NextFetchWorkDelay": 300},
            ["ended 00:00:20 ago, and runs again 300 s after that at the earliest."],
        ),
        (
            {"LastFetchWorkSpawned": 980, "LastFetchWorkCompleted": 980, "NextFetchWorkDelay": 1,
             "FetchWorkFailures": 4, "FetchWorkPausedUntil": 1020},
            ["ended 00:00:20 ago. The last 4 fetched jobs could not be started: it does not run again for 00:00:20."],
        ),
        (
            {"LastFetchWorkSpawned": 980, "LastFetchWorkCompleted": 980, "FetchWorkProblem": "/h/f: it is no ad."},
            ["ended 00:00:20 ago. It brought no job: /h/f: it is no ad."],
        ),
        (
            {"LastFetchWorkSpawned": 990, "LastFetchWorkCompleted": 980, "FetchWorkProblem": "/h/f: it is no ad."},
            ["until the hook ends. The previous call brought no job: /h/f: it is no ad."],
        ),
        (
            {"LastFetchWorkSpawned": 980, "LastFetchWorkCompleted": 980, "FetchWorkFailures": 1,
             "FetchWorkPausedUntil": 1020, "FetchWorkProblem": "no such program"},
            ["The last fetched job could not be started: it does not run again for 00:00:20. "
             "It brought no job: no such program."],
        ),
        (
            {"LastFetchWorkSpawned": 980, "LastFetchWorkCompleted": 980, "NextFetchWorkDelay": 1,
             "FetchWorkFailures": 1, "FetchWorkPausedUntil": 985},
            ["ended 00:00:20 ago, and runs again 1 s after that at the earliest."],
        ),
    ],
)  # fmt: skip
def test_a_hook_that_hangs_is_told_from_one_that_found_nothing(ad: dict[str, object], says: list[str]) -> None:
    hook = fetching(ClassAd(ad), 1000.0)
    lines = [] if hook is None else [fetching_text(hook)]
    assert len(lines) == len(says) and all(text in line for text, line in zip(says, lines, strict=True))


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"fetched": "/bin/work (7.1)", "user": "ann"}, "claimed by ann, with fetched job /bin/work (7.1)."),
        ({"job": "7.1", "user": "ann@x"}, "claimed by ann, with job 7.1."),
    ],
)
def test_a_fetched_job_is_not_shown_as_a_job_of_the_queue(
    record: dict[str, str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ad = {"Name": "slot1@m", "State": "Claimed", "Activity": "Busy", "RemoteOwner": "ann", "JobId": "7.1"}
    begun = {"slot": "slot1@m", "at": 5.0, "from": "Claimed/Idle", "to": "Claimed/Busy", "number": "11", "reason": "r"}
    asked = ClassAd(ad | {"EnteredCurrentActivity": 5})
    show(
        explain_slot(
            SlotQuestion(
                ad=asked,
                fresh=False,
                origins={},
                records=[read(SlotTransition, begun | record, "record", strict=True)],
                now=9.0,
            )
        )
    )
    assert says in capsys.readouterr().out
