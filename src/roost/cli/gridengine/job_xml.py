"""``qstat -j JOB -xml``: elements and whitespace of Grid Engine 8.1.9.

Elements for which a pool has no value have that of a job without the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from roost.classad.reading import amount_in
from roost.cli.gridengine.xml import HEAD, SCHEMAS, element, escape
from roost.explain.cell_tasks import Task, slots_asked
from roost.gridengine.commands.paths import entries
from roost.gridengine.objects.complex import Complex, Type
from roost.gridengine.objects.values import number, seconds
from roost.gridengine.pool.requests import pairs, text_of
from roost.model import cell_requests as cell
from roost.model.command_line import arguments_of, environment_of

if TYPE_CHECKING:
    from roost.classad import ClassAd

#: An element: its name, and its text or child elements.
Node = tuple[str, Any]
_BEGIN: Final = f'{HEAD}<detailed_job_info  xmlns:xsd="{SCHEMAS}/detailed_job_info.xsd">\n  <djob_info>\n'
#: Grid Engine's numbers of types.
_TYPES: Final = {
    Type.INT: 1, Type.STRING: 2, Type.TIME: 3, Type.MEMORY: 4, Type.BOOL: 5, Type.CSTRING: 6, Type.HOST: 7,
    Type.DOUBLE: 8, Type.RESTRING: 9,
}  # fmt: skip
#: Bits of a job's type: a command, an array, one that starts at once or not at all.
_BINARY, _ARRAY, _IMMEDIATE = 1, 128, 2
#: The state bit of a running task.
_RUNS: Final = 128
#: Grid Engine's internal number of priority 0.
_PRIORITY_BASE: Final = 1024
#: Strategies and amounts of `-binding` as numbers.
_WAYS: Final = {"pe": 1, "env": 2, "set": 3}
_ALL_SLOTS: Final = 2**31 - 1


def document(jobs: Iterable[Sequence[Node]], messages: Iterable[tuple[int, str, int]]) -> Iterator[str]:
    """The document of jobs, with number and text of messages and the job that each is about."""
    yield _BEGIN
    for job in jobs:
        yield from _written([("element", job)], 2)
    yield "  </djob_info>\n  <messages>\n    <element>\n"
    found = [
        ("element", [
            ("MES_job_number_list", [("ulong_sublist", [("ULNG_value", job)])]),
            ("MES_message_number", code), ("MES_message", words),
        ])
        for code, words, job in messages
    ]  # fmt: skip
    yield from _written([("SME_message_list", found)] if found else [], 3)
    yield "    </element>\n  </messages>\n</detailed_job_info>\n"


def _binding(ad: ClassAd) -> list[Node]:
    """The request of `-binding`, in canonical form."""
    way, _, text = str(ad.get(cell.BINDING) or "").partition(" ")
    strategy, *parts = text.split(":")
    explicit, amounts = "", parts
    if strategy == "explicit":
        explicit, amounts = text, []
    elif not text:
        strategy, explicit = "no_job_binding", "no_explicit_binding"
    elif not parts or "," not in parts[-1]:
        strategy += "_automatic"
    numbers = [_ALL_SLOTS if each == "slots" else int(each) for each in amounts if "," not in each]
    socket, _, core = next((each for each in amounts if "," in each), "0,0").partition(",")
    found: list[Node] = [
        ("BN_strategy", strategy), ("BN_type", _WAYS.get(way, 0)), ("BN_parameter_n", next(iter(numbers), 0)),
        ("BN_parameter_socket_offset", int(socket)), ("BN_parameter_core_offset", int(core)),
        ("BN_parameter_striding_step_size", next(iter(numbers[1:]), 0)),
    ]  # fmt: skip
    return [*found, ("BN_parameter_explicit", explicit)] if explicit else found


def _written(nodes: Iterable[Node], depth: int) -> Iterator[str]:
    blanks = "  " * depth
    for name, value in nodes:
        if isinstance(value, list | tuple):
            yield f"{blanks}<{name}>\n"
            yield from _written(value, depth + 1)
            yield f"{blanks}</{name}>\n"
        elif name == "MES_message":
            marked = escape(str(value)).replace('"', "&quot;").replace("'", "&apos;")
            yield f"{blanks}<{name}>{marked}</{name}>\n"
        else:
            yield element(name, value, depth)


def job_nodes(
    ad: ClassAd,
    tasks: Sequence[Task],
    account: Mapping[str, object],
    complexes: Mapping[str, Complex],
    used: Mapping[int, Mapping[str, float]],
    relatives: Mapping[str, str],
) -> list[Node]:
    """The elements of a job.

    `account`: uid, group and gid of its owner; `complexes`: by any name; `used`: usage of running tasks, by their
    number within the cluster; `relatives`: jobs that it waits for and jobs waiting for it, under the list names of
    `qstat -j`.
    """
    first = tasks[0]
    nodes: list[Node] = [("JB_job_number", first.job), ("JB_ar", int(amount_in(ad, cell.RESERVATION)))]
    if ad.get(cell.SCRIPT) is not None:
        nodes.append(("JB_exec_file", f"job_scripts/{first.job}"))
    nodes += [("JB_submission_time", first.submitted), ("JB_owner", first.owner)]
    nodes += [(f"JB_{name}", value) for name, value in account.items()]
    nodes.append(("JB_account", ad.get(cell.ACCOUNT) or "sge"))
    nodes += _named("JB_project", text_of(ad, cell.PROJECT))
    nodes += [("JB_merge_stderr", _truth(ad, cell.MERGES)), ("JB_mail_list", _mail(ad, first.owner))]
    nodes += [("JB_notify", _truth(ad, cell.NOTIFY)), ("JB_job_name", first.name)]
    nodes += _paths("JB_stdout_path_list", text_of(ad, cell.OUTPUT_PATHS))
    nodes.append(("JB_jobshare", int(amount_in(ad, cell.SHARE))))
    for name, attribute in (("hard", cell.RESOURCES), ("soft", cell.SOFT_RESOURCES)):
        nodes += _listed(
            f"JB_{name}_resource_list", [_resource(*pair, complexes) for pair in pairs(text_of(ad, attribute))]
        )
    for name, attribute in (("hard", cell.QUEUES), ("soft", cell.SOFT_QUEUES), ("master_hard", cell.MASTER_QUEUES)):
        queues = [word for word in text_of(ad, attribute).split(",") if word]
        nodes += _listed(f"JB_{name}_queue_list", [("destin_ident_list", [("QR_name", one)]) for one in queues])
    nodes += _paths("JB_shell_list", text_of(ad, cell.SHELL))
    nodes += [("JB_env_list", [_variable(*pair) for pair in environment_of(ad).items()])]
    nodes += _listed("JB_job_args", [("element", [("ST_name", word)]) for word in arguments_of(ad)])
    nodes.append(("JB_script_file", ad.get("Cmd")))
    running = [task for task in tasks if task.runs]
    nodes += _listed("JB_ja_tasks", [("ulong_sublist", _task(task, used.get(task.proc, {}))) for task in running])
    if ad.get(cell.DIRECTORY) is True:
        nodes.append(("JB_cwd", ad.get("Iwd")))
    nodes += _paths("JB_stderr_path_list", text_of(ad, cell.ERROR_PATHS))
    nodes += _paths("JB_stdin_path_list", text_of(ad, cell.INPUT_PATHS))
    for name, jobs in relatives.items():
        kind = "job_predecessors" if "predecessor" in name else "ulong_sublist"
        nodes.append((f"JB_{name}", [(kind, [("JRE_job_number", one)]) for one in jobs.split(",")]))
    asked = [word for word in text_of(ad, cell.PREDECESSORS_ASKED).split(",") if word]
    nodes += _listed("JB_jid_request_list", [
        ("element", [("JRE_job_number", one if one.isdigit() else 0), ("JRE_job_name", one)]) for one in asked
    ])  # fmt: skip
    return nodes + _numbers(ad, first)


def _numbers(ad: ClassAd, first: Task) -> list[Node]:
    """The final elements: numbers, and others with a fixed place among them."""
    nodes: list[Node] = [
        ("JB_deadline", int(amount_in(ad, cell.DEADLINE))), ("JB_execution_time", int(amount_in(ad, cell.NOT_BEFORE))),
        *_named("JB_checkpoint_name", text_of(ad, cell.CHECKPOINT)),
        ("JB_checkpoint_attr", 0), ("JB_checkpoint_interval", 0), ("JB_reserve", _truth(ad, cell.RESERVE)),
        ("JB_mail_options", 0), ("JB_priority", _PRIORITY_BASE + int(amount_in(ad, "JobPrio"))),
        ("JB_restart", {"y": 1, "n": 2}.get(text_of(ad, cell.RERUN), 0)), ("JB_verify", 0), ("JB_script_size", 0),
    ]  # fmt: skip
    if asked := slots_asked({cell.PARALLEL: ad.get(cell.PARALLEL)}):
        nodes.append(("JB_pe", text_of(ad, cell.PARALLEL).partition(" ")[0]))
        nodes.append(("JB_pe_range", [("ranges", _range(one.low, one.high, 1)) for one in asked]))
    kinds = _BINARY * (ad.get(cell.SCRIPT) is None) + _IMMEDIATE * (ad.get(cell.IMMEDIATE) is True)
    return [
        *nodes, ("JB_verify_suitable_queues", 0), ("JB_soft_wallclock_gmt", 0), ("JB_hard_wallclock_gmt", 0),
        ("JB_override_tickets", int(amount_in(ad, cell.OVERRIDE_TICKETS))), ("JB_version", 0),
        ("JB_ja_structure", [("task_id_range", _range(*(first.tasks or (1, 1, 1))))]),
        ("JB_type", kinds + _ARRAY * (first.tasks is not None)), ("JB_binding", [("element", _binding(ad))]),
        ("JB_ja_task_concurrency", int(amount_in(ad, "JobMaterializeLimit"))), ("JB_nurg", "0.000000"),
    ]  # fmt: skip


def _range(low: int, high: float, step: int) -> list[Node]:
    return [("RN_min", low), ("RN_max", int(min(high, 9999999))), ("RN_step", step)]


def _task(task: Task, used: Mapping[str, float]) -> list[Node]:
    scaled = [("scaled", [("UA_name", name), ("UA_value", f"{value:.6f}")]) for name, value in used.items()]
    return [
        ("JAT_status", _RUNS), ("JAT_task_number", task.number or 1), ("JAT_scaled_usage_list", scaled),
        ("JAT_start_time", task.started), ("JAT_ntix", "0.500000"),
    ]  # fmt: skip


def _resource(name: str, value: str, complexes: Mapping[str, Complex]) -> Node:
    found = complexes.get(name)
    kind = Type.STRING if found is None else found.type
    amount = 0.0
    if not kind.is_text:
        amount = (
            {"TRUE": 1.0, "FALSE": 0.0}.get(value.upper()) or (seconds if kind is Type.TIME else number)(value) or 0.0
        )
    return ("qstat_l_requests", [
        ("CE_name", name if found is None else found.name), ("CE_valtype", _TYPES[kind]), ("CE_stringval", value),
        ("CE_doubleval", f"{amount:.6f}"), *((f"CE_{each}", 0) for each in ("relop", "consumable", "dominant")),
        ("CE_pj_doubleval", "0.000000"), *((f"CE_{each}", 0) for each in ("pj_dominant", "requestable", "tagged")),
    ])  # fmt: skip


def _variable(name: str, value: str) -> Node:
    called = f"__SGE_PREFIX__{name.removeprefix('SGE_')}" if name.startswith("SGE_O_") else name
    return "job_sublist", [("VA_variable", called), *([("VA_value", value)] if value else [])]


def _mail(ad: ClassAd, owner: str) -> list[Node]:
    given = text_of(ad, cell.MAIL_LIST)
    addresses = given.split(",") if given else [f"{owner}@{environment_of(ad).get('SGE_O_HOST', '')}"]
    kind = "mail_list" if given else "element"
    return [
        (kind, [("MR_user", user), ("MR_host", host)]) for user, _, host in (one.partition("@") for one in addresses)
    ]


def _paths(name: str, given: str) -> list[Node]:
    return _listed(name, [
        ("path_list", [("PN_path", path), ("PN_host", host), ("PN_file_host", ""), ("PN_file_staging", "false")])
        for host, path in entries(given)
    ])  # fmt: skip


def _listed(name: str, nodes: list[Node]) -> list[Node]:
    return [(name, nodes)] if nodes else []


def _named(name: str, value: str) -> list[Node]:
    return [(name, value)] if value else []


def _truth(ad: ClassAd, name: str) -> str:
    return "true" if ad.get(name) is True else "false"
