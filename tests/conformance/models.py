"""Our library with one habit of the reference library, for the predicates of `differences`.

Each model is a context manager: within it, our own answers to a case are what they would be if that habit were ours.
An intended difference is then explained by its model giving exactly the reference's answer, not by the look of the
text. `witness` answers whether something happened at all while a case was evaluated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from unittest import mock

from roost.classad import closures, evaluation, lookup, refs, state
from roost.classad.ad import MISSING, ClassAd, cell_of
from roost.classad.expr import Expr
from roost.classad.forms import json
from roost.classad.functions import control
from roost.classad.lookup import find
from roost.classad.state import State
from roost.classad.syntax import AdNode, Literal, Name, Node, Select, children, strip
from roost.classad.values import UNDEFINED, ListValue, RelTime, Value
from tests.conformance import ours
from tests.conformance.cases import Answer, Case

Model: TypeAlias = Callable[[], AbstractContextManager[None]]


def answer_with(model: Model, case: Case) -> Answer:
    """Our answer to `case` under a model."""
    with model():
        return ours.answer(case)


# -- leaked-context -------------------------------------------------------------------------------


@contextmanager
def leaking_lookups() -> Iterator[None]:
    """Where a function looks a name up, the evaluation goes on in the ad that was looked into last."""

    def leaking_find(state: State, start: ClassAd, key: str) -> Any:
        found = find(state, start, key)
        state.ad = state.root_ad() if found is None else found[0]
        return found

    with mock.patch.object(control, "find", leaking_find):
        yield


# -- json-duration --------------------------------------------------------------------------------


@contextmanager
def durations_as_numbers() -> Iterator[None]:
    """A duration that is a whole value is written to JSON as its seconds."""
    scalar = json._scalar

    def written(node: Node) -> str:
        if isinstance(node, Literal) and isinstance(node.value, RelTime):
            node = Literal(float(node.value.secs))
        return scalar(node)

    with mock.patch.object(json, "_scalar", written):
        yield


# -- references-in-literals -----------------------------------------------------------------------


class _OpenWalk(refs._Walk):
    """Names in an ad literal are looked up in the ad around it.

    A literal of the expression itself that is selected from sees no ad around.
    """

    __slots__ = ("finding", "own")

    def follow(self, tree: Node) -> None:
        below = [tree]
        for node in below:
            below += children(node)
        self.own = {id(node) for node in below}
        self._follow(tree)

    def _follow(self, tree: Node) -> None:
        super().follow(tree)

    def _found(self, key: str, name: str, start: ClassAd | None, base: bool) -> bool:
        self.finding = True
        found = super()._found(key, name, start, base)
        self.finding = False
        return found

    def _nested(self, node: AdNode, scope: ClassAd) -> None:
        literal = cell_of(node, scope)
        assert isinstance(literal, ClassAd)
        self.work += [refs._Task(literal.tree(name), scope, False) for name in reversed(list(literal))]

    def _whole(self, ad: ClassAd) -> None:
        around = ad.scope if getattr(self, "finding", False) else None
        if around is None:
            super()._whole(ad)
        else:
            self.work += [refs._Task(ad.tree(name), around, False) for name in reversed(list(ad))]

    def _special(self, node: Select, start: ClassAd, task: refs._Task) -> None:
        if node.name.lower() in refs._OUTER and start.scope is None and not task.base:
            # The outermost ad is not the literal.
            self._whole(self.ad)
        else:
            super()._special(node, start, task)

    def _select(self, node: Select, task: refs._Task) -> None:
        value_of = self.value_of

        def apart(expression: Expr, scope: ClassAd) -> Value:
            value = value_of(expression, scope)
            if _is_literal(expression) and id(strip(expression.tree)) in self.own and isinstance(value, ClassAd):
                value.scope = None
            return value

        self.value_of = apart
        super()._select(node, task)
        self.value_of = value_of


def _is_literal(expression: Expr) -> bool:
    return isinstance(strip(expression.tree), AdNode)


@contextmanager
def open_literals() -> Iterator[None]:
    """References as `_OpenWalk` finds them."""
    with mock.patch.object(refs, "_Walk", _OpenWalk):
        yield


# -- references-always ----------------------------------------------------------------------------


class _GivingUp(_OpenWalk):
    """Notices what the reference gives up at: a selection from no ad, and attributes in a circle."""

    __slots__ = ("given_up", "opened", "waiting")

    def _follow(self, tree: Node) -> None:
        self.given_up = False
        #: Attributes whose trees wait in `work`, by the tree's place there; those being followed, outermost first.
        self.waiting: dict[int, tuple[int, str]] = {}
        self.opened: list[tuple[int, tuple[int, str]]] = []
        self.work.append(refs._Task(tree, self.ad, False))
        while self.work:
            self._step()

    def _step(self) -> None:
        place = len(self.work) - 1
        while self.opened and self.opened[-1][0] > place:
            self.opened.pop()
        if place in self.waiting:
            self.opened.append((place, self.waiting.pop(place)))
        task = self.work.pop()
        match task.tree:
            case Name() as node:
                self._name(node, task)
            case Select() as node:
                self._select(node, task)
            case AdNode() as node:
                if not task.base:
                    self._nested(node, task.scope)
            case node:
                self.work += [refs._Task(child, task.scope, task.base) for child in reversed(children(node))]

    def _found(self, key: str, name: str, start: ClassAd | None, base: bool) -> bool:
        holder = start
        while holder is not None and holder.cell(key) is MISSING:
            holder = None if key in state.SPECIAL_NAMES else self.scope_of(holder)
        mark = (id(holder), key)
        self.given_up |= any(mark == one for _, one in self.opened)
        place = len(self.work)
        found = super()._found(key, name, start, base)
        if len(self.work) == place + 1:
            self.waiting[place] = mark
        elif len(self.work) > place:
            # The attributes of an ad.
            self.opened.append((place, mark))
        return found

    def _whole(self, ad: ClassAd) -> None:
        self.given_up |= any(id(ad) == holder for _, (holder, _) in self.opened)
        place = len(self.work)
        super()._whole(ad)
        self.opened.append((place, (id(ad), "")))

    def _select(self, node: Select, task: refs._Task) -> None:
        value = self.value_of(Expr(node.base), task.scope)
        self.given_up |= not isinstance(value, ClassAd) and value is not UNDEFINED
        # Its literals know the ad around them here, and lead back into it.
        self.given_up |= _is_literal(Expr(node.base)) and node.name.lower() == "parent"
        super()._select(node, task)


def gives_up(expression: Expr, ad: ClassAd) -> bool:
    """Whether the references of `expression` in `ad` lead to something that the reference gives up at."""
    walk = _GivingUp(ad=ad, value_of=evaluation.evaluate)
    walk.follow(expression.tree)
    return walk.given_up


def unresolved_gives_up(case: Case) -> bool:
    """Whether a call of unresolved() in the case leads to something that the reference gives up at."""
    walks: list[_GivingUp] = []

    def walk(**arguments: Any) -> _GivingUp:
        walks.append(_GivingUp(**arguments))
        return walks[-1]

    with mock.patch.object(refs, "_Walk", walk):
        ours.answer(case)
    return any(one.given_up for one in walks)


# -- witnesses ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Witness:
    """What happened while a case was answered."""

    #: A limit of the room ended an evaluation.
    stopped: bool = False
    #: Something was selected from an ad or list that ``ad["name"]`` gave.
    selected_from_subscript: bool = False
    #: Something was selected from a list that holds values alone, such as a function gives.
    selected_from_list: bool = False


def witness(case: Case) -> Witness:
    """Answer `case` and see what happens."""
    seen = Witness()
    with _watching(seen):
        ours.answer(case)
        # The trace evaluates what is not needed, too.
        ours.properties(case)
    return seen


@contextmanager
def _watching(seen: Witness) -> Iterator[None]:
    given: list[object] = []
    deeply, subscript, select = evaluation.deeply, lookup.subscript_value, lookup.select_value

    def watched_deeply(run: Callable[[], Any]) -> Any:
        try:
            return deeply(run)
        except (state.EvaluationStopped, RecursionError) as error:
            seen.stopped |= not isinstance(error, state.EvaluationFailed)
            raise

    def watched_subscript(state: Any, base: Any, index: Any) -> Any:
        seen.selected_from_subscript |= _among(given, base)
        value = subscript(state, base, index)
        if isinstance(value, ClassAd | ListValue) and (isinstance(index, str) or _among(given, base)):
            given.append(value)
        return value

    def watched_select(state: Any, base: Any, key: str) -> Any:
        seen.selected_from_subscript |= _among(given, base)
        seen.selected_from_list |= isinstance(base, ListValue) and base.scope is None
        return select(state, base, key)

    with (
        mock.patch.object(evaluation, "deeply", watched_deeply),
        mock.patch.object(sys.modules["roost.classad.tracing"], "deeply", watched_deeply),
        mock.patch.object(closures, "subscript_value", watched_subscript),
        mock.patch.object(closures, "select_value", watched_select),
        mock.patch.object(lookup, "select_value", watched_select),
    ):
        yield


def _among(given: list[object], value: object) -> bool:
    return any(value is one for one in given)


__all__ = [
    "Model",
    "Witness",
    "answer_with",
    "durations_as_numbers",
    "gives_up",
    "leaking_lookups",
    "open_literals",
    "witness",
]
