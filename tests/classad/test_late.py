"""Names of packages that are imported when they are asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PACKAGES = ("roost.classad", "roost.config", "roost.schedd.submit", "roost.compat.htcondor2")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_that_a_package_exports_is_there_and_others_are_not(package: str) -> None:
    module = importlib.import_module(package)
    assert all(getattr(module, name, None) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_a_name_is_looked_up_once_and_its_module_imported_then() -> None:
    script = (
        "import sys, roost.classad as c; before = 'roost.classad.tracing' in sys.modules; c.trace\n"
        "print(before, 'roost.classad.tracing' in sys.modules, 'trace' in vars(c))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False True True\n"
