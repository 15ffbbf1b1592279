"""Asks the reference configuration reader for values; runs as a program of its own.

Reads one JSON request a line from standard input, ``{"files": {name: text}, "env": {...}, "names": [...]}``,
writes the files into a scratch directory, reads them with the reference library in a forked child (a broken
file ends the reading process, and mutual recursion hangs it) and answers one JSON line: ``{"values": {name:
text or null}}``, or ``{"error": text}``, or ``{"hang": true}``. It deliberately compares nothing: the tests
do.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

CHILD_S = 5.0


def read_values(root: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Read the configuration below ``root`` in this process and return the asked-for values."""
    import htcondor2

    os.environ["CONDOR_CONFIG"] = str(root / "condor_config")
    os.environ.update(request.get("env", {}))
    os.chdir(root)
    htcondor2.reload_config()
    values: dict[str, str | None] = {}
    for name in request["names"]:
        value = htcondor2.param.get(name)
        values[name] = None if value is None else str(value)
    return {"values": values}


def in_child(request: dict[str, Any], root: Path, write: int, error_file: str) -> None:
    try:
        with Path(error_file).open("w", encoding="utf-8") as errors:
            os.dup2(errors.fileno(), 2)
            os.dup2(errors.fileno(), 1)
        for name, text in request["files"].items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("@ROOT@", str(root)), encoding="utf-8")
        try:
            answer = read_values(root, request)
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        text = json.dumps(answer).replace(str(root), "@ROOT@")
        os.write(write, text.encode())
    finally:
        os._exit(0)


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request by way of a child with a time limit."""
    # The child may be ended by the reader, so that it cannot clear up itself.
    with tempfile.TemporaryDirectory(prefix="reference-config-", ignore_cleanup_errors=True) as root:
        return ask_in(Path(root), request)


def ask_in(root: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request with the configuration in a directory."""
    read, write = os.pipe()
    handle, error_file = tempfile.mkstemp()
    os.close(handle)
    child = os.fork()
    if child == 0:
        os.close(read)
        in_child(request, root, write, error_file)
    os.close(write)
    data = b""
    hung = False
    while True:
        ready, _, _ = select.select([read], [], [], CHILD_S)
        if not ready:
            hung = True
            os.kill(child, signal.SIGKILL)
            break
        piece = os.read(read, 65536)
        if not piece:
            break
        data += piece
    os.close(read)
    os.waitpid(child, 0)
    noise = Path(error_file).read_text(encoding="utf-8", errors="replace")
    Path(error_file).unlink()
    if hung:
        return {"hang": True}
    answer: dict[str, Any] = json.loads(data) if data else {"error": noise.strip() or "reader ended without an answer"}
    answer["noise"] = noise
    return answer


def main() -> None:
    os.environ["CONDOR_CONFIG"] = "/dev/null"
    import htcondor2  # noqa: F401  (loaded once; the children inherit it)

    for line in sys.stdin:
        print(json.dumps(ask(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
