"""Evaluating an expression: from the text's tree to its value.

An expression is compiled once to nested Python closures (`compiler`), each a function of a `State` (`state`); names are
resolved by `lookup`.

Cycles. The reference library marks each attribute while a reference to it is evaluated; meeting a marked one again
is UNDEFINED. Marking costs, and a cycle always runs into the depth limit if nothing is marked. So an evaluation starts
without marks and with a small depth limit; a rare deeper one starts over with marks and the full depth.

Nothing here raises to the caller.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from roost.classad.ad import ClassAd
from roost.classad.allowance import IN_FORCE, Allowance
from roost.classad.expr import Expr
from roost.classad.limits import EVALUATION_FRAMES_MAX, REFERENCE_DEPTH_MAX
from roost.classad.state import Code, EvaluationStopped, State, TooDeep
from roost.classad.syntax import Node
from roost.classad.values import ERROR, Value
from roost.classad.world import WORLD, World

T = TypeVar("T")


def evaluate(expression: Expr, my: ClassAd | None = None, target: ClassAd | None = None, world: World = WORLD) -> Value:
    """The value of `expression` in the ad `my`, matched with `target` if that is given. Raises nothing."""
    allowance = IN_FORCE.get()
    if allowance is not None:
        return _evaluate_within(allowance, expression, my, target, world)
    try:
        return (expression._code or expression.code)(State(my, target, world))
    except (TooDeep, RecursionError):
        return _evaluate_deep(expression, my, target, world)
    except EvaluationStopped:
        return ERROR


def _evaluate_within(
    allowance: Allowance, expression: Expr, my: ClassAd | None, target: ClassAd | None, world: World
) -> Value:
    """Evaluate with the rest of an allowance."""
    granted = allowance.for_one()
    if not granted:
        return ERROR
    state = State(my, target, world)
    state.fuel = granted
    try:
        return expression.code(state)
    except (TooDeep, RecursionError):
        allowance.charge(granted, state.fuel)
        granted = allowance.for_one()
        state = _deep_state(my, target, world)
        state.fuel = granted
        return _run_deep(expression, state)
    except EvaluationStopped:
        return ERROR
    finally:
        allowance.charge(granted, state.fuel)


def _evaluate_deep(expression: Expr, my: ClassAd | None, target: ClassAd | None, world: World) -> Value:
    """Evaluate again from the start, with marks against cycles and the full depth."""
    return _run_deep(expression, _deep_state(my, target, world))


def _deep_state(my: ClassAd | None, target: ClassAd | None, world: World) -> State:
    state = State(my, target, world)
    state.marks = set()
    state.careful = True
    state.depth = REFERENCE_DEPTH_MAX
    return state


def _run_deep(expression: Expr, state: State) -> Value:
    try:
        return deeply(lambda: expression.code(state))
    except (EvaluationStopped, RecursionError):
        return ERROR


def deeply(run: Callable[[], T]) -> T:
    """Call `run` with room for `EVALUATION_FRAMES_MAX` Python frames."""
    _raise_recursion_limit()
    try:
        return run()
    finally:
        _restore_recursion_limit()


#: The interpreter has one limit for all threads: the number of threads that need it raised, and its previous value.
_deep_lock: Final = threading.Lock()
_deep_users = 0
_usual_limit = 0


def _raise_recursion_limit() -> None:
    global _deep_users, _usual_limit
    frame: object = sys._getframe()
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back  # type: ignore[attr-defined]
    with _deep_lock:
        if _deep_users == 0:
            _usual_limit = sys.getrecursionlimit()
        _deep_users += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), depth + EVALUATION_FRAMES_MAX))


def _restore_recursion_limit() -> None:
    global _deep_users
    with _deep_lock:
        _deep_users -= 1
        if _deep_users == 0:
            sys.setrecursionlimit(_usual_limit)


def compile_tree(tree: Node) -> Code:
    """The code of a tree. Raises nothing; a tree too deep to compile is the constant ERROR."""
    from roost.classad.compiler import Compiler

    try:
        return Compiler().compile(tree)
    except RecursionError:
        pass
    try:
        return deeply(lambda: Compiler().compile(tree))
    except RecursionError:
        return lambda state: ERROR


__all__ = ["compile_tree", "deeply", "evaluate"]
