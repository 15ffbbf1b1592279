"""Transfers of many jobs at once: each file has what its own job wrote, and of one target the last writer wins whole.

All of them have equal names, sizes and times of change, as jobs have that end within one tick of the kernel's clock.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.model.starter import StarterHold
from roost.runtime.files.file_workers import FileWorkers
from roost.runtime.files.transfer import LOSSES_MAX, FileItem, LocalSink, Piece, TransferProblem, move
from roost.runtime.files.worker.hands import OWN, Hands
from roost.runtime.processes.accounts import Account

OUT = StarterHold.TRANSFER_OUTPUT_ERROR
MANY = 2_000
_ITEM = FileItem(name="_stdout", size=16, mode=0o644, changed_ns=1_700_000_000_000_000_000)


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user may write to."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def _content(number: int) -> bytes:
    return f"{number:08}{-number:08}".encode()


def _sink(number: int, target: Path, hands: Hands = OWN) -> LocalSink:
    return LocalSink(lambda _: target, OUT, writer=f"{number}.0#1@queue", hands=hands)


class _Memory:
    """A source whose files are in memory, and come in pieces of 5 bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def read(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
        await asyncio.sleep(0)
        data = self.content[offset : offset + 5]
        return Piece(data=data, last=offset + len(data) == len(self.content))


def _mixed_up(targets: dict[int, Path]) -> list[str]:
    return [
        f"{path.name}: {path.read_bytes()!r}"
        for number, path in targets.items()
        if path.read_bytes() != _content(number)
    ]


def test_files_of_many_jobs_written_piece_by_piece_in_turns_are_each_their_own(tmp_path: Path) -> None:
    targets = {number: tmp_path / f"{number}.out" for number in range(MANY)}
    sinks = {number: _sink(number, target) for number, target in targets.items()}
    assert {sink.begin_now(_ITEM) for sink in sinks.values()} == {0}
    for number, sink in sinks.items():
        assert sink.write_now(_ITEM, 0, Piece(data=_content(number)[:8], last=False)) == 8
    for number, sink in sinks.items():
        assert sink.write_now(_ITEM, 8, Piece(data=_content(number)[8:], last=True)) == 16
    assert _mixed_up(targets) == []
    assert len(list(tmp_path.iterdir())) == MANY


def test_files_of_many_jobs_moved_at_once_are_each_their_own(tmp_path: Path) -> None:
    targets = {number: tmp_path / f"{number % 7}" / f"{number}.out" for number in range(MANY)}

    async def all_of_them() -> list[object]:
        return await asyncio.gather(
            *(move([_ITEM], _Memory(_content(number)), _sink(number, path)) for number, path in targets.items())
        )

    assert set(asyncio.run(all_of_them())) == {16}
    assert _mixed_up(targets) == []
    assert sum(len(files) for _, _, files in os.walk(tmp_path)) == MANY


def test_of_many_jobs_that_write_one_file_all_succeed_and_the_last_wins_whole(tmp_path: Path) -> None:
    target = tmp_path / "same.out"
    sinks = {number: _sink(number, target) for number in range(MANY)}
    for number, sink in sinks.items():
        assert sink.begin_now(_ITEM) == 0
        assert sink.write_now(_ITEM, 0, Piece(data=_content(number)[:3], last=False)) == 3
    for number, sink in sinks.items():
        assert sink.write_now(_ITEM, 3, Piece(data=_content(number)[3:], last=True)) == 16
        assert target.read_bytes() == _content(number)
    assert [each.name for each in tmp_path.iterdir()] == ["same.out"]


def test_two_names_of_one_job_may_lead_to_one_file(tmp_path: Path) -> None:
    sink = _sink(1, tmp_path / "target")
    items = [FileItem(name=name, size=16, changed_ns=7) for name in ("a", "b")]
    for item, number in zip(items, (1, 2), strict=True):
        assert sink.write_now(item, 0, Piece(data=_content(number)[:4], last=False)) == 4
    for item, number in zip(items, (1, 2), strict=True):
        assert sink.write_now(item, 4, Piece(data=_content(number)[4:], last=True)) == 16
        assert (tmp_path / "target").read_bytes() == _content(number)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_files_of_many_jobs_of_several_users_are_each_their_own(place: Path) -> None:
    file_workers = FileWorkers()
    try:
        hands = [
            file_workers.hands_as(Account(name=f"u{uid}", uid=uid, gid=uid, groups=(uid,), home=Path("/")))
            for uid in (60_001, 60_002, 60_003)
        ]
        targets = {number: place / f"{number}.out" for number in range(900)}
        same = [place / f"same.{each}" for each in range(3)]

        async def all_of_them() -> list[object]:
            return await asyncio.gather(
                *(
                    move([_ITEM], _Memory(_content(number)), _sink(number, path, hands[number % 3]))
                    for number, path in targets.items()
                ),
                *(
                    move([_ITEM], _Memory(_content(number)), _sink(number, same[number % 3], hands[number % 3]))
                    for number in range(900, 1200)
                ),
            )

        assert set(asyncio.run(all_of_them())) == {16}
    finally:
        file_workers.close()
    assert _mixed_up(targets) == []
    assert [path.stat().st_uid for path in targets.values()] == [60_001, 60_002, 60_003] * 300
    for each in range(3):
        assert (place / f"same.{each}").read_bytes() in [_content(number) for number in range(900 + each, 1200, 3)]
    assert len(list(place.iterdir())) == 903


def test_a_file_whose_beginning_is_gone_is_begun_again(tmp_path: Path) -> None:
    target = tmp_path / "target"

    class Removing(_Memory):
        lost = 1

        async def read(self, item: FileItem, offset: int, size: int) -> Piece | TransferProblem:
            if offset >= 10 and self.lost:
                self.lost -= 1
                for left in tmp_path.glob(".roost-*.part"):
                    left.unlink()
            return await super().read(item, offset, size)

    source = Removing(_content(5))
    assert asyncio.run(move([_ITEM], source, _sink(5, target))) == 10 + 16
    assert target.read_bytes() == _content(5)
    source = Removing(_content(6))
    source.lost = LOSSES_MAX + 1
    problem = asyncio.run(move([_ITEM], source, _sink(6, target)))
    assert isinstance(problem, TransferProblem) and "removed" in problem.text
    assert target.read_bytes() == _content(5)


def test_what_is_in_the_place_of_an_unfinished_file_is_not_written_through(tmp_path: Path) -> None:
    target, secret = tmp_path / "target", tmp_path / "secret"
    secret.write_text("kept")
    sink = _sink(1, target)
    assert sink.write_now(_ITEM, 0, Piece(data=b"12", last=False)) == 2
    (partial,) = tmp_path.glob(".roost-*.part")
    for plant in (partial.symlink_to, partial.hardlink_to):
        partial.unlink()
        plant(secret)
        assert sink.write_now(_ITEM, 2, Piece(data=b"34", last=False)) == 0, "it is begun again"
        assert sink.write_now(_ITEM, 0, Piece(data=_content(1), last=True)) == 16
        assert (secret.read_text(), target.read_bytes()) == ("kept", _content(1))
        assert sink.write_now(_ITEM, 0, Piece(data=b"12", last=False)) == 2
