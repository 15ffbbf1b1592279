"""``python -m tests.gridengine.mistakes CELL [SECTION...]``: ask a cell of Grid Engine, and keep what it answers."""

from __future__ import annotations

import sys

from tests.gridengine.mistakes.asking import KEPT, record

if __name__ == "__main__":
    for name in sys.argv[2:] or sorted(path.stem for path in KEPT.glob("*.json")):
        record(sys.argv[1], name)
        print(name, flush=True)
