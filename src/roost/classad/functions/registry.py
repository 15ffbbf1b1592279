"""The table of built-in functions.

A function is entered by `@builtin(name, least, most)` and gets evaluated arguments, left to right, after
the evaluation state. The wrong number of arguments never reaches it: the call is ERROR. Functions that
must see their arguments unevaluated are in `control` and enter themselves with `@special`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from roost.base.records import dataclass
from roost.classad.values import Value, fold

if TYPE_CHECKING:
    from roost.classad.compiler import Compiler
    from roost.classad.state import Code
    from roost.classad.syntax import Call

#: A function on values: the state, then each argument.
Eager: TypeAlias = "Callable[..., Value]"
#: A function on expressions: makes the code of one call.
Special: TypeAlias = "Callable[[Compiler, Call], Code]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Builtin:
    """One built-in function."""

    #: Spelling used in messages and documentation.
    name: str
    #: Fewest arguments.
    least: int
    #: Most arguments; None for any number.
    most: int | None
    #: Evaluates a call on values; None for a form that needs expressions.
    eager: Eager | None = None
    #: Compiles a call; None for a function whose arguments are all evaluated first. If both are given, this one is
    #: exact, and `eager` suffices if no argument fails.
    special: Special | None = None
    #: False if two calls with equal arguments can differ (clock, random numbers, the machine's users).
    pure: bool = True

    def accepts(self, count: int) -> bool:
        """Whether a call may have `count` arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


#: Every built-in function by folded name.
FUNCTIONS: Final[dict[str, Builtin]] = {}


def builtin(*names: str, least: int, most: int | None, pure: bool = True) -> Callable[[Eager], Eager]:
    """Enter a function on values under each of `names`."""

    def enter(run: Eager) -> Eager:
        for name in names:
            FUNCTIONS[fold(name)] = Builtin(name=name, least=least, most=most, eager=run, pure=pure)
        return run

    return enter


def special(name: str, least: int, most: int | None, *, pure: bool = True) -> Callable[[Special], Special]:
    """Enter a function on expressions."""

    def enter(compile_call: Special) -> Special:
        FUNCTIONS[fold(name)] = Builtin(name=name, least=least, most=most, special=compile_call, pure=pure)
        return compile_call

    return enter


def lookup(name: str) -> Builtin | None:
    """The built-in function of that name, in any case; None if there is none."""
    return FUNCTIONS.get(fold(name))
