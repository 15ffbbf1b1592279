"""Answers to the command of a user who is connected to a job: read, write, keep alive, leave."""

from __future__ import annotations

from base64 import b64decode, b64encode

from roost.runtime.bus.request_answers import BadRequest, NotFound
from roost.runtime.node.sessions import Session, Sessions
from roost.wire.requests import machine


async def stream_answer(
    sessions: Sessions,
    request: machine.ReadStreams | machine.WriteStreams | machine.KeepStreams | machine.LeaveStreams,
    sender: str,
) -> object:
    """The reply to such a request. Raises NotFound and BadRequest."""
    session = sessions.asked(request.session, sender)
    if session is None:
        raise NotFound("no job of yours with this session has started here")
    match request:
        case machine.ReadStreams():
            return await _printed(session, request)
        case machine.WriteStreams():
            return await _took(session, request)
        case machine.LeaveStreams():
            sessions.leave(request.session)
    return None


async def _printed(session: Session, asked: machine.ReadStreams) -> machine.Printed:
    pieces = await session.streams.printed(asked.out, asked.err, session.ended)
    if pieces is None:
        return machine.Printed(ended=True, exit_code=session.end.exit_code, signal=session.end.signal)
    out, err = (b64encode(piece).decode("ascii") for piece in pieces)
    return machine.Printed(out=out, err=err)


async def _took(session: Session, asked: machine.WriteStreams) -> machine.Took:
    if asked.rows and asked.columns:
        session.streams.resize(asked.rows, asked.columns)
    try:
        data = b64decode(asked.data, validate=True)
    except ValueError as problem:
        raise BadRequest(f"data: {problem}") from None
    if not data and not asked.last:
        return machine.Took(offset=asked.offset, over=session.ended.is_set())
    offset, closed = await session.streams.taken(asked.offset, data, session.ended, last=asked.last)
    return machine.Took(offset=offset, closed=closed, over=session.ended.is_set())
