"""The share tree in a cell's reporting file: the lines for `sharelog`, one per node.

Fields and order are those of Grid Engine 8.1.9: times, path, user, project, shares, running jobs, the node's share
among its siblings and in the whole tree, its target and actual shares, and its usage, decayed and in total. As there,
`default` has a line and below it one for each user that it stands for; an inner node has only the sum of usage; and the
short-term target share is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from roost.gridengine.cell import Cell
from roost.gridengine.objects.share_tree import ShareNode
from roost.model.cell_reporting import PlainReport
from roost.model.cell_usage import NAMES, Amounts, Owner, UsageRules, Used, added

_DEFAULT: Final = "default"
_PROJECT: Final = 1


class _Account(NamedTuple):
    """The usage of a user, with or without a project, or of a whole project."""

    recent: Amounts
    total: Amounts

    def plus(self, used: Used) -> _Account:
        return _Account(added(self.recent, used.recent), added(self.total, used.total))


_NOTHING: Final = _Account({}, {})


class _Node(NamedTuple):
    """A node of the tree, with sums over its subtree."""

    path: str
    user: str
    project: str
    shares: int
    #: Its account; None for an inner node.
    account: _Account | None
    children: tuple[_Node, ...]
    usage: float
    jobs: int


class _Maker:
    """Makes the tree with its sums."""

    def __init__(
        self,
        cell: Cell,
        accounts: Mapping[Owner, Used],
        rules: UsageRules,
        running: Counter[tuple[str, str]],
        now: float,
    ) -> None:
        self._rules, self._running = rules, running
        self._accounts: dict[tuple[str, str], _Account] = {}
        for owner, used in accounts.items():
            key = owner.user, owner.project
            self._accounts[key] = self._accounts.get(key, _NOTHING).plus(used.settled(rules, now))
        self._people = sorted({*cell.users, *(user for user, _ in (*self._accounts, *running))})

    def node(self, given: ShareNode, above: str, project: str) -> _Node:
        """A node with its subtree."""
        path = f"{above}/{given.name}"
        if given.type == _PROJECT:
            project = given.name
        if given.children:
            present = {child.name for child in given.children}
            children = tuple(
                self._default(child, path, project, present)
                if child.name == _DEFAULT and not child.children
                else self.node(child, path, project)
                for child in given.children
            )
            return self._between(path, project, given.shares, children, tells=given.type == _PROJECT)
        if given.type == _PROJECT:
            return self._leaf(path, "", project, given.shares, {key for key in self._known if key[1] == project})
        return self._leaf(path, given.name, project, given.shares, {(given.name, project)})

    @property
    def _known(self) -> set[tuple[str, str]]:
        return {*self._accounts, *self._running}

    def _default(self, given: ShareNode, above: str, project: str, present: set[str]) -> _Node:
        path = f"{above}/{_DEFAULT}"
        children = tuple(
            self._leaf(f"{path}/{user}", user, project, given.shares, {(user, project)})
            for user in self._people
            if user not in present
        )
        return self._between(path, project, given.shares, children, tells=False)

    def _between(self, path: str, project: str, shares: int, children: tuple[_Node, ...], *, tells: bool) -> _Node:
        account = self._sum(key for key in sorted(self._known) if key[1] == project) if tells else None
        usage, jobs = sum([child.usage for child in children]), sum([child.jobs for child in children])
        return _Node(path, "", project, shares, account, children, usage, jobs)

    def _leaf(self, path: str, user: str, project: str, shares: int, keys: set[tuple[str, str]]) -> _Node:
        account = self._sum(iter(sorted(keys)))
        jobs = sum([self._running[key] for key in keys])
        return _Node(path, user, project, shares, account, (), self._rules.weighted(account.recent), jobs)

    def _sum(self, keys: Iterator[tuple[str, str]]) -> _Account:
        found = _NOTHING
        for key in keys:
            one = self._accounts.get(key, _NOTHING)
            found = _Account(added(found.recent, one.recent), added(found.total, one.total))
        return found


def share_log(
    cell: Cell, accounts: Mapping[Owner, Used], rules: UsageRules, running: Counter[tuple[str, str]], now: float
) -> tuple[PlainReport, ...]:
    """The lines of all nodes; `running` counts the running tasks by user and project."""
    if cell.share_tree is None:
        return ()
    root = _Maker(cell, accounts, rules, running, now).node(cell.share_tree, "", "")
    # The path of the root is "/", and other paths begin after it.
    prefix = len(root.path)
    people = {owner.user for owner in accounts}

    def lines(node: _Node, level: float, whole: float, target: float) -> Iterator[PlainReport]:
        told = node.account or _NOTHING
        parts = level, whole, target, 0.0, node.usage / root.usage if root.usage else 0.0, node.usage
        amounts = [amount.get(name, 0.0) for amount in (told.recent, told.total) for name in NAMES]
        fields = int(now), int(now) if node.user in people else 0, node.path[prefix:] or "/", node.user, node.project
        figures = (f"{figure:.6f}" for figure in (*parts, *amounts))
        # The line ends with a colon, as in Grid Engine.
        yield PlainReport(int(now), "sharelog", (*fields, node.shares, node.jobs, *figures, ""))
        shares = sum([child.shares for child in node.children])
        active = sum([child.shares for child in node.children if child.jobs])
        for child in node.children:
            part = child.shares / shares if shares else 0.0
            targeted = child.shares / active if active and child.jobs else 0.0
            yield from lines(child, part, whole * part, target * targeted)

    return tuple(lines(root, 1.0, 1.0, 1.0 if root.jobs else 0.0))
