"""Grid Engine's commands as a user types them, on a real pool with a cell, and what Grid Engine 8.1.9 printed."""

from __future__ import annotations

import getpass
import re
from pathlib import Path

from tests.cli.condor.kit import Done, run
from tests.integration.kit import Pool
from tests.integration.test_cell_jobs import cell, node

from roost.cli.gridengine.entry import main

__all__ = ["Desk", "Done", "cell", "node"]

ME = getpass.getuser()
#: A user that every machine has, and no person is.
USER = "nobody"


class Desk:
    """A pool with a cell, and somebody before it who knows Grid Engine."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.home = pool.place / "user"
        self.home.mkdir(exist_ok=True)
        self.root = pool.place / "root"

    def __call__(self, name: str, *arguments: str, status: int | None = 0, text: str = "", **environment: str) -> Done:
        given = {"ROOST_HOME": str(self.pool.home), "HOME": str(self.home), "SGE_ROOT": str(self.root), **environment}
        done = run(name, *arguments, text=text, cwd=self.pool.work, command=main, PWD=str(self.pool.work), **given)
        assert status is None or done.status == status, (name, arguments, done, self.pool.logs())
        return done

    def qsub(self, *arguments: str, text: str = "") -> int:
        """Submit; the number of the job."""
        out = self("qsub", *arguments, text=text).out
        found = re.match(r"(?:Your job(?:-array)? )?(\d+)", out)
        assert found, out
        return int(found[1])

    def script(self, name: str, *lines: str) -> Path:
        """A script in the directory of the user."""
        path = self.pool.work / name
        path.write_text("\n".join(("#!/bin/sh", *lines, "")))
        return path

    def plain(self, text: str, *jobs: int) -> str:
        """A text with the jobs as J1, J2…, times as dates of the transcripts, and the machine as node1.

        What stands in their place is as long as they may be in tables.
        """
        for at, job in enumerate(jobs, 1):
            text = re.sub(rf"^{job:>7} ", f"{f'J{at}':>7} ", text, flags=re.MULTILINE)
            text = text.replace(f"<JB_job_number>{job}<", f"<JB_job_number>J{at}<")
        text = re.sub(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", "11/21/2026 06:54:46", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "2026-11-21T06:54:46", text)
        name = f"all.q@{node(self.pool)}"
        text = text.replace(f"{name:<30.30}", f"{'all.q@node1':<30}")
        return text.replace(name, "all.q@node1").replace(f" {ME:<12.12}", f" {'alice':<12}")
