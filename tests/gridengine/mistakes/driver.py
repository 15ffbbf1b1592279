"""Play cases, one after the other, and see what each changes.

It needs nothing but Python's library, for it is also sent into a cell of Grid Engine as a program.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Words to output, errors and exit status.
Run = Callable[[list[str]], "tuple[str, str, int]"]


class Player:
    """Somebody who types commands in a directory."""

    def __init__(self, asked: dict[str, Any], run: Run) -> None:
        """`asked` has ``setup`` and ``cases`` (words with files), ``shown``, ``listed``; see `asking`."""
        self._asked, self._run = asked, run
        #: Number of the job that is called J1, J2…
        self.jobs: dict[str, str] = {}

    def _typed(self, words: str) -> tuple[str, str, int]:
        for name, number in self.jobs.items():
            words = words.replace(f"{{{name}}}", number)
        return self._run(shlex.split(words))

    def _write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            if name[0] == "+":
                name, text = name[1:], self._typed("qconf -sc")[0] + text
            Path(name).write_text(text, encoding="utf-8")

    def shown(self) -> list[str]:
        """All that there is, line by line, behind the command that shows it."""
        found = []
        for words in self._asked["shown"]:
            option = words.split()[1][1:]
            names = [""]
            if option in self._asked["listed"]:
                listed = self._typed(f"qconf -{option}l")[0] if option != "srqs" else ""
                names = [] if listed.startswith("no ") else sorted(listed.split())
                names = names or ([""] if option == "srqs" else [])
            for name in names:
                text = self._typed(f"{words} {name}")[0]
                found += [(f"{words} {name}").rstrip() + ": " + line for line in text.splitlines()]
        return found

    def play(self) -> list[dict[str, Any]]:
        """Set everything up, and play the cases."""
        for words, files in self._asked["setup"]:
            self._write(files)
            out, err, status = self._typed(words)
            assert status == 0, (words, out, err)
            if words.startswith("qsub"):
                found = re.search(r"\d+", out)
                assert found, out
                self.jobs[f"J{len(self.jobs) + 1}"] = found.group()
        before, answers = self.shown(), []
        for words, files in self._asked["cases"]:
            self._write(files)
            out, err, status = self._typed(words)
            now = self.shown()
            changes = ["-" + line for line in before if line not in now] + [
                "+" + line for line in now if line not in before
            ]
            answers.append({"out": out, "err": err, "status": status, "changes": changes, "jobs": dict(self.jobs)})
            for name in files:
                Path(name.lstrip("+")).unlink()
            made = re.match(r"(?:Your job(?:-array)? )?(\d+)", out) if words.startswith("qsub") else None
            if made:
                self._typed("qdel " + made.group(1))
            before = self.shown() if made else now
        for number in self.jobs.values():
            self._typed("qdel " + number)
        return answers


def _processes(words: list[str]) -> tuple[str, str, int]:
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        return "", "(hangs)", -1
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), done.returncode


def main(text: str) -> None:
    """Play what JSON asks for, and print the answers as JSON."""
    asked = json.loads(text)
    Path(asked["place"]).mkdir(parents=True, exist_ok=True)
    os.chdir(asked["place"])
    os.environ["SGE_SINGLE_LINE"] = "1"
    json.dump(Player(asked, _processes).play(), sys.stdout)
