"""A terminal that a test types into."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.integration.kit import eventually


class Terminal:
    """A command that runs in a terminal of its own."""

    def __init__(self, words: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self.master, slave = pty.openpty()
        self.resize(31, 97)
        self.process = subprocess.Popen(
            words, env=env, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        os.set_blocking(self.master, False)
        self.seen = ""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def look(self) -> str:
        try:
            while data := os.read(self.master, 65536):
                self.seen += data.decode(errors="replace")
        except OSError:
            pass
        return self.seen

    def expect(self, text: str) -> None:
        eventually(lambda: text in self.look(), lambda: f"{text!r} in {self.seen!r}", 15)

    def end(self) -> int:
        def ended() -> bool:
            self.look()
            return self.process.poll() is not None

        eventually(ended, lambda: self.seen, 15)
        os.close(self.master)
        return self.process.returncode
