"""The Grid Engine cell of a replay: installed in the real queue before time starts, and changed by the scenario's
orders.

Programs that the cell names are stand-ins that take as long as the scenario says. They, and `qmod` and `qconf` of the
scenario, call the queue's own handlers as the user that the scenario names.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from roost.gridengine.cell import write_cell
from roost.lab.machines import LabError
from roost.lab.replay.jobs import StandIns
from roost.lab.replay.queue import ReplaySchedd
from roost.lab.scenario.cell_actions import check_outcomes, qmod_orders
from roost.lab.scenario.values import ScenarioCommand, ScheduledAction
from roost.schedd.events import Action
from roost.schedd.identifiers import JobId
from roost.wire.messages import Answer
from roost.wire.requests.cell import ChangeCell, ChangeInstances, EditCell, EditedCell

if TYPE_CHECKING:
    from roost.sim.cell import CellPlan

#: Attributes whose values name programs.
_PROGRAMS: Final = re.compile(r"^(prolog|epilog|start_proc_args|stop_proc_args)\s.*$", re.MULTILINE)
_PATH: Final = re.compile(r"(?:(?P<user>[\w-]+)@)?(?P<path>/[^\s,\]]+)")
#: A program that does nothing needs no stand-in.
_NOTHING: Final = "/bin/true"


class CellPool(Protocol):
    """The interface of the pool for its cell."""

    #: Job of the scenario to its id.
    ids: dict[str, JobId]
    jobs: StandIns
    schedd: ReplaySchedd

    def act(self, action: Action, jobs: tuple[JobId, ...], *, reason: str = "") -> None:
        """Perform an action on jobs in the queue."""


class ReplayCell:
    """The cell of one scenario."""

    def __init__(self, pool: CellPool, plan: CellPlan, folder: Path) -> None:
        self._pool = pool
        self._plan = plan
        self._folder = folder
        folder.mkdir(mode=0o755, exist_ok=True)

    async def give(self, superuser: str) -> None:
        """Install it in the queue. Raises LabError."""
        put = {name: _PROGRAMS.sub(self._stood_in, text) for name, text in write_cell(self._plan.cell).items()}
        answer = await self._pool.schedd.answers.cell.change(ChangeCell(revision=0, put=put), superuser)
        if not answer.ok:
            raise LabError(f"the queue rejected the cell: {answer.text}")

    def _stood_in(self, line: re.Match[str]) -> str:
        return _PATH.sub(self._program, line[0])

    def _program(self, found: re.Match[str]) -> str:
        user, path = found["user"] or "", found["path"]
        if path == _NOTHING:
            return found[0]
        name = path.rpartition("/")[2]
        program = self._folder / f"{user or 'owner'}.{name}"
        program.write_text(
            f"#!{sys.executable} -IS\nimport os, socket, sys\n"
            f"line = socket.socket(socket.AF_UNIX)\nline.connect({str(self._pool.jobs.path)!r})\n"
            "told = [os.environ.get(name, 'none') for name in ('HOSTNAME', 'QUEUE', 'JOB_ID', 'SGE_TASK_ID', "
            "'SGE_O_LOGNAME')]\n"
            f"line.sendall(' '.join(['program', str(os.getpid()), {name!r}, {user!r} or told[-1], *told, chr(10)])"
            ".encode())\nanswer = b''\n"
            "while piece := line.recv(65536):\n    answer += piece\nsys.exit(int(answer or b'1'))\n"
        )
        program.chmod(0o755)
        return f"{user}@{program}" if user else str(program)

    async def do(self, action: ScheduledAction, superuser: str) -> None:
        """Carry out an order. Raises LabError for one that is refused."""
        user = action.user or superuser
        if action.order is ScenarioCommand.QCONF:
            status, text = await self.qconf(action.how, user)
            if status:
                raise LabError(f"qconf {action.how}: {text}")
            return
        for order in qmod_orders(action.how, self._pool.ids):
            if order.action is not None:
                asked = ChangeInstances(action=order.action.value, names=(order.queue,))
                answer = await self._pool.schedd.answers.cell.change_instances(asked, user)
                rows = answer.data if isinstance(answer.data, list) else []
                check_outcomes(((row["name"], row["outcome"]) for row in rows), user)
            else:
                assert order.job_action is not None
                jobs = order.jobs or tuple(self._in_queue(order.queue))
                self._pool.act(order.job_action, tuple(self._pool.ids[name] for name in jobs))

    def _in_queue(self, queue: str) -> list[str]:
        """The jobs that are running in a queue or queue instance of that name."""
        found = []
        for name, job in self._pool.ids.items():
            cluster = self._pool.schedd.queue.book.clusters.get(job.cluster)
            task = None if cluster is None else cluster.ad_of(job.proc).get("CellTask")
            instance = str(task.get("Instance")) if task is not None and hasattr(task, "get") else ""
            if queue in (instance, instance.partition("@")[0]):
                found.append(name)
        return found

    async def qconf(self, line: str, user: str) -> tuple[int, str]:
        """Carry out `qconf` as a user; returns its exit status and output."""
        option, *words = shlex.split(line)
        asked = EditCell(option=option.removeprefix("-"), words=tuple(words), hosts=())
        answer: Answer = await self._pool.schedd.answers.cell.edit(asked, user)
        if not answer.ok:
            return 1, answer.text
        edited = answer.data
        assert isinstance(edited, EditedCell), "the request says what its answer has"
        return edited.status, "; ".join(each.text for each in edited.lines)
