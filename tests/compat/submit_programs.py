"""Small programs for `htcondor2` that need no pool, a line each: as `programs` has them for `classad2`.

They stand in submit.txt. In them `h` is the module, `c` its `classad2`, and `S`, `T`, `U` are descriptions.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests.compat.programs import Difference

PROGRAMS: Final = Path(__file__).with_name("submit.txt").read_text(encoding="utf-8").splitlines()
STAGE: Final = r"""
import copy, pickle
S = h.Submit({'executable':'/bin/sleep','Arguments':'$(ProcId) $(foo:7)','MY.Bar':'"x"','+Baz':'5','foo':'3','n':5,'b':True})
T = h.Submit('executable = /bin/sleep\narguments = 5\n+A = 3\nMY.B = 4\n\nqueue 3\n')
U = h.Submit('executable = /bin/sleep\nqueue x,y from (\n a, b\n c, d\n)\n')
"""  # noqa: E501

DIFFERENCES: Final = (
    Difference(
        "A line `+Name` of a Submit is found under that key, too",
        "HTCondor's second bindings take the key and keep it as `MY.Name` alone",
        ("S['+Baz']", "T['+A']", "'+Bar' in S"),
    ),
    Difference(
        "The text of a Submit has the items of its queue statement",
        "HTCondor's ends with an open parenthesis, which nobody can read back",
        ("str(U)",),
    ),
    Difference(
        "Lines of a Submit may be given as keyword arguments that are not texts",
        "as in a dict, where HTCondor's takes them",
        ("str(h.Submit(a=1,b=2))",),
    ),
    Difference(
        "itemdata obeys slices",
        "HTCondor's gives all items, and submits others",
        ("list(h.Submit({'a':1}).itemdata('x in [1:] (1,2,3)'))",),
    ),
    Difference(
        "A Submit can be pickled",
        "HTCondor's cannot",
        ("str(pickle.loads(pickle.dumps(T)))",),
    ),
    Difference(
        "jobs and procs of a Submit give the ads",
        "HTCondor's second bindings leave them out",
        ("len(list(T.jobs()))",),
    ),
    Difference(
        "What is wrong with items is told as it is for a submit file",
        "the type of the error is the same",
        ("list(h.Submit('queue x from /nowhere').itemdata())",),
    ),
)


def answer(module: ModuleType, classad: ModuleType, program: str) -> tuple[str, ...]:
    """What a program gives: the type and both texts of the value, or the type and first line of the error."""
    names: dict[str, Any] = {"h": module, "c": classad}
    exec(STAGE, names)
    try:
        value = eval(program, names)
        return type(value).__name__, repr(value), str(value)
    except Exception as error:
        return "raises", type(error).__name__, str(error).partition("\n")[0].partition(".  For more")[0].rstrip(".")
