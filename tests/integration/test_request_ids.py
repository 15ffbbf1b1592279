"""One job is followed through the logs of all daemons by the id of the request that submitted it."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.integration.kit import Pool, eventually


def lines(pool: Pool, role: str, request: str) -> list[str]:
    """What a daemon's log says of a request, without the times."""
    return [line.partition(": ")[2] for line in _text(pool, role).splitlines() if request in line]


def test_a_job_is_followed_from_its_submission_to_its_end_by_one_id(shared: Pool) -> None:
    first = shared.submit("executable = /bin/true\nqueue\n")
    other = shared.submit("executable = /bin/true\nqueue\n")
    shared.wait(first, other)
    ids = [str(shared.job(f"{number}.0")["SubmitRequestId"]) for number in (first, other)]
    assert all(re.fullmatch("[0-9a-f]{8}", each) for each in ids)
    assert ids[0] != ids[1]
    for number, request in zip((first, other), ids, strict=True):
        job = f"{number}.0"
        queue = eventually(lambda request=request: (found := lines(shared, "schedd", request))[2:] and found)
        assert re.fullmatch(rf"request {request} of \S+: submit: under way", queue[0])
        begun = re.fullmatch(rf"job {job}: run (\S+) begins on \S+ \[{request}\]", queue[1])
        assert begun is not None, queue
        assert queue[2] == f"job {job}: run {begun[1]} ended: exit [{request}]"
        assert len(queue) == 3
        assert f"submitted, request {request}" in shared("story", "job", job)
        machine = eventually(lambda request=request: lines(shared, "node", request))
        assert any(re.search(r"-> Claimed/Busy \(11: activation\)", line) for line in machine), machine
    # A claim that the first job leaves may be used again by the second, without a match of its own.
    matched = lines(shared, "central", ids[0])
    assert re.fullmatch(rf"\S+ is matched with \S+ for job {first}\.0 or one like it \[{ids[0]}\]", matched[0]), matched


def test_a_request_that_ends_a_run_is_in_the_log_of_its_machine(shared: Pool) -> None:
    number = shared.submit("executable = /bin/sleep\narguments = 600\nqueue\n")
    shared.seen(f"{number}.0", JobStatus=2)
    shared("rm", str(number))
    told = eventually(lambda: re.findall(r"run \S+ of \S+ is to end: remove \[([0-9a-f]{8})\]", _text(shared, "node")))
    assert f"request {told[-1]} of " in _text(shared, "schedd")
    assert told[-1] != shared.job(f"{number}.0")["SubmitRequestId"]

    # The transitions of the slot that follow name it, too.
    def followed() -> list[dict[str, Any]]:
        text = (shared.home / "log" / "transitions.jsonl").read_text()
        return [record for record in map(json.loads, text.splitlines()) if record.get("request") == told[-1]]

    records = eventually(followed)
    assert all(record.get("job") == f"{number}.0" for record in records if "job" in record)
    assert {record["reason"] for record in records} & {"final update of the starter", "starter gone"}
    assert eventually(lambda: re.search(rf"slot\S+: .* -> .*\[{told[-1]}\]", _text(shared, "node")))


def _text(pool: Pool, role: str) -> str:
    return (pool.home / "log" / f"{role}.log").read_text()


def test_a_request_that_changes_something_is_in_the_log_of_the_daemon_that_carried_it_out(shared: Pool) -> None:
    number = shared.submit("executable = /bin/sleep\narguments = 600\nhold = true\nqueue\n")
    shared("rm", str(number))
    shared.try_("rm", str(number))
    told = re.findall(r"INFO roost\.requests: request [0-9a-f]{8} of \S+: act: (.*)", _text(shared, "schedd"))
    assert told[-2:] == ["done", "nothing was done"]
