"""Share tree tickets: users with less usage than their share get more.

`weight_tickets_share` tickets are distributed down the tree. At each node they are divided among the children with jobs
below them, in proportion to the square of a child's share divided by its usage. The share of a node is its fraction of
the shares of its siblings with jobs, times the share of its parent; usage counts as at least the share. If a child
would get more than `compensation_factor` times its share, its usage is raised by the ratio of the two, and the node
divides once more. A `default` stands for each user without a node next to it, with its shares.

Running tasks divide what their leaf gets when only running jobs count. For tickets of waiting jobs, those count, too,
and the tree starts at the first node with several children with jobs: the n-th job below such a child gets 1/n of what
the child gets, with running jobs first. The next job below a node comes from the child that would have the most per job
with one job more.

The rules were found with Grid Engine 8.1.9, whose figures the tests have.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from roost.gridengine.objects.pairs import Factor
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.objects.share_tree import ShareNode
from roost.gridengine.scheduling.snapshot import UsageOwner

_DEFAULT: Final = "default"
_PROJECT: Final = 1


class SharedJob(NamedTuple):
    """A job for the share tree."""

    number: int
    account: UsageOwner


class _Node:
    """A node of the tree while tickets are computed."""

    __slots__ = ("children", "jobs", "portion", "shares", "usage", "waiting")

    def __init__(self, shares: int) -> None:
        self.shares = shares
        self.children: list[_Node] = []
        self.usage = 0.0
        #: jobs that count, here and below
        self.jobs = 0
        #: for a leaf: numbers of waiting jobs, the next one first
        self.waiting: deque[int] = deque()
        #: its fraction of all tickets, from 0 to 1
        self.portion = 0.0

    def sum_up(self) -> None:
        """Add up usage and jobs of the subtree."""
        for child in self.children:
            child.sum_up()
        if self.children:
            self.usage = sum([child.usage for child in self.children])
            self.jobs = sum([child.jobs for child in self.children])

    def active(self) -> list[_Node]:
        return [child for child in self.children if child.jobs]

    def divide(self, share: float, bound: float) -> None:
        """Give the nodes below their portions of this node's; `bound` is the compensation factor, 0 for none."""
        children = self.active()
        shares = sum([child.shares for child in children])
        if not shares:
            for child in children:
                child.portion = 0.0
            return
        parts = [share * child.shares / shares for child in children]
        used = [max(child.usage, part) for child, part in zip(children, parts, strict=True)]
        portions = self._portions(parts, used)
        if bound:
            used = [
                usage * max(1.0, portion / (part * bound)) if part else usage
                for usage, portion, part in zip(used, portions, parts, strict=True)
            ]
            portions = self._portions(parts, used)
        for child, part, portion in zip(children, parts, portions, strict=True):
            child.portion = portion
            child.divide(part, bound)

    def _portions(self, parts: list[float], used: list[float]) -> list[float]:
        weights = [part * part / usage if part else 0.0 for part, usage in zip(parts, used, strict=True)]
        total = sum(weights)
        return [self.portion * weight / total for weight in weights]

    def in_order(self) -> Iterator[int]:
        """The waiting jobs here and below, in the order in which they get tickets; each counts from then on."""
        if not self.children:
            while self.waiting:
                self.jobs += 1
                yield self.waiting.popleft()
            return
        # Among equal children the first in the tree comes first.
        line: list[tuple[float, int, Iterator[int], _Node, int]] = []

        def put(index: int, child: _Node, jobs: Iterator[int]) -> None:
            offer = child.portion / (child.jobs + 1)
            if (job := next(jobs, None)) is not None:
                heapq.heappush(line, (-offer, index, jobs, child, job))

        for index, child in enumerate(self.children):
            put(index, child, child.in_order())
        while line:
            _, index, jobs, child, job = heapq.heappop(line)
            self.jobs += 1
            yield job
            put(index, child, jobs)


class _Tree:
    """The tree with usage and jobs at its leaves."""

    def __init__(
        self, root: ShareNode, usage: Mapping[UsageOwner, Mapping[str, float]], weights: Iterable[Factor]
    ) -> None:
        self._leaves: dict[UsageOwner, _Node] = {}
        self._projects: dict[str, _Node] = {}
        #: by project: the parent of the users that `default` stands for, and their shares
        self._defaults: dict[str, tuple[_Node, int]] = {}
        self.root = self._node(root, "")
        factors = {one.name: one.number for one in weights}
        total = sum(factors.values())
        for account, values in usage.items():
            if total and (leaf := self.leaf(account)) is not None:
                leaf.usage += sum([factors.get(name, 0.0) * value for name, value in values.items()]) / total

    def _node(self, given: ShareNode, project: str) -> _Node:
        node = _Node(given.shares)
        if given.type == _PROJECT:
            project = given.name
            if not given.children:
                self._projects[project] = node
        elif not given.children:
            self._leaves[UsageOwner(given.name, project)] = node
        for child in given.children:
            if child.name == _DEFAULT and not child.children:
                self._defaults[project] = node, child.shares
            else:
                node.children.append(self._node(child, project))
        return node

    def leaf(self, account: UsageOwner) -> _Node | None:
        """The leaf for the jobs of an account; None if the tree has none."""
        if account.project in self._projects:
            return self._projects[account.project]
        found = self._leaves.get(account)
        if found is None and account.project in self._defaults:
            parent, shares = self._defaults[account.project]
            found = self._leaves[account] = _Node(shares)
            parent.children.append(found)
        return found

    def divide(self, bound: float) -> None:
        """Give every node with jobs its portion of the tickets."""
        self.root.sum_up()
        self.root.portion = 1.0
        self.root.divide(1.0, bound)


def share_tickets(
    root: ShareNode,
    scheduler: SchedulerConfiguration,
    usage: Mapping[UsageOwner, Mapping[str, float]],
    running: Iterable[SharedJob],
    waiting: Iterable[SharedJob],
) -> dict[int, float]:
    """Tickets by job, for those with a place in the tree; `waiting` has the next job of an account first.

    `running` has a job once for each running task. `usage` is by account, decayed, by the names of
    `usage_weight_list`.
    """
    tree = _Tree(root, usage, scheduler.usage_weight_list)
    found: dict[int, float] = {}
    placed = [(number, leaf) for number, account in running if (leaf := tree.leaf(account)) is not None]
    for _, leaf in placed:
        leaf.jobs += 1
    tree.divide(scheduler.compensation_factor)
    for number, leaf in placed:
        found[number] = found.get(number, 0.0) + scheduler.weight_tickets_share * leaf.portion / leaf.jobs
    leaves = []
    for number, account in waiting:
        if (leaf := tree.leaf(account)) is not None:
            leaf.waiting.append(number)
            leaves.append(leaf)
    # Waiting jobs count in the portions, but not yet in the numbers of those that got tickets before.
    for leaf in leaves:
        leaf.jobs += 1
    tree.divide(scheduler.compensation_factor)
    top = tree.root
    while len(active := top.active()) == 1:
        top = active[0]
    for leaf in leaves:
        leaf.jobs -= 1
    tree.root.sum_up()
    for child in active or [top]:
        ran = child.jobs
        for rank, number in enumerate(child.in_order(), ran + 1):
            found.setdefault(number, scheduler.weight_tickets_share * child.portion / rank)
    return found
