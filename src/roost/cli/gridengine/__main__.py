"""``python -m roost.cli.gridengine NAME …``: what the scripts made by `roost shims gridengine` run."""

from __future__ import annotations

import sys

from roost.cli.gridengine.entry import run_and_leave

if __name__ == "__main__":
    run_and_leave(sys.argv[1] if len(sys.argv) > 1 else "", sys.argv[2:])
