"""What Grid Engine says of cases: it is asked in a cell, and what it answers is kept as JSON.

``python -m tests.gridengine.mistakes CELL`` asks through the program CELL (``CELL run HOST USER -- COMMAND``; ``CELL
reset``) for the cases of all sections that are kept, and writes the answers again.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.gridengine.mistakes import driver as driver_module
from tests.gridengine.mistakes.drawing import START, Case, cases

KEPT: Final = Path(__file__).parent / "kept"
#: Cases of a section, which begins with the cell of tests/gridengine/data/plain and the objects of `START`.
CASES: Final = 40
#: Jobs on hold that requests are about: J1, and an array J2.
JOBS: Final = (
    "qsub -h -N held -l h_rt=100 -b y /bin/true",
    "qsub -h -N several -t 1-3 -b y /bin/true",
)
#: Commands that show all that there is.
SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "cell": (
        *("qconf -sc", "qconf -ssconf", "qconf -sconf global", "qconf -sh", "qconf -ss", "qconf -sm", "qconf -so"),
        *("qconf -sel", "qconf -sconfl", "qconf -sstree"),
        *(
            "qconf -sq",
            "qconf -shgrp",
            "qconf -sp",
            "qconf -sckpt",
            "qconf -scal",
            "qconf -su",
            "qconf -sprj",
            "qconf -suser",
        ),
        *("qconf -srqs", "qconf -se"),
    ),
    "jobs": ("qstat -j {J1}", "qstat -j {J2}", "qstat -f -u *"),
}
#: Of these, all objects are shown, whose names the option with an l tells.
LISTED: Final = ("sq", "shgrp", "sp", "sckpt", "scal", "su", "sprj", "suser", "srqs", "se")


class Answer(NamedTuple):
    """What was said of a case, and what it changed: lines of `SHOWN` that went (-) and came (+)."""

    out: str
    err: str
    status: int
    changes: tuple[str, ...]


def setup(which: str) -> list[tuple[str, dict[str, str]]]:
    """Commands that make what cases are about, with their files."""
    objects = [(f"qconf -{option} t", {"t": text}) for option, text in START]
    return objects if which == "cell" else [(words, {}) for words in JOBS]


def ask(program: str, which: str, some: list[Case]) -> list[Answer]:
    """Ask a real cell."""
    subprocess.run([program, "reset"], check=True, stdout=subprocess.DEVNULL)
    if which == "jobs":
        _drive(program, "root", {**asked("cell", []), "shown": [], "place": "/tmp/q"})
    place = {"cell": "/tmp/q", "jobs": "/tmp/qa"}[which]
    rows = _drive(program, "root" if which == "cell" else "alice", {**asked(which, some), "place": place})
    return [answer(row) for row in rows]


def asked(which: str, some: list[Case]) -> dict[str, Any]:
    """What a `Player` is asked to do."""
    return {"setup": setup(which), "cases": some, "shown": SHOWN[which], "listed": LISTED}


def _drive(program: str, user: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    script = f"cat > /tmp/driver.{user}.py; exec python3 /tmp/driver.{user}.py"
    driver = f"{Path(driver_module.__file__).read_text()}\n\nmain({json.dumps(given)!r})\n"
    done = subprocess.run(
        [program, "run", "sgehub", user, "--", script], input=driver, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def answer(row: dict[str, Any]) -> Answer:
    """An answer that is the same in every cell."""
    names = {number: name for name, number in row["jobs"].items()}

    def plain(text: str) -> str:
        text = re.sub(r"\b\d+\b", lambda found: names.get(found[0], found[0]), text)
        text = re.sub(r"(?<=Your job )\d+|(?<=Your job-array )\d+", "N", text)
        text = re.sub(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", "TIME", text)
        return re.sub(r"SGE 8\.1\.9\nusage: .*", "(usage)\n", text, flags=re.DOTALL)

    changes = sorted(plain(each) for each in row["changes"])
    return Answer(plain(row["out"]), plain(row["err"]), row["status"], tuple(changes))


def drawn(name: str) -> list[Case]:
    """The cases of a section ``cell-SEED`` or ``jobs-SEED``."""
    which, _, seed = name.partition("-")
    return cases(int(seed), CASES, which)


def record(program: str, name: str) -> None:
    """Ask for the cases of a section, and keep them with the answers."""
    some = drawn(name)
    answers = ask(program, name.partition("-")[0], some)
    rows = [{**case._asdict(), **one._asdict()} for case, one in zip(some, answers, strict=True)]
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n")


def kept(name: str) -> list[tuple[Case, Answer]]:
    """The cases of a section with what Grid Engine answered."""
    rows = json.loads((KEPT / f"{name}.json").read_text())
    return [
        (Case(row["words"], row["files"]), Answer(row["out"], row["err"], row["status"], tuple(row["changes"])))
        for row in rows
    ]
