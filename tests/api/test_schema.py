"""The document is made from the structs that calls are read with, and queries are read as strictly as bodies."""

from __future__ import annotations

import json
import re

import pytest

from roost.api.app import ROWS
from roost.api.openapi import document
from roost.api.problems import Problem
from roost.api.requests import role_of
from roost.api.resources import JobsQuery
from roost.api.schema import from_query
from roost.wire.requests.verb import Asker
from roost.wire.verbs import VERBS


def test_the_document_names_every_call_once_and_all_that_it_refers_to() -> None:
    text = json.dumps(found := document(ROWS, "/prefix"))
    assert found["servers"] == [{"url": "/prefix/api/v1"}]
    operations = [each for path in found["paths"].values() for each in path.values()]
    assert len(operations) == len(ROWS)
    assert len({each["operationId"] for each in operations}) == len(ROWS)
    for name in re.findall(r"#/components/schemas/(\w+)", text):
        assert name in found["components"]["schemas"]
    for row in ROWS:
        at = found["paths"][row.path][row.method.lower()]
        assert at["x-role"] == row.role.word
        assert {each["name"] for each in at["parameters"] if each["in"] == "path"} == set(
            re.findall(r"\{(\w+)\}", row.path)
        )


def test_every_request_that_changes_something_needs_more_than_a_reader() -> None:
    for table in VERBS.values():
        for verb in table.values():
            role = role_of(verb).word
            assert (role == "reader") == (verb.question and verb.asker is Asker.USER)
            if verb.asker not in (Asker.USER, Asker.OWNER):
                assert role in ("operator", "administrator")


def test_a_query_is_read_by_the_types_of_its_fields() -> None:
    found = from_query(JobsQuery, [("owner", "ann,bob"), ("owner", "eve"), ("limit", "7"), ("constraint", "7")])
    assert (found.owner, found.limit, found.constraint) == (("ann", "bob", "eve"), 7, "7")


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([("limit", "x")], r"the query\.limit: 'x' is not a whole number"),
        ([("limit", "0")], r"the query\.limit: 0 is not between 1 and 1000"),
        ([("limit", "1"), ("limit", "2")], "limit is given twice"),
        ([("owners", "ann")], r"the query\.owners: there is no such field"),
        ([("limit", "NaN")], r"the query\.limit"),
        ([("limit", "true")], r"the query\.limit"),
    ],
)
def test_a_wrong_query_is_refused_by_the_name_of_its_field(pairs: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(Problem, match=said) as problem:
        from_query(JobsQuery, pairs)
    assert problem.value.status == 422
