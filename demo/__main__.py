"""``make demo``: a pool on this machine, whose owner comes and goes, and what becomes of a job there.

The pool is real, and lives in a temporary directory; only keyboard and load come from a file, because the owner is an
actor. What is shown is what the pool writes itself: the event log of the jobs and the record of the slot. The curtain
falls when the job has finished; nothing is left behind.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from roost.cli.colour import painted
from roost.cli.happenings import lines
from roost.explain.happenings import Happening, of_event, of_records
from roost.model.slot_transition import SlotTransition
from roost.schedd.event_log.log import LogReader
from roost.wire.structs import read

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
#: How long each turn of the story may take, s; far more than it does.
PATIENCE_S = 90.0
#: What happens is shown this much later, in the order in which it happened, s.
BEHIND_S = 1.3


class Demo:
    """A pool with an audience."""

    def __init__(self, stage: Path) -> None:
        self.home = stage / "pool"
        self.work = stage / "work"
        self.environment = {**os.environ, "ROOST_HOME": str(self.home), "COLUMNS": os.environ.get("COLUMNS", "100")}
        # Keyboard and load come from a file, because this owner is an actor.
        self.environment["ROOST_SENSORS_FILE"] = str(self.home / "sensors.json")
        self.watcher = Watcher(self.home, self.work)

    # -- acting --------------------------------------------------------------------------------------

    def owner(self, what: str, *, idle_s: float | None = None, last_key: float | None = None) -> None:
        """The owner does something, and sensors see it."""
        seen = {"load": 0.05} | ({"keyboard_used_at": last_key} if idle_s is None else {"keyboard_idle_s": idle_s})
        fresh = self.home / "sensors.new"
        fresh.write_text(json.dumps(seen), encoding="utf-8")
        fresh.replace(self.home / "sensors.json")
        if what:
            self.watcher.show(Happening(time.time(), "the owner", what, kind="owner"))

    def roost(self, *words: str) -> int:
        """Run a command as a user would, and show it."""
        print(painted(f"\n$ roost {shlex.join(words)}", "bold"), flush=True)
        self.watcher.fresh = True
        done = subprocess.run(
            [sys.executable, "-m", "roost.cli", *words], cwd=self.work, env=self.environment, check=False
        )
        return done.returncode

    def act(self, title: str) -> None:
        """Print a heading."""
        print(painted(f"\n\N{BLACK RIGHT-POINTING TRIANGLE} {title}", "yellow"), flush=True)
        self.watcher.fresh = True

    # -- the play ------------------------------------------------------------------------------------

    def play(self) -> None:
        """All acts. Raises TimeoutError where the story does not go on."""
        watch = self.watcher.until
        self.act("A desktop is shared while its owner is away. Its policy, with times for a demonstration:")
        print()
        for line in self.home.joinpath("roost.config").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                print(f"    {line}")
        self.owner("", last_key=time.time() - 600)
        if self.roost("up", "--detach"):
            raise TimeoutError("the pool did not come up")
        self.act("The owner has been away for ten minutes. A user submits jobs.")
        for name in ("hello.sub", "count.sub", "sweep.sub"):
            if self.roost("submit", name):
                raise TimeoutError(f"{name} was not submitted")
        watch("job 2.0", "started")
        self.watcher.rest(4)
        self.act("The owner comes back for a moment. The job has to be suspended at once.")
        self.owner("presses a key, and goes away again", last_key=time.time())
        watch("job 2.0", "suspended")
        watch("job 2.0", "resumed")
        self.watcher.rest(4)
        self.act("The owner comes back, and stays. The job is suspended, then evicted; its files return with it.")
        self.owner("sits down and types", idle_s=0)
        watch("job 2.0", "evicted")
        self.watcher.rest(1.5)
        self.act("Why does the job not run?")
        self.roost("explain", "job", "2.0")
        self.act("And what would the owner's machine have to see?")
        self.roost("explain", "slot", "slot1", "--job", "2.0")
        self.act("The owner goes home.")
        self.owner("goes home", last_key=time.time())
        watch("job 2.0", "started")
        watch("job 2.0", "finished")
        watch("job 3.2", "finished")
        self.act("All is done. What was that, with the job's own words?")
        self.roost("story", "job", "2.0")
        print(painted("\n$ cat count.out", "bold"))
        print((self.work / "count.out").read_text(encoding="utf-8"), end="", flush=True)
        self.roost("history")


class Watcher:
    """Shows what happens, as the pool writes it down."""

    def __init__(self, home: Path, work: Path) -> None:
        self._records = home / "log" / "transitions.jsonl"
        self._logs = {work / f"{name}.log": LogReader() for name in ("hello", "count", "sweep")}
        self._positions: dict[Path, int] = {}
        self._waiting: list[Happening] = []
        self._shown: list[Happening] = []
        self._from = 0
        #: Something else was printed last.
        self.fresh = True

    def show(self, told: Happening) -> None:
        """Something that the pool does not record."""
        self._waiting.append(told)

    def until(self, who: str, what: str) -> None:
        """Watch until that has happened. Raises TimeoutError."""

        def seen() -> bool:
            for at in range(self._from, len(self._shown)):
                told = self._shown[at]
                if told.who == who and told.what.startswith(what):
                    self._from = at + 1
                    return True
            return False

        self._watch(seen)

    def rest(self, seconds: float) -> None:
        """Watch for a while."""
        until = time.monotonic() + seconds
        self._watch(lambda: time.monotonic() > until)

    def _watch(self, enough: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not enough():
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing has happened for {PATIENCE_S:g} s")
            time.sleep(0.1)
            self._waiting += self._news()
            # Logs have whole seconds: within one, the cause comes first.
            self._waiting.sort(key=lambda told: (int(told.at), {"owner": 0, "slot": 1}.get(told.kind, 2)))
            while self._waiting and int(self._waiting[0].at) + 1 + BEHIND_S - 1 < time.time():
                told = self._waiting.pop(0)
                self._shown.append(told)
                self._print(told)

    def _print(self, told: Happening) -> None:
        if self.fresh:
            self.fresh = False
            print()
        colour = {"owner": "blue", "job": "green"}.get(told.kind, "dim")
        for line in lines(told, wide=10):
            print(painted(line, colour))
        sys.stdout.flush()

    def _news(self) -> Iterator[Happening]:
        lines = self._fresh(self._records).splitlines()
        records = [read(SlotTransition, json.loads(line), "record", strict=False) for line in lines]
        # The slot speaks where it has a reason; the rest is in the job's own log.
        yield from (told for told in of_records(records) if told.why)
        for path, reader in self._logs.items():
            for event in reader.feed(self._fresh(path)):
                told = of_event(event)
                if told is not None:
                    yield told

    def _fresh(self, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                file.seek(self._positions.get(path, 0))
                text = file.read()
        except OSError:
            return b""
        if path == self._records:
            # A line that is being written is left for the next time.
            text = text[: text.rfind(b"\n") + 1]
        self._positions[path] = self._positions.get(path, 0) + len(text)
        return text


def main() -> int:
    """Play; 0 if all went as told."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    stage = Path(tempfile.mkdtemp(prefix="roost-demo-"))
    demo = Demo(stage)
    demo.home.mkdir(mode=0o700)
    shutil.copy(HERE / "desktop.config", demo.home / "roost.config")
    shutil.copytree(EXAMPLES, demo.work)
    problem = ""
    try:
        demo.play()
    except TimeoutError as late:
        problem = str(late)
    except KeyboardInterrupt:
        problem = "it was interrupted"
    finally:
        demo.roost("down", "--fast")
    print()
    if problem:
        print(f"The play has stopped: {problem}. The stage is left in {stage}", file=sys.stderr)
        return 1
    shutil.rmtree(stage, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
