"""Lines of a cell's reporting file that do not result from steps of the queue, and whether there is such a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from roost.model.cell_reporting import PlainReport, Report, Reporting
from roost.model.cell_reservations import AdvanceReservation
from roost.runtime.identity import host_name
from roost.runtime.queue.database.cell_store import ReservationCommit
from roost.runtime.queue.database.store import Store
from roost.runtime.queue.exported_files import ExportedFiles
from roost.schedd.queue import Queue


class ReportsDaemon(Protocol):
    """The interface of the queue's daemon for reports."""

    store: Store
    queue: Queue
    copies: ExportedFiles


def go_by(daemon: ReportsDaemon, files: Mapping[str, str]) -> None:
    """Write the files that the cell wants."""
    from roost.gridengine.pool.accounting_settings import accounting_settings_of
    from roost.gridengine.pool.host_reports import consumable_reports

    wanted = accounting_settings_of(files)
    daemon.copies.keep_accounting(wanted=wanted.accounting)
    daemon.store.reports.use(wanted.department)
    daemon.queue.claim_table.reporting = (
        Reporting(host=host_name(), joblog=wanted.joblog, consumables=consumable_reports(files))
        if wanted.reporting
        else None
    )


def of_reservation(
    one: AdvanceReservation, commit: ReservationCommit, before: AdvanceReservation | None
) -> Iterator[Report]:
    """The lines of a change of an advance reservation, whose earlier state was `before`."""
    at, made = int(commit.at), int(one.submitted)

    def log(state: str, event: str, words: str) -> Report:
        return PlainReport(at, "ar_log", (at, made, one.number, state, event, words))

    if commit.event == "created":
        yield PlainReport(at, "new_ar", (made, one.number, one.owner))
        what = int(one.start), int(one.end), one.environment, one.resources or "NONE"
        yield PlainReport(at, "ar_attr", (at, made, one.number, one.name, one.account, *what))
    if one.begun and (before is None or not before.begun):
        yield log("r", "START TIME REACHED", "start time of AR reached")
    if commit.event == "ended":
        yield log("x", "TERMINATED", "end time of AR reached")
    elif commit.event == "deleted" and commit.gone:
        yield log("d", "DELETED", "AR deleted")
    for instance, slots in one.pairs if commit.gone else ():
        queue, _, host = instance.partition("@")
        yield PlainReport(at, "ar_acct", (at, made, one.number, queue, host, slots))


def of_loads(loads: Mapping[str, str], now: float) -> tuple[Report, ...]:
    """The lines of hosts' load reports, by name; the state is always X, as in Grid Engine."""
    return tuple(PlainReport(int(now), "host", (host, int(now), "X", text)) for host, text in loads.items())


def of_states(states: Mapping[str, str], now: float) -> tuple[Report, ...]:
    """The lines of queue instances with changed states; by name, the letters."""
    found = [(*name.partition("@")[::2], letters) for name, letters in states.items()]
    return tuple(PlainReport(int(now), "queue", (queue, host, int(now), letters)) for queue, host, letters in found)
