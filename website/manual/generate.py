"""``python -m website.manual.generate DOCS``: write what of the manual is generated: whole pages, and blocks of pages.

Each module makes its own pages, as a dict from path to text, and blocks, as a dict from path to name to lines; a test
holds the committed pages against them. Man pages and the scripts that complete commands in shells go into `share` next
to DOCS: the package installs them from there. Those of other systems' commands go into the packages of these commands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from website.manual import (
    classad,
    config,
    gridengine,
    hooks,
    job_states,
    man_pages,
    policy,
    pool_page,
    shims,
    startd,
    starter,
    wire,
)

from roost.cli.condor import page as condor
from roost.cli.gridengine import page as gridengine_commands
from roost.cli.help import completion, glossary
from roost.dag import docs as dag
from roost.policy.lint import pages as lint
from roost.schedd.submit import docs as submit
from roost.tables.pages import filled

#: Where the packages of other systems' commands are.
COMMANDS: Final = "src/roost/cli"


def pages(docs: Path) -> dict[str, str]:
    """Path below `docs` to text. Raises ValueError for a page that lacks a block, OSError for a missing one."""
    made: dict[str, dict[str, Iterable[str]]] = {}
    for room in (dag, hooks, job_states, pool_page, startd, starter):
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


def packaged() -> dict[str, str]:
    """Path below the package of commands to text: what `roost shims` puts next to its scripts."""
    return shims.share()


def main(arguments: list[str]) -> int:
    """Write the pages below the directory given, and what is installed next to it."""
    if len(arguments) != 1:
        print("usage: python -m website.manual.generate DOCS", file=sys.stderr)
        return 2
    docs = Path(arguments[0]).resolve()
    root = docs.parent
    for directory, texts in ((docs, pages(docs)), (root / "share", installed()), (root / COMMANDS, packaged())):
        for path, text in texts.items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
