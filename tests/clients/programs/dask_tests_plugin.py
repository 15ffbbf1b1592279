"""What dask-jobqueue's own tests lack in 0.9.0: they call `Job._call` as the function that it was before that release.

It is a coroutine now, and the tests, which need a batch system, fail on any. Here they are given one that waits for it;
nothing else of theirs is touched.
"""

import asyncio

import pytest
from dask_jobqueue.core import Job


class _Called:
    @staticmethod
    def _call(words: list[str]) -> str:
        return asyncio.run(Job._call(words))


@pytest.fixture(autouse=True)
def commands_are_waited_for(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test module's `Job` be one whose commands are over when they return."""
    monkeypatch.setattr(request.module, "Job", _Called)
