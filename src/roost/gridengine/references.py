"""References between objects of a cell, and the normal form of their values.

`settle` checks one object in its cell: it reports references to objects that do not exist, in Grid Engine's words, and
returns the object as Grid Engine stores it, with the names instead of shortcuts of complexes and times of hosts and
quotas in seconds. `settle_cell` does it for all objects of a cell.

Host names cannot be resolved here; the caller passes a function that decides whether a host is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from roost.base import records
from roost.base.diagnostics import Diagnostic
from roost.gridengine.builtin import COMPLEXES
from roost.gridengine.cell import COMPLEXES_FILE, SCHEDULER_FILE, SHARE_TREE_FILE, Cell
from roost.gridengine.instances import circle
from roost.gridengine.objects import host, kinds, parallel, people, queue, quota
from roost.gridengine.objects.calendar import Calendar
from roost.gridengine.objects.complex import Complex, Type, bad_value, by_any_name, value_number
from roost.gridengine.objects.configuration import Configuration
from roost.gridengine.objects.pairs import Pair
from roost.gridengine.objects.quota import dynamic_limit
from roost.gridengine.objects.scheduler import formula_terms
from roost.gridengine.objects.share_tree import ShareNode
from roost.gridengine.objects.values import is_none, words
from roost.gridengine.places import Places
from roost.gridengine.problems import ProblemCode, problem

N = TypeVar("N", bound=kinds.Named)
KnownHost = Callable[[str], bool]
#: attribute of queues to the kind it names and that kind's word in Grid Engine's messages
QUEUE_REFERENCES: Final = {
    "ckpt_list": (kinds.CHECKPOINT, "Ckpt"),
    "pe_list": (kinds.ENVIRONMENT, "Parallel environment"),
    "user_lists": (kinds.USER_LIST, "Userset"),
    "xuser_lists": (kinds.USER_LIST, "Userset"),
    "projects": (kinds.PROJECT, "Project"),
    "xprojects": (kinds.PROJECT, "Project"),
    "calendar": (kinds.CALENDAR, "Calendar"),
}
ACCESS: Final = ("user_lists", "xuser_lists")
PROJECTS: Final = ("projects", "xprojects")


def every_host(name: str) -> bool:
    """Accept every name as a host."""
    return bool(name)


class _Settler:
    """Settles objects of one cell and collects the problems."""

    def __init__(self, cell: Cell, places: Places, known_host: KnownHost) -> None:
        self.cell = cell
        self.complexes = by_any_name(cell.complexes.values())
        self.problems: list[Diagnostic] = []
        self._places = places
        self._known_host = known_host

    def report(
        self, file: str, attribute: str, message: str, remedy: str, code: ProblemCode = ProblemCode.UNKNOWN_REFERENCE
    ) -> None:
        """Add a problem."""
        self.problems.append(problem(code, message, self._places.line(file, attribute), remedy, attribute))

    def named(self, file: str, attribute: str, names: Iterable[str], known: Mapping[str, Any], message: str) -> None:
        """Report each name that is not known; `message` has a place for the name."""
        for name in names:
            if name not in known:
                remedy = f"Define {name} first, or take it out."
                self.report(file, attribute, message.replace("%", name), remedy)

    def hosts(self, file: str, attribute: str, members: Iterable[str]) -> None:
        """Report members of a host list that are neither known hosts nor groups."""
        for member in members:
            if member.startswith("@"):
                if member not in self.cell.host_groups:
                    message = f'denied: host group "{member}" does not exist'
                    self.report(file, attribute, message, f"Define {member} first, or take it out.")
            elif not self._known_host(member):
                message = f'unable to resolve host "{member}"'
                self.report(file, attribute, message, "Correct the name of the host.")

    def pairs(self, file: str, attribute: str, pairs: tuple[Pair, ...], unknown: str) -> tuple[Pair, ...]:
        """The pairs with shortcuts of complexes replaced by their names; report complexes that do not exist."""
        found = []
        for name, text in pairs:
            if name not in self.complexes:
                self.report(file, attribute, unknown.replace("%", name), "Define the complex, or correct the name.")
                found.append(Pair(name, text))
            else:
                found.append(Pair(self.complexes[name].name, text))
        return tuple(found)

    def amounts(self, file: str, attribute: str, pairs: tuple[Pair, ...], unknown: str) -> tuple[Pair, ...]:
        """The pairs as stored by hosts and quotas: values checked, times in seconds, hosts in lower case."""
        found = []
        for name, text in self.pairs(file, attribute, pairs, unknown):
            definition = self.complexes.get(name)
            message = bad_value(definition, text) if definition and not text.startswith("$") else None
            if definition and message:
                remedy = f"Write a value of type {definition.type}."
                self.report(file, attribute, message, remedy, ProblemCode.BAD_VALUE)
            found.append(
                Pair(name, text if message or definition is None else self._kept(file, attribute, definition, text))
            )
        return tuple(found)

    def _kept(self, file: str, attribute: str, definition: Complex, text: str) -> str:
        if definition.type is Type.TIME and ":" in text:
            return f"{value_number(Type.TIME, text) or 0:.0f}"
        if definition.type is Type.HOST and not any(one in text for one in "*?[|&!"):
            if not self._known_host(text.lower()):
                self.report(file, attribute, f'can\'t resolve hostname "{text}"', "Correct the name of the host.")
            return text.lower()
        return text


def _file(one: kinds.Named) -> str:
    return f"{kinds.kind_of_object(one).directory}/{one.name}"


def _settings(one: queue.ClusterQueue, attribute: str) -> Iterator[Any]:
    yield getattr(one.defaults, attribute)
    yield from one.overrides.get(attribute, {}).values()


def names_in(one: queue.ClusterQueue, attribute: str) -> tuple[str, ...]:
    """The objects that an attribute of a queue names, in its default and its overrides."""
    found: dict[str, None] = {}
    for value in _settings(one, attribute):
        if isinstance(value, str):
            found.update({} if is_none(value) or not value else {value: None})
        elif attribute == "subordinate_list":
            found.update(dict.fromkeys(value.names))
        else:
            found.update(dict.fromkeys(value))
    return tuple(found)


def _queue(settler: _Settler, one: queue.ClusterQueue) -> queue.ClusterQueue:
    file = _file(one)
    settler.hosts(file, "hostlist", one.hostlist)
    for attribute, (kind, word) in QUEUE_REFERENCES.items():
        known = settler.cell.objects(kind)
        settler.named(file, attribute, names_in(one, attribute), known, f'{word} "%" does not exist')
    for name in names_in(one, "subordinate_list"):
        if name == one.name:
            message = f'Cluster queue "{name}" can\'t get subordinated by itself'
            settler.report(file, "subordinate_list", message, "Take the queue itself out.", ProblemCode.CIRCULAR)
        elif name not in settler.cell.queues:
            message = f'Subordinated cluster queue "{name}" referenced in "{one.name}" does not exist'
            settler.report(file, "subordinate_list", message, f"Define {name} first, or take it out.")
    for attribute, special in one.overrides.items():
        for domain in special:
            if domain.startswith("@") and domain not in settler.cell.host_groups:
                message = f'Did not modify "{attribute}" for host group "{domain}" which does not exist.'
                settler.report(file, attribute, message, f"Define {domain} first, or take it out.")
    unknown = 'Complex attribute "%" does not exist'

    def pairs(value: tuple[Pair, ...]) -> tuple[Pair, ...]:
        return settler.pairs(file, "complex_values", value, unknown)

    defaults = records.replace(one.defaults, complex_values=pairs(one.defaults.complex_values))
    overrides = dict(one.overrides)
    if "complex_values" in overrides:
        overrides["complex_values"] = {name: pairs(value) for name, value in overrides["complex_values"].items()}
    return records.replace(one, defaults=defaults, overrides=overrides)


def _host_group(settler: _Settler, one: host.HostGroup) -> host.HostGroup:
    file = _file(one)
    settler.hosts(file, "hostlist", one.hostlist)
    for member in one.hostlist:
        if member.startswith("@") and circle(one.name, (member,), settler.cell.host_groups):
            message = f'Hostgroup "{member}" in specification of "{one.name}" would create a cycle'
            settler.report(file, "hostlist", message, f"Take {member} out.", ProblemCode.CIRCULAR)
    return one


def _access(settler: _Settler, one: Any, attributes: tuple[str, ...]) -> None:
    for attribute in attributes:
        names = getattr(one, attribute)
        settler.named(_file(one), attribute, names, settler.cell.user_lists, 'Userset "%" does not exist')


def _host(settler: _Settler, one: host.ExecutionHost) -> host.ExecutionHost:
    file = _file(one)
    if one.name != host.GLOBAL and not settler._known_host(one.name):
        settler.report(file, "hostname", f'can\'t resolve hostname "{one.name}"', "Correct the name of the host.")
    scaled = [factor.name for factor in one.load_scaling]
    unknown = f'denied: scaling attribute "%" is not configured for host "{one.name}"'
    settler.named(file, "load_scaling", scaled, settler.complexes, unknown)
    settler.named(file, "report_variables", one.report_variables, settler.complexes, 'unknown resource "%"')
    _access(settler, one, ACCESS)
    for attribute in PROJECTS:
        message = f'denied: project "%" referenced in {attribute} of exechost "{one.name}" does not exist'
        settler.named(file, attribute, getattr(one, attribute), settler.cell.projects, message)
    unknown = 'denied: attribute "%" is not a complex attribute'
    return records.replace(one, complex_values=settler.amounts(file, "complex_values", one.complex_values, unknown))


def _user(settler: _Settler, one: people.User) -> people.User:
    names = () if is_none(one.default_project) else (one.default_project,)
    message = 'denied: project "%" does not exist'
    settler.named(_file(one), "default_project", names, settler.cell.projects, message)
    return one


def _configuration(settler: _Settler, one: Configuration) -> Configuration:
    file = _file(one)
    for attribute in (*ACCESS, *PROJECTS):
        names = words(one.get(attribute) or "NONE", r"\s,")
        if attribute in ACCESS:
            settler.named(file, attribute, names, settler.cell.user_lists, 'Userset "%" does not exist')
        else:
            message = f'denied: project "%" referenced in {attribute} of configuration "{one.name}" does not exist'
            settler.named(file, attribute, names, settler.cell.projects, message)
    return one


def _quota_set(settler: _Settler, one: quota.QuotaSet) -> quota.QuotaSet:
    file = _file(one)
    unknown = '"resource_quota" references not existing complex attribute "%"'
    rules = []
    for rule in one.rules:
        for _, text in rule.limits:
            dynamic = dynamic_limit(text)
            names = dynamic.names if dynamic else ()
            message = '"dynamical_limit" references not existing complex attribute "%"'
            settler.named(file, "limit", names, settler.complexes, message)
        rules.append(records.replace(rule, limits=settler.amounts(file, "limit", rule.limits, unknown)))
    return records.replace(one, rules=tuple(rules))


def _settled(settler: _Settler, one: N) -> N:
    found: kinds.Named
    match one:
        case queue.ClusterQueue():
            found = _queue(settler, one)
        case host.HostGroup():
            found = _host_group(settler, one)
        case host.ExecutionHost():
            found = _host(settler, one)
        case parallel.ParallelEnvironment():
            _access(settler, one, ACCESS)
            found = one
        case people.Project():
            _access(settler, one, ("acl", "xacl"))
            found = one
        case people.User():
            found = _user(settler, one)
        case quota.QuotaSet():
            found = _quota_set(settler, one)
        case Configuration():
            found = _configuration(settler, one)
        case parallel.Checkpoint() | Calendar() | people.UserList():
            found = one
    return found  # type: ignore[return-value]


def settle(
    cell: Cell, one: N, places: Places | None = None, known_host: KnownHost = every_host
) -> tuple[N, list[Diagnostic]]:
    """An object as its cell would store it, and the problems of its references in the current cell."""
    kind = kinds.kind_of_object(one)
    settler = _Settler(cell, places or Places({_file(one): kind.show(one)}), known_host)
    return _settled(settler, one), settler.problems


def _scheduler(settler: _Settler) -> None:
    for name, _ in formula_terms(settler.cell.scheduler.load_formula):
        if name and name not in settler.complexes:
            message = f'"load_formula" references not existing complex attribute "{name}"'
            settler.report(SCHEDULER_FILE, "load_formula", message, "Define the complex, or correct the name.")
        elif name and settler.complexes[name].type.is_text:
            message = f'String, CString, ReString or Host attributes are not allowed in "load_formula": "{name}"'
            settler.report(
                SCHEDULER_FILE, "load_formula", message, "Use a complex with numbers.", ProblemCode.BAD_VALUE
            )


def _share_tree(settler: _Settler, root: ShareNode | None) -> None:
    for node in root.nodes() if root else ():
        twice = sorted({one.name for one in node.children if [each.name for each in node.children].count(one.name) > 1})
        for name in twice:
            message = f'denied: found node "{name}" twice under node "{node.name}"'
            settler.report(SHARE_TREE_FILE, "name", message, "Keep one of them.", ProblemCode.EXISTS)
        known = settler.cell.projects if node.type == 1 else settler.cell.users
        if not node.children and node.name != "default" and node.name not in {**known, **settler.cell.projects}:
            message = f'denied: share tree contains reference to unknown user/project "{node.name}"'
            settler.report(SHARE_TREE_FILE, "name", message, f"Define {node.name} first, or take it out.")


def settle_cell(
    cell: Cell, places: Places | None = None, known_host: KnownHost = every_host
) -> tuple[Cell, list[Diagnostic]]:
    """A cell as Grid Engine stores it, and the problems of its objects' references."""
    settler = _Settler(cell, places or Places.printed(cell), known_host)
    fields: dict[str, Any] = {}
    for kind in kinds.KINDS:
        fields[kind.field] = {name: _settled(settler, one) for name, one in cell.objects(kind).items()}
    _scheduler(settler)
    _share_tree(settler, cell.share_tree)
    _built_in(settler)
    return records.replace(cell, **fields), settler.problems


def _built_in(settler: _Settler) -> None:
    for name, definition in COMPLEXES.items():
        found = settler.cell.complexes.get(name)
        if found is None:
            message = f'The built-in complex "{name}" cannot be deleted'
            settler.report(COMPLEXES_FILE, name, message, "Keep its line.", ProblemCode.BUILT_IN)
        elif found.type is not definition.type:
            message = f'The type of the complex "{name}" cannot be changed due to its built in status'
            settler.report(COMPLEXES_FILE, name, message, f"Write {definition.type}.", ProblemCode.BUILT_IN)
