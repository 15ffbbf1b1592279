"""The lines of a reporting file. Source: reporting(5), and what Grid Engine 8.1.9 writes."""

from __future__ import annotations

from roost.gridengine.accounting_lines import line_of as accounting_line
from roost.gridengine.accounting_lines import plain
from roost.model.cell_accounting import DEPARTMENT, NONE
from roost.model.cell_reporting import JobReport, Report, RunReport


def line_of(report: Report) -> str:
    """The line of a report, without an end of line."""
    if isinstance(report, RunReport):
        return f"{report.at}:acct:{accounting_line(report.record)}"
    if not isinstance(report, JobReport):
        return ":".join(plain(str(each)) for each in (report.at, report.kind, *report.fields))
    department = report.department or DEPARTMENT
    person = report.name, report.owner, report.group, report.project, department, report.account
    fields: tuple[str | int, ...]
    if report.event:
        fields = (
            "job_log", report.at, report.event, report.job, report.task, NONE, report.state, report.user, report.host,
            0, report.priority, report.submitted, *person, report.message,
        )  # fmt: skip
    else:
        fields = "new_job", report.submitted, report.job, report.task, NONE, *person, report.priority
    return ":".join(plain(str(each)) for each in (report.at, *fields))
