"""`htcondor2` without a pool: what programs get is what they get of HTCondor's own module."""

from __future__ import annotations

import enum
import inspect
import pickle
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.compat import classad2 as our_classad2
from roost.compat import htcondor2 as ours
from roost.schedd.event_log import log
from tests.compat.submit_programs import DIFFERENCES, PROGRAMS, answer

DIFFERENT = {program for difference in DIFFERENCES for program in difference.programs}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    patch = pytest.MonkeyPatch()
    patch.setenv("CONDOR_CONFIG", "/dev/null")
    patch.setenv("ROOST_HOME", str(tmp_path_factory.mktemp("none")))
    yield pytest.importorskip("htcondor2", reason="the reference library is not installed: pip install htcondor")
    patch.undo()


def test_each_program_has_the_same_answer(theirs: ModuleType) -> None:
    import classad2

    answers = {each: (answer(theirs, classad2, each), answer(ours, our_classad2, each)) for each in PROGRAMS}
    assert {each: pair for each, pair in answers.items() if pair[0] != pair[1] and each not in DIFFERENT} == {}
    assert {each for each in DIFFERENT if answers[each][0] == answers[each][1]} == set()


def test_enumerations_have_the_same_names_and_numbers(theirs: ModuleType) -> None:
    for name, kind in vars(theirs).items():
        if inspect.isclass(kind) and issubclass(kind, enum.Enum):
            mine = getattr(ours, name)
            assert {each: int(value) for each, value in mine.__members__.items()} == {
                each: int(value) for each, value in kind.__members__.items()
            }, name


#: Records of users, projects and running containers, which Roost's queue does not keep.
ABSENT = frozenset(
    (
        *("addProjectRec", "addUserRec", "create_ocu", "disableProjectRec", "disableUserRec", "enableProjectRec"),
        *("enableUserRec", "get_claims", "queryProjectAds", "queryUserAds", "query_ocu", "removeProjectRec"),
        *("removeUserRec", "remove_ocu", "updateProjectRec", "updateUserRec"),
    )
)


def test_all_public_names_are_there(theirs: ModuleType) -> None:
    public = {name for name, value in vars(theirs).items() if not name.startswith("_") and not inspect.ismodule(value)}
    known = {"Optional", "load_a_config_usermap_file", "reload_config_usermaps"}
    assert {name for name in public - known if not hasattr(ours, name)} == set()
    for name in public:
        kind = getattr(theirs, name)
        if not inspect.isclass(kind) or issubclass(kind, enum.Enum | BaseException):
            continue
        methods = {each for each in vars(kind) if not each.startswith("_") and each not in ABSENT}
        if name == "DAGMan":
            methods -= {"Command", "ContactInfo", "Failure"}
        assert {each for each in methods if not hasattr(getattr(ours, name), each)} == set(), name


def test_arguments_have_the_same_names_in_the_same_order(theirs: ModuleType) -> None:
    def arguments(module: Any, name: str) -> list[str]:
        for part in name.split("."):
            module = getattr(module, part)
        return list(inspect.signature(module).parameters)

    for name in (
        *("Schedd.submit", "Schedd.query", "Schedd.act", "Schedd.edit", "Schedd.history", "Schedd.spool"),
        *("Schedd.retrieve", "Collector.query", "Collector.locate", "Collector.directQuery", "Collector.advertise"),
        *("Startd.drainJobs", "Startd.cancelDrainJobs", "Startd.vacate", "Negotiator.setFactor"),
        *("Negotiator.getPriorities", "JobEventLog.events", "Submit.itemdata", "Submit.expand", "SubmitResult"),
        *("Submit.setQArgs", "ping", "send_command", "log"),
    ):
        assert arguments(ours, name) == arguments(theirs, name), name


# -- macros --------------------------------------------------------------------------------------------------------

LINES = {"a": "va", "n": "7", "w": "abcdef", "p": "/x/y/z.tar.gz", "i": "1", "l": "u,v,w", "MY.z": "5"}
PIECES = st.sampled_from(
    [
        *("$(a)", "$(b:x)", "$(a:x)", "$(MY.z)", "$(nothing:$(a))", "text ", "$$(Name)", "$$([1 + 2])", "$(DOLLAR)"),
        *("$INT(n)", "$INT(n,%05d)", "$REAL(n)", "$STRING(a)", "$EVAL(n + 1)", "$CHOICE(i,l)", "$CHOICE(1,p,q,r)"),
        *("$SUBSTR(w,1,3)", "$SUBSTR(w,-2)", "$RANDOM_INTEGER(3,3)", "$ENV(HOME)", "$ENV(NO_SUCH_ONE:7)"),
        *("$(ProcId)", "$(Process)", "$(ClusterId)", "$(Cluster)", "$(Step)", "$(Row)", "$(ItemIndex)", "$(OPSYS)"),
    ]
)
PARTS = st.builds("$F{}(p)".format, st.text("pdnxqfbu", max_size=4).map(lambda each: "".join(sorted(set(each)))))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(pieces=st.lists(PIECES | PARTS, min_size=1, max_size=4))
def test_macros_come_to_the_same(theirs: ModuleType, pieces: list[str]) -> None:
    lines = {**LINES, "k": "".join(pieces)}
    assert ours.Submit(lines).expand("k") == theirs.Submit(lines).expand("k")


# -- event logs ----------------------------------------------------------------------------------------------------


#: A row with decimals that are zeros is one of real numbers all the same.
RESOURCES = log.ResourceTable(
    rows=(
        log.Resource(name="Cpus", usage=0.001, request=1, allocated=1),
        log.Resource(name="Disk", usage=20, request=10, allocated=20000),
        log.Resource(name="Memory", request=128, allocated=128),
    )
)


def written(path: Path) -> Path:
    """A log with events of many kinds, as a queue writes it."""
    events = (
        log.Submit(host="<10.0.0.1:9618?addrs=10.0.0.1>", log_notes="", user_notes=""),
        log.Execute(host="<10.0.0.2:9618>", slot_name="slot1@there"),
        log.ImageSize(image_size_kib=1234, memory_usage_mb=2, resident_set_kib=1000),
        log.JobHeld(reason="disk full", code=12, subcode=28),
        log.JobReleased(reason="try again"),
        log.JobSuspended(processes=3),
        log.JobUnsuspended(),
        log.JobAborted(reason="via condor_rm (by user ann)"),
        log.JobTerminated(exit=log.ProgramExit(code=3), resources=RESOURCES),
        log.Generic(text="something"),
    )
    with path.open("w", encoding="utf-8") as file:
        for at, event in enumerate(events):
            file.write(log.format_event(event, 7, 1, 1_700_000_000.0 + at))
    return path


def seen(module: ModuleType, path: Path) -> list[Any]:
    """What a program sees of a log."""
    with module.JobEventLog(str(path)) as events:
        return [
            (int(each.type), each.cluster, each.proc, each.timestamp, str(each), repr(each), list(each), dict(each))
            for each in events.events(stop_after=0)
        ]


def test_logs_that_roost_writes_look_the_same_to_both(theirs: ModuleType, tmp_path: Path) -> None:
    path = written(tmp_path / "job.log")
    assert seen(ours, path) == seen(theirs, path)


def test_a_log_that_is_pickled_goes_on_where_it_was(theirs: ModuleType, tmp_path: Path) -> None:
    path = written(tmp_path / "job.log")
    for module in (ours, theirs):
        events = module.JobEventLog(str(path)).events(0)
        first = [next(events).type, next(events).type]
        rest = [each.type for each in pickle.loads(pickle.dumps(events)).events(0)]
        assert [int(each) for each in first + rest] == [0, 1, 6, 12, 13, 10, 11, 9, 5, 8], module.__name__
        events.close()
        assert list(events.events(0)) == []


def test_events_that_come_later_are_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "growing.log"
    path.write_text("")
    events = ours.JobEventLog(str(path))
    assert list(events.events(stop_after=0)) == []
    whole = written(tmp_path / "whole.log").read_text()
    path.write_text(whole[:100])
    assert len(list(events.events(stop_after=0))) == whole[:100].count("...\n")
    path.write_text(whole)
    assert len(list(events.events(stop_after=0))) == 10 - whole[:100].count("...\n")
