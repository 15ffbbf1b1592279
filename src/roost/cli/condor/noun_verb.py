"""``htcondor NOUN VERB``: the command of HTCondor's own wheel, on this pool.

The program is the package ``htcondor_cli`` of PyPI's ``htcondor``, which is not part of Roost: it has to be installed
alongside it. It finds Roost's ``htcondor2`` before the wheel's own, so it uses Roost's pool.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Option

OPTIONS: Final[tuple[Option, ...]] = ()
_PACKAGE: Final = "htcondor_cli"


def run(name: str, arguments: list[str]) -> int:
    """Run ``htcondor``."""
    from roost.cli.shims import default_directory, write_modules

    if find_spec(_PACKAGE) is None:
        raise ToolError(
            f"{name}: the package {_PACKAGE} of HTCondor is not installed\n"
            f"    hint: {sys.executable} -m pip install htcondor; when it runs, its modules are replaced by Roost's"
        )
    directory = default_directory("python")
    try:
        write_modules(directory)
    except OSError as error:
        raise ToolError(f"{name}: cannot write {error.filename or directory}: {error.strerror}") from None
    sys.path.insert(0, str(directory))
    sys.argv = [name, *arguments]
    from importlib import import_module

    return int(import_module(f"{_PACKAGE}.cli").main() or 0)
