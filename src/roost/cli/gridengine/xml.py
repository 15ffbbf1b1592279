"""The XML of `qstat`: elements and whitespace of Grid Engine 8.1.9."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.tables import Behind, Listed, Look, by_queue, cluster_figures, roles_of, slots_in, tickets_of
from roost.explain.cell_tasks import Task, slots_asked
from roost.model import cell_requests as cell

if TYPE_CHECKING:
    from roost.wire.requests.central import InstanceStatus

SCHEMAS: Final = "http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat"
HEAD: Final = "<?xml version='1.0'?>\n"
_BEGIN: Final = f'{HEAD}<job_info  xmlns:xsd="{SCHEMAS}/qstat.xsd">\n'


def escape(text: str) -> str:
    """A text with XML markup escaped; the standard library's function would import an HTTP client."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quoted(text: str) -> str:
    """A text as the value of an attribute."""
    marked = escape(text).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
    return '"' + marked.replace('"', "&quot;") + '"'


def element(name: str, value: object, depth: int) -> str:
    """An element with a text."""
    return f"{'  ' * depth}<{name}>{escape(str(value))}</{name}>\n"


def _when(instant: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(instant))


def _jobs(listed: Listed, look: Look, depth: int, instance: str = "") -> Iterator[str]:
    """An element for a task, or with roles one for each of its slots; `instance`: the queue whose list it is in."""
    task = listed.task
    if not look.roles or not task.runs:
        yield from _job(listed, look, depth, instance, instance or task.instance, "")
        return
    for place in [instance] if instance else task.grants:
        for role in roles_of(task, place):
            yield from _job(listed, look, depth, instance, place, role)


def _job(listed: Listed, look: Look, depth: int, instance: str, place: str, role: str) -> Iterator[str]:
    task = listed.task
    blanks = "  " * depth
    values: list[tuple[str, object]] = [
        ("JB_job_number", task.job), ("JAT_prio", f"{listed.priority.priority:.5f}"),
    ]  # fmt: skip
    values += _priority(listed, look)
    values += [("JB_name", task.name), ("JB_owner", task.owner)]
    if look.ext:
        values += [("JB_project", listed.used.project), ("JB_department", listed.used.department)]
    values.append(("state", task.state))
    if look.dated and task.runs:
        values.append(("JAT_start_time", _when(task.started)))
    elif look.dated:
        values.append(("JB_submission_time", _when(task.submitted)))
    if look.ext:
        values += _usage(listed, known=role != "SLAVE" and place == task.instance)
    if not look.full:
        values.append(("queue_name", place if task.runs else task.instance))
    if look.roles:
        values.append(("master", role))
    values.append(("slots", 1 if role else task.grants.get(instance, task.slots)))
    if listed.numbers:
        values.append(("tasks", listed.numbers))
    yield f'{blanks}<job_list state="{"running" if task.runs else "zombie" if task.state == "z" else "pending"}">\n'
    yield from (element(name, value, depth + 1) for name, value in values)
    if look.requests:
        yield from _requests(task, f"{blanks}  ")
    yield f"{blanks}</job_list>\n"


def _priority(listed: Listed, look: Look) -> Iterator[tuple[str, object]]:
    """The components of a job's priority."""
    given = listed.priority
    if look.pri or look.ext:
        yield "JAT_ntix", f"{given.ticket_share:.5f}"
    if look.pri:
        yield "JB_nppri", f"{given.posix:.5f}"
    if look.pri or look.urg:
        yield "JB_nurg", f"{given.urgency_share:.5f}"
    if look.urg:
        yield "JB_rrcontr", f"{given.resources:.0f}"
        yield "JB_wtcontr", f"{given.waiting:.0f}"
        yield "JB_dlcontr", f"{given.deadline:.0f}"
    if look.pri:
        yield "JB_priority", listed.task.ad.get("JobPrio") or 0


def _requests(task: Task, blanks: str) -> Iterator[str]:
    """The requests of a job."""
    found: list[tuple[str, str, object]] = [("full_job_name", "", task.name)]
    ad = task.ad
    if ad.get(cell.PARALLEL):
        name = escape(str(ad[cell.PARALLEL]).partition(" ")[0])
        found.append(("requested_pe", f' name="{name}"', cell.ranges(slots_asked(ad))))
        if task.runs and task.environment:
            found.append(("granted_pe", f' name="{escape(task.environment)}"', task.slots))
    for tag, attribute, behind in (
        ("hard_request", cell.RESOURCES, ' resource_contribution="0.000000"'),
        ("soft_request", cell.SOFT_RESOURCES, ""),
    ):
        for word in filter(None, str(ad.get(attribute) or "").split(",")):
            name, _, wanted = word.partition("=")
            found.append((tag, f' name="{escape(name)}"{behind}', wanted))
    for tag, attribute in _LISTS:
        found += [(tag, "", word) for word in str(ad.get(attribute) or "").split(",") if word]
    for tag, attributes, value in (*found, ("binding", "", ad.get(cell.BINDING) or "NONE")):
        yield f"{blanks}<{tag}{attributes}>{escape(str(value))}</{tag}>\n"


def _usage(listed: Listed, *, known: bool) -> Iterator[tuple[str, object]]:
    used, given = listed.used, listed.priority
    if listed.task.runs and known and used.cpu is not None:
        yield "cpu_usage", f"{used.cpu:.5f}"
        yield "mem_usage", f"{used.mem:.5f}"
        yield "io_usage", f"{used.io:.5f}"
    yield "tickets", f"{int(tickets_of(given))}"
    yield "JB_override_tickets", used.override
    yield "JB_jobshare", int(listed.task.ad.get(cell.SHARE) or 0)
    yield "otickets", f"{int(given.override)}"
    yield "ftickets", f"{int(given.functional)}"
    yield "stickets", f"{int(given.share)}"
    yield "JAT_share", f"{used.share:.5f}"


#: The elements of requested lists.
_LISTS: Final = (
    ("hard_req_queue", cell.QUEUES), ("soft_req_queue", cell.SOFT_QUEUES),
    ("master_hard_req_queue", cell.MASTER_QUEUES), ("predecessor_jobs_req", cell.PREDECESSORS_ASKED),
    ("predecessor_jobs", cell.PREDECESSORS), ("ad_predecessor_jobs_req", cell.ARRAY_PREDECESSORS_ASKED),
    ("ad_predecessor_jobs", cell.ARRAY_PREDECESSORS),
)  # fmt: skip


def plain(running: Iterable[Listed], others: Iterable[Listed], look: Look) -> str:
    """The list of jobs."""
    return "".join(_plain(running, others, look))


def _plain(running: Iterable[Listed], others: Iterable[Listed], look: Look) -> Iterator[str]:
    yield f"{_BEGIN}  <queue_info>\n"
    for each in running:
        yield from _jobs(each, look, 2)
    yield "  </queue_info>\n  <job_info>\n"
    for each in others:
        yield from _jobs(each, look, 2)
    yield "  </job_info>\n</job_info>\n"


#: The elements of `-explain`.
_REASONS: Final = {"a": "load-alarm-reason", "A": "suspend-alarm-reason", "c": "message", "E": "message"}


def full(
    instances: Sequence[InstanceStatus],
    running: Sequence[Listed],
    waiting: Sequence[Listed],
    look: Look,
    behind: Callable[[InstanceStatus], Behind],
) -> Iterator[str]:
    """Queue instances with their jobs."""
    yield f"{_BEGIN}  <queue_info>\n"
    for one in instances:
        yield "    <Queue-List>\n"
        for name, value in (
            ("name", one.name),
            ("qtype", one.types),
            ("slots_used", one.used),
            ("slots_resv", one.reserved),
            ("slots_total", one.total),
            ("load_avg", None if one.load is None else f"{one.load:.5f}"),
            ("arch", one.architecture or None),
            ("state", one.states or None),
        ):
            if value is not None:
                yield element(name, value, 3)
        found = behind(one)
        yield from (element(_REASONS[letter], words, 3) for letter, words in found.explained)
        for name, source, text in found.offers:
            yield f'      <resource name="{name}" type="{source}">{escape(text)}</resource>\n'
        for each in running:
            if one.name in each.task.grants:
                yield from _jobs(each, look, 3, one.name)
        yield "    </Queue-List>\n"
    yield "  </queue_info>\n  <job_info>\n"
    for each in waiting:
        yield from _jobs(each, look, 2)
    yield "  </job_info>\n</job_info>\n"


#: The elements added by `-g c -ext`, by the letter of the state.
_OF_LETTERS: Final = {
    "s": "suspend_manual", "A": "suspend_threshold", "S": "suspend_on_subordinate", "C": "suspend_calendar",
    "u": "unknown", "a": "load_alarm", "d": "disabled_manual", "D": "disabled_calendar", "c": "ambiguous",
    "o": "orphaned", "E": "error",
}  # fmt: skip


def clusters(instances: Sequence[InstanceStatus], *, extended: bool = False) -> str:
    """The summary of cluster queues."""
    parts = [_BEGIN]
    for name, some in by_queue(instances).items():
        figures = cluster_figures(some)
        parts.append("  <cluster_queue_summary>\n")
        parts += [
            element(tag, value, 2)
            for tag, value in (
                ("name", name),
                ("load", None if figures.load is None else f"{figures.load:.5f}"),
                ("used", figures.used),
                ("resv", figures.reserved),
                ("available", figures.free),
                ("total", figures.total),
                ("temp_disabled", figures.for_a_while),
                ("manual_intervention", figures.closed),
                *((tag, slots_in(some, letter)) for letter, tag in (_OF_LETTERS.items() if extended else ())),
            )
            if value is not None
        ]
        parts.append("  </cluster_queue_summary>\n")
    return "".join([*parts, "</job_info>\n"])


_MESSAGES: Final = "http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/message.xsd"


def messages(by_message: Mapping[tuple[int, str], Sequence[int]], of_run: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Why jobs wait: number and text of a message to the jobs concerned, and messages that concern none."""
    yield f'{HEAD}<message  xmlns:xsd="{_MESSAGES}">\n  <element>\n    <SME_message_list>\n'
    for (number, words), jobs in by_message.items():
        yield "      <element>\n        <MES_job_number_list>\n"
        for job in jobs:
            yield f"          <ulong_sublist>\n{element('ULNG_value', job, 6)}          </ulong_sublist>\n"
        yield "        </MES_job_number_list>\n"
        yield element("MES_message_number", number, 4) + element("MES_message", words, 4) + "      </element>\n"
    yield "    </SME_message_list>\n    <SME_global_message_list>\n"
    for number, words in of_run:
        yield "      <element>\n"
        yield element("MES_message_number", number, 4)
        yield element("MES_message", words, 4).replace('"', "&quot;") + "      </element>\n"
    yield "    </SME_global_message_list>\n  </element>\n</message>\n"


def unknown(identifiers: Iterable[str]) -> str:
    """The output of `qstat -j` for jobs that do not exist."""
    names = "".join(f"    <ST_name>{escape(name)}</ST_name>\n" for name in identifiers)
    return f"{HEAD}<unknown_jobs >\n{names}</unknown_jobs>\n"
