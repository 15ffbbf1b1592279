"""``condor_advertise``: publish ads in the pool, or withdraw them.

Only daemons publish the ads of daemons; any user of the pool may publish other ads.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from roost.cli.condor.asking import DaemonLocation
from roost.cli.condor.errors import ToolError, UsageError
from roost.cli.condor.options import Option, given
from roost.cli.condor.printing.chosen import rows_of_file
from roost.cli.condor.printing.rows import AdRow
from roost.cli.pool_connection import Pool, Refused
from roost.wire.requests import central

OPTIONS: Final = (
    Option("pool", "the pool", takes="HOST", least=1),
    Option("multiple", "the file contains several ads, separated by empty lines", least=1),
    Option("tcp", "accepted; this is always the case", least=1),
    Option("udp", "accepted, has no effect", least=1),
    Option("with_ack", "accepted; this is always the case", least=1),
    Option("debug", "accepted, has no effect", least=1),
)
#: Command to the MyType of ads that have none; "" if the ad must set it.
_TYPES: Final = {
    "UPDATE_AD_GENERIC": "Generic", "UPDATE_STARTD_AD": "Machine", "UPDATE_SCHEDD_AD": "Scheduler",
    "UPDATE_MASTER_AD": "DaemonMaster", "UPDATE_SUBMITTOR_AD": "Submitter", "UPDATE_COLLECTOR_AD": "Collector",
    "UPDATE_NEGOTIATOR_AD": "Negotiator", "UPDATE_LICENSE_AD": "License", "UPDATE_STORAGE_AD": "Storage",
    "UPDATE_GRID_AD": "Grid", "UPDATE_HAD_AD": "HAD", "UPDATE_DEFRAG_AD": "Defrag",
    "UPDATE_ACCOUNTING_AD": "Accounting",
}  # fmt: skip


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_advertise``."""
    place, words, flags = DaemonLocation(), [], set()
    for option in given(arguments, OPTIONS):
        if option.name == "":
            words.append(option.value)
        elif option.name == "pool":
            place.pool = option.value
        else:
            flags.add(option.name)
    if not words or len(words) > 2:
        raise UsageError("Usage: condor_advertise [options] UPDATE-COMMAND [FILE]")
    command = words[0].upper()
    if command not in _TYPES and not command.startswith("INVALIDATE_"):
        raise UsageError(
            f"Unknown command name {words[0]}; the commands are {', '.join(_TYPES)} and INVALIDATE_ADS_GENERIC"
        )
    rows = list(rows_of_file(words[1] if len(words) == 2 else "-"))
    if not rows:
        raise ToolError("Error: the input contains no ads")
    if len(rows) > 1 and "multiple" not in flags:
        raise ToolError(f"Error: the input contains {len(rows)} ads; use -multiple to send all of them")
    try:
        return place.ask(lambda pool: _send(pool, command, rows), lost="Error: couldn't locate the collector")
    except Refused as refused:
        raise ToolError(f"ERROR: failed to send classad to collector: {refused}") from None


def _send(pool: Pool, command: str, rows: list[AdRow]) -> int:
    done = 0
    for row in rows:
        if command.startswith("INVALIDATE_"):
            done += _invalidate(pool, row, command)
        else:
            done += pool.ask(central.Advertise(ads=(_record_of(row, _TYPES[command]),))).taken
    sys.stdout.write(f"Sent {done} of {len(rows)} ad{'' if len(rows) == 1 else 's'} to <{pool.contact['pool']}>.\n")
    return 0 if done == len(rows) else 1


def _record_of(row: AdRow, kind: str) -> dict[str, Any]:
    if not row.text("Name"):
        raise ToolError('Error: the ad has no Name: add a line Name = "…"')
    return {**({} if row.text("MyType") else {"MyType": kind}), **row.data}


def _invalidate(pool: Pool, row: AdRow, command: str) -> int:
    """Withdraw the ads selected by an ad's Requirements, or the one with its Name."""
    kind = row.text("TargetType") or row.text("MyType")
    kind = "" if kind in ("Any", "Query") else kind or {"INVALIDATE_ADS_GENERIC": ""}.get(command, "")
    names = [row.text("Name")] if row.text("Name") else []
    if not names and "Requirements" in row:
        found = pool.ask(central.Ads(kind=kind, constraint=row.raw("Requirements"), projection=("Name",)))
        names = [str(each.get("Name")) for each in found]
    if names:
        pool.ask(central.Advertise(gone=tuple(names), kind=kind))
    return 1
