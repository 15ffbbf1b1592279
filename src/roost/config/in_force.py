"""Which configuration is in force: a digest that names it, where each expression was set, and what differs between two.

The digest covers everything that sources define, as written: two daemons that read the same sources have the same
digest. Values detected on the machine at start do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from roost.config.diagnostics import ConfigError
from roost.config.lookup import Config
from roost.model.audit import AuditKind, AuditRecord, Detail, InForce, Source, clipped, some
from roost.model.digests import digest

#: Most names listed for a change.
CHANGES_MAX: Final = 100


def configuration_digest(config: Config) -> str:
    """The digest of a configuration."""
    return digest(*(part for name in config.names() for part in (name.lower(), config.definitions(name)[-1].text)))


def in_force(config: Config, knobs: Iterable[str], subsystem: str) -> InForce:
    """The configuration in force for a core's records: the sources of these knobs."""
    view = config.view(subsys=subsystem)
    found = {}
    for knob in knobs:
        try:
            place, text = view.find(knob), view.get(knob)
        except ConfigError:
            continue
        if place is not None and text:
            found[knob] = Source(text=clipped(text), place=place.span.chain())
    return InForce(configuration=configuration_digest(config), sources=found)


def configuration_record(before: Config | None, after: Config, now: float, *, role: str) -> AuditRecord:
    """The audit record of a daemon that adopts a configuration; `before` is None at its start."""
    name = configuration_digest(after)
    changed = changed_names(before, after)
    different = "1 name is different" if len(changed) == 1 else f"{len(changed)} names are different"
    words = "from the start" if before is None else f"from now on, {different}"
    return AuditRecord(
        id=f"configuration/{name}/{round(now * 1000)}",
        kind=AuditKind.CONFIGURATION,
        at=now,
        until=now,
        configuration=name,
        reason=f"uses configuration {name} {words}",
        count=len(changed),
        samples=some(changed),
        detail=Detail(sources=tuple(after.sources[:CHANGES_MAX]), set=changed),
    )


def changed_names(before: Config | None, after: Config) -> dict[str, str]:
    """Names that were set, changed or removed: name to its text with the place, "" for removed."""
    found: dict[str, str] = {}
    for name in after.names():
        now = after.definitions(name)[-1]
        old = () if before is None else before.definitions(name)
        if not old or old[-1].text != now.text:
            found[name] = f"{now.text[:150]} [{now.span}]"
    for name in () if before is None else before.names():
        if not after.definitions(name):
            found[name] = ""
    return dict(list(found.items())[:CHANGES_MAX])
