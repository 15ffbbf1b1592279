"""Changes of a cell as they are typed, and what Grid Engine 8.1.9 printed and returned for each.

data/qconf.json has both. `python -m tests.cli.gridengine.qconf_steps CELL [SECTION...]` plays the steps on a running
cell, through the program CELL that starts commands in it (``CELL run sgehub root -- COMMAND``; ``CELL reset``), and
writes again what it said. Each section begins with the cell of tests/gridengine/data/plain. The tests play the same
steps on Roost.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

RECORDED: Final = Path(__file__).parent / "data" / "qconf.json"


class Step(NamedTuple):
    """One command, and what became of it."""

    words: str
    out: str
    err: str
    status: int
    user: str = "root"
    #: Files next to it, by name.
    files: dict[str, str] = {}  # noqa: RUF012
    #: What `sed` does with the text that comes into the editor.
    edit: str = ""


def sections() -> dict[str, list[Step]]:
    """The steps by section."""
    return {name: [Step(**row) for row in rows] for name, rows in json.loads(RECORDED.read_text()).items()}


#: Where the steps are taken, and the editor: the file changes a second later, as Grid Engine looks at its time.
_PREPARED: Final = """mkdir -p /tmp/q; chmod 777 /tmp/q; cd /tmp/q; rm -f *
printf '#!/bin/sh\\nsleep 1.1\\ntest -s /tmp/q/.sed && exec sed -i -f /tmp/q/.sed "$1"\\nexit 0\\n' > .ed; chmod 755 .ed
"""
_ENVIRONMENT: Final = "cd /tmp/q; export EDITOR=/tmp/q/.ed SGE_SINGLE_LINE=1"


def _preparation(step: Step) -> str:
    files = {**step.files, ".sed": step.edit}
    lines = (f"printf %s {shlex.quote(text)} > {name}; chmod 666 {name}\n" for name, text in files.items())
    return _PREPARED + "".join(lines)


def without_usage(text: str) -> str:
    """What was said, with a word for the list of all options."""
    return re.sub(r"SGE 8\.1\.9\nusage: .*?simultaneously running tasks\n", "(usage)\n", text, flags=re.DOTALL)


def play(cell: str, steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Play a section on a running cell: rows of the file."""

    def run(user: str, line: str, text: str = "") -> subprocess.CompletedProcess[str]:
        words = [cell, "run", "sgehub", user, "--", line]
        return subprocess.run(words, input=text, text=True, capture_output=True, check=False)

    subprocess.run([cell, "reset"], check=True, capture_output=True)
    rows = []
    for step in steps:
        run("root", "bash -s", _preparation(step)).check_returncode()
        done = run(step.user, f"{_ENVIRONMENT}; {step.words}")
        row: dict[str, Any] = {"words": step.words, "user": step.user, "files": step.files, "edit": step.edit}
        given = {name: value for name, value in row.items() if value and value != "root"}
        said = {"out": without_usage(done.stdout), "err": without_usage(done.stderr), "status": done.returncode}
        rows.append({**given, **said})
    return rows


def record(cell: str, names: Sequence[str]) -> None:
    """Play sections, all by default, and write what was said."""
    for name in names or sections():
        found = json.loads(RECORDED.read_text())
        found[name] = play(cell, sections()[name])
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    record(sys.argv[1], sys.argv[2:])
