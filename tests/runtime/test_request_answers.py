"""What a daemon says of a request that is wrong, and of one that it has a defect in."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from roost.runtime.bus.lanes import Lanes
from roost.runtime.bus.permission import DENIED
from roost.runtime.bus.request_answers import RequestAnswers, expression
from roost.wire.messages import Answer, Ask
from roost.wire.requests import central
from roost.wire.requests.verb import Daemon, Request, Verb


class _Carrier:
    """Notes answers."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    async def answer(self, reply: str, answer: Answer) -> None:
        self.answers.append(answer)


class _Central(RequestAnswers):
    of = Daemon.CENTRAL

    def __init__(self, bus: Any) -> None:
        super().__init__(bus)
        self.notes: list[str] = []

    def refusal(self, verb: Verb, sender: str) -> Answer | None:
        return Answer(ok=False, code=DENIED, text="no") if sender == "eve" else None

    def denied(self, ask: Ask, sender: str, why: str) -> None:
        self.notes.append(f"{sender} {ask.what}: {why}")

    async def answered(self, request: Request[Any], sender: str, reply: str, request_id: str) -> object:
        match request:
            case central.Ads():
                assert expression(request.constraint, "the constraint") is not None
                return [{"Name": "a"}]
            case central.ExplainSlot():
                return {}["absent"]
            case central.ExplainJob():
                raise ValueError("a defect")
        return central.Advertised(taken=1, gone=0)


def answer_to(ask: Ask, sender: str = "ann") -> tuple[Answer, list[str]]:
    async def go() -> tuple[Answer, list[str]]:
        bus: Any = _Carrier()
        answers = _Central(bus)
        lanes = Lanes(bus, answers.on_ask)
        lanes.take(ask, sender, "reply")
        while not bus.answers:
            await asyncio.sleep(0)
        return bus.answers[0], answers.notes

    return asyncio.run(go())


def test_a_reply_is_the_data_of_the_answer() -> None:
    assert answer_to(Ask(what="advertise"))[0] == Answer(data=central.Advertised(taken=1, gone=0))


@pytest.mark.parametrize(
    ("what", "args", "text"),
    [
        ("fly", {}, "the central manager cannot answer 'fly', but ads"),
        ("ads", {"limit": "many"}, "ads.limit: 'many' is not a whole number"),
        ("ads", {"constraint": "((("}, "the constraint: "),
        ("explain-slot", {}, "explain-slot.slot: this field is missing"),
    ],
)
def test_a_mistake_of_the_user_is_a_bad_request(
    what: str, args: dict[str, Any], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, _ = answer_to(Ask(what=what, args=args))
    assert (answer.ok, answer.code) == (False, "bad-request")
    assert answer.text.startswith(text)
    assert not caplog.records


@pytest.mark.parametrize(
    ("what", "args"),
    [("explain-slot", {"slot": "a"}), ("explain-job", {"schedd": "q", "submitter": "u", "autocluster": 1})],
)
def test_a_defect_of_ours_is_an_internal_error_that_the_log_names(
    what: str, args: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    answer, _ = answer_to(Ask(what=what, args=args))
    assert (answer.ok, answer.code) == (False, "internal")
    assert answer.text.startswith(f"{what}: internal error (a bug in Roost): ")
    (record,) = caplog.records
    assert (record.levelno, record.getMessage()) == (logging.ERROR, f"internal error (a bug in Roost): {what} of ann")
    assert record.exc_info is not None


def test_a_user_who_may_not_ask_is_noted_before_the_request_is_read() -> None:
    answer, notes = answer_to(Ask(what="ads", args={"limit": "many"}), sender="eve")
    assert (answer.ok, answer.code) == (False, DENIED)
    assert notes == ["eve ads: no"]
