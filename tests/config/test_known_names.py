"""No name of HTCondor's is accepted in silence: each acts, or is said to have no effect."""

from __future__ import annotations

import pytest

from roost.config import MemoryHost, Severity, check, load_text
from roost.config.knobs import DEFAULTS, ONLY_HTCONDORS, PRESETS, find, htcondor
from tests.config.oracle import AVAILABLE

#: Names that HTCondor sets at start, such as those of the operating system.
_SET_AT_START = frozenset(("condorisadmin", "opsyslongname", "opsysname", "opsysshortname"))


def _names() -> list[str]:
    names = set(htcondor.DEFAULTS) | htcondor.WITHOUT_DEFAULT
    if AVAILABLE:
        import htcondor2

        names |= {name.lower() for name in htcondor2.param.keys()}  # noqa: SIM118
    return sorted(names - PRESETS - _SET_AT_START - htcondor.MACROS)


def _is_read(name: str) -> bool:
    row = find(name)
    return row is not None and row.unread is None


@pytest.mark.parametrize("name", [name for name in _names() if not _is_read(name)])
def test_another_value_of_a_name_without_reader_is_reported(name: str) -> None:
    found = check(load_text(f"{name.upper()} = 12345\n", MemoryHost()))
    assert any("has no effect" in one.message or one.code == "config-deprecated-name" for one in found), found


def test_a_limit_of_htcondors_without_effect_is_more_than_a_note() -> None:
    limits = [name for name in _names() if name.startswith("max_") and not name.endswith("_log") and find(name) is None]
    assert len(limits) > 15
    found = {name: check(load_text(f"{name} = 12345\n", MemoryHost()))[0].severity for name in limits}
    assert {name for name, severity in found.items() if severity is Severity.NOTE} == set()


@pytest.mark.parametrize(
    "line",
    [
        "ALLOW_SUBMIT_FROM_KNOWN_USERS_ONLY = True",
        "MAX_RUNNING_SCHEDULER_JOBS_PER_OWNER = 3",
        "STARTER_RLIMIT_AS = 1000",
        "STARTD_ENFORCE_DISK_LIMITS = True",
    ],
)
def test_a_limit_on_what_users_may_do_is_an_error(line: str) -> None:
    (found,) = check(load_text(line, MemoryHost()))
    assert found.severity is Severity.ERROR


def test_defaults_of_htcondors_and_paths_of_its_programs_are_not_reported() -> None:
    is_plain = {name: not set("$\n") & set(DEFAULTS.get(name, "")) for name in ONLY_HTCONDORS}
    names = [name for name in sorted(ONLY_HTCONDORS) if find(name) is None and is_plain[name]]
    lines = [f"{name} = {DEFAULTS.get(name, '')}" for name in names]
    text = "\n".join([*lines, "STARTD = /usr/local/sbin/condor_startd", "SCHEDD = $(SBIN)/condor_schedd"])
    assert [one for one in check(load_text(text, MemoryHost())) if "has no effect" in one.message] == []
