"""Scratch directories, what is moved into and out of them, and the moving itself."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.classad import ClassAd
from roost.model.starter import Output, StarterHold
from roost.runtime.bus.client import BusError
from roost.runtime.files.input_files import STDERR, STDOUT, input_manifest
from roost.runtime.files.output_files import Baseline, checkpoint_manifest, output_manifest, output_place, output_remaps
from roost.runtime.files.transfer import (
    PIECE_BYTES_MAX,
    FileItem,
    ItemKind,
    LocalSink,
    LocalSource,
    Manifest,
    Piece,
    TransferProblem,
    move,
    pack_items,
    unpack_items,
    unsafe,
)
from roost.runtime.files.worker.hands import Hands, Looked
from roost.runtime.node.runs import files as transfers
from roost.runtime.node.runs.files import Transfers
from roost.runtime.processes.sandbox import Sandbox, SandboxFailed, remove_tree
from roost.runtime.queue.local_runs import InnerBus
from roost.wire.messages import AskFiles, Files, FileTaken, Message, OutputDone, PutFile
from roost.wire.subjects import Subjects

IN, OUT = StarterHold.TRANSFER_INPUT_ERROR, StarterHold.TRANSFER_OUTPUT_ERROR


def _tree(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text(f"content of {name}")


def _names(manifest: Manifest | TransferProblem) -> list[str]:
    assert isinstance(manifest, Manifest), manifest
    return [item.name + ("/" if item.kind is ItemKind.DIRECTORY else "") for item in manifest.items]


def _problem(found: Manifest | TransferProblem) -> TransferProblem:
    assert isinstance(found, TransferProblem), found
    return found


def _moved(manifest: Manifest, where: Callable[[str], Path], code: StarterHold = IN) -> int:
    done = asyncio.run(move(manifest.items, LocalSource(manifest, code), LocalSink(where, code, writer="1.0#1")))
    assert isinstance(done, int), done
    return done


# -- the scratch directory -------------------------------------------------------------------------------------------


def test_a_scratch_directory_is_its_owners_alone(tmp_path: Path) -> None:
    sandbox = Sandbox.make(tmp_path, "1.0#1")
    assert stat.S_IMODE(sandbox.path.stat().st_mode) == 0o700
    assert stat.S_IMODE(Sandbox.make(tmp_path, "2", permissions="world").path.stat().st_mode) == 0o755
    with pytest.raises(SandboxFailed, match="File exists"):
        Sandbox.make(tmp_path, "1.0#1")
    with pytest.raises(SandboxFailed, match="set EXECUTE"):
        Sandbox.make(tmp_path / "absent", "1")


def test_whatever_a_job_leaves_is_removed_and_nothing_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    _tree(outside, "keep", "d/keep")
    sandbox = Sandbox.make(tmp_path, "1")
    _tree(sandbox.path, "a", "d/e/f", "empty/", "locked/inner/x", ".roost-removed-1-0/y")
    (sandbox.path / "d" / "link").symlink_to(outside)
    (sandbox.path / "dangling").symlink_to("nowhere")
    os.mkfifo(sandbox.path / "pipe")
    (sandbox.path / "locked" / "inner").chmod(0)
    (sandbox.path / "locked").chmod(0o500)
    (sandbox.path / "d").chmod(0o111)
    for number in range(500):
        (sandbox.path / f"many{number}").touch()
    assert sandbox.remove() == ""
    assert not sandbox.path.exists()
    assert sandbox.remove() == "", "a removal may come twice"
    assert sorted(each.name for each in outside.rglob("*")) == ["d", "keep", "keep"]


def test_a_tree_too_deep_for_any_path_is_removed(tmp_path: Path) -> None:
    sandbox = Sandbox.make(tmp_path, "1")
    here = os.open(sandbox.path, os.O_RDONLY)
    for _ in range(700):
        os.mkdir("deeper", dir_fd=here)
        below = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert remove_tree(sandbox.path) == ""
    assert not sandbox.path.exists()


def test_the_size_counts_a_file_once(tmp_path: Path) -> None:
    sandbox = Sandbox.make(tmp_path, "1")
    (sandbox.path / "a").write_bytes(b"x" * 10_000)
    (sandbox.path / "d").mkdir()
    (sandbox.path / "d" / "b").hardlink_to(sandbox.path / "a")
    (sandbox.path / "d" / "c").write_bytes(b"x" * 241)
    assert sandbox.size_kib() == 11


# -- input -------------------------------------------------------------------------------------------------------------


def test_input_is_placed_as_users_know_it(tmp_path: Path) -> None:
    _tree(tmp_path, "bin/prog", "data/in.txt", "a.txt", "d/x", "d/sub/y", "e/z", "e/deep/w")
    (tmp_path / "link").symlink_to("a.txt")
    ad = ClassAd(
        {
            "Iwd": str(tmp_path),
            "Cmd": "bin/prog",
            "In": "data/in.txt",
            "TransferInput": f"a.txt, d ,e/,{tmp_path}/link",
        }
    )
    found = input_manifest(ad)
    assert _names(found) == [
        "prog",
        "in.txt",
        "a.txt",
        "d/",
        "d/sub/",
        "d/sub/y",
        "d/x",
        "deep/",
        "deep/w",
        "z",
        "link",
    ]
    assert isinstance(found, Manifest) and found.items[0].mode & 0o111
    target = tmp_path / "sandbox"
    target.mkdir()
    assert _moved(found, lambda name: target / name) == found.size_bytes
    assert (target / "d" / "sub" / "y").read_text() == "content of d/sub/y"
    assert (target / "link").read_text() == "content of a.txt" and not (target / "link").is_symlink()
    assert os.access(target / "prog", os.X_OK)
    assert not list(target.glob(".roost*"))


def test_relative_paths_are_kept_where_that_is_wanted(tmp_path: Path) -> None:
    _tree(tmp_path, "a/b/c", "d/e/f")
    ad = ClassAd({"Iwd": str(tmp_path), "TransferInput": "a/b/c, d/e/", "PreserveRelativePaths": True})
    assert _names(input_manifest(ad)) == ["a/", "a/b/", "a/b/c", "d/", "d/e/", "d/e/f"]


def test_what_the_queue_kept_replaces_input(tmp_path: Path) -> None:
    _tree(tmp_path, "home/a", "home/b", "spool/a", "spool/state/s")
    ad = ClassAd({"Iwd": str(tmp_path / "home"), "TransferInput": "a, b"})
    found = input_manifest(ad, spool=tmp_path / "spool")
    assert _names(found) == ["b", "a", "state/", "state/s"]
    assert isinstance(found, Manifest) and found.sources["a"] == tmp_path / "spool" / "a"


@pytest.mark.parametrize(
    ("given", "code", "subcode", "words"),
    [
        ("absent", IN, 2, "No such file"),
        ("http://host/file", IN, 0, "URLs"),
        ("pipe", IN, 0, "neither a file nor a directory"),
        ("circle", IN, 40, "symbolic links"),
        ("..", IN, 0, "does not end in a name"),
        ("big", StarterHold.INPUT_TOO_LARGE, 0, "max_transfer_input_mb"),
        ("x/same, same/", IN, 0, "same name"),
    ],
)
def test_input_that_cannot_be_moved_is_said_with_its_hold(
    tmp_path: Path, given: str, code: StarterHold, subcode: int, words: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "big").write_bytes(b"x" * 2_000_000)
    _tree(tmp_path, "x/same", "same/same/y")
    problem = _problem(input_manifest(ClassAd({"Iwd": str(tmp_path), "TransferInput": given}), limit_mb=1))
    assert (problem.code, problem.subcode) == (code, subcode)
    assert words in problem.text


def test_the_jobs_own_limit_goes_before_the_pools(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 2_000_000)
    ad = ClassAd({"Iwd": str(tmp_path), "TransferInput": "big", "MaxTransferInputMB": 3})
    assert _names(input_manifest(ad, limit_mb=1)) == ["big"]
    ad["MaxTransferInputMB"] = -1
    assert _names(input_manifest(ad, limit_mb=1)) == ["big"]


# -- output ------------------------------------------------------------------------------------------------------------


def _job(tmp_path: Path, **attributes: object) -> tuple[ClassAd, Path]:
    """A job's ad, and a scratch directory after its run."""
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir()
    _tree(sandbox, "old", "prog", "touched", ".job.ad")
    os.utime(sandbox / "touched", ns=(0, 0))
    attributes = {"Iwd": str(tmp_path / "home"), "Cmd": "/x/prog", "Out": "o.txt", "Err": "/e.txt", **attributes}
    return ClassAd(attributes), sandbox


def test_output_is_by_default_what_is_new_or_changed_at_the_top(tmp_path: Path) -> None:
    ad, sandbox = _job(tmp_path)
    baseline = Baseline.of(sandbox)
    _tree(sandbox, "touched", "new", "d/in", ".machine.ad", STDOUT, STDERR, "prog2")
    (sandbox / "link").symlink_to("old")
    (sandbox / "astray").symlink_to("/etc/passwd")
    os.mkfifo(sandbox / "pipe")
    assert _names(output_manifest(ad, sandbox, baseline)) == [STDOUT, STDERR, "link", "new", "prog2", "touched"]
    ad["TransferOutput"] = ""
    assert _names(output_manifest(ad, sandbox, baseline)) == [STDOUT, STDERR]


class _Failing(Hands):
    """Hands to which one name on a disk does not answer."""

    def __init__(self, name: str) -> None:
        self.name = name

    def look(self, path: str) -> Looked:
        if Path(path).name == self.name:
            raise OSError(errno.EIO, "Input/output error", path)
        return super().look(path)


def test_output_that_cannot_be_looked_at_is_not_left_out(tmp_path: Path) -> None:
    """The job ended as done, and its user had not got the file."""
    ad, sandbox = _job(tmp_path)
    baseline = Baseline.of(sandbox)
    _tree(sandbox, "new", "other")
    problem = _problem(output_manifest(ad, sandbox, baseline, hands=_Failing("new")))
    assert (problem.code, problem.subcode) == (OUT, errno.EIO) and f"cannot read {sandbox}/new" in problem.text
    with pytest.raises(OSError, match="Input/output error"):
        Baseline.of(sandbox, _Failing("old"))


def test_streams_that_cannot_be_looked_for_are_not_taken_for_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ad, sandbox = _job(tmp_path, TransferOutput="")
    _tree(sandbox, STDOUT)
    lstat = os.lstat

    def failing(path: str) -> os.stat_result:
        if str(path).endswith(STDOUT):
            raise OSError(errno.EIO, "Input/output error", path)
        return lstat(path)

    baseline = Baseline.of(sandbox)
    monkeypatch.setattr(os, "lstat", failing)
    problem = _problem(output_manifest(ad, sandbox, baseline))
    monkeypatch.undo()
    assert (problem.code, problem.subcode) == (OUT, errno.EIO)


def test_listed_output_is_just_that(tmp_path: Path) -> None:
    ad, sandbox = _job(tmp_path, TransferOutput="d1/o3, d, e/", Err="o.txt")
    _tree(sandbox, "d1/o3", "d/x/y", "e/z", "other", STDOUT)
    found = output_manifest(ad, sandbox, Baseline.of(sandbox))
    assert _names(found) == [STDOUT, "d1/o3", "d/", "d/x/", "d/x/y", "z"]
    place, home = output_place(ad), tmp_path / "home"
    assert [place(name) for name in (STDOUT, "d1/o3", "d", "d/x/y", "z")] == [
        home / name for name in ("o.txt", "o3", "d", "d/x/y", "z")
    ]
    assert isinstance(found, Manifest)
    home.mkdir()
    _moved(found, place, OUT)
    assert sorted(str(each.relative_to(home)) for each in home.rglob("*")) == ["d", "d/x", "d/x/y", "o.txt", "o3", "z"]


@pytest.mark.parametrize(
    ("listed", "subcode", "words"),
    [
        ("absent", 2, "the job did not create it"),
        ("../home", 0, "must put its output there"),
        ("/etc/passwd", 0, "must put its output there"),
        ("astray", 0, "leads outside the scratch directory"),
        ("dir", 0, "leads outside the scratch directory"),
        ("pipe", 0, "neither a file nor a directory"),
    ],
)
def test_output_that_cannot_be_moved_holds_the_job(tmp_path: Path, listed: str, subcode: int, words: str) -> None:
    ad, sandbox = _job(tmp_path, TransferOutput=listed)
    (sandbox / "astray").symlink_to("/etc/passwd")
    (sandbox / "dir").mkdir()
    (sandbox / "dir" / "astray").symlink_to("/etc")
    os.mkfifo(sandbox / "pipe")
    problem = _problem(output_manifest(ad, sandbox, Baseline.of(sandbox)))
    assert (problem.code, problem.subcode) == (OUT, subcode)
    assert words in problem.text


def test_too_much_output_holds_the_job(tmp_path: Path) -> None:
    ad, sandbox = _job(tmp_path, MaxTransferOutputMB=1)
    baseline = Baseline.of(sandbox)
    (sandbox / "big").write_bytes(b"x" * 2_000_000)
    assert _problem(output_manifest(ad, sandbox, baseline)).code is StarterHold.OUTPUT_TOO_LARGE


def test_a_checkpoint_is_its_own_list(tmp_path: Path) -> None:
    ad, sandbox = _job(tmp_path, TransferCheckpoint="state", TransferOutput="result")
    _tree(sandbox, "state/a", "result")
    assert _names(checkpoint_manifest(ad, sandbox, Baseline.of(sandbox))) == ["state/", "state/a"]
    del ad["TransferCheckpoint"]
    assert _names(checkpoint_manifest(ad, sandbox, Baseline.of(sandbox))) == ["result"]


def test_remaps_send_files_elsewhere() -> None:
    ad = ClassAd({"Iwd": "/home/u", "TransferOutput": "d/a, b", "TransferOutputRemaps": r"a = /x/y; b = c\=d ;e\;f=g"})
    assert output_remaps(ad) == {"a": "/x/y", "b": "c=d", "e;f": "g"}
    place = output_place(ad)
    assert [str(place(name)) for name in ("d/a", "b", "other")] == ["/x/y", "/home/u/c=d", "/home/u/other"]
    with pytest.raises(ValueError, match="name = path"):
        output_remaps(ClassAd({"TransferOutputRemaps": "a b"}))


# -- moving ------------------------------------------------------------------------------------------------------


def _one(tmp_path: Path, size: int) -> tuple[Manifest, Path]:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(size))
    found = source.stat()
    item = FileItem(name="target", size=size, mode=0o640, changed_ns=found.st_mtime_ns)
    return Manifest(items=(item,), sources={"target": source}), tmp_path / "there"


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES_MAX, PIECE_BYTES_MAX * 2 + 17])
def test_files_arrive_whole_with_their_modes(tmp_path: Path, size: int) -> None:
    manifest, there = _one(tmp_path, size)
    heard: list[int] = []
    sink = LocalSink(lambda name: there / "new" / name, IN, writer="1.0#1", sync=True)
    assert asyncio.run(move(manifest.items, LocalSource(manifest, IN), sink, moved=heard.append)) == size == sum(heard)
    target = there / "new" / "target"
    assert target.read_bytes() == manifest.sources["target"].read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_transfer_that_broke_off_goes_on_where_it_was(tmp_path: Path) -> None:
    manifest, there = _one(tmp_path, PIECE_BYTES_MAX * 3)
    (item,), whole = manifest.items, manifest.sources["target"].read_bytes()
    sink = LocalSink(lambda name: there / name, IN, writer="1.0#1")
    assert sink.begin_now(item) == 0
    assert sink.write_now(item, 0, Piece(data=whole[:1000], last=False)) == 1000
    assert sink.write_now(item, 500, Piece(data=whole[500:2000], last=False)) == 2000, "a piece may come twice"
    assert sink.write_now(item, 5000, Piece(data=b"x", last=True)) == 2000, "what is before it is wanted first"
    assert not (there / "target").exists()
    assert sink.begin_now(item) == 2000
    assert _moved(manifest, lambda name: there / name) == PIECE_BYTES_MAX * 3 - 2000
    assert (there / "target").read_bytes() == whole
    changed = FileItem(name=item.name, size=item.size, changed_ns=item.changed_ns + 1)
    assert sink.begin_now(changed) == 0, "another content starts over"


def test_a_file_changed_while_it_is_moved_is_noticed(tmp_path: Path) -> None:
    manifest, _ = _one(tmp_path, 1000)
    source = LocalSource(manifest, IN)
    path = manifest.sources["target"]
    os.utime(path, ns=(1, 1))
    found = source.read_now(manifest.items[0], 0, 100)
    assert isinstance(found, TransferProblem) and "changed" in found.text


def test_a_source_serves_its_manifest_and_nothing_else(tmp_path: Path) -> None:
    manifest, _ = _one(tmp_path, 10)
    found = LocalSource(manifest, IN).read_now(FileItem(name="../../etc/passwd"), 0, 100)
    assert isinstance(found, TransferProblem) and "not one of the files" in found.text


def test_a_file_swapped_for_a_link_after_the_manifest_is_not_served(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    secret = tmp_path / "secret"
    secret.write_text("s")
    (box / "a").symlink_to(secret)
    manifest = Manifest(items=(FileItem(name="a", size=1),), sources={"a": box / "a"})
    found = LocalSource(manifest, OUT, inside=box).read_now(manifest.items[0], 0, 1)
    assert isinstance(found, TransferProblem) and "leads out" in found.text


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "..", "a/../../b", "a//b", "./a", "a/.", "a\0b", "x" * 300, "a/" * 3000]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    assert unsafe(name)
    begun = LocalSink(lambda _: tmp_path / "x", IN, writer="1.0#1").begin_now(FileItem(name=name))
    assert isinstance(begun, TransferProblem) and "is not allowed: " in begun.text
    with pytest.raises(ValueError):
        unpack_items(pack_items([FileItem(name=name)]))


def test_output_goes_through_the_users_links_and_never_over_a_directory(tmp_path: Path) -> None:
    manifest, there = _one(tmp_path, 10)
    there.mkdir()
    (tmp_path / "elsewhere").write_text("before")
    (there / "target").symlink_to(tmp_path / "elsewhere")
    _moved(manifest, lambda name: there / name)
    assert (there / "target").is_symlink()
    assert (tmp_path / "elsewhere").read_bytes() == manifest.sources["target"].read_bytes()
    (there / "d").mkdir()
    begun = LocalSink(lambda _: there / "d", OUT, writer="1.0#1").begin_now(manifest.items[0])
    assert isinstance(begun, TransferProblem) and begun.subcode == 21


_ITEMS = st.lists(
    st.builds(
        FileItem,
        name=st.text("ab.é-", min_size=1, max_size=5).filter(lambda name: not unsafe(name)),
        kind=st.sampled_from(ItemKind),
        size=st.integers(0, 2**60),
        mode=st.integers(0, 0o777),
        changed_ns=st.integers(0, 2**62),
    ),
    max_size=4,
)


@settings(max_examples=50)
@given(_ITEMS)
def test_manifests_arrive_as_they_were_sent(items: list[FileItem]) -> None:
    assert list(unpack_items(pack_items(items))) == items


@pytest.mark.parametrize(
    "text", [b"{}", b"[1]", b'[["a","file",-1,0,0]]', b'[["a","device",1,0,0]]', b"nonsense", b'[["a"]]']
)
def test_what_is_no_manifest_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        unpack_items(text)


# -- over the bus --------------------------------------------------------------------------------------------------


def test_a_queue_that_is_away_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "PAUSE_S_MAX", 0.001)
    taken: list[Message] = []

    class Away(InnerBus):
        """A bus at whose other end nobody is for long, before each answer."""

        def __init__(self) -> None:
            self.subjects = Subjects("p")
            self.misses = 0

        async def request(self, subject: str, message: Message, timeout_s: float = 0.0) -> Message:
            self.misses += 1
            if self.misses % 60:
                raise BusError("no reply")
            taken.append(message)
            return FileTaken(offset=len(message.data)) if isinstance(message, PutFile) else FileTaken()

    (tmp_path / "result").write_text("of it")
    moved = Transfers(Away(), "node", "q", "1.0#1@q", lambda stage: None)
    ad = ClassAd({"Iwd": "/", "Out": "/dev/null"})
    assert asyncio.run(moved.send_output(ad, tmp_path, Baseline(files={}), Output.DELIVERED)) is None
    assert [type(each) for each in taken] == [PutFile, PutFile, OutputDone]
    assert moved.sent == 5


@pytest.mark.parametrize("waits", [0, 3])
def test_files_that_wait_for_others_are_told_of_as_waiting_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: int
) -> None:
    monkeypatch.setattr(transfers, "WAIT_S", 0.001)
    told: list[str] = []

    class Busy(InnerBus):
        """A queue that lets so many requests of each transfer wait."""

        def __init__(self) -> None:
            self.subjects = Subjects("p")
            self.left = waits

        async def request(self, subject: str, message: Message, timeout_s: float = 0.0) -> Message:
            self.left -= 1
            if isinstance(message, AskFiles):
                return Files(wait=self.left >= 0, items=pack_items([]))
            data = message.data if isinstance(message, PutFile) else b""
            return FileTaken(wait=True) if self.left >= 0 else FileTaken(offset=len(data))

    bus = Busy()
    moved = Transfers(bus, "node", "q", "1.0#1@q", told.append)
    assert asyncio.run(moved.fetch_input(tmp_path)) is None
    bus.left = waits
    (tmp_path / "result").write_text("of it")
    for _ in range(2):
        ad = ClassAd({"Iwd": "/", "Out": "/dev/null"})
        assert asyncio.run(moved.send_output(ad, tmp_path, Baseline(files={}), Output.DELIVERED)) is None
    stages = ("queued", "started") if waits else ("started",)
    each = [f"{what}-{stage}" for what in ("input", "output") for stage in stages]
    assert told == [*each, "output-started"]
