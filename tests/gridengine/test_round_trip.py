"""What `save_sge_config.sh` wrote is read and printed back byte for byte; so is everything that can be made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.gridengine import cell
from roost.gridengine.objects import configuration, kinds, pairs, people, quota, values
from roost.gridengine.objects.queue import ClusterQueue, QueueSettings, groups_first, parse_queue, show_queue
from roost.gridengine.objects.rows import Row, rows_of
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.objects.share_tree import ShareNode, parse_share_tree, show_share_tree
from roost.gridengine.problems import Refused
from tests.gridengine import dumps

WORDS = st.from_regex(r"[a-z][a-z0-9_.]{0,8}", fullmatch=True).filter(lambda word: not values.bad_name(word))
NUMBERS = st.integers(0, 9999)
TIMES = st.one_of(
    st.sampled_from(["INFINITY", "1::1", "::30", "0x1f"]),
    NUMBERS.map(str),
    st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda parts: ":".join(map(str, parts))),
)
MEMORY = st.one_of(st.just("INFINITY"), st.tuples(NUMBERS, st.sampled_from("kKmMgGtT")).map(lambda p: f"{p[0]}{p[1]}"))
PAIR = st.tuples(WORDS, WORDS).map(lambda pair: pairs.Pair(*pair))
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "number": NUMBERS,
    "integer": st.integers(-20, 20).map(lambda n: values.Quantity(str(n), float(n))),
    "boolean": st.booleans(),
    "time": TIMES.map(values.TIME.parse),
    "memory": MEMORY.map(values.MEMORY.parse),
    "names": st.lists(WORDS, max_size=3, unique=True).map(tuple),
    "pairs": st.lists(PAIR, max_size=3).map(tuple),
    "queue type": st.sampled_from([(), ("BATCH",), ("INTERACTIVE",), ("BATCH", "INTERACTIVE")]),
    "subordination": st.one_of(
        st.lists(st.builds(pairs.Subordinate, WORDS, st.none() | st.integers(1, 9)), max_size=3).map(
            lambda found: pairs.Subordination(tuple(found))
        ),
        st.builds(
            lambda slots, found: pairs.Subordination(slots=slots, slotwise=tuple(found)),
            st.integers(1, 9),
            st.lists(
                st.builds(pairs.SlotwiseSubordinate, WORDS, NUMBERS, st.sampled_from(["sr", "lr"])),
                min_size=1,
                max_size=3,
            ),
        ),
    ),
    "text": st.just("/bin/x -a 1"),
}
SPECIAL = {
    "shell_start_mode": st.sampled_from(["unix_behavior", "posix_compliant", "script_from_stdin"]),
    "initial_state": st.sampled_from(["default", "enabled", "disabled"]),
}


def value_for(row: Row) -> st.SearchStrategy[Any]:
    return SPECIAL[row.name] if row.name in SPECIAL else BY_TYPE[row.type.name]


@st.composite
def queues(draw: st.DrawFn) -> ClusterQueue:
    rows = rows_of(QueueSettings)
    changed = draw(st.lists(st.sampled_from(rows), max_size=5, unique_by=lambda row: row.name))
    special = draw(st.lists(st.sampled_from(rows), max_size=5, unique_by=lambda row: row.name))
    domains = st.one_of(WORDS, WORDS.map(lambda word: f"@{word}"))
    overrides = {
        row.name: groups_first(draw(st.dictionaries(domains, value_for(row), min_size=1, max_size=3)))
        for row in special
    }
    return ClusterQueue(
        name=draw(WORDS),
        hostlist=tuple(draw(st.lists(domains, max_size=3, unique=True))),
        defaults=QueueSettings(**{row.name: draw(value_for(row)) for row in changed}),
        overrides=overrides,
    )


@pytest.mark.parametrize("name", dumps.NAMES)
def test_a_dump_is_written_back_byte_for_byte(name: str) -> None:
    files = dumps.files(name)
    objects = {file: text for file, text in files.items() if file not in cell.NOT_OBJECTS}
    assert cell.write_cell(cell.read_cell(files)) == objects


@pytest.mark.parametrize("name", dumps.NAMES)
def test_each_text_alone_shows_which_object_it_is(name: str) -> None:
    for file, text in dumps.files(name).items():
        if file in cell.NOT_OBJECTS or not text:
            continue
        given = file if file in cell.LISTS or file.startswith("resource_quotas") else "elsewhere"
        assert cell.file_of(text, given) == file


def test_a_file_that_is_not_of_a_cell_is_refused_by_name() -> None:
    with pytest.raises(Refused) as caught:
        cell.read_cell({"cqueues/all.q": "qname all.q\n", "notes": "x\n"})
    assert [(problem.code, problem.span.file) for problem in caught.value.problems] == [
        ("cell-missing-attribute", "cqueues/all.q"),
        ("cell-unknown-kind", "notes"),
    ]


def test_a_problem_names_file_line_attribute_and_remedy() -> None:
    text = dumps.files("plain")["cqueues/all.q"].replace("slots                 4", "slots                 4,[node1=x]")
    with pytest.raises(Refused) as caught:
        cell.read_cell({"cqueues/all.q": text})
    assert [str(problem) for problem in caught.value.problems] == [
        'cqueues/all.q:15: error: error parsing unsigned long value from string "x" [cell-bad-value] '
        "Write a whole number from 0 to 4294967295."
    ]


def test_every_attribute_has_a_description_and_a_default_that_it_reads_back() -> None:
    for kind in kinds.KINDS:
        for row in kind.rows:
            assert row.doc.endswith("."), row.name
            assert row.type.show(row.type.parse(row.default)) == row.default, row.name
    for row in rows_of(SchedulerConfiguration):
        assert row.doc.endswith("."), row.name
        assert row.type.show(row.type.parse(row.default)) == row.default, row.name


def test_the_cell_of_a_new_installation_reads_back_as_itself() -> None:
    fresh = cell.new_cell()
    assert cell.read_cell(cell.write_cell(fresh)) == fresh


@given(queues())
def test_a_queue_reads_back_as_itself(queue: ClusterQueue) -> None:
    assert parse_queue(show_queue(queue), "t") == queue


@given(
    st.builds(
        people.UserList,
        name=WORDS,
        type=st.sampled_from([("ACL",), ("DEPT",), ("ACL", "DEPT")]),
        fshare=NUMBERS,
        oticket=NUMBERS,
        entries=st.lists(WORDS | WORDS.map(lambda word: f"@{word}"), max_size=4).map(tuple),
    )
)
def test_a_user_list_reads_back_as_itself(one: people.UserList) -> None:
    assert kinds.USER_LIST.parse(kinds.USER_LIST.show(one), "t") == one


FILTERS = st.builds(
    quota.Filter,
    include=st.lists(WORDS | st.just("*"), min_size=1, max_size=3, unique=True).map(tuple),
    exclude=st.lists(WORDS, max_size=2, unique=True).map(tuple),
    expanded=st.booleans(),
)
RULES = st.builds(
    quota.QuotaRule,
    name=st.just("") | WORDS,
    **{name: st.none() | FILTERS for name in quota.FILTERS},
    limits=st.lists(PAIR, min_size=1, max_size=3).map(tuple),
)


@given(
    st.builds(
        quota.QuotaSet,
        name=WORDS,
        description=st.sampled_from(["NONE", '"a b, c"', "plain words"]),
        enabled=st.booleans(),
        rules=st.lists(RULES, min_size=1, max_size=4).map(tuple),
    )
)
def test_a_quota_set_reads_back_as_itself(one: quota.QuotaSet) -> None:
    assert quota.parse_quota_sets(quota.show_quota_set(one), "t") == (one,)


TREES = st.recursive(
    st.builds(ShareNode, name=WORDS, type=st.sampled_from([0, 1]), shares=NUMBERS),
    lambda inner: st.builds(
        ShareNode, name=WORDS, type=st.just(0), shares=NUMBERS, children=st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


@given(TREES)
def test_a_share_tree_reads_back_as_itself(root: ShareNode) -> None:
    assert parse_share_tree(show_share_tree(root), "t") == root


def test_a_share_tree_that_is_too_deep_is_refused() -> None:
    root = ShareNode(name="alice")
    for level in range(200):
        root = ShareNode(name=f"n{level}", children=(root,))
    with pytest.raises(Refused, match="more than 100 levels below the root"):
        parse_share_tree(show_share_tree(root), "sharetree")


@given(st.dictionaries(st.sampled_from(sorted(configuration.BY_NAME)), st.just("none"), min_size=1))
def test_a_local_configuration_keeps_its_order(written: dict[str, str]) -> None:
    written = {name: text for name, text in written.items() if not configuration.complaint(name, text)} or {
        "mailer": "none"
    }
    one = configuration.Configuration(name="node1", values=tuple(written.items()))
    assert kinds.CONFIGURATION.parse(configuration.show_configuration(one), "configurations/node1") == one
