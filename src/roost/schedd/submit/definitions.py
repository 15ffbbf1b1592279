"""A submit description as a table: its lines up to the first queue statement, the arguments of that, and its items.

For programs that hold a description as a mapping, change it, and ask for the value of a line for the first job. Nothing
is planned here: `submission` does that.
"""

from __future__ import annotations

from collections.abc import Mapping

from roost.base.records import dataclass
from roost.config import Origin, Span
from roost.config.expand import Found
from roost.config.limits import DEFAULT_LIMITS
from roost.schedd.submit.diagnostics import Findings
from roost.schedd.submit.host import LanguageHost, SubmitHost
from roost.schedd.submit.macros import PLATFORM, JobScope, Macros, Position, expander
from roost.schedd.submit.queue_statement import QueueItems, read_queue
from roost.schedd.submit.script import Script

_SUBSYSTEM = "SUBMIT"


class DefinitionsError(ValueError):
    """The text cannot be read; the message names line and remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """The definitions before a description's first queue statement, and its arguments."""

    #: Name as written to text, unexpanded.
    texts: dict[str, str]
    #: The arguments of `queue`; None if there is no queue statement.
    queue: str | None = None
    #: The lines of items that follow the statement; None for none.
    item_lines: tuple[str, ...] | None = None


def read_definitions(text: str, host: SubmitHost, *, now: float) -> Definitions:
    """Read a description up to its first queue statement. Raises `DefinitionsError`."""
    script = Script(host=LanguageHost(host=host, now=now), subsystem=_SUBSYSTEM, built_in=PLATFORM)
    script.source(text, "<text>", Origin.FILE)
    findings = Findings()
    findings.take(script.log)
    if findings.errors:
        raise DefinitionsError("\n".join(map(str, findings.errors)))
    if not script.points:
        return Definitions(texts={chain[-1].name: chain[-1].text for chain in script.table.chains.values()})
    point = script.points[0]
    texts = {definition.name: definition.text for definition in point.defined.values()}
    return Definitions(texts=texts, queue=point.arguments, item_lines=point.item_lines)


def expanded(texts: Mapping[str, str], name: str, host: SubmitHost, *, now: float) -> str:
    """The value of a line for the first job. Raises KeyError."""
    macros = Macros(
        defined={each.lower(): Found(each, text, Span("<text>")) for each, text in texts.items()},
        variables=(),
        built_in=PLATFORM,
        host=LanguageHost(host=host, now=now),
        limits=DEFAULT_LIMITS,
        cwd=host.cwd,
    )
    found = macros.defined[name.lower()]
    return expander(JobScope(macros=macros, position=Position())).expand(found.text)


def read_items(
    texts: Mapping[str, str], queue: str, item_lines: tuple[str, ...] | None, host: SubmitHost, *, now: float
) -> QueueItems:
    """The items of a queue statement. Raises `DefinitionsError`."""
    language = LanguageHost(host=host, now=now)
    script = Script(host=language, subsystem=_SUBSYSTEM, built_in=PLATFORM)
    where = Span("<queue>")
    script.source("".join(f"{name} = {text}\n" for name, text in texts.items()), "<text>", Origin.FILE)
    findings = Findings()
    items = read_queue(
        queue,
        item_lines,
        where,
        expand=lambda each: script.expand(each, where),
        host=language,
        findings=findings,
    )
    if items is None or findings.errors:
        raise DefinitionsError("\n".join(map(str, findings.errors)))
    return items
