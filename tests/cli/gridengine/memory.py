"""A cell in memory in place of a pool: the queue's code for edits and the command, without processes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Final

import pytest
from tests.cli.condor.kit import Done, run
from tests.cli.gridengine.qconf_steps import Step

from roost.cli.gridengine import qconf, qconf_editing
from roost.cli.gridengine.entry import main
from roost.cli.pool_connection import Refused
from roost.gridengine.cell import Cell, write_cell
from roost.runtime.queue.cell import edits as cell_edits
from roost.wire.messages import Answer
from roost.wire.plain import PlainAnswer
from roost.wire.requests.cell import CellFile, ClearUsage, EditCell, ReadCell, UsageForgotten
from roost.wire.requests.central import Ads

#: The hosts whose addresses can be found.
HOSTS: Final = frozenset(("sgehub", "node1", "node2", "node3"))


class CellInMemory:
    """A pool as `qconf` sees it."""

    def __init__(self, cell: Cell, machines: tuple[str, ...] = ()) -> None:
        self.cell = cell
        self.machines = machines
        self.user = "root"
        #: How often it was changed.
        self.revision = 1

    def ask(self, request: Any) -> Any:
        """The answer to a request."""
        match request:
            case ReadCell():
                return [CellFile(name=name, text=text, revision=1) for name, text in write_cell(self.cell).items()]
            case Ads():
                return [{"Machine": name} for name in self.machines]
            case ClearUsage() if self.user in self.cell.managers:
                return UsageForgotten(accounts=1)
            case ClearUsage():
                text = f'denied: "{self.user}" must be manager for this operation'
                raise Refused(PlainAnswer(ok=False, text=text))
            case EditCell():
                managers, operators = self.cell.managers, self.cell.operators
                manages = self.user in managers
                rights = cell_edits.Rights(self.user, manages, manages or self.user in operators)
                done = cell_edits.edited(self.cell, request, rights)
                if isinstance(done, Answer):
                    return done.data
                self.cell = done.edited.cell
                self.revision += bool(done.changes)
                return done.reply(self.revision)
        raise AssertionError(request)


def used_by_qconf(pool: CellInMemory, patch: pytest.MonkeyPatch) -> None:
    """Make the pool the one that `qconf` asks, from the host sgehub."""
    patch.setattr(qconf, "ask", lambda name, work: work(pool))
    patch.setattr(qconf_editing, "host_name", lambda: "sgehub")
    patch.setattr(cell_edits, "host_name", lambda: "sgehub")
    patch.setattr(cell_edits, "account_name", lambda: "sgeadmin")
    for module in (cell_edits, qconf_editing):
        patch.setattr(module, "_resolves", HOSTS.__contains__)


def played(step: Step, place: Path, **environment: str) -> Done:
    """What Roost prints and returns."""
    for name, text in step.files.items():
        (place / name).write_text(text)
    editor = place / ".ed"
    (place / ".sed").write_text(step.edit)
    editor.write_text(f'#!/bin/sh\ntest -s {place}/.sed && exec sed -i -f {place}/.sed "$1"\nexit 0\n')
    editor.chmod(0o755)
    name, *words = shlex.split(step.words)
    done = run(name, *words, cwd=place, command=main, EDITOR=str(editor), SGE_SINGLE_LINE="1", **environment)
    for file in step.files:
        (place / file).unlink()
    return done
