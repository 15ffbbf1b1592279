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
    assert re.fullmatch(
        rf"\S+ was matched with \S+ for job {first}\.0 or an equivalent one \[{ids[0]}\]", matched[0]
    ), matched


def test_a_request_that_ends_a_run_is_in_the_log_of_its_machine(shared: Pool) -> None:
    number = shared.submit("executable = /bin/sleep\narguments = 600\nqueue\n")
    shared.seen(f"{number}.0", JobStatus=2)
    shared("rm", str(number))
    submission = shared.job(f"{number}.0")["SubmitRequestId"]
    order = rf"run \S+ of \S+ must end: remove \[{submission}, by ([0-9a-f]{{8}})\]"
    told = eventually(lambda: re.findall(order, _text(shared, "node")))
    assert f"request {told[-1]} of " in _text(shared, "schedd")
    assert told[-1] != submission

    # The transitions of the slot that follow name it, too.
    def followed() -> list[dict[str, Any]]:
        text = (shared.home / "log" / "transitions.jsonl").read_text()
        return [record for record in map(json.loads, text.splitlines()) if record.get("request") == told[-1]]

    records = eventually(followed)
    assert all(record.get("job") == f"{number}.0" for record in records if "job" in record)
    assert {record["reason"] for record in records} & {"final update of the starter", "starter gone"}
    ids = rf"\[{submission}, by {told[-1]}\]"
    assert eventually(lambda: re.search(rf"slot\S+: .* -> .*{ids}", _text(shared, "node")))
    ended = rf"job {number}\.0: run \S+ ended: remove {ids}"
    assert eventually(lambda: re.search(ended, _text(shared, "schedd")))


def _text(pool: Pool, role: str) -> str:
    return (pool.home / "log" / f"{role}.log").read_text()


def test_a_request_that_changes_something_is_in_the_log_of_the_daemon_that_carried_it_out(shared: Pool) -> None:
    number = shared.submit("executable = /bin/sleep\narguments = 600\nhold = true\nqueue\n")
    shared("rm", str(number))
    shared.try_("rm", str(number))
    told = re.findall(r"INFO roost\.requests: request [0-9a-f]{8} of \S+: act: (.*)", _text(shared, "schedd"))
    assert told[-2:] == ["done", "nothing was done"]


def test_a_job_is_followed_through_all_logs_and_the_audit_trail(shared: Pool) -> None:
    """Submitted, matched, run, held, released, run again, its slot vacated, removed: each by its request."""
    # Its own requirements, so that it is matched rather than given the claim of another job.
    number = shared.submit("executable = /bin/sleep\narguments = 600\nrequirements = Memory > 1 && Disk > 1\nqueue\n")
    job = f"{number}.0"
    shared.seen(job, JobStatus=2)
    submission = str(shared.job(job)["SubmitRequestId"])
    shared("hold", job)
    shared.seen(job, JobStatus=5)
    eventually(lambda: shared.try_("release", job).returncode == 0)
    shared.seen(job, JobStatus=2)
    shared("vacate", "--fast", job)
    shared.seen(job, NumJobStarts=3, JobStatus=2)
    shared("rm", job)

    (hold,), (release,) = _decided(shared, job, "hold"), _decided(shared, job, "release")
    (eviction,), (removal,) = _decided(shared, job, "eviction"), _decided(shared, job, "removal")
    orders = [each["request"] for each in (hold, release, eviction, removal)]
    assert len({submission, *orders}) == 5, "each request has an id of its own"
    assert all(each["submission"] == submission for each in (hold, release, eviction, removal))
    # All that was decided about the job is found by its own id, and nothing else.
    about = json.loads(shared("audit", "--json", "--request-id", submission))
    assert {each["job"] for each in about} == {job}
    assert {"hold", "release", "removal", "eviction"} <= {each["kind"] for each in about}

    queue, node = lines(shared, "schedd", submission), lines(shared, "node", submission)
    decided = [line for line in queue if re.match(rf"job {re.escape(job)}: (hold|release|eviction|removal) ", line)]
    assert [line.rpartition(" [")[2] for line in decided] == [f"{submission}, by {each}]" for each in orders]
    assert len([line for line in queue if " begins on " in line]) == 3
    assert any(f"by {orders[0]}]" in line and "ended: hold" in line for line in queue)
    assert any(f"by {orders[0]}]" in line and "must end: hold" in line for line in node)
    for each, ending in ((orders[2], "evict"), (orders[3], "remove")):
        assert any(f"by {each}]" in line and f"ended: {ending}" in line for line in lines(shared, "schedd", submission))
        assert any(f"by {each}]" in line and "-> " in line for line in node), node
    assert any("was matched with" in line for line in lines(shared, "central", submission))
    assert all(f"request {each} of " in "".join(lines(shared, "schedd", each)) for each in orders)
    told = json.loads(shared("story", "job", job, "--json"))
    assert {each["request"] for each in told} >= {submission, *orders}


def test_what_is_ordered_of_a_machine_names_its_request(shared: Pool) -> None:
    machine = shared("status", "--json") and str(json.loads(shared("status", "--json"))[0]["Machine"])
    shared("drain", machine)
    try:
        (drained,) = eventually(lambda: _of_kind(shared, "drain"))
        request = drained["request"]
        assert eventually(lambda: any(f"request {request} of " in line for line in lines(shared, "node", request)))
        found = [line for line in lines(shared, "node", request) if "-> Drained/" in line]
        assert found, lines(shared, "node", request)
    finally:
        shared("drain", "--cancel", machine)
    cancelled = eventually(lambda: [each for each in _of_kind(shared, "drain") if each["request"] != request])
    assert "cancelled" in cancelled[0]["reason"]


def _of_kind(pool: Pool, kind: str) -> list[dict[str, Any]]:
    run = pool.try_("audit", "--json", "--kind", kind)
    return json.loads(run.stdout) if run.returncode == 0 else []


def _decided(pool: Pool, job: str, kind: str) -> list[dict[str, Any]]:
    """What is on record of a job, once there is something."""
    found = eventually(
        lambda: (run := pool.try_("audit", "--json", "--job", job, "--kind", kind)).returncode == 0 and run
    )
    records: list[dict[str, Any]] = json.loads(found.stdout)
    return records
