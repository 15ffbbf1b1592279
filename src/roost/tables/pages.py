"""The diagram and the tables of a page of documentation, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def diagram(
    edges: Iterable[tuple[str, str, str]], *, start: Iterable[str], ends: Iterable[str] = (), states: Iterable[str] = ()
) -> Iterator[str]:
    """The lines of a state diagram (Mermaid). `edges`: from, to and a label; those of one pair share an arrow.

    `states`: lines that declare states, where their names alone do not do.
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
    """The lines of a table."""
    heads = tuple(heads)
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"
