"""The faults: what is killed, stopped, filled or cut, at random, and undone again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.integration.kit import eventually
from tests.soak.machines import Machine, Site
from tests.soak.work import Work

#: Kind to how often it is chosen.
_WEIGHTS: Final = {
    "schedd": 10, "central": 6, "node": 12, "server": 6, "master": 6, "pair": 8, "machine": 4, "everything": 2,
    "shepherd": 6, "shepherds": 3, "fork-server": 4, "job": 6, "dagman": 6, "file-worker": 4, "stop": 8, "restart": 3,
    "disk": 4, "queue-disk": 2, "cut": 6, "long-cut": 1,
}  # fmt: skip
#: After these a run may begin again although its program ran to its end: nothing could know how it ended.
DESTROYING: Final = frozenset({"machine", "everything", "shepherd", "shepherds", "job", "disk", "long-cut"})
#: Longer than the lease of the jobs (40 s) and what the queue waits on top of it.
_LONG_CUT_S: Final = 60.0


@dataclass(slots=True)
class Faults:
    """Injects faults into a site, and remembers when."""

    site: Site
    work: Work
    chance: random.Random
    only: frozenset[str] = frozenset()
    done: Counter[str] = field(default_factory=Counter)
    #: (kind, machine, from, to) of each, in seconds since the epoch; the machine "" means all.
    history: list[tuple[str, str, float, float]] = field(default_factory=list)

    def inject(self) -> str:
        """Inject one fault and wait until it is over; what it was."""
        kinds = [kind for kind in _WEIGHTS if not self.only or kind in self.only]
        kind = self.chance.choices(kinds, [_WEIGHTS[kind] for kind in kinds])[0]
        began = time.time()
        what = _ACTIONS[kind](self)
        self.done[kind] += 1
        self.history.append((kind, what, began, time.time()))
        return f"{kind} {what}".strip()

    # -- processes ---------------------------------------------------------------------------------------

    def role(self, machine: Machine, role: str, *, wait: bool = True) -> str:
        """Kill a daemon, and wait for its successor."""
        old = machine.kill(role)
        if wait:
            self._back(machine, role, old)
        return machine.name

    def _back(self, machine: Machine, role: str, old: int) -> None:
        eventually(lambda: machine.pid(role) not in (0, old), lambda: f"a new {role}\n{machine.logs()}")

    def any_machine(self) -> Machine:
        return self.chance.choice(self.site.machines)

    def master(self) -> str:
        """Kill a master, and start it again sooner or later."""
        machine = self.chance.choice(self.site.all)
        machine.kill("master")
        time.sleep(self.chance.choice((0.0, 0.5, 3.0, 8.0)))
        self.up(machine)
        return machine.name

    def up(self, machine: Machine) -> None:
        """Start the daemons of a machine, as a user would: again if the first try is refused."""
        last: list[str] = []

        def started() -> bool:
            done = machine.try_("up", "-d")
            last.append(done.stdout + done.stderr)
            return done.returncode == 0

        eventually(started, lambda: f"a start of {machine.name}: {last[-1]}\n{machine.logs()}")

    def pair(self) -> str:
        """Kill two daemons at nearly the same time."""
        machine = self.any_machine()
        both = [(self.site.central, "schedd"), (self.site.central, "central"), (machine, "node")]
        killed = [(where, role, where.kill(role)) for where, role in self.chance.sample(both, 2)]
        for where, role, old in killed:
            self._back(where, role, old)
        return machine.name

    def machine(self) -> str:
        """Kill every process of an execute machine at once, as a loss of power does."""
        machine = self.any_machine()
        self._all_of(machine)
        time.sleep(self.chance.choice((0.5, 3.0)))
        self.up(machine)
        return machine.name

    def everything(self) -> str:
        """Kill every process of all machines, and the message servers."""
        for machine in self.site.all:
            self._all_of(machine)
        for number in range(3):
            self.site.kill_server(number)
        time.sleep(0.5)
        for number in range(3):
            self.site.start_server(number)
        for machine in self.site.all:
            self.up(machine)
        return ""

    def _all_of(self, machine: Machine) -> None:
        for _ in range(5):
            for pid, words in machine.processes().items():
                self._kill(pid, words)

    def _kill(self, pid: int, words: str = "") -> None:
        self.work.was_killed(words)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def server(self) -> str:
        """Kill one of the message servers, and start it again."""
        number = self.chance.randrange(3)
        self.site.kill_server(number)
        time.sleep(self.chance.uniform(0.0, 3.0))
        self.site.start_server(number)
        return ""

    def family(self, kind: str) -> str:
        """Kill a fork server, a shepherd, all shepherds, or a job of a machine."""
        machine = self.chance.choice(self.site.all if kind == "fork-server" else self.site.machines)
        found = machine.processes()
        serving = {pid for pid, words in found.items() if "shepherd.serve" in words}
        fork_servers = serving & {_parent(pid) for pid in serving}
        pids = {
            "fork-server": fork_servers,
            "shepherd": serving - fork_servers,
            "shepherds": serving - fork_servers,
            "job": {pid for pid, words in found.items() if "/bin/sh" in words and "condor_exec" in words}
            or {pid for pid, words in found.items() if "/bin/sh" in words},
        }[kind]
        chosen = sorted(pids)
        if chosen and kind in ("shepherd", "job"):
            chosen = [self.chance.choice(chosen)]
        for pid in chosen:
            self._kill(pid, found[pid] if kind == "job" else "")
        return machine.name

    def among(self, words: str) -> str:
        """Kill a process of the central machine by what stands in its command line."""
        found = [pid for pid, line in self.site.central.processes().items() if words in line]
        if found:
            self._kill(self.chance.choice(sorted(found)))
        return "central"

    def stop(self) -> str:
        """Stop a daemon for some seconds, as a machine that swaps does."""
        machine, role = self.chance.choice(
            [(self.site.central, "schedd"), (self.site.central, "central"), (self.any_machine(), "node")]
        )
        pid = machine.pid(role)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.chance.uniform(0.5, 12.0))
            os.kill(pid, signal.SIGCONT)
        return machine.name

    def restart(self) -> str:
        """Take the daemons of a machine down in an orderly way, with its jobs left running, and start them again."""
        machine = self.chance.choice(self.site.all)
        machine.try_("down", "--leave-jobs")
        self.up(machine)
        return machine.name

    # -- disks and networks ------------------------------------------------------------------------------

    def disk(self, machine: Machine) -> str:
        """Fill the disk of the daemons of a machine for some seconds."""
        filler = machine.home / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        time.sleep(self.chance.uniform(0.5, 5.0))
        filler.unlink()
        return machine.name

    def cut(self, seconds: float) -> str:
        """Take a machine off the network for that long."""
        machine = self.any_machine()
        self.site.cut(machine, "down")
        time.sleep(seconds)
        self.site.cut(machine, "up")
        return machine.name


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


_ACTIONS: Final[dict[str, Callable[[Faults], str]]] = {
    "schedd": lambda faults: faults.role(faults.site.central, "schedd"),
    "central": lambda faults: faults.role(faults.site.central, "central"),
    "node": lambda faults: faults.role(faults.any_machine(), "node"),
    "server": Faults.server,
    "master": Faults.master,
    "pair": Faults.pair,
    "machine": Faults.machine,
    "everything": Faults.everything,
    "shepherd": lambda faults: faults.family("shepherd"),
    "shepherds": lambda faults: faults.family("shepherds"),
    "fork-server": lambda faults: faults.family("fork-server"),
    "job": lambda faults: faults.family("job"),
    "dagman": lambda faults: faults.among("dagman"),
    "file-worker": lambda faults: faults.among("runtime.files.worker"),
    "stop": Faults.stop,
    "restart": Faults.restart,
    "disk": lambda faults: faults.disk(faults.any_machine()),
    "queue-disk": lambda faults: faults.disk(faults.site.central),
    "cut": lambda faults: faults.cut(faults.chance.uniform(1.0, 12.0)),
    "long-cut": lambda faults: faults.cut(_LONG_CUT_S),
}
