"""What commands of a pool are made of, without a pool: plain messages, words for people, records of slots."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli import colour, wait
from roost.cli.__main__ import COMMANDS, main
from roost.cli.happenings import lines
from roost.cli.listing import arguments, duration, table
from roost.config import LoadOptions, load
from roost.explain.happenings import of_record, of_records
from roost.model.slot_transition import SlotTransition
from roost.runtime.machine import SystemHost
from roost.runtime.node.transition_log import TransitionLog
from roost.wire import codec, messages, plain
from roost.wire.errors import WireError
from roost.wire.requests import queue
from roost.wire.structs import read

DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECORD = {
    "at": 100.0, "slot": "slot1@desk", "from": "Claimed/Busy", "to": "Claimed/Suspended", "number": "14",
    "reason": "SUSPEND true", "job": "2.0", "expression": "SUSPEND", "value": "TRUE", "place": "desk.config:4",
    "why": [{"clause": "KeyboardIdle < 3", "value": "TRUE", "because": ["KeyboardIdle is 0"]}],
}  # fmt: skip


def transition(**more: object) -> SlotTransition:
    return read(SlotTransition, RECORD | more, "record", strict=True)


@given(
    st.text(st.characters(exclude_categories=("Cs",))),
    st.dictionaries(st.text(st.characters(exclude_categories=("Cs",))), DATA, max_size=3),
)
def test_a_plain_request_is_what_daemons_read(what: str, args: dict[str, object]) -> None:
    assert codec.decode(plain.ask_bytes(what, args)) == messages.Ask(what=what, args=json.loads(json.dumps(args)))


@given(st.booleans(), st.text(), DATA, st.booleans())
def test_what_daemons_answer_is_read_plainly(ok: bool, text: str, data: object, more: bool) -> None:
    answer = messages.Answer(ok=ok, text=text, data=data, more=more)
    assert plain.answer_of(codec.encode(answer)) == plain.PlainAnswer(ok=ok, text=text, data=data, more=more)


def test_plain_messages_are_of_the_same_protocol() -> None:
    assert (plain.VERSION, plain.MESSAGE_BYTES_MAX) == (messages.VERSION, codec.MESSAGE_BYTES_MAX)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{", b'{"type":"Ask"}', b'{"type":"Answer","v":99}', b'{"type":"Answer","ok":1}',
        b'{"type":"Answer","v":"1"}',
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        plain.answer_of(data)


def test_a_request_that_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(WireError):
        plain.ask_bytes("query", {"jobs": {1, 2}})


def test_commands_that_only_ask_import_nothing_heavy() -> None:
    heavy = "'asyncio', 'msgspec', 'nats', 'numpy', 'sqlalchemy', 'roost.config', 'roost.classad'"
    modules = {COMMANDS[name] for name in ("queue", "status", "rm", "history", "wait", "drain", "userprio")}
    for module in sorted(modules):
        code = f"import sys, roost.cli.{module}; print([each for each in ({heavy}) if each in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]", module


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({}, ""),
        ({"Args": "-a 'b c"}, "-a 'b c"),
        ({"Arguments": "-c echo' 'Rome' 'has' '4"}, "-c 'echo Rome has 4'"),
        ({"Arguments": "a  b"}, "a b"),
        ({"Arguments": "''"}, "''"),
        ({"Arguments": "'it''s'"}, "it's"),
    ],
)
def test_arguments_are_shown_as_one_would_type_them(row: dict[str, str], shown: str) -> None:
    assert arguments(row) == shown


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "00:00:00"), (3661.9, "01:01:01"), (90_000, "1+01:00:00"), (-5, "00:00:00")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_table_has_no_colour_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table([["1.0", "R"], ["10.0", "H"]], ["ID", "ST"], frozenset({0}), coloured=frozenset({1}))
    assert capsys.readouterr().out == "  ID  ST\n 1.0  R\n10.0  H\n"


def test_colour_is_put_around_words_and_not_around_blanks() -> None:
    assert colour.painted("R  ", "green", on=True) == "\x1b[32mR\x1b[0m  "
    assert colour.painted("  ", "green", on=True) == "  "


def test_a_transition_is_told_with_the_clause_that_decided() -> None:
    told = of_record(transition())
    assert told is not None
    assert (told.who, told.what) == ("slot1@desk", "Claimed/Busy → Claimed/Suspended: SUSPEND true (job 2.0)")
    assert told.why == ("SUSPEND is TRUE [desk.config:4]", "  KeyboardIdle < 3: KeyboardIdle is 0")
    assert len(list(lines(told))) == 3


def test_a_clause_that_is_not_true_says_so() -> None:
    told = of_record(transition(why=[{"clause": "KeyboardIdle > 900", "value": "FALSE", "because": ["it is 3"]}]))
    assert told is not None
    assert told.why[1] == "  KeyboardIdle > 900 is FALSE: it is 3"


def test_an_expression_that_was_not_the_reason_is_not_told_as_one() -> None:
    told = of_record(transition(value="FALSE", number="18"))
    assert told is not None
    assert told.why == ()


def test_a_slot_that_was_given_back_is_not_told_to_have_had_an_owner() -> None:
    passing = [transition(number=number, at=5.0) for number in ("12", "12a", "10", "25", "1")]
    assert list(of_records(passing)) == []
    assert len(list(of_records([transition(number="1")]))) == 1


def test_a_record_is_read_by_slot_by_machine_and_by_job(tmp_path: Path) -> None:
    path = tmp_path / "transitions.jsonl"
    records = [RECORD | {"slot": f"slot{n}@desk", "job": f"{n}.0", "at": float(n)} for n in (1, 2, 11)]
    path.with_name("transitions.jsonl.1").write_text(json.dumps(records[0]) + "\n")
    path.write_text("".join(json.dumps(each) + "\n" for each in records[1:]) + '{"at": 3, "slot": "slot1@de')
    chronicle = TransitionLog(path, load(SystemHost(), LoadOptions(roots=())))
    assert [each.at for each in chronicle.read(slot="slot1")] == [1.0]
    assert [each.at for each in chronicle.read(slot="slot11@desk")] == [11.0]
    assert [each.at for each in chronicle.read(slot="desk", limit=2)] == [2.0, 11.0]
    assert [each.at for each in chronicle.read(job="2.0")] == [2.0]


@pytest.mark.parametrize(
    "words", [["queue"], ["status"], ["rm", "1.0"], ["story", "job", "1.0"], ["reconfig"], ["down"]]
)
def test_a_command_without_a_pool_says_what_to_do(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROOST_HOME", str(tmp_path / "nowhere"))
    assert main(words) == 2
    assert "start one with `roost up`" in capsys.readouterr().err


def test_a_job_whose_output_is_moved_is_waited_for_among_many() -> None:
    class Many:
        def ask(self, request: queue.Overview | queue.Query) -> queue.Clusters | list[dict[str, int]]:
            if isinstance(request, queue.Query):
                return []
            counts = {"TransferringOutput": 300, "Idle": 2, "Suspended": 1}
            row = queue.ClusterRow(
                cluster=1,
                owner="ann",
                submitted_at=0,
                total=303,
                left=303,
                first=0,
                last=302,
                counts=counts,
                attributes={},
            )
            return queue.Clusters(clusters=[row])

    assert wait._counts(Many(), ["1"])["running"] == 300  # type: ignore[arg-type]
    assert sum(wait._counts(Many(), ["1"]).values()) == 303  # type: ignore[arg-type]
