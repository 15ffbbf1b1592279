from __future__ import annotations

import pytest

from roost.config import ConfigError, MemoryHost, load_text
from roost.negotiator.settings import NegotiatorSettings, settings_from


def settings(text: str) -> NegotiatorSettings:
    return settings_from(load_text(text, MemoryHost()))


def test_a_configuration_that_says_nothing_gives_the_defaults():
    found, default = settings("UID_DOMAIN = x"), NegotiatorSettings()
    for name in NegotiatorSettings.__slots__:
        if name not in ("factors", "in_force"):
            assert str(getattr(found, name)) == str(getattr(default, name)), name


def test_groups_limits_and_policy_are_read():
    found = settings(
        """
        GROUP_NAMES = Physics, physics.hep chem
        GROUP_QUOTA_physics = 20
        GROUP_QUOTA_DYNAMIC_physics.hep = 0.25
        GROUP_ACCEPT_SURPLUS = true
        GROUP_ACCEPT_SURPLUS_chem = false
        GROUP_PRIO_FACTOR_chem = 2.5
        LIC_LIMIT = 3
        db.big_LIMIT = 2
        CONCURRENCY_LIMIT_DEFAULT_db = 7
        CONCURRENCY_LIMIT_DEFAULT = 9
        NEGOTIATOR_PE_RESOURCE_EXPR = TARGET.Owner != "x"
        NEGOTIATOR_PE_LOG_ONLY = true
        PREEMPTION_REQUIREMENTS = RemoteUserPrio > 5
        NEGOTIATOR.PRIORITY_HALFLIFE = 100
        """
    )
    physics, hep, chem = found.groups
    assert (physics.quota, physics.fraction, physics.accept_surplus) == (20.0, None, True)
    assert (hep.quota, hep.fraction) == (None, 0.25)
    assert (chem.accept_surplus, chem.prio_factor) == (False, 2.5)
    assert found.limits.named["lic"] == 3.0
    assert found.limits.named["db.big"] == 2.0
    assert (found.limits.below, found.limits.default) == ({"db": 7.0}, 9.0)
    assert str(found.policy.resource) == 'TARGET.Owner != "x"'
    assert found.policy.log_only
    assert str(found.preemption_requirements) == "RemoteUserPrio > 5"
    assert found.halflife_s == 100.0


def test_a_bad_expression_is_refused_with_its_place():
    with pytest.raises(ConfigError, match="NEGOTIATOR_PE_JOB_EXPR"):
        settings("NEGOTIATOR_PE_JOB_EXPR = Owner ==")
