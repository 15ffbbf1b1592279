"""The diagram and the tables of a documentation page in Markdown, and their places in a hand-written page.

A block of a page stands between ``<!-- generated: NAME -->`` and ``<!-- end: NAME -->``; all else is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

_BLOCK: Final = re.compile(r"<!-- generated: (?P<name>[^\n]+) -->\n.*?<!-- end: (?P=name) -->", re.DOTALL)


def diagram(
    edges: Iterable[tuple[str, str, str]], *, start: Iterable[str], ends: Iterable[str] = (), states: Iterable[str] = ()
) -> Iterator[str]:
    """Return the lines of a state diagram (Mermaid). `edges`: from, to and a label; edges of the same pair share an
    arrow.

    `states`: lines that declare states whose names alone are not enough.
    """
    labels: dict[tuple[str, str], dict[str, None]] = {}
    for source, target, label in edges:
        labels.setdefault((source, target), {})[label] = None
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield from (f"    [*] --> {state}" for state in start)
    yield from states
    yield from (f"    {source} --> {target} : {', '.join(each)}" for (source, target), each in labels.items())
    yield from (f"    {state} --> [*]" for state in ends)
    yield "```"


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Return the lines of a table."""
    heads = tuple(heads)
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


def filled(page: str, blocks: Mapping[str, Iterable[str]]) -> str:
    """Return a page with its blocks rewritten. `blocks`: name to lines.

    Raises ValueError if the page lacks a block or has an unknown one.
    """
    names = [found["name"] for found in _BLOCK.finditer(page)]
    if sorted(names) != sorted(blocks):
        raise ValueError(f"the page has the blocks {sorted(names)}, and its tables make {sorted(blocks)}")
    texts = {name: "\n".join(lines).strip("\n") for name, lines in blocks.items()}
    return _BLOCK.sub(lambda found: _block(found["name"], texts[found["name"]]), page)


def _block(name: str, text: str) -> str:
    return f"<!-- generated: {name} -->\n\n{text}\n\n<!-- end: {name} -->"
