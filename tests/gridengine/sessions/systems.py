"""The two systems that play a session: a real cell of Grid Engine, and a pool of Roost in hosts of its own."""

from __future__ import annotations

import subprocess
import time
from typing import Final, Protocol

from tests.transcripts.world import HUB, World

#: What a user's jobs are: they end with the status that a file names, and keep nothing of the processor.
JOB: Final = """#!/bin/sh
end=/tmp/ends/$JOB_ID.$SGE_TASK_ID
until [ -s $end ]; do sleep 0.3; done
status=$(cat $end)
rm -f $end
exit $status
"""
#: Before each session, by root: scripts of the users, and a scheduler that runs when it is told to.
PREPARED: Final = f"""
rm -rf /tmp/ends; mkdir -m 777 /tmp/ends
for home in /home/alice /home/bob; do
    cat > $home/job.sh <<'EOT'
{JOB}EOT
    chmod 755 $home/job.sh
done
for at in 1 2 3; do echo 0.${{at}}0 > /srv/sge-lab/fakeload.node$at; done
qconf -mattr hostgroup hostlist 'node1 node2 node3' @allhosts
"""


class System(Protocol):
    """Where commands are typed."""

    def run(self, user: str, command: str) -> tuple[list[str], int]:
        """What a shell command prints on the hub, and its exit status."""

    def nudge(self) -> None:
        """Let the scheduler run."""

    def reset(self) -> None:
        """Bring back the cell of the start, without jobs."""


class GridEngine:
    """A cell of Grid Engine, which the program `cell` runs: ``cell run HOST USER -- COMMAND``, ``cell reset``."""

    def __init__(self, program: str) -> None:
        self._program = program

    def run(self, user: str, command: str) -> tuple[list[str], int]:
        done = subprocess.run(
            [self._program, "run", HUB, user, "--", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120, check=False,
        )  # fmt: skip
        return done.stdout.splitlines(), done.returncode

    def nudge(self) -> None:
        self.run("root", "qconf -tsm")
        time.sleep(0.5)

    def reset(self) -> None:
        subprocess.run([self._program, "reset"], check=True, stdout=subprocess.DEVNULL)
        self.run("root", PREPARED)
        self.run("root", "setsched schedule_interval=0:10:0 flush_submit_sec=0 flush_finish_sec=0")
        await_loads(self)


class Roost:
    """A pool, whose scheduler runs by itself whenever something has changed."""

    def __init__(self, world: World) -> None:
        self._world = world

    def run(self, user: str, command: str) -> tuple[list[str], int]:
        return self._world.run(HUB, user, command)

    def nudge(self) -> None:
        time.sleep(0.2)

    def reset(self) -> None:
        self._world.reset()
        self.run("root", PREPARED)
        await_loads(self)


def await_loads(system: System) -> None:
    """Wait until each host reports the load of its file."""
    wait = (
        "for host in node1 node2 node3; do value=$(cat /srv/sge-lab/fakeload.$host);"
        ' for at in $(seq 60); do qhost -F np_load_avg -h $host | grep -q "np_load_avg=$value" && break;'
        " sleep 0.3; done; done"
    )
    system.run("root", wait)
