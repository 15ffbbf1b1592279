"""The streams between a job and its user: what the shepherd carries is what the daemon reads and writes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.runtime.processes.live_streams import LiveStreams
from roost.runtime.processes.shepherd.relay import DATA, END, FRAME, FRAME_BYTES_MAX, SEGMENT_BYTES, SEGMENTS_MAX, Relay
from roost.runtime.processes.spawn_order import RelayOrder


class Carried:
    """A relay with pipes, and the daemon's side of it."""

    def __init__(self, place: Path) -> None:
        self.streams = LiveStreams(place)
        self.streams.make()
        self.relay = Relay(RelayOrder(directory=place).packed(), None)
        self.source, self.out, self.err = self.relay.ends
        self.process = os.pidfd_open(os.getpid())

    def carry(self, times: int = 1) -> None:
        for _ in range(times):
            self.relay.carry(self.process, 0)

    def printed(self, out: int = 0, err: int = 0) -> tuple[bytes, bytes] | None:
        async def ask() -> tuple[bytes, bytes] | None:
            ended = asyncio.Event()
            ended.set()
            return await self.streams.printed(out, err, ended)

        return asyncio.run(ask())


@pytest.fixture
def carried(tmp_path: Path) -> Iterator[Carried]:
    found = Carried(tmp_path / "streams")
    yield found
    found.relay.close()
    os.close(found.process)


def test_streams_are_kept_apart_and_read_from_any_byte_on(carried: Carried) -> None:
    os.write(carried.out, b"hello")
    os.write(carried.err, b"woe")
    carried.carry()
    assert carried.printed() == carried.printed() == (b"hello", b"woe")
    assert carried.printed(2, 3) == (b"llo", b"")
    assert carried.printed(5, 3) is None


def test_input_that_is_said_twice_comes_once(carried: Carried) -> None:
    assert carried.streams.give(0, b"one", last=False) == (3, False)
    assert carried.streams.give(0, b"one two", last=False) == (7, False)
    assert carried.streams.give(3, b" two", last=True) == (7, True)
    carried.carry()
    assert os.read(carried.source, 100) == b"one two"
    assert os.read(carried.source, 100) == b""


def test_frames_may_arrive_in_parts(carried: Carried) -> None:
    words = FRAME.pack(DATA, 0, 4) + b"abcd" + FRAME.pack(END, 4, 0)
    assert FRAME.size + 4 <= FRAME_BYTES_MAX
    with (carried.streams.directory / "in").open("wb", buffering=0) as pipe:
        for at in range(0, len(words), 5):
            pipe.write(words[at : at + 5])
            carried.carry()
    assert os.read(carried.source, 100) == b"abcd" and os.read(carried.source, 100) == b""


def test_a_pipe_that_is_full_takes_the_rest_later(carried: Carried) -> None:
    data, given, found = os.urandom(500_000), 0, b""
    while given < len(data):
        given, _ = carried.streams.give(given, data[given : given + 65536], last=False)
        carried.carry()
        os.set_blocking(carried.source, False)
        try:
            found += os.read(carried.source, 1 << 20)
        except BlockingIOError:
            continue
    carried.carry(20)
    while len(found) < len(data):
        found += os.read(carried.source, 1 << 20)
        carried.carry()
    assert found == data


def test_a_job_waits_once_so_much_of_a_stream_waits_for_its_user(carried: Carried) -> None:
    os.set_blocking(carried.out, False)
    limit, written = SEGMENT_BYTES * SEGMENTS_MAX, 0

    def write() -> int:
        try:
            return os.write(carried.out, b"x" * 65536)
        except BlockingIOError:
            return 0

    while True:
        some = write()
        carried.carry()
        written += some
        if not some:
            break
    kept = sum(path.stat().st_size for path in carried.streams.directory.glob("out.*"))
    assert kept == limit and limit < written <= limit + 2**20
    # The user has the first segment: there is room for another one.
    assert carried.printed(SEGMENT_BYTES, 0) is not None
    assert not (carried.streams.directory / "out.0").exists()
    carried.carry()
    assert write() > 0


def test_a_user_who_is_gone_keeps_no_job_from_printing(carried: Carried) -> None:
    carried.streams.remove()
    for _ in range(200):
        os.write(carried.out, b"x" * 65536)
        carried.carry()
    assert carried.printed() is None
