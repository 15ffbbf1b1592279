"""``roost audit diff``: what a policy on trial would have changed, by cause."""

from __future__ import annotations

import textwrap
from typing import Final

from roost.cli.happenings import clock
from roost.cli.listing import print_json
from roost.cli.terminal import Exit, complain, say, width
from roost.explain.happenings import counted_reason
from roost.model.audit import AuditRecord
from roost.wire.structs import data_of

_TITLES: Final = {
    "would-discard": "It would exclude from matchmaking",
    "would-admit": "It would readmit to matchmaking",
    "would-prevent": "It would prevent matches",
    "would-allow": "It would allow matches that are now prevented",
}


def show_diff(records: list[AuditRecord], *, as_json: bool) -> int:
    """Show records of hypothetical decisions, of the configuration that was tried last."""
    newest = max(records, key=lambda each: each.until, default=None)
    if newest is None:
        complain(
            "no decision would have been different; check that a NEGOTIATOR_PE_DRYRUN_* expression is set and "
            "that a cycle has run since"
        )
        return Exit.NO
    shown = [each for each in records if each.configuration == newest.configuration]
    if as_json:
        print_json([data_of(each) for each in shown])
        return Exit.OK
    since, until = min(each.at for each in shown), max(each.until for each in shown)
    say(
        f"On trial since {clock(since)}; last made a difference at {clock(until)}; configuration "
        f"{newest.configuration}."
    )
    for effect, title in _TITLES.items():
        mine = sorted((each for each in shown if each.effect == effect), key=_count)
        if mine:
            say("")
            say(f"{title}:")
        for each in mine:
            _show(each)
    return Exit.OK


def _count(record: AuditRecord) -> int:
    """Sort key: most frequent first."""
    return -record.count


def _show(record: AuditRecord) -> None:
    user = f" of {record.user}" if record.user else ""
    number, _, what = counted_reason(record).partition(" ")
    say(f"  {number:>6}  {what}{user}")
    samples = [str(each).replace(" ", " on ", 1) for each in record.samples[:5]]
    place = f" [{record.place}]" if record.place else ""
    for text in (f"by {record.knob} = {record.expression}{place}", f"such as {', '.join(samples)}"):
        for line in textwrap.wrap(text, max(40, width()) - 10, subsequent_indent="  ", break_on_hyphens=False):
            say(f"{'':10}{line}")
