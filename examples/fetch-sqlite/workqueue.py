#!/usr/bin/env python3
"""A work queue in one SQLite file, and what hooks do with it.

    workqueue.py add PROGRAM [ARGUMENT ...]     add an item; its number is printed
    workqueue.py status                         how many items wait, are out, are done, have failed
    workqueue.py results                        the results, one JSON object per line

How every item comes to be done exactly once, whatever is killed:

* An item is handed out under a *lease*: a time, and a token that was never used before. A lease that is not renewed in
  time is void, and the item is handed out again under another one. So nothing is lost with the holder of a lease.
* A result counts only under the item's present lease, and only if the item is not done. A holder that lost the lease has its
  result thrown away. So nothing is done twice.
* Every word may come twice and means the same the second time. So a caller that gets no answer repeats it.
* Each word is one transaction. It has happened or not, whenever its process is killed.

A job may run twice; that its result is taken once is what this queue promises. So let the result be all that a job
leaves: here it is what the job prints.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Jobs that fail are tried so often.
TRIES_MAX = 10

SCHEMA = """
CREATE TABLE IF NOT EXISTS items (
    item INTEGER PRIMARY KEY,
    command TEXT NOT NULL,                  -- JSON: program and arguments
    state TEXT NOT NULL DEFAULT 'waiting',  -- waiting, out, done, failed
    token TEXT,                             -- of the present lease
    lease_until REAL,                       -- epoch s
    slot TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    why TEXT                                -- of the last failure
);
CREATE TABLE IF NOT EXISTS results (
    item INTEGER PRIMARY KEY REFERENCES items,
    token TEXT NOT NULL,
    result TEXT NOT NULL,
    at REAL NOT NULL
);
"""


def settings() -> dict[str, str]:
    """The lines NAME=value of the file `settings` next to this program."""
    path = HERE / "settings"
    lines = path.read_text().splitlines() if path.exists() else []
    return {name.strip(): value.strip() for name, at, value in (line.partition("=") for line in lines) if at}


class WorkQueue:
    """The queue in a file."""

    def __init__(self, path: Path | None = None) -> None:
        given = settings()
        self.path = path or Path(given.get("DATABASE") or HERE / "work" / "work.db")
        #: How long a lease is good, s: some times the interval at which UPDATE_JOB_INFO renews it.
        self.lease_s = float(given.get("LEASE_S", "900"))

    def _do(self, work):
        """One transaction, which waits for others."""
        with closing(sqlite3.connect(self.path, timeout=20, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = FULL")
            database.executescript(SCHEMA)
            database.execute("BEGIN IMMEDIATE")
            try:
                found = work(database)
                database.execute("COMMIT")
            except BaseException:
                database.execute("ROLLBACK")
                raise
            return found

    def add(self, command: list[str]) -> int:
        """A new item. Raises ValueError for a command that an ad cannot hold: its strings have one line."""
        if any("\n" in each for each in command):
            raise ValueError("a word of a command cannot have several lines; put them into a script")
        text = json.dumps(command)
        return self._do(lambda db: db.execute("INSERT INTO items (command) VALUES (?)", (text,)).lastrowid)

    def lease(self, slot: str) -> tuple[int, str, list[str]] | None:
        """Hand out an item: its number, a token, its command. None if there is none."""

        def work(db):
            now = time.time()
            row = db.execute(
                "SELECT item, command FROM items WHERE state = 'waiting' OR (state = 'out' AND lease_until < ?)"
                " ORDER BY item LIMIT 1",
                (now,),
            ).fetchone()
            if row is None:
                return None
            token = secrets.token_hex(16)
            db.execute(
                "UPDATE items SET state = 'out', token = ?, lease_until = ?, slot = ? WHERE item = ?",
                (token, now + self.lease_s, slot, row[0]),
            )
            return row[0], token, json.loads(row[1])

        return self._do(work)

    def renew(self, item: int, token: str) -> bool:
        """The job is alive. Whether it still has its lease."""
        until = time.time() + self.lease_s
        return self._do(
            lambda db: (
                db.execute(
                    "UPDATE items SET lease_until = ? WHERE item = ? AND token = ? AND state = 'out'",
                    (until, item, token),
                ).rowcount
                > 0
            )
        )

    def finish(self, item: int, token: str, result: str) -> bool:
        """Take a result. Whether it is the one that counts, now or when it was said before."""

        def work(db):
            mine = db.execute(
                "UPDATE items SET state = 'done', lease_until = NULL WHERE item = ? AND token = ? AND state = 'out'",
                (item, token),
            ).rowcount
            if mine:
                db.execute("INSERT INTO results VALUES (?, ?, ?, ?)", (item, token, result, time.time()))
            return (
                db.execute("SELECT 1 FROM results WHERE item = ? AND token = ?", (item, token)).fetchone() is not None
            )

        return self._do(work)

    def give_back(self, item: int, token: str, why: str = "", *, failed: bool = False, final: bool = False) -> None:
        """The item is not done. `failed`: its job was at fault; `final`: it need not be tried again."""

        def work(db):
            row = db.execute(
                "SELECT tries FROM items WHERE item = ? AND token = ? AND state = 'out'", (item, token)
            ).fetchone()
            if row is None:
                return
            tries = row[0] + failed
            state = "failed" if final or tries >= TRIES_MAX else "waiting"
            db.execute(
                "UPDATE items SET state = ?, token = NULL, lease_until = NULL, tries = ?, why = ? WHERE item = ?",
                (state, tries, why, item),
            )

        self._do(work)

    def status(self) -> dict[str, int]:
        """How many items there are in each state."""
        rows = self._do(lambda db: db.execute("SELECT state, count(*) FROM items GROUP BY state").fetchall())
        return {"waiting": 0, "out": 0, "done": 0, "failed": 0, **dict(rows)}

    def results(self) -> list[dict[str, object]]:
        """All results, by item."""
        rows = self._do(lambda db: db.execute("SELECT item, result FROM results ORDER BY item").fetchall())
        return [{"item": item, "result": result} for item, result in rows]


# -- what hooks read and print -----------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """A string as an ad has it."""
    return '"' + text.replace('"', '\\"') + '"'


def job_ad(item: int, token: str, command: list[str], owner: str) -> str:
    """An item as the ad of a job. It runs in its scratch directory, and what it prints is its result."""
    program, *arguments = command
    words = " ".join("'" + each.replace("'", "''") + "'" for each in arguments)
    lines = {
        "Cmd": quoted(program),
        "Arguments": quoted(words),
        "Out": quoted("result"),
        "Owner": quoted(owner),
        "JobUniverse": "5",
        "RequestCpus": "1",
        "RequestMemory": "64",
        "RequestDisk": "1024",
        # Not Roost's: they come back with every hook.
        "WorkItem": str(item),
        "WorkToken": quoted(token),
    }
    return "".join(f"{name} = {value}\n" for name, value in lines.items())


def told() -> tuple[dict[str, str], dict[str, str]]:
    """The job's ad and the slot's from standard input, as texts; quotes of strings taken off."""
    ads: list[dict[str, str]] = [{}]
    for line in sys.stdin:
        name, is_attribute, value = line.rstrip("\n").partition(" = ")
        if line.startswith("-----"):
            ads.append({})
        elif is_attribute:
            ads[-1][name] = value[1:-1].replace('\\"', '"') if value.startswith('"') else value
    return ads[0], ads[-1]


def lease_of(job: dict[str, str]) -> tuple[int, str]:
    """Item and token of a job. Ends the hook for one that is not of this queue: anybody's job may have its hooks."""
    if "WorkItem" not in job or "WorkToken" not in job:
        sys.exit("the job has no WorkItem and WorkToken: it is none of this queue")
    return int(job["WorkItem"]), job["WorkToken"]


def main(words: list[str]) -> int:
    """The command line."""
    queue = WorkQueue()
    match words:
        case ["add", *command] if command:
            queue.path.parent.mkdir(parents=True, exist_ok=True)
            print(queue.add(command))
        case ["status"]:
            print(json.dumps(queue.status()))
        case ["results"]:
            for each in queue.results():
                print(json.dumps(each))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
