"""``qping`` on a pool: what answers is told with the time since it has been up."""

from __future__ import annotations

import re

import pytest
from tests.cli.gridengine.kit import Desk, node

from roost.runtime.identity import host_name


def test_the_full_status_of_the_qmaster_and_of_a_machine(desk: Desk) -> None:
    for host, name in ((host_name(), "qmaster"), (node(desk.pool), "execd")):
        out = desk("qping", "-info", "-noalias", "-tcp", host, "6444", name, "1").out
        rows = dict(re.findall(r"^([^:\n]+):  +(.*)$", out, re.MULTILINE))
        assert (rows["status"], rows["info"], rows["Monitor"]) == ("0", "OK", "disabled")
        assert 0 <= int(rows["run time [s]"]) < 100_000
        assert rows["start time"].endswith(")")


def test_pings_are_repeated_until_they_are_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("roost.cli.gridengine.qping.time.sleep", wait)
    out = desk("qping", "-i", "3", host_name(), "6444", "qmaster", "1").out
    line = rf"\d\d/\d\d/\d{{4}} \d\d:\d\d:\d\d endpoint {host_name()}/qmaster/1 at port 6444 is up since \d+ seconds\n"
    assert re.fullmatch(line * 2, out)
    assert waited == [3, 3]
    waited.clear()
    assert desk("qping", "-f", host_name(), "6444", "qmaster", "1").out.count("SIRM version:             0.1\n") == 2
    assert waited == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("-info", "nosuch", "6444", "execd", "1"),
            'connection: no machine of the pool is called "nosuch"',
        ),
        (("-info", "nosuch", "6444", "qmaster", "1"), "no connection: the qmaster runs on "),
        (("x", "port", "qmaster", "1"), "endpoint x/qmaster/1 at port 0: no valid port number"),
        (("x", "1", "shadowd", "1"), "endpoint x/shadowd/1: a cell has components qmaster and execd"),
        (("-i", "0", "x", "1", "qmaster", "1"), '-i takes a number of seconds from 1 on, and not "0"'),
        ((), "usage: qping [options] host port name id"),
    ],
)
def test_what_does_not_answer_is_told(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    done = desk("qping", *arguments, status=1)
    assert words in done.out + done.err
