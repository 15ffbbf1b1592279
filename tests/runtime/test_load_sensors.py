"""What load sensors print, and sensors that hang: they are killed, forgotten and started again."""

from __future__ import annotations

import asyncio
import getpass
import os
from pathlib import Path

import pytest

from roost.model.cell_requests import GLOBAL_LOADS, LOAD_SENSORS, LOADS
from roost.runtime.node import load_sensors
from roost.runtime.node.load_sensors import LINE_CHARS_MAX, VALUES_MAX, LoadSensors, SensorText
from tests.runtime.kit import Place, eventually, run


def test_a_block_counts_once_it_is_whole(caplog: pytest.LogCaptureFixture) -> None:
    text = SensorText("/s")
    text.take(b"noise\nbegin\na:x:1\ngarb")
    assert (text.values, text.blocks) == ({}, 0)
    text.take(b"age\nglobal:l:2:3\na:bad name:1\nend\nbegin\na:x:9\n")
    assert (text.values, text.blocks) == ({("a", "x"): "1", ("global", "l"): "2:3"}, 1)
    assert [each for each in caplog.messages if "format error" in each] == [
        'format error from loadsensor "/s". Received: "garbage"',
        'format error from loadsensor "/s". Received: "a:bad name:1"',
    ]
    text.take(b"end\n")
    assert text.values == {("a", "x"): "9"}


def test_what_a_sensor_may_print_is_limited() -> None:
    with pytest.raises(ValueError, match=f"more than {LINE_CHARS_MAX}"):
        SensorText("/s").take(b"x" * (LINE_CHARS_MAX + 1))
    lines = "".join(f"a:n{number}:1\n" for number in range(VALUES_MAX))
    whole = SensorText("/s")
    whole.take(f"begin\n{lines}".encode())
    with pytest.raises(ValueError, match=f"more than {VALUES_MAX}"):
        whole.take(b"a:more:1\n")


HANGING = """\
#!/bin/sh
echo started >> {0}
read line
printf 'begin\\nnode1.org:x:1\\nglobal:l:2\\nnode2:x:9\\nend\\n'
read line
exec sleep 600
"""


def test_one_that_hangs_is_killed_and_its_values_are_forgotten(
    one_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_sensors, "HANGS_S", 1.5)
    path, starts = one_place.path / "sensor", one_place.path / "starts"
    path.write_text(HANGING.format(starts))
    path.chmod(0o755)
    execute = one_place.path / "execute"
    execute.mkdir(mode=0o755)

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            tasks = []

            def spawn(life: object) -> asyncio.Task[None]:
                tasks.append(asyncio.ensure_future(life))  # type: ignore[call-overload]
                return tasks[-1]

            admitted: list[Path] = []
            sensors = LoadSensors(
                execute, lambda: fork_server, spawn, user=getpass.getuser, admit=admitted.append, changed=lambda: None
            )
            assert sensors.ads == ()
            sensors.configure(f"1 NODE1 {path}")
            await eventually(lambda: any(LOADS in each.attributes for each in sensors.ads))
            attributes = sensors.ads[0].attributes
            shown = [attributes[name] for name in (LOAD_SENSORS, LOADS, GLOBAL_LOADS)]
            assert shown == [f"1 NODE1 {path}", "x=1", "l=2"]
            await eventually(lambda: LOADS not in sensors.ads[0].attributes)
            await eventually(lambda: len(starts.read_text().split()) == 2)
            sensors.configure("")
            assert admitted == []
            if os.geteuid() == 0:
                # Another account has to be let into the directory of the calls first.
                others = LoadSensors(
                    execute,
                    lambda: fork_server,
                    spawn,
                    user=lambda: "nobody",
                    admit=admitted.append,
                    changed=lambda: None,
                )
                others.configure(f"1 NODE1 {path}")
                await eventually(lambda: admitted[:1] == [execute])
                others.configure("")
            assert sensors.ads == ()
            await asyncio.wait(tasks)

    run(work())
    assert not list(execute.iterdir())
