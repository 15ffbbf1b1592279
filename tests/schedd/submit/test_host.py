"""The real machine and the one made of dictionaries answer the same questions in the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.runtime.queue.submit_host import SystemSubmitHost
from roost.schedd.submit import FileKind, MemorySubmitHost, SubmitContext, SubmitHost, read_submission


@pytest.fixture(params=["real", "memory"])
def host(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SubmitHost:
    if request.param == "memory":
        return MemorySubmitHost(
            cwd="/home/me",
            files={"/home/me/a.dat": "two\nlines\n", "/home/me/d/x": "123", "/home/me/d/e/y": "4"},
            variables={"NAME": "value"},
        )
    (tmp_path / "a.dat").write_text("two\nlines\n")
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "x").write_text("123")
    (tmp_path / "d" / "e" / "y").write_text("4")
    monkeypatch.setenv("NAME", "value")
    return SystemSubmitHost(str(tmp_path))


def test_what_is_there(host: SubmitHost) -> None:
    assert host.kind_of("a.dat") is FileKind.FILE
    assert host.kind_of("d") is FileKind.DIRECTORY
    assert host.kind_of(f"{host.cwd}/d/x") is FileKind.FILE
    assert host.kind_of("nope") is None
    assert host.kind_of(".") is FileKind.DIRECTORY


def test_texts_and_sizes(host: SubmitHost) -> None:
    assert host.read_text("a.dat") == "two\nlines\n"
    assert host.read_text("d") is None
    assert host.read_text("nope") is None
    assert (host.size_of("a.dat"), host.size_of("d"), host.size_of("nope")) == (10, 4, None)


def test_patterns(host: SubmitHost) -> None:
    assert sorted(host.glob("*")) == ["a.dat", "d"]
    assert sorted(host.glob("d/*")) == ["d/e", "d/x"]
    assert host.glob("*.nope") == []
    assert host.glob(f"{host.cwd}/*.dat") == [f"{host.cwd}/a.dat"]


def test_the_environment_and_chance(host: SubmitHost) -> None:
    assert host.environment()["NAME"] == "value"
    assert {host.random_integer(1, 2) for _ in range(60)} == {1, 2}


def test_the_real_machine_runs_commands_where_the_user_is(tmp_path: Path) -> None:
    real = SystemSubmitHost(str(tmp_path))
    assert real.run_command("pwd; echo $((1 + 1))").output == f"{tmp_path}\n2\n"
    assert real.run_command("exit 3").status == 3
    assert real.run_command("nope-no-such-program").status == 127


def test_a_description_on_the_real_machine(tmp_path: Path) -> None:
    (tmp_path / "items").write_text("a\nb\n")
    text = "executable = /bin/sh\narguments = $(Item)\nqueue from items\nqueue from ls |\n"
    context = SubmitContext(host=SystemSubmitHost(str(tmp_path)), now=0, owner="me", uid_domain="here")
    found = read_submission(text, "x.sub", context)
    assert not found.findings
    assert [ad["Args"] for plan in found.clusters for ad in plan.ads()] == ["a", "b", "items"]
    assert found.clusters[0].common["Iwd"] == str(tmp_path)
