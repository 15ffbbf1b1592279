"""PRE, POST and HOLD scripts as processes, each in a separate session."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import IO, Final

from roost.base.records import dataclass
from roost.dag import Node, Script, ScriptPoint

#: Exit status of a script that cannot be started.
NOT_STARTED: Final = 127


@dataclass(slots=True, kw_only=True)
class _Running:
    node: str
    point: ScriptPoint
    process: subprocess.Popen[bytes]
    debug: IO[bytes] | None


class Scripts:
    """The running scripts; relative paths refer to `directory`."""

    def __init__(self, directory: Path = Path()) -> None:
        self.directory = directory
        self._running: list[_Running] = []
        self._failed: list[tuple[str, ScriptPoint, int]] = []

    def start(self, node: Node, point: ScriptPoint, words: tuple[str, ...]) -> str:
        """Start one; return what is wrong if it cannot be started, and then it ends with `NOT_STARTED`."""
        script = {ScriptPoint.PRE: node.pre, ScriptPoint.POST: node.post, ScriptPoint.HOLD: node.held}[point]
        assert script is not None, "the node has no such script"
        directory = self.place(node)
        debug: IO[bytes] | None = None
        try:
            debug = _debug(script, directory)
            streams = script.debug_streams
            process = subprocess.Popen(
                [self.program(words[0], directory), *words[1:]],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=debug if debug is not None and streams in ("ALL", "STDOUT") else subprocess.DEVNULL,
                stderr=debug if debug is not None and streams in ("ALL", "STDERR") else subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            if debug is not None:
                debug.close()
            self._failed.append((node.name, point, NOT_STARTED))
            return f"{words[0]} cannot be started: {error}"
        self._running.append(_Running(node=node.name, point=point, process=process, debug=debug))
        return ""

    def place(self, node: Node) -> Path:
        """The directory in which the scripts of a node run."""
        return self.directory / (node.directory or ".")

    def program(self, word: str, directory: Path) -> str:
        """A program by its path; a plain name is looked for in the node's directory, before PATH."""
        if "/" not in word and (directory / word).exists():
            return f"./{word}"
        return word

    def ended(self) -> list[tuple[str, ScriptPoint, int]]:
        """The scripts that have ended since the last call: node, point, status; negative for a signal."""
        found, self._failed = self._failed, []
        for each in list(self._running):
            status = each.process.poll()
            if status is not None:
                self._running.remove(each)
                self._close(each)
                found.append((each.node, each.point, status))
        return found

    def stop(self) -> None:
        """Kill all of them, with their child processes."""
        for each in self._running:
            with contextlib.suppress(OSError):
                os.killpg(each.process.pid, signal.SIGKILL)
            each.process.wait()
            self._close(each)
        self._running.clear()
        self._failed.clear()

    def _close(self, each: _Running) -> None:
        if each.debug is not None:
            each.debug.close()


def _debug(script: Script, directory: Path) -> IO[bytes] | None:
    return (directory / script.debug_file).open("ab") if script.debug_file else None
