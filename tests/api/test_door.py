"""Who the kernel vouches for is still looked up among the users of the pool."""

from __future__ import annotations

import os
from typing import Any, cast

import pytest

from roost.api.door import Rates, local_person
from roost.api.people import WebRole
from roost.api.problems import Problem
from roost.runtime.identity import account_name


class _Server:
    """A pool with two users."""

    administrators = frozenset(("root",))
    users = frozenset(("root", account_name()))


def test_a_local_user_is_who_the_kernel_says_and_administrator_where_the_pool_says_so() -> None:
    server = cast("Any", _Server())
    found = local_person(server, f"uid:{os.geteuid()}")
    assert (found.name, found.by) == (account_name(), "socket")
    assert found.role is (WebRole.ADMINISTRATOR if os.geteuid() == 0 else WebRole.USER)
    assert local_person(server, "uid:0").role is WebRole.ADMINISTRATOR


@pytest.mark.parametrize("client", ["uid:65534", "uid:4294967294", "uid:", "uid:x"])
def test_a_user_whom_the_pool_does_not_know_is_refused(client: str) -> None:
    with pytest.raises(Problem, match="may not use the pool") as problem:
        local_person(cast("Any", _Server()), client)
    assert problem.value.status == 403


def test_requests_beyond_the_rate_are_refused_for_one_and_not_for_others() -> None:
    rates = Rates(3)
    for _ in range(3):
        rates.take("ann")
    with pytest.raises(Problem, match="too many requests") as problem:
        rates.take("ann")
    assert problem.value.status == 429
    assert "WEB_REQUESTS_PER_MINUTE is 3" in problem.value.remedy
    rates.take("bob")
