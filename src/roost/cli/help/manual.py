"""``python -m roost.cli.help.manual DOCS``: write what of the manual is generated: whole pages, and blocks of pages.

Each room makes its own pages, as a dict from path to text, and blocks, as a dict from path to name to lines; a test
holds the committed pages against them. Man pages and the scripts that complete commands in shells go into `share` next
to DOCS: the package installs them from there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from roost.classad import docs as classad
from roost.cli.condor import page as condor
from roost.cli.gridengine import page as gridengine_commands
from roost.cli.help import completion, glossary, man_pages, pool_page
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
from roost.tables.pages import filled
from roost.wire import docs as wire


def pages(docs: Path) -> dict[str, str]:
    """Path below `docs` to text. Raises ValueError for a page that lacks a block, OSError for a missing one."""
    made: dict[str, dict[str, Iterable[str]]] = {}
    for room in (dag, hooks, pool_page, startd, starter, states):
        made |= room.blocks()
    return {
        **classad.pages(),
        **config.pages(),
        **policy.pages(),
        **submit.pages(),
        **gridengine.pages(),
        **hooks.pages(),
        **wire.pages(),
        "reference/condor-commands.md": condor.page(),
        "reference/glossary.md": glossary.page(),
        "reference/grid-engine-commands.md": gridengine_commands.page(),
        **{f"lint/{name}": text for name, text in lint.pages().items()},
        **{path: filled((docs / path).read_text(encoding="utf-8"), blocks) for path, blocks in made.items()},
    }


def installed() -> dict[str, str]:
    """Path below share/ to text: where shells and man(1) look below a prefix."""
    return {
        **{f"man/man1/{name}": text for name, text in man_pages.pages().items()},
        "bash-completion/completions/roost": completion.script("bash"),
        "zsh/site-functions/_roost": completion.script("zsh"),
        "fish/vendor_completions.d/roost.fish": completion.script("fish"),
    }


def main(arguments: list[str]) -> int:
    """Write the pages below the directory given, and what is installed next to it."""
    if len(arguments) != 1:
        print("usage: python -m roost.cli.help.manual DOCS", file=sys.stderr)
        return 2
    docs = Path(arguments[0]).resolve()
    for directory, texts in ((docs, pages(docs)), (docs.parent / "share", installed())):
        for path, text in texts.items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
