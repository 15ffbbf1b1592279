"""Plans: differences made when they are asked for, the same by short way and long way, and after a journey as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.schedd.submit import ClusterPlan, PlanError, SubmitContext, fill, read_submission
from roost.schedd.submit.batch import Batch
from roost.schedd.submit.batch_data import cell_to_data
from roost.schedd.submit.sections import section_named
from tests.schedd.submit.machine import arguments, machine, plan, sleep, submitted, with_items


def all_of(cluster: ClusterPlan) -> list[dict[str, str]]:
    return [{name: cell_to_data(cell) for name, cell in cluster.differences(n).items()} for n in range(cluster.count)]


def the_long_way(cluster: ClusterPlan) -> list[dict[str, str]]:
    """All differences with every section run for every job."""
    found = []
    for batch in cluster.batches:
        sections = tuple(section_named(name) for name in batch.sections)
        for index in range(batch.count):
            cells = {**batch.own, **batch.cells(index, sections)}
            steady = {name: cell_to_data(cell) for name, cell in batch.steady.items()}
            texts = {name: cell_to_data(cell) for name, cell in cells.items()}
            columns = {name: cell_to_data(values[index]) for name, values in batch.columns.items()}
            found.append({name: text for name, text in texts.items() if steady.get(name) != text} | columns)
    return found


_VALUES = (
    "$(Process)",
    "a $(Process) b$(Item)",
    "\"one '$(Item)' two$(Step)\"",
    "$(Item)",
    "out.$(Cluster).$(Process)",
    "$(Item:none).$(x)",
    "$INT(Process,%03d)",
    "$Fn(Item)",
    "$(Mid)",
    "$RANDOM_INTEGER(1,9)",
    "$CHOICE(Step,a,b)",
    "$(Opt$(Step))",
    "plain",
    "",
)
_COMMANDS = (
    "arguments",
    "environment",
    "output",
    "initialdir",
    "transfer_input_files",
    "+Foo",
    "+Bar",
    "log",
    "batch_name",
    "Mid",
    "description",
    "+Args",
)
_NUMBERS = ("request_memory", "request_cpus", "priority", "periodic_hold", "max_retries")
_EXPRESSIONS = ('"x$(Item)y"', "$(Process)", "$(Process) + 1", "$(JobId)", '"$INT(Process,%02d)"', "{1}")
_COUNTS = ("$(Process)", "$(Step) + 1", "2", "$INT(Process)")
_ITEM = st.sampled_from(["a", "b.c", "x y", "1", "", "q'r", 's"t', "d/e", "/abs", "a,b", "é", "http://x/y"])


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    lines = ["executable = /bin/sleep", "Opt0 = nought", "Opt1 = one"]
    for command in draw(st.lists(st.sampled_from(_COMMANDS), max_size=5, unique=True)):
        value = draw(st.sampled_from(_VALUES))
        if command == "environment":
            value = f"V={value};W=1" if not value.startswith('"') else "\"V='$(Item)'\""
        elif command.startswith("+"):
            value = draw(
                st.sampled_from(['"x$(Item)y"', "$(Process)", "$(Process) + 1", '"$INT(Process,%02d)"', "{1}"])
            )
        lines.append(f"{command} = {value}")
    numbers = draw(st.dictionaries(st.sampled_from(_NUMBERS), st.sampled_from(_COUNTS), max_size=2))
    lines += [f"{command} = {value}" for command, value in numbers.items()]
    rows = draw(st.lists(st.tuples(_ITEM, _ITEM), min_size=1, max_size=5))
    items = [f" {one.replace(' ', '') or 'n'} {other}" for one, other in rows]
    count = draw(st.sampled_from([1, 2]))
    lines += [f"queue {count} Item,x from (", *items, ")"]
    if draw(st.booleans()):
        lines += ["arguments = $(Process)", "queue 2"]
    return "\n".join(lines) + "\n"


@settings(max_examples=80, deadline=None)
@given(descriptions())
def test_short_way_long_way_and_after_a_journey_are_the_same(text: str) -> None:
    found = submitted(text, look_at_files=False)
    for cluster in found.clusters:
        short = all_of(cluster)
        assert short == the_long_way(cluster)
        data = json.loads(json.dumps(cluster.to_data()))
        again = ClusterPlan.from_data(data)
        assert all_of(again) == short
        assert again.common == cluster.common
        assert all_of(again.for_cluster(7)) == all_of(cluster.for_cluster(7))
        assert again.for_cluster(7).common == cluster.for_cluster(7).common
        assert json.loads(json.dumps(again.to_data())) == data
        for differences in short:
            assert {name.lower() for name in differences} <= cluster.varying


@settings(max_examples=30, deadline=None)
@given(descriptions())
def test_jobs_of_a_plan_are_those_submitted_one_by_one(text: str) -> None:
    """What is common and what differs together give what a description with the one item gives."""
    found = submitted(text, look_at_files=False)
    for cluster in found.clusters:
        for ad in cluster.ads():
            assert set(cluster.common) <= set(ad)
            assert ad["JobStatus"] == 1


def test_what_is_common_is_common_and_what_differs_is_not() -> None:
    cluster = sleep("arguments = $(Process)\noutput = o\nqueue 3\n")
    assert "Args" not in cluster.common
    assert cluster.common["Out"] == "o"
    assert [cluster.differences(n) for n in range(3)] == [{"Args": "0"}, {"Args": "1"}, {"Args": "2"}]
    assert "args" in cluster.varying


@pytest.mark.parametrize("index", [-1, 3, 10**9])
def test_a_job_that_is_not_there_has_no_differences(index: int) -> None:
    with pytest.raises(IndexError, match="3 jobs"):
        sleep("arguments = $(Process)\nqueue 3\n").differences(index)


@pytest.mark.parametrize("number", [0, 3, 8, 500, 2000])
def test_characters_that_look_like_marks_stay_what_they_are(number: int) -> None:
    odd = chr(0xF0000 + number)
    wanted = [f"{odd}a", f"{odd}b"]
    assert arguments(f"arguments = {odd}$(Item)\nqueue in a b\n") == wanted
    assert arguments(f"arguments = $(Item)\nqueue in {wanted[0]} {wanted[1]}\n") == wanted


def test_one_job_differs_from_nothing() -> None:
    cluster = sleep("arguments = $(Process)\nqueue\n")
    assert (cluster.differences(0), cluster.common["Args"]) == ({}, "0")


def test_the_number_of_the_cluster_is_put_in_when_it_is_known() -> None:
    cluster = sleep("log = $(Cluster).log\narguments = $(JobId)\nqueue 2\n").for_cluster(71)
    assert cluster.common["UserLog"] == "/home/me/71.log"
    assert cluster.differences(1) == {"Args": "71.1"}
    assert cluster.for_cluster(8).common["UserLog"] == "/home/me/8.log"


def test_queue_statements_make_one_cluster_while_the_executable_stays() -> None:
    text = "executable = /bin/sleep\narguments = a\nqueue 2\narguments = $(Process)\nqueue 2\n"
    found = submitted(text + "executable = /bin/cat\nqueue\n")
    first, second = found.clusters
    assert [ad["Args"] for ad in first.ads()] == ["a", "a", "2", "3"]
    assert [ad["Args"] for ad in second.ads()] == ["0"]
    assert "Args" not in first.common


def test_chance_is_a_jobs_own_and_stays() -> None:
    cluster = sleep("arguments = $RANDOM_INTEGER(1,1000000)\nqueue 20\n")
    drawn = [cluster.differences(n)["Args"] for n in range(20)]
    assert len(set(drawn)) > 15
    assert drawn == [ClusterPlan.from_data(cluster.to_data()).differences(n)["Args"] for n in range(20)]


def test_variables_of_the_queue_statement_are_commands_too() -> None:
    cluster = sleep("queue arguments, request_memory from (\n a 1GB\n b 20\n)\n")
    assert [(ad["Args"], ad["RequestMemory"]) for ad in cluster.ads()] == [("a", 1024), ("b", 20)]


def test_sizes_of_files_that_differ_are_kept_for_each_job() -> None:
    host = machine()
    host.files["/home/me/big"] = "x" * 3_000_000
    cluster = sleep("transfer_input_files = $(Item)\nqueue in (a.dat, big)\n", host=host)
    assert [ad["TransferInputSizeMB"] for ad in cluster.ads()] == [1, 3]
    again = ClusterPlan.from_data(json.loads(json.dumps(cluster.to_data())))
    assert [ad["TransferInputSizeMB"] for ad in again.ads()] == [1, 3]


def test_a_users_attribute_counts_more_than_a_section_that_differs() -> None:
    cluster = sleep("request_memory = $(Process) + 5\n+RequestMemory = 77\nqueue 2\n")
    assert [ad["RequestMemory"] for ad in cluster.ads()] == [77, 77]
    cluster = sleep("request_memory = 5\n+RequestMemory = $(Process)\nqueue 2\n")
    assert [ad["RequestMemory"] for ad in cluster.ads()] == [0, 1]


def test_a_plan_keeps_of_the_environment_what_its_jobs_ask_for() -> None:
    assert "SECRET" not in json.dumps(sleep("arguments = $(Process)\nqueue 2\n").to_data())
    cluster = sleep('getenv = LANG\nenvironment = "N=$(Process)"\nqueue 2\n')
    assert [ad["Environment"] for ad in cluster.ads()] == ["LANG=C N=0", "LANG=C N=1"]
    assert "SECRET" not in json.dumps(cluster.to_data())
    assert arguments("arguments = $ENV(HOME)$(Process)\nqueue 2\n") == ["/home/me0", "/home/me1"]


def test_a_large_plan_is_small() -> None:
    cluster = sleep("arguments = $(Process)\noutput = o.$(Process)\nqueue 1000000\n")
    assert len(json.dumps(cluster.to_data())) < 6_000
    assert cluster.differences(999_999)["Out"] == "o.999999"


LONG = " ".join(map(str, range(60_000)))


@pytest.mark.parametrize(
    ("line", "name"),
    [("arguments = $(x)", "Args"), ("environment = \"V=ok W='$(x)'\"", "Environment"), ('+Big = "$(x)"', "Big"),
     ("arguments = $(Cluster) $(x)", "Args")],
)  # fmt: skip
def test_a_long_value_of_one_job_is_the_same_in_the_queue(line: str, name: str) -> None:
    cluster = with_items(line, "a b", LONG)
    again = ClusterPlan.from_data(json.loads(json.dumps(cluster.to_data())))
    assert [len(str(ad[name])) > 300_000 for ad in again.ads()] == [False, True]
    assert all_of(again) == all_of(cluster)
    assert (again.longest, again.mistake(0), again.mistake(1)) == (1, "", "")


def test_a_mistake_in_an_item_that_no_client_looked_at_is_known_in_the_queue() -> None:
    cluster = with_items("request_memory = $(x)", *["20000"] * 2500, "2 0", *["20000"] * 500)
    again = ClusterPlan.from_data(json.loads(json.dumps(cluster.to_data())))
    assert again.mistake(2499) == ""
    assert "RequestMemory = 2 0" in again.mistake(2500)


def test_the_longest_item_is_looked_at_wherever_it_is() -> None:
    with pytest.raises(AssertionError, match="job 2500 of the cluster"):
        with_items("request_memory = $(x)", *["20"] * 2500, "2 000", *["20"] * 500)


def test_what_fill_puts_in() -> None:
    cluster = sleep("queue\n")
    ad = next(cluster.ads())
    fill(ad, 12, 3, schedd="pool@host", owner="you", uid_domain="there", now=99)
    assert (ad["ClusterId"], ad["ProcId"], ad["User"], ad["QDate"]) == (12, 3, "you@there", 99)
    assert ad["GlobalJobId"] == "pool@host#12.3#99"


@pytest.mark.parametrize("data", [{}, {"version": 99}, {"version": 1}, {"version": 1, "common": 3}, None, []])
def test_what_is_no_plan_is_refused(data: Any) -> None:
    with pytest.raises(PlanError):
        ClusterPlan.from_data(data)


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, value in inner for place in _places(value, (*path, key)))]


_DATA = json.dumps(
    sleep(
        'output = $(Item)\narguments = "$(x)"\n+A = $(Process)\nlog = $(Cluster)\nqueue Item,x in (a\n b)\nqueue\n'
    ).to_data()
)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_plan_that_somebody_has_changed_is_refused_or_works(data: st.DataObject) -> None:
    plain = json.loads(_DATA)
    place = data.draw(st.sampled_from([one for one in _places(plain) if one]))
    wrong: list[Any] = [None, -1, 10**15, "", "my.", "x", [], {}, [[]], True, 1.5, ["a"], {"a": 1}]
    holder = plain
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = data.draw(st.sampled_from(wrong))
    try:
        cluster = ClusterPlan.from_data(plain)
    except PlanError:
        return
    assert cluster.count <= 10_000_000
    for index in {0, 1, cluster.count // 2, cluster.count - 1} - {-1}:
        if index < cluster.count:
            cluster.for_cluster(3).differences(index)
    assert cluster.varying is cluster.varying


@pytest.mark.parametrize(
    "text",
    [
        "arguments = job $(Process) of $(Cluster)\nqueue 100\n",
        'arguments = "$INT(Process,%03d) $Fn(Item)"\noutput = o.$(Item)\n+N = $(Process) * 2\nqueue in (a.x, b)\n',
        "log = $(Item:none).log\nbatch_name = b$(Step)\nenvironment = A=$(Item)\nqueue 2 in (a, b)\n",
    ],
)
def test_usual_differences_are_filled_in_and_no_section_is_run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = sleep(text)
    cluster.differences(0)

    def run(*_: object) -> None:
        raise AssertionError("a section was run")

    monkeypatch.setattr(Batch, "cells", run)
    assert len({json.dumps(one) for one in all_of(cluster)}) == cluster.count


def test_copies_of_common_are_not_shared() -> None:
    cluster = plan("executable = /bin/sleep\n+A = [x = 1]\nqueue 2\n")
    one, other = cluster.ads()
    one["Out"] = "changed"
    assert other["Out"] == "/dev/null"
    assert isinstance(cluster.common["A"], ClassAd)


def test_who_submits_from_elsewhere_is_told_where_the_program_is() -> None:
    def remedy(program: str) -> str:
        host = machine()
        host.cwd = "/home"
        text = f"executable = {program}\nqueue\n"
        found = read_submission(
            text, "me/test.sub", SubmitContext(host=host, now=1, owner="me", uid_domain="example.org")
        )
        (error,) = found.errors
        return error.remedy

    assert "`cd me` first" in remedy("x.sh")
    assert "Correct the path" in remedy("y.sh")
