"""What importing the bindings costs: a program that asks one thing imports what that takes."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What no program needs that only imports a module.
HEAVY = frozenset(
    (
        "asyncio", "dataclasses", "inspect", "msgspec", "numpy", "sqlalchemy", "subprocess",
        "roost.config", "roost.dag", "roost.schedd", "roost.runtime.workflow",
    )
)  # fmt: skip


@pytest.mark.parametrize("module", ["htcondor2", "classad2", "drmaa"])
def test_importing_a_module_imports_nothing_of_what_its_classes_do(module: str) -> None:
    program = f"import sys, roost.compat.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not HEAVY.intersection(done.stdout.split())


def test_every_name_is_there_when_it_is_asked_for() -> None:
    from roost.compat import htcondor2

    assert set(htcondor2.__all__) <= set(dir(htcondor2))
    missing = [name for name in htcondor2.__all__ if getattr(htcondor2, name, None) is None]
    assert missing == []
    with pytest.raises(AttributeError, match="has no attribute 'Scheduler'"):
        htcondor2.Scheduler  # noqa: B018
