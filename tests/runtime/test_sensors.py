"""Readings of this machine, and readings that a file replaces."""

from __future__ import annotations

import asyncio
import json
import os
import struct
import time
from pathlib import Path

import pytest

from roost.config import MemoryHost, load_text
from roost.model.slots import SlotId
from roost.runtime.node import idle_devices
from roost.runtime.node.benchmarks import run_benchmarks
from roost.runtime.node.idle_devices import IdleDevices, logged_in
from roost.runtime.node.sensors import Replacements, Sensors
from roost.startd.idleness import Idleness
from roost.startd.load import LoadReading


def _sensors(tmp_path: Path, **values: object) -> Sensors:
    file = tmp_path / "sensors.json"
    file.write_text(json.dumps(values))
    return Sensors(execute=tmp_path, replacements=Replacements(file))


def test_a_disk_without_room_is_laid_out_as_if_it_had_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(os.statvfs(tmp_path))
    found[3] = found[4] = 0
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(found))
    disk = Sensors(execute=tmp_path).host().filesystem_of(str(tmp_path))
    assert disk.free_kb == found[1] * found[2] // 1024 > 0


def test_the_machine_is_read(tmp_path: Path) -> None:
    sensors = Sensors(execute=tmp_path)
    host = sensors.host({"GPUS": "DetectedGPUs = 2"})
    assert host.cpus == os.cpu_count() and host.memory_mb > 64 and host.swap_kb >= host.memory_mb * 1000
    assert host.filesystem_of(str(tmp_path / "dir_1")).free_kb > 0
    assert host.inventories == {"GPUS": "DetectedGPUs = 2"}
    reading = sensors.read({SlotId(1): 50.0})
    assert reading.load.one_minute >= 0 and reading.idleness.keyboard_s >= 0
    assert reading.cpu_percent == {SlotId(1): 50.0}
    sensors.devices.close()


def test_a_file_replaces_readings_as_soon_as_it_changes(tmp_path: Path) -> None:
    sensors = _sensors(
        tmp_path, load=0.3, keyboard_idle_s=7, attributes={"Temperature": 41}, load_values={"cpu": 5, "m_core": 2}
    )
    reading = sensors.read(now=1000.0)
    assert reading.load == LoadReading(one_minute=0.3, five_minutes=0.3, fifteen_minutes=0.3)
    assert reading.idleness == Idleness(keyboard_s=7, console_s=7)
    assert reading.attributes == {"Temperature": 41, "CellHostLoads": "cpu=5,m_core=2"}
    _sensors(tmp_path, load=[1, 2, 3], keyboard_used_at=900, console_idle_s=None, cpus=64, memory_mb=5, disk_kb=9)
    reading = sensors.read(now=1000.0)
    assert reading.load == LoadReading(one_minute=1.0, five_minutes=2.0, fifteen_minutes=3.0)
    assert reading.idleness == Idleness(keyboard_s=100, console_s=None)
    host = sensors.host()
    assert (host.cpus, host.memory_mb, host.filesystem_of(str(tmp_path)).free_kb) == (64, 5, 9)
    assert not sensors.problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting"),
        ("[]", "not a JSON object"),
        ('{"keybord_idle_s": 1}', "no reading 'keybord_idle_s'"),
        ('{"load": [1, 2]}', "load cannot be"),
        ('{"cpus": -1}', "cpus cannot be"),
        ('{"attributes": 3}', "attributes cannot be"),
    ],
)
def test_a_file_that_makes_no_sense_changes_nothing_and_is_told(tmp_path: Path, text: str, words: str) -> None:
    sensors = _sensors(tmp_path, keyboard_idle_s=5)
    assert sensors.read().idleness.keyboard_s == 5
    (tmp_path / "sensors.json").write_text(text)
    assert sensors.read().idleness.keyboard_s == 5
    assert words in sensors.problem
    (tmp_path / "sensors.json").unlink()
    assert sensors.read().idleness.keyboard_s == 5
    assert "No such file" in sensors.problem


def test_users_terminals_come_from_the_record_of_logins(tmp_path: Path) -> None:
    def entry(kind: int, line: bytes) -> bytes:
        return struct.pack("hi32s4s32s256s", kind, 1, line, b"1", b"user", b"").ljust(384, b"\0")

    path = tmp_path / "utmp"
    path.write_bytes(entry(7, b"pts/0") + entry(8, b"pts/1") + entry(7, b":0") + entry(7, b"tty1") + b"cut off")
    assert logged_in(path) == ["/dev/pts/0", "/dev/tty1"]
    assert logged_in(tmp_path / "absent") is None


def test_a_terminal_that_is_read_is_in_use() -> None:
    main, terminal = os.openpty()
    try:
        now = time.time() + 100
        name = os.ttyname(terminal).removeprefix("/dev/")
        assert any(90 <= idle_s <= 120 for idle_s in IdleDevices(console=(name,)).consoles_s(now))
        assert any(90 <= idle_s <= 120 for idle_s in IdleDevices(bad_utmp=True).terminals_s(now))
    finally:
        os.close(main)
        os.close(terminal)


def test_a_session_can_tell_that_its_user_is_active(tmp_path: Path) -> None:
    (tmp_path / "seat0").touch()
    os.utime(tmp_path / "seat0", (500.0, 500.0))
    assert 250.0 in IdleDevices(activity=(f"{tmp_path}/*",)).terminals_s(750.0)


@pytest.mark.parametrize("boost_s", [0, 900])
def test_a_keyboard_is_taken_to_have_been_left_alone_before_the_start_for_what_is_configured(
    boost_s: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = [7]
    monkeypatch.setattr(idle_devices, "controller_interrupts", lambda: count[0])
    text = f"CONSOLE_DEVICES = no-such-device\nSTARTUP_KEYBOARD_IDLE_BOOST = {boost_s}\n"
    devices = Sensors.configured(load_text(text, MemoryHost()), tmp_path).devices
    monkeypatch.setattr(IdleDevices, "_listened", lambda *_: None)
    assert devices.consoles_s(1000.0) == [boost_s]
    assert devices.consoles_s(1060.0) == [60 + boost_s]
    count[0] += 1
    assert devices.consoles_s(1070.0) == [0]
    assert devices.consoles_s(1080.0) == [10]


def test_benchmarks_say_how_fast_the_machine_is() -> None:
    mips, kflops = asyncio.run(run_benchmarks())
    assert mips is not None and mips > 10
    assert kflops is None or kflops > 1000


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no second file system")
def test_each_scratch_directory_has_the_disk_of_its_own_filesystem(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    reading = Sensors(execute=tmp_path, more=(other,)).host()
    for place in (tmp_path, other):
        device = place.stat().st_dev
        assert reading.filesystem_of(str(place)).name == f"{os.major(device)}:{os.minor(device)}"
