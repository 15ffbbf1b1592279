"""Requests and replies: what is read is what was sent, and what is malformed is refused with the name of its field."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import pytest

from roost.model.audit import AuditKind, AuditRecord, Detail
from roost.model.cell_reservations import AdvanceReservation, Granted
from roost.model.cycle_answers import CycleFigures
from roost.model.job_standing import ClaimStanding, Full, JobStanding, Pause
from roost.schedd.events import Action
from roost.wire.codec import decode, encode
from roost.wire.errors import WireError
from roost.wire.messages import ALL, Answer, Ask
from roost.wire.requests import cell, central, machine, queue, registrar
from roost.wire.requests.verb import Daemon, Request, Verb
from roost.wire.structs import JsonForm, Struct, data_of, read, replaced
from roost.wire.verbs import VERBS, ask_of, request_of

RESERVATION = AdvanceReservation(
    number=1, owner="ann", submitted=1.0, start=2.0, end=3.0, grants=(Granted(instance="all.q@a", slots=2),),
    name="n", group="g", account="x", resources="lic=1", queues="all.q", master_queues="b.q", parallel="make 2",
    checkpoint="c", interactive=True, environment="make", users=("bob", "@staff"), hard_errors=True, mail_options="b",
    mail_list="m", deleted=True, begun=True,
)  # fmt: skip
CLUSTER = queue.ClusterRow(
    cluster=1, owner="ann", submitted_at=5, total=4, left=2, first=0, last=3, counts={"Idle": 1, "Running": 1},
    unmaterialized=1, attributes={"Cmd": "/bin/x"},
)  # fmt: skip
#: A request of each kind, with a value other than the default in every field.
REQUESTS: tuple[Request[Any], ...] = (
    central.Ads(
        kind="Machine", constraint="TRUE", names=("a",), projection=("Name", "X"), values=True, texts=("X",), limit=3
    ),
    central.Advertise(ads=({"MyType": "A", "Name": "n", "X": {"expr": "1 + 1"}},), gone=("b",), kind="A"),
    central.AuditTrail(
        since=1.5, until=2.0, kinds=("hold",), effects=("done",), user="u", machine="m", job="1.0", knob="K",
        configuration="c", after=7, limit=10,
    ),
    central.Cycle(),
    central.ExplainJob(schedd="q", submitter="u@x", autocluster=-1),
    central.ExplainSlot(slot="slot1@m"),
    central.CellHosts(),
    central.CellPriorities(),
    central.CellScheduling(active=False),
    central.Reserve(reservation=RESERVATION, verify=True),
    central.CellReservations(),
    central.QueueInstances(),
    central.StopCentral(),
    central.UnderWay(reply="r"),
    central.Users(),
    central.ChangeUser(action="set-factor", user="u", value=2.0),
    central.ChangeUser(action="set-bounds", user="u", floor=1.0, ceiling=2.0),
    central.ChangeUser(action="set-usage", user="u", used_s=1.0, began=2.0, last=3.0),
    machine.Ads(),
    machine.CancelDrain(request_id="r"),
    machine.Drain(schedule=20, on_completion=3, check="TRUE", start="FALSE", reason="why"),
    machine.KeepStreams(session="0" * 32),
    machine.LeaveStreams(session="0" * 32),
    machine.ReadStreams(session="0" * 32, out=5, err=6),
    machine.WriteStreams(session="0" * 32, offset=7, data="YQ==", last=True, rows=24, columns=80),
    machine.OpenShell(
        job="12.0", session="0" * 32, global_id="q", words=("ls", "-l"), shells=("sh",), term="vt", rows=24, columns=80
    ),
    machine.Origins(slot="slot1@m"),
    machine.Poll(),
    machine.ReadFile(job="12.0", global_id="q", stream="err", file="a/b", offset=-5, limit=9),
    machine.Reopen(slot="slot1@m"),
    machine.StopMachine(kill_jobs=True),
    machine.Story(slot="slot1@m", job="1.0", limit=5),
    machine.UnderWay(reply="r"),
    machine.Vacate(slot="slot1@m", fast=True),
    queue.ReadOutput(job="12.0", stream="err", offset=-5, limit=9),
    cell.EditCell(option="Mq", text="qname all.q\n", file="q1", host="here"),
    cell.ChangeCell(revision=3, put={"cqueues/all.q": "qname all.q"}, drop=("calendars/night",)),
    cell.AccountingLines(job=3, tasks=(1, 2), name="a*", owner="ann", since=1, until=2, by_end=True),
    cell.AccountingSums(host="a", instances=("all.q@*",), group="g", project="p", department="d", environment="e",
                        slots=2, account="a", by=("owner", "slots")),
    cell.AskAccountingForm(),
    cell.Reservations(),
    cell.ReservationLog(number=3, limit=5),
    cell.KeepReservation(reservation=RESERVATION, revision=4),
    cell.ReportLoads(loads={"node1": "cpu=1.0"}),
    cell.DeleteReservations(numbers=(1, 2), users=("ann",), force=True),
    cell.CellLog(limit=7),
    cell.InstanceStates(),
    cell.ChangeInstances(action="suspend", names=("all.q@node1", "b.q@@fast")),
    cell.ReadCell(),
    cell.CellTasks(),
    cell.ChangeInstances(action="clear", names=("all.q@*",)),
    cell.ClearUsage(),
    cell.Usage(),
    queue.Act(action="edit", jobs=("1.0", "2"), owners=("ann",), constraint="TRUE", reason="r", attributes={"A": 1}),
    queue.Autocluster(job="1.0"),
    queue.History(jobs=("1",), constraint="TRUE", projection=("A",), raw=True, texts=("A",), limit=2),
    queue.Overview(jobs=("1",), owners=("ann",), constraint="TRUE", projection=("A",), rows_max=-1),
    queue.Query(jobs=("1",), owners=("ann",), constraint="T", projection=("A",), raw=True, texts=("A",), limit=2),
    queue.SpoolFile(job="1.0", item="[]", offset=4, data="YQ==", last=True),
    queue.EndSpooling(job="1.0"),
    queue.SpooledFiles(job="1.0"),
    queue.ReadSpooled(job="1.0", item="[]", offset=4),
    queue.Submit(clusters=({"version": 1},)),
    queue.StopQueue(),
    queue.Summary(),
    queue.UnderWay(reply="r"),
)  # fmt: skip
ROWS = [(daemon, verb) for daemon, table in VERBS.items() for verb in table.values()]

DECISION = AuditRecord(id="a", kind=AuditKind.HOLD, at=1.0, until=2.0, detail=Detail(cycles=1))


def sent(request: Request[Any]) -> Request[Any]:
    """What a daemon reads of a request."""
    message = decode(encode(ask_of(request)))
    assert isinstance(message, Ask)
    return request_of(request._verb.daemon, message)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda each: type(each).__name__)
def test_a_request_is_read_as_it_was_made(request_: Request[Any]) -> None:
    assert sent(request_) == request_
    assert type(sent(request_)) is type(request_)


def test_there_is_a_request_of_each_kind() -> None:
    assert {type(each) for each in REQUESTS} == {verb.request for _, verb in ROWS}


@pytest.mark.parametrize(("daemon", "verb"), ROWS, ids=lambda each: getattr(each, "name", each))
def test_the_table_says_of_which_daemon_a_request_is_and_what_the_reply_is(daemon: Daemon, verb: Verb) -> None:
    assert verb.request._verb is verb
    assert verb.daemon is daemon
    with pytest.raises(WireError, match="the reply"):
        read(verb.reply, object(), "the reply", strict=True)


@pytest.mark.parametrize(
    ("daemon", "what", "args", "text"),
    [
        (Daemon.CENTRAL, "shutdown", {}, "the central manager cannot answer 'shutdown', but ads, advertise"),
        (
            Daemon.CENTRAL,
            "ads",
            {"raw": True},
            "ads.raw: there is no such field; the fields are kind, constraint, names",
        ),
        (Daemon.CENTRAL, "ads", {"limit": "x"}, "ads.limit: 'x' is not a whole number"),
        (Daemon.CENTRAL, "ads", {"limit": True}, "ads.limit: True is not a whole number"),
        (Daemon.CENTRAL, "ads", {"limit": -1}, "ads.limit: -1 is not between 0 and 2147483647"),
        (Daemon.CENTRAL, "ads", {"names": "slot1"}, "ads.names: 'slot1' is not a list"),
        (Daemon.CENTRAL, "ads", {"names": ["a", 1]}, "ads.names[1]: 1 is not a string"),
        (Daemon.CENTRAL, "ads", {"values": True}, "ads: values affects how a projection is shown, but none is given"),
        (Daemon.CENTRAL, "advertise", {"ads": [{}, 7]}, "advertise.ads[1]: 7 is not an object"),
        (Daemon.CENTRAL, "advertise", {"kind": "X"}, "advertise: kind is the type of the ads to withdraw"),
        (Daemon.CENTRAL, "audit", {"kinds": ["fly"]}, "audit.kinds[0]: 'fly' is not one of discard, "),
        (Daemon.CENTRAL, "audit", {"job": "all"}, "audit.job: 'all' is not a job (12.0) or a cluster (12)"),
        (Daemon.CENTRAL, "audit", {"limit": 0}, "audit.limit: 0 is not between 1 and 1000"),
        (Daemon.CENTRAL, "explain-slot", {}, "explain-slot.slot: this field is missing"),
        (
            Daemon.CENTRAL,
            "userprio-set",
            {"action": "fly", "user": "a"},
            "action: 'fly' is not one of set-factor",
        ),
        (Daemon.CENTRAL, "userprio-set", {"action": "reset", "user": "a", "value": 0}, "reset does not take value"),
        (Daemon.CENTRAL, "userprio-set", {"action": "set-priority", "user": "a"}, "set-priority needs value"),
        (Daemon.MACHINE, "drain", {"schedule": 5}, "drain.schedule: 5 is not one of 0, 10, 20"),
        (Daemon.MACHINE, "drain", {"schedule": 10.0}, "drain.schedule: 10.0 is not a whole number"),
        (Daemon.MACHINE, "poll", {"now": 1}, "poll.now: there is no such field; the fields are none"),
        (Daemon.QUEUE, "act", {"action": "explode"}, "act.action: 'explode' is not one of hold, release"),
        (Daemon.QUEUE, "act", {}, "act.action: this field is missing"),
        (Daemon.QUEUE, "act", {"action": "edit", "attributes": []}, "act.attributes: [] is not an object"),
        (Daemon.QUEUE, "act", {"action": "hold", "attributes": {"A": 1}}, "act: hold does not take the attribute A"),
        (Daemon.QUEUE, "query", {"jobs": ["1.x"]}, "query.jobs[0]: '1.x' is not a job (12.0) or a cluster (12)"),
        (Daemon.QUEUE, "query", {"jobs": ["9" * 20]}, "query.jobs[0]: '99999999999999999999' is not a job"),
        (Daemon.QUEUE, "query", {"jobs": ["1\n"]}, "query.jobs[0]: '1\\n' is not a job"),
        (Daemon.QUEUE, "query", {"constraint": 7}, "query.constraint: 7 is not a string"),
        (Daemon.QUEUE, "submit", {"clusters": "many"}, "submit.clusters: 'many' is not a list"),
        (Daemon.QUEUE, "autocluster", {"job": "12"}, "autocluster.job: '12' is not a job (12.0)"),
    ],
)
def test_a_malformed_request_is_refused_with_the_name_of_the_field(
    daemon: Daemon, what: str, args: dict[str, Any], text: str
) -> None:
    message = decode(encode(Ask(what=what, args=args)))
    assert isinstance(message, Ask)
    with pytest.raises(WireError) as refused:
        request_of(daemon, message)
    assert text in str(refused.value)


#: What commands of the first version sent, as it was on the wire.
FORMER: tuple[tuple[Daemon, str, Request[Any]], ...] = (
    (
        Daemon.QUEUE,
        '{"type":"Ask","v":1,"what":"query","args":{"projection":["ClusterId"],"limit":0,"jobs":["1.0"],"owners":[],'
        '"constraint":null}}',
        queue.Query(projection=("ClusterId",), jobs=("1.0",)),
    ),
    (
        Daemon.QUEUE,
        '{"type":"Ask","v":1,"what":"act","args":{"action":"remove","reason":"","attributes":{},"jobs":["7"],"owners":[],'
        '"constraint":null}}',
        queue.Act(action="remove", jobs=("7",), attributes={}),
    ),
    (
        Daemon.CENTRAL,
        '{"type":"Ask","v":1,"what":"ads","args":{"kind":"Machine","constraint":null,"projection":["Name"]}}',
        central.Ads(kind="Machine", projection=("Name",)),
    ),
    (
        Daemon.MACHINE,
        '{"type":"Ask","v":1,"what":"drain","user":"ann","args":{"schedule":10,"on_completion":1,"check":null,"start":null,'
        '"reason":"r"}}',
        machine.Drain(schedule=10, on_completion=1, reason="r"),
    ),
)


@pytest.mark.parametrize(("daemon", "text", "request_"), FORMER, ids=[each[1][29:35] for each in FORMER])
def test_what_commands_of_the_first_version_sent_is_understood(
    daemon: Daemon, text: str, request_: Request[Any]
) -> None:
    message = decode(text.encode())
    assert isinstance(message, Ask)
    assert request_of(daemon, message) == request_


def test_a_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(WireError) as refused:
        request_of(Daemon.QUEUE, Ask(what="query", args={"jobs": "x" * 10_000}))
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize(
    ("verb", "reply"),
    [
        (VERBS[Daemon.CENTRAL]["advertise"], central.Advertised(taken=2, gone=0)),
        (VERBS[Daemon.CENTRAL]["audit"], central.AuditPage(records=[DECISION], last=5, more=False)),
        (
            VERBS[Daemon.CENTRAL]["cycle"],
            central.LastCycle(
                cycles=1, seconds=0.5, figures=CycleFigures(slots=3),
                rejections={"q 1": central.Rejected(text="t", causes={"c": 2})},
            ),
        ),
        (VERBS[Daemon.CENTRAL]["explain-slot"], None),
        (VERBS[Daemon.MACHINE]["origins"], {"START": machine.Origin(file="f", line=3, via="use ROLE : Execute")}),
        (VERBS[Daemon.QUEUE]["overview"], [{"ClusterId": 1}]),
        (VERBS[Daemon.QUEUE]["overview"], queue.Clusters(clusters=[CLUSTER])),
        (
            VERBS[Daemon.QUEUE]["autocluster"],
            JobStanding(
                autocluster=1, rejection="", schedd="q", submitter="u", pause=Pause(until=1.0, misses=2),
                full=Full(knob="K", most=4), claim=ClaimStanding(slot="s", stage="running", heard_at=3.0),
            ),
        ),
        (VERBS[Daemon.QUEUE]["submit"], [queue.Submitted(cluster=1, jobs=2, warnings=("w",))]),
    ],
)  # fmt: skip
def test_a_reply_is_read_as_it_was_made(verb: Verb, reply: object) -> None:
    message = decode(encode(Answer(data=reply)))
    assert isinstance(message, Answer)
    assert read(verb.reply, message.data, "the reply", strict=False) == reply


def test_a_reply_of_a_newer_daemon_is_understood_and_a_damaged_one_refused() -> None:
    verb = VERBS[Daemon.CENTRAL]["advertise"]
    newer = {"taken": 1, "gone": 0, "since": 5}
    assert read(verb.reply, newer, "the reply", strict=False) == central.Advertised(taken=1, gone=0)
    with pytest.raises(WireError, match=r"the reply\.gone: this field is missing"):
        read(verb.reply, {"taken": 1}, "the reply", strict=False)


def test_actions_are_those_of_the_core() -> None:
    assert get_args(queue.Action) == tuple(Action)


class _Sample(Struct):
    name: str
    sizes: tuple[int, ...] = ()


def test_structs_are_frozen_compared_by_value_and_made_by_name() -> None:
    sample = _Sample(name="a", sizes=(1,))
    assert sample == _Sample(name="a", sizes=(1,)) != _Sample(name="a")
    assert hash(sample) == hash(_Sample(name="a", sizes=(1,)))
    assert repr(sample) == "_Sample(name='a', sizes=(1,))"
    assert replaced(sample, sizes=()) == _Sample(name="a")
    with pytest.raises(AttributeError, match="frozen"):
        sample.name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError, match="needs 'name'"):
        _Sample()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no field 'nam'"):
        _Sample(nam="a")  # type: ignore[call-arg]


def test_fields_with_their_default_are_not_sent() -> None:
    assert json.dumps(data_of(_Sample(name=""))) == '{"name": ""}'
    assert data_of(_Sample(name="a", sizes=(1, 2))) == {"name": "a", "sizes": [1, 2]}


def test_a_module_of_requests_can_be_imported_alone() -> None:
    code = "from roost.wire.requests.cell import ReadCell\nfrom roost.wire.requests.verb import verb_of\n"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}print(verb_of(ReadCell()).name)"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("cell\n", "")


def untyped(kind: Any, at: str, seen: set[Any]) -> Iterator[str]:
    """Where a type lets through what nothing checks: no form of JSON is named, or a list or object of anything."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (Any, object, dict, list, tuple):
        yield at
    elif origin is Annotated:
        if not isinstance(inner[1], JsonForm):
            yield from untyped(inner[0], at, seen)
    elif isinstance(kind, type) and (issubclass(kind, Struct) or hasattr(kind, "__struct_fields__")):
        if kind not in seen:
            seen.add(kind)
            for name, hint in get_type_hints(kind, include_extras=True).items():
                if not name.startswith("_"):
                    yield from untyped(hint, f"{kind.__name__}.{name}", seen)
    elif origin not in (Literal, ClassVar):
        for each in inner:
            yield from untyped(each, at, seen)


#: The envelopes of requests and replies: `request_of` and `read` make structs of what is in them.
ENVELOPES = ["Answer.data", "Ask.args"]


def test_nothing_is_sent_or_answered_whose_form_is_not_stated() -> None:
    seen: set[Any] = set()
    verbs = [verb for table in VERBS.values() for verb in table.values()]
    of_registrar = (registrar.Enroll, registrar.Enrolled, registrar.Clock)
    assert [place for kind in of_registrar for place in untyped(kind, kind.__name__, seen)] == []
    assert [place for verb in verbs for place in untyped(verb.request, verb.name, seen)] == []
    assert [place for verb in verbs for place in untyped(verb.reply, f"the reply to {verb.name}", seen)] == []
    assert sorted(place for kind in ALL for place in untyped(kind, kind.__name__, seen)) == ENVELOPES


@pytest.mark.parametrize("kind", [dict[str, Any], list[dict[str, Any]], dict, list, tuple[Any, ...], dict[str, object]])
def test_a_form_that_is_not_stated_is_found(kind: Any) -> None:
    assert list(untyped(kind, "x", set())) == ["x"]


@pytest.mark.parametrize(
    "task", [{}, {"Instance": "all.q@m"}, {"Instance": 1, "Slots": 1}, {"Instance": "a@m", "Slots": "1"}]
)
def test_a_task_without_its_queue_instance_and_slots_is_refused(task: dict[str, Any]) -> None:
    row = {"slot": "s", "node": "m", "claim_id": "c", "asked": False, "task": task}
    with pytest.raises(WireError, match=r"task: .* is not the ad of a task"):
        read(cell.HeldTask, row, "row", strict=False)
    match = {"submitter": "u", "autocluster": 1, "slot": "s", "node": "m", "claim_id": "c", "slot_ad": {}}
    part = {"slot": "s", "node": "m", "claim_id": "c", "slot_ad": {}, "task": task}
    for wrong in ([{**match, "task": task}] if task else []) + [{**match, "parts": [part]}]:
        with pytest.raises(WireError, match="not the ad of a task"):
            decode(json.dumps({"type": "Matched", "v": 1, "matches": [wrong]}).encode())


def test_a_row_of_a_cluster_without_its_counts_is_refused() -> None:
    row = {key: value for key, value in data_of(CLUSTER).items() if key != "counts"}
    with pytest.raises(WireError, match=r"clusters\[0\].counts: this field is missing"):
        read(queue.Clusters, {"clusters": [row]}, "reply.", strict=False)
