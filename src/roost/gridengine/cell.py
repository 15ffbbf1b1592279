"""A cell: all its objects as one value, and its text as the files of a directory.

`read_cell` reads the output of `save_sge_config.sh`, as file names and texts; `write_cell` returns the same, byte for
byte. Files of the directory that describe the installation rather than the cell (ports, the version, job numbers) are
listed in `NOT_OBJECTS` and left to the caller.

Nothing here changes a cell; see `roost.gridengine.changes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.base import records
from roost.base.diagnostics import Diagnostic, Span
from roost.gridengine import builtin
from roost.gridengine.objects.calendar import Calendar
from roost.gridengine.objects.complex import Complex, parse_complexes, show_complexes
from roost.gridengine.objects.configuration import Configuration, count_of, new_global
from roost.gridengine.objects.host import GLOBAL, ExecutionHost, HostGroup
from roost.gridengine.objects.kinds import KINDS, QUOTA_SET, ObjectKind, directory_of, parse_flat
from roost.gridengine.objects.parallel import Checkpoint, ParallelEnvironment
from roost.gridengine.objects.people import BUILT_IN_LISTS, Project, User, UserList
from roost.gridengine.objects.queue import ClusterQueue
from roost.gridengine.objects.quota import QuotaSet, parse_quota_sets
from roost.gridengine.objects.rows import rows_of
from roost.gridengine.objects.scheduler import WIDTH, SchedulerConfiguration
from roost.gridengine.objects.share_tree import ShareNode, parse_share_tree, show_share_tree
from roost.gridengine.objects.text import logical_lines, show, shown
from roost.gridengine.problems import ProblemCode, Refused, problem


@records.dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell's configuration."""

    queues: Mapping[str, ClusterQueue] = records.field(default_factory=dict)
    host_groups: Mapping[str, HostGroup] = records.field(default_factory=dict)
    #: execution hosts, with `global`
    hosts: Mapping[str, ExecutionHost] = records.field(default_factory=dict)
    complexes: Mapping[str, Complex] = records.field(default_factory=dict)
    parallel_environments: Mapping[str, ParallelEnvironment] = records.field(default_factory=dict)
    checkpoints: Mapping[str, Checkpoint] = records.field(default_factory=dict)
    calendars: Mapping[str, Calendar] = records.field(default_factory=dict)
    quota_sets: Mapping[str, QuotaSet] = records.field(default_factory=dict)
    user_lists: Mapping[str, UserList] = records.field(default_factory=dict)
    projects: Mapping[str, Project] = records.field(default_factory=dict)
    users: Mapping[str, User] = records.field(default_factory=dict)
    configurations: Mapping[str, Configuration] = records.field(default_factory=dict)
    share_tree: ShareNode | None = None
    scheduler: SchedulerConfiguration = records.field(default_factory=SchedulerConfiguration)
    managers: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    admin_hosts: tuple[str, ...] = ()
    submit_hosts: tuple[str, ...] = ()

    def parameter(self, name: str) -> str:
        """A value of the global configuration; "" if it has none."""
        configuration = self.configurations.get(GLOBAL)
        return (configuration and configuration.get(name)) or ""

    def configured(self, host: str, name: str) -> str | None:
        """An attribute of a host's configuration, or else of the global one; None if neither has it."""
        for place in (host, GLOBAL):
            configuration = self.configurations.get(place)
            text = None if configuration is None else configuration.get(name)
            if text is not None:
                return text
        return None

    def user(self, name: str) -> User | None:
        """The cell's entry for a user; with `enforce_user` auto the user need not be listed.

        Grid Engine adds such users to its list when they submit; here they count as if listed.
        """
        found = self.users.get(name)
        if found is not None or self.parameter("enforce_user").lower() != "auto":
            return found
        return User(
            name=name,
            oticket=count_of(self.parameter("auto_user_oticket")),
            fshare=count_of(self.parameter("auto_user_fshare")),
            default_project=self.parameter("auto_user_default_project") or "NONE",
        )

    def objects(self, kind: ObjectKind) -> Mapping[str, Any]:
        """The objects of a kind, by name."""
        return getattr(self, kind.field)  # type: ignore[no-any-return]


#: files of a directory of `save_sge_config.sh` that describe the installation
NOT_OBJECTS: Final = ("backup_date", "cell/act_qmaster", "cell/bootstrap", "jobseqnum", "ports", "sge_cell", "sge_root",
                      "version", "cell/shadow_masters", "cell/qtask", "cell/sge_request", "cell/host_aliases",
                      "cell/sge_aliases", "cell/sge_qstat", "cell/accounting", "arseqnum", "cell/jmx")  # fmt: skip
#: file of the directory to field of the cell, for lists of names
LISTS: Final = {
    "managers": "managers",
    "operators": "operators",
    "admin_hosts": "admin_hosts",
    "submit_hosts": "submit_hosts",
}
COMPLEXES_FILE: Final = "centry"
SCHEDULER_FILE: Final = "schedconf"
SHARE_TREE_FILE: Final = "sharetree"


def new_cell() -> Cell:
    """The cell of a new installation, without hosts and queues."""
    make = ParallelEnvironment(
        name="make",
        slots=999,
        allocation_rule="$round_robin",
        control_slaves=True,
        job_is_first_task=False,
        accounting_summary=True,
    )
    return Cell(
        hosts={GLOBAL: ExecutionHost(name=GLOBAL)},
        host_groups={"@allhosts": HostGroup(name="@allhosts")},
        complexes=dict(builtin.COMPLEXES),
        parallel_environments={"make": make},
        user_lists={name: UserList(name=name, type=type) for name, type in BUILT_IN_LISTS.items()},
        configurations={GLOBAL: new_global()},
    )


def parse_names(text: str, file: str) -> tuple[str, ...]:
    """Read a list with one name per line; sorted, without duplicates."""
    return tuple(sorted({line for line, _ in logical_lines(text, file)}))


def parse_scheduler(text: str, file: str) -> SchedulerConfiguration:
    """Read a scheduler configuration; raise `Refused`."""
    return parse_flat(SchedulerConfiguration, "", "scheduler configuration", text, file)  # type: ignore[no-any-return]


def show_scheduler(scheduler: SchedulerConfiguration) -> str:
    """A scheduler configuration as `qconf -ssconf` prints it."""
    return show(shown(rows_of(SchedulerConfiguration), scheduler), WIDTH)


def read_cell(files: Mapping[str, str]) -> Cell:
    """Build a cell from texts by file name, such as ``cqueues/all.q``; raise `Refused` with every problem.

    The objects of a missing directory or file are left out; the scheduler configuration, the complexes and `global`
    then have their defaults.
    """
    fields: dict[str, Any] = {kind.field: {} for kind in KINDS}
    problems: list[Diagnostic] = []
    for file in sorted(files):
        try:
            _read_file(file, files[file], fields)
        except Refused as refused:
            problems.extend(refused.problems)
    if problems:
        raise Refused(problems)
    fresh = new_cell()
    fields.setdefault("complexes", fresh.complexes)
    fields["hosts"].setdefault(GLOBAL, fresh.hosts[GLOBAL])
    fields["configurations"].setdefault(GLOBAL, fresh.configurations[GLOBAL])
    for kind in KINDS:
        fields[kind.field] = dict(sorted(fields[kind.field].items()))
    return Cell(**fields)


def _read_file(file: str, text: str, fields: dict[str, Any]) -> None:
    directory, _, name = file.rpartition("/")
    kind = next((each for each in KINDS if each.directory == directory), None)
    if kind is not None:
        found = parse_quota_sets(text, file) if kind is QUOTA_SET else (kind.parse(text, file),)
        for one in found:
            _add(kind, one, file, name if kind is not QUOTA_SET else one.name, fields)
    elif file == COMPLEXES_FILE:
        fields["complexes"] = {one.name: one for one in parse_complexes(text, file)}
    elif file == SCHEDULER_FILE:
        fields["scheduler"] = parse_scheduler(text, file)
    elif file == SHARE_TREE_FILE:
        fields["share_tree"] = parse_share_tree(text, file)
    elif file in LISTS:
        fields[LISTS[file]] = parse_names(text, file)
    elif file not in NOT_OBJECTS:
        message = f"{file} does not belong to a cell"
        remedy = f"The directories are {', '.join(sorted(kind.directory for kind in KINDS))}."
        raise Refused([problem(ProblemCode.UNKNOWN_KIND, message, Span(file), remedy)])


def _add(kind: ObjectKind, one: Any, file: str, name: str, fields: dict[str, Any]) -> None:
    if one.name != name and one.name.lower() != name.lower():
        message = f'the file has the name "{name}", and the {kind.word} in it "{one.name}"'
        raise Refused(
            [problem(ProblemCode.BAD_NAME, message, Span(file, 1), "Give both the same name.", kind.key or None)]
        )
    if one.name in fields[kind.field]:
        message = f'{kind.word} "{one.name}" already exists'
        raise Refused([problem(ProblemCode.EXISTS, message, Span(file, 1), "Keep one of them.", kind.key or None)])
    fields[kind.field][one.name] = one


def file_of(text: str, given: str) -> str:
    """The name, in a cell's directory, of a single file that `qconf -s…` printed; raise `Refused` if none fits.

    The text of a list of users or hosts does not identify it; the file must have the name of the list.
    """
    last = given.rpartition("/")[2]
    if last in LISTS:
        return last
    directory = directory_of(text)
    if directory is None:
        message = f"{given} does not show which object of a cell it is"
        remedy = f"Name a list {', '.join(LISTS)}; otherwise give the output of `qconf -s…`."
        raise Refused([problem(ProblemCode.UNKNOWN_KIND, message, Span(given), remedy)])
    kind = next((each for each in KINDS if each.directory == directory), None)
    if kind is None:
        return directory
    if kind is QUOTA_SET:
        return f"{directory}/{last}"
    return f"{directory}/{kind.parse(text, given).name}"


def write_cell(cell: Cell) -> dict[str, str]:
    """The files of a cell, by name, as `save_sge_config.sh` writes them."""
    files: dict[str, str] = {}
    for kind in KINDS:
        for name, one in cell.objects(kind).items():
            files[f"{kind.directory}/{name}"] = kind.show(one)
    files[COMPLEXES_FILE] = show_complexes(cell.complexes.values())
    files[SCHEDULER_FILE] = show_scheduler(cell.scheduler)
    files[SHARE_TREE_FILE] = show_share_tree(cell.share_tree)
    for file, field in LISTS.items():
        files[file] = _show_names(getattr(cell, field))
    return dict(sorted(files.items()))


def _show_names(names: Iterable[str]) -> str:
    return "".join(f"{name}\n" for name in names)
