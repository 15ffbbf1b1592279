"""References to an object of a cell, in the words in which Grid Engine refuses to delete it."""

from __future__ import annotations

from collections.abc import Iterator

from roost.gridengine.cell import Cell
from roost.gridengine.instances import hosts_of
from roost.gridengine.objects import kinds
from roost.gridengine.objects.queue import ClusterQueue
from roost.gridengine.objects.share_tree import ShareNode
from roost.gridengine.objects.values import words
from roost.gridengine.references import ACCESS, PROJECTS, names_in


def uses(cell: Cell, kind: kinds.ObjectKind, name: str) -> Iterator[str]:
    """Why an object cannot be deleted, in Grid Engine's words: what refers to it."""
    match kind:
        case kinds.QUEUE:
            for one in cell.queues.values():
                if name in names_in(one, "subordinate_list"):
                    yield (
                        f'Cluster queue "{name}" is referenced in cluster queue "{one.name}" as a subordinate. '
                        "Deletion denied"
                    )
        case kinds.HOST:
            yield from _host_uses(cell, name)
        case kinds.HOST_GROUP:
            yield from _group_uses(cell, name)
        case kinds.ENVIRONMENT:
            for one in _queues_naming(cell, "pe_list", name):
                yield f'denied: Parallel environment "{name}" is still referenced in queue "{one.name}".'
        case kinds.CHECKPOINT:
            for one in _queues_naming(cell, "ckpt_list", name):
                yield f'denied: Ckpt "{name}" is still referenced in queue "{one.name}".'
        case kinds.CALENDAR:
            for one in _queues_naming(cell, "calendar", name):
                yield f'denied: Calendar "{name}" is still referenced in queue "{one.name}"'
        case kinds.USER_LIST:
            yield from _list_uses(cell, name)
        case kinds.PROJECT:
            yield from _project_uses(cell, name)
        case kinds.USER:
            if _in_tree(cell.share_tree, name):
                yield f'denied: may not remove user "{name}" still referenced in share tree'


def _queues_naming(cell: Cell, attribute: str, name: str) -> Iterator[ClusterQueue]:
    return (one for one in cell.queues.values() if name in names_in(one, attribute))


def _host_uses(cell: Cell, name: str) -> Iterator[str]:
    for queue in cell.queues.values():
        if name in hosts_of(queue.hostlist, cell.host_groups):
            yield f'Host object "{name}" is still referenced in cluster queue "{queue.name}".'
    for group in cell.host_groups.values():
        if name in group.hostlist:
            yield f'Host object "{name}" is still referenced in host group "{group.name}".'


def _group_uses(cell: Cell, name: str) -> Iterator[str]:
    groups = [one.name for one in cell.host_groups.values() if name in one.hostlist]
    if groups:
        yield f'denied: these hostgroups still reference "{name}": {", ".join(groups)}'
    queues = [
        one.name
        for one in cell.queues.values()
        if name in one.hostlist or any(name in special for special in one.overrides.values())
    ]
    if queues:
        yield f'denied: these cluster queues still reference "{name}": {", ".join(queues)}'


def _list_uses(cell: Cell, name: str) -> Iterator[str]:
    refused = f'denied: userset "{name}" is still referenced in'
    for attribute, word in zip(ACCESS, ("user list", "xuser list"), strict=True):
        for queue in _queues_naming(cell, attribute, name):
            yield f'{refused} {word} of queue "{queue.name}"'
        for environment in cell.parallel_environments.values():
            if name in getattr(environment, attribute):
                yield f'{refused} {word} of parallel environment "{environment.name}"'
        for host in cell.hosts.values():
            if name in getattr(host, attribute):
                yield f'{refused} {word} of exechost "{host.name}"'
        for configuration in cell.configurations.values():
            if name in words(configuration.get(attribute) or "NONE", r"\s,"):
                yield f'{refused} {word} of configuration "{configuration.name}"'
    for project in cell.projects.values():
        if name in project.acl:
            yield f'{refused} user list of project "{project.name}"'
        if name in project.xacl:
            yield f'{refused} xuser list of project "{project.name}"'


def _project_uses(cell: Cell, name: str) -> Iterator[str]:
    refused = f'denied: project "{name}" is still referenced in'
    for attribute in PROJECTS:
        for queue in _queues_naming(cell, attribute, name):
            yield f'{refused} {attribute} of queue "{queue.name}"'
        for host in cell.hosts.values():
            if name in getattr(host, attribute):
                yield f'{refused} {attribute} of exechost "{host.name}"'
        for configuration in cell.configurations.values():
            if name in words(configuration.get(attribute) or "NONE", r"\s,"):
                yield f'{refused} {attribute} of configuration "{configuration.name}"'
    for user in cell.users.values():
        if user.default_project == name:
            yield f'project "{name}" is still referenced by user "{user.name}"'
    if _in_tree(cell.share_tree, name):
        yield f'denied: may not remove project "{name}" still referenced in share tree'


def _in_tree(root: ShareNode | None, name: str) -> bool:
    return root is not None and any([node.name == name for node in root.nodes()])


def complex_uses(cell: Cell, name: str) -> Iterator[str]:
    """Why a complex cannot be deleted, in Grid Engine's words."""
    refused = f'denied: Complex attribute "{name}" is still referenced in'
    for queue in cell.queues.values():
        values = (queue.defaults.complex_values, *queue.overrides.get("complex_values", {}).values())
        if any(name == pair.name for pairs in values for pair in pairs):
            yield f'{refused} queue "{queue.name}".'
    for host in cell.hosts.values():
        if any(name == pair.name for pair in host.complex_values):
            yield f'{refused} host "{host.name}".'
