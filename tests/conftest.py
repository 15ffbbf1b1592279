"""How the tests run: the same examples every time, unless asked to look for new ones.

``ROOST_EXPLORE=1`` lets hypothesis draw new examples; failures it finds become cases of their own.

No test fails for how long drawing its examples took: machines that run tests have more to do. And no example depends
on which modules happen to be imported by then: hypothesis mixes the numbers and texts that it finds in the code into
what it draws, so that in each order of the tests, and in each worker, the examples would be others.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

PATIENT = (HealthCheck.too_slow,)
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=PATIENT)
settings.register_profile("explore", derandomize=False, deadline=None, suppress_health_check=PATIENT)
settings.load_profile("explore" if os.environ.get("ROOST_EXPLORE") else "steady")

# Whoever runs the tests may have a narrow window; texts are compared as they are folded without one.
os.environ.pop("COLUMNS", None)

if not os.environ.get("ROOST_EXPLORE") and hasattr(providers, "_get_local_constants"):
    # There is no setting for it, and releases without it have nothing to leave out.
    providers._get_local_constants = lambda: providers._local_constants


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory to which other users find the way.

    The directory above every `tmp_path` of a user is closed to others by each pytest that starts, so a test that opened
    it would fail whenever tests are started elsewhere on the machine.
    """
    with tempfile.TemporaryDirectory(prefix="roost-test-", ignore_cleanup_errors=True) as name:
        found = Path(name).resolve()
        found.chmod(0o711)
        yield found
