"""Messages survive their way over the wire; bytes that are none of them do no harm."""

from __future__ import annotations

import json
import os
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.model.cell_accounting import TaskUse
from roost.model.queue_context import QueueContext
from roost.wire.codec import MESSAGE_BYTES_MAX, as_text, decode, encode, expect
from roost.wire.errors import WireError
from roost.wire.messages import (
    ALL,
    VERSION,
    Answer,
    Ask,
    FilePart,
    Match,
    Message,
    Part,
    ResourceRequest,
    RunEnded,
    SlotSuspenders,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
ADS = st.dictionaries(TEXTS, st.booleans() | st.integers(-(2**60), 2**60) | TEXTS, max_size=3)
TASKS = st.builds(lambda ad, name, slots: {**ad, "Instance": name, "Slots": slots}, ADS, TEXTS, st.integers(1, 99))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field."""
    simple: dict[Any, st.SearchStrategy[Any]] = {
        str: TEXTS,
        int: st.integers(-(2**60), 2**60),
        float: st.floats(allow_nan=False, allow_infinity=False),
        bool: st.booleans(),
        bytes: st.binary(max_size=20),
        Any: JSON,
        object: JSON,
        type(None): st.none(),
    }
    if hint in simple:
        return simple[hint]
    if hint in (Match, Part, ResourceRequest, SlotSuspenders):
        return structs(hint)
    if hint is TaskUse:
        return st.builds(TaskUse, name=TEXTS, queue=TEXTS, host=TEXTS, began=st.just(1.5), ended=st.just(2.5))
    if hint is QueueContext:
        return st.builds(QueueContext, queue=TEXTS, host=TEXTS, slots=st.integers(0, 9))
    name, inner = getattr(hint, "__origin__", None), getattr(hint, "__args__", ())
    if name is list:
        return st.lists(values(inner[0]), max_size=2)
    if name is dict:
        return (
            ADS
            if inner in ((str, Any), (str, object))
            else st.dictionaries(values(inner[0]), values(inner[1]), max_size=2)
        )
    return st.one_of(*(values(each) for each in inner))


def structs(kind: Any) -> st.SearchStrategy[Any]:
    """Any message of a kind."""
    fields = {name: values(hint) for name, hint in get_type_hints(kind).items() if name in kind.__struct_fields__}
    fields.pop("v", None)
    if kind in (Match, Part):
        fields["task"] = TASKS if kind is Part else st.just({}) | TASKS
    return st.builds(kind, **fields)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_message_comes_out_as_it_went_in(kind: type[Message]) -> None:
    @given(structs(kind))
    def check(message: Message) -> None:
        data = encode(message)
        assert decode(data) == message
        fields = json.loads(data)
        assert fields["type"] == kind.__name__

    check()


@given(structs(RunEnded), st.dictionaries(st.text("xyz", min_size=3, max_size=5), JSON, max_size=3))
def test_fields_that_a_reader_does_not_know_are_skipped(message: RunEnded, more: dict[str, Any]) -> None:
    assert decode(json.dumps(more | json.loads(encode(message))).encode()) == message


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_other_bytes_are_refused_and_nothing_else_happens(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(data)


@given(structs(Ask), st.data())
def test_damaged_messages_are_read_or_refused(message: Ask, data: st.DataObject) -> None:
    whole = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(whole))
    except WireError:
        return
    assert isinstance(found, Message)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"type":"Ask","what":"' + b"x" * MESSAGE_BYTES_MAX + b'"}',
        b'{"type":"Ask","what":"\\ud800"}',
        json.dumps({"type": "Ask", "what": "x", "v": VERSION + 1}).encode(),
        b'{"type":"RunEnded","claim_id":"a","run":"b","at":1,"ending":"exit","started":1}',
        b'{"type":"RunEnded","claim_id":"a","run":"b","at":1e999,"ending":"exit","started":true}',
    ],
    ids=["deep", "large", "half-character", "newer", "wrong-type", "infinite"],
)
def test_what_is_too_much_is_refused_with_its_reason(data: bytes) -> None:
    with pytest.raises(WireError, match=r"."):
        decode(data)


def test_what_is_too_large_or_no_text_is_not_sent() -> None:
    with pytest.raises(WireError, match="MESSAGE_BYTES_MAX"):
        encode(FilePart(data=b"x" * MESSAGE_BYTES_MAX))
    with pytest.raises(WireError, match="Ask"):
        encode(Ask(what="cut \udcc3"))
    with pytest.raises(WireError, match="Answer"):
        encode(Answer(text="half a character \ud800"))
    with pytest.raises(WireError, match="Answer"):
        encode(Answer(data=object()))


def test_what_a_daemon_tells_of_a_file_whose_name_is_not_utf_8_can_be_read() -> None:
    """The report of a job that named such a file could not be sent, and nothing else could after it."""
    name = os.fsdecode("dé".encode() + b"\xff\xc3(")
    odd = Answer(text=f"cannot read {name}", data={name: [name, (name, b"\xff"), {"é": 1}]})
    plain = r"dé\xff\xc3("
    assert decode(encode(odd)) == Answer(text=f"cannot read {plain}", data={plain: [plain, [plain, "/w=="], {"é": 1}]})
    assert [as_text(each) for each in (name, "é", "a")] == [plain, "é", "a"]


def test_a_message_of_another_kind_is_not_taken_for_the_one_expected() -> None:
    assert expect(Ask, encode(Ask(what="x"))) == Ask(what="x")
    with pytest.raises(WireError, match="Answer was expected, not Ask"):
        expect(Answer, encode(Ask(what="x")))


def test_messages_are_values() -> None:
    with pytest.raises(AttributeError):
        Ask(what="x").what = "y"  # type: ignore[misc]
    assert all(issubclass(kind, msgspec.Struct) for kind in ALL)
