"""``python -m roost.cli.manual DIRECTORY``: write the generated pages of the manual, those of every room.

Each room makes its own pages, as a dict from path to text; a test holds the committed ones against it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from roost.classad import docs as classad
from roost.cli import pool_page
from roost.cli.condor import page as condor
from roost.config import docs as config
from roost.dag import docs as dag
from roost.gridengine import docs as gridengine
from roost.node import hook_docs as hooks
from roost.policy import docs as policy
from roost.policy.lint import pages as lint
from roost.schedd import state_docs as states
from roost.schedd.submit import docs as submit
from roost.startd import docs as startd
from roost.starter import docs as starter
from roost.wire import docs as wire


def pages() -> dict[str, str]:
    """Path below docs/ to text."""
    return {
        **classad.pages(),
        **config.pages(),
        **policy.pages(),
        **submit.pages(),
        "reference/dag-files.md": dag.dag_files_page(),
        **gridengine.pages(),
        **hooks.pages(),
        **wire.pages(),
        "reference/cli-pool.md": pool_page.page(),
        "reference/condor-commands.md": condor.page(),
        "concepts/slot-states.md": startd.page(),
        "concepts/starter.md": starter.page(),
        "concepts/job-states.md": states.page(),
        **{f"lint/{name}": text for name, text in lint.pages().items()},
    }


def main(arguments: list[str]) -> int:
    """Write the pages below the directory given."""
    if len(arguments) != 1:
        print("usage: python -m roost.cli.manual DIRECTORY", file=sys.stderr)
        return 2
    for path, text in pages().items():
        file = Path(arguments[0]) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
