"""The two examples of work sources, each drained by a pool of which one part after another is killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.kit import ROOT, Pool, eventually

ITEMS = 16
SETTINGS = "LEASE_S=3\n"


class Source:
    """A work source, copied from the examples as a user would."""

    def __init__(self, place: Path, name: str, keyword: str) -> None:
        for each in ("fetch-sqlite", name):
            shutil.copytree(ROOT / "examples" / each, place / each, dirs_exist_ok=True)
            (place / each / "settings").write_text(SETTINGS)
        (place / name / "settings").write_text(f"{SETTINGS}DATABASE={place}/fetch-sqlite/work/work.db\n")
        self.place = place
        self.queue = place / "fetch-sqlite" / "workqueue.py"
        self.hooks = place / name
        self.config = f"{keyword}_DIR = {self.hooks}\ninclude : $({keyword}_DIR)/roost.config\n"
        self.server: subprocess.Popen[bytes] | None = None

    def ask(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, self.queue, *words], capture_output=True, text=True, check=True, timeout=30
        )
        return done.stdout

    def serve(self) -> None:
        """Start the server, if there is one; where it was before, if it was somewhere."""
        url, program = self.hooks / "url", self.hooks / "server.py"
        if program.exists():
            port = url.read_text().strip().rpartition(":")[2] if url.exists() else "0"
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
            self.server = subprocess.Popen([sys.executable, program, port], env=environment)
            eventually(url.exists, "the server")

    def end(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait()

    def status(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.ask("status"))
        return found


def shot(pool: Pool, words: str, within_s: float = 3.0, *, parent: bool = False) -> bool:
    """Kill the first process that has these words in its command line, or its parent; whether there came to be one."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        for pid, command in pool.processes().items():
            if words in command and "server.py" not in command:
                try:
                    if parent:
                        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                except (OSError, ValueError):
                    continue
                if pid > 1:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        return True
    return False


def hook(source: Source, name: str, *words: str, told: str = 'Name = "slot1@here"\n', cwd: Path) -> str:
    """Run a hook as a machine would; what it printed."""
    done = subprocess.run(
        [source.hooks / name, *words], input=told, cwd=cwd, capture_output=True, text=True, timeout=30, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["fetch-sqlite", "fetch-http"])
def test_results_of_every_kind_settle_their_items(tmp_path: Path, name: str) -> None:
    if name == "fetch-http" and shutil.which("curl") is None:
        pytest.skip("its hooks need curl")
    source = Source(tmp_path, name, "ANY")
    for _ in range(2):
        source.ask("add", "/bin/true")
    source.serve()
    try:
        (tmp_path / "result").write_bytes(b"no text: \xff\n")
        ends = "ExitBySignal = false\nExitCode = 0\n"
        hook(source, "job_exit", "exit", told=hook(source, "fetch_work", cwd=tmp_path) + ends, cwd=tmp_path)
        # A job that has removed its result is at fault, and tried again.
        (tmp_path / "result").unlink()
        hook(source, "job_exit", "exit", told=hook(source, "fetch_work", cwd=tmp_path) + ends, cwd=tmp_path)
        assert source.status() == {"waiting": 1, "out": 0, "done": 1, "failed": 0}
        # Jobs of others may have the same hooks.
        for each in ("job_exit", "evict_claim", "update_job_info"):
            hook(source, each, "exit", told='Cmd = "/bin/true"\n', cwd=tmp_path)
        if source.server is not None:
            (tmp_path / "result").write_bytes(b"." * 2_000_000)
            hook(source, "job_exit", "exit", told=hook(source, "fetch_work", cwd=tmp_path) + ends, cwd=tmp_path)
            assert source.status() == {"waiting": 1, "out": 0, "done": 1, "failed": 0}
    finally:
        source.end()


@pytest.mark.parametrize(("name", "keyword"), [("fetch-sqlite", "WORK"), ("fetch-http", "WEB")])
def test_every_item_is_done_exactly_once_whatever_is_killed(
    start: Callable[..., Pool], tmp_path: Path, name: str, keyword: str
) -> None:
    if name == "fetch-http" and shutil.which("curl") is None:
        pytest.skip("its hooks need curl")
    place = tmp_path / "examples"
    place.mkdir(mode=0o755)
    source = Source(place, name, keyword)
    for number in range(ITEMS):
        source.ask("add", "/bin/sh", "-c", f": drained; sleep 0.{number % 10}; echo \"result 'of' {number}\"")
    source.serve()
    try:
        pool = start(
            source.config + 'FetchWorkDelay = ifThenElse(State == "Claimed" && Activity == "Idle", 0, 1)\n', cpus=3
        )
        _kill_parts(pool, source)
        eventually(
            lambda: source.status() == {"waiting": 0, "out": 0, "done": ITEMS, "failed": 0}, "all to be done", 60
        )
    finally:
        source.end()
    results = [json.loads(line) for line in source.ask("results").splitlines()]
    assert results == [{"item": n + 1, "result": f"result 'of' {n}\n"} for n in range(ITEMS)]


def _kill_parts(pool: Pool, source: Source) -> None:
    """Each part once, some more often, in an order of chance."""
    chance = random.Random(7)
    hooks = [f"{source.hooks}/{each}" for each in ("fetch_work", "job_exit", "reply_fetch")]
    parts: list[Callable[[], object]] = [
        *(lambda hook=hook: shot(pool, hook) for hook in hooks),  # type: ignore[misc]
        lambda: shot(pool, ": drained"),
        lambda: shot(pool, ": drained", parent=True),
        lambda: pool.kill("node"),
        lambda: _restarted(source),
        lambda: shot(pool, hooks[1]),
        lambda: pool.kill("node"),
    ]
    chance.shuffle(parts)
    for part in parts:
        part()
        time.sleep(chance.uniform(0, 0.2))


def _restarted(source: Source) -> None:
    if source.server is not None:
        source.end()
        time.sleep(0.5)
        source.serve()
