"""What a name means when nothing sets it is what HTCondor's library says, for each name that it has a value for.

The names that Roost has a row for may differ; `OWN` lists those that do, with the reason.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping

import pytest

from roost.config import Config, LoadOptions, MemoryHost, load
from roost.config.knobs import BY_NAME, DEFAULTS, PRESETS, find, htcondor
from roost.config.values import Reading, as_boolean, as_real
from tests.config.oracle import AVAILABLE

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="the reference library is not installed")

_ASK = """
import json, os, sys, tempfile
path = tempfile.mkstemp()[1]
os.environ["CONDOR_CONFIG"] = path
import htcondor2
htcondor2.reload_config()
os.unlink(path)
print("\\0" + json.dumps({name: htcondor2.param.get(name) for name in htcondor2.param.keys()}))
"""
#: What the library finds out about the machine, the process it runs in, or the Python that it was built for.
_OF_MACHINE = frozenset(
    [
        "python3_module_suffix",
        "python3_version_minor",
        "arch",
        "opsys",
        "opsysver",
        "opsysandver",
        "opsysmajorver",
        "opsysname",
        "opsyslongname",
        "opsysshortname",
        "uname_arch",
        "uname_opsys",
        "utsname_release",
        "utsname_machine",
        "utsname_sysname",
        "utsname_version",
        "utsname_nodename",
        "detected_memory",
        "detected_cores",
        "detected_cpus_limit",
        "detected_physical_cpus",
        "num_cpus",
        "config_root",
        "condorisadmin",
        "adstash_se_host",
        "home",
        "tilde",
        "queue_super_users",
        "add_windows_firewall_exception",
        "periodic_checkpoint",
    ]
)
#: Names with a row in Roost's table whose default is Roost's own: lower case to the reason.
OWN: Mapping[str, str] = {
    "docker": "podman or docker of PATH, where HTCondor has /usr/bin/docker",
    **dict.fromkeys(
        ("startd_history",),
        "a machine's history is in the audit",
    ),
    **dict.fromkeys(
        [
            "collector_log",
            "defrag_log",
            "master_log",
            "negotiator_log",
            "schedd_log",
            "startd_log",
            "shadow_log",
            "starter_log",
            "max_collector_log",
            "max_master_log",
            "max_negotiator_log",
            "max_schedd_log",
            "max_shadow_log",
            "max_startd_log",
            "max_starter_log",
            "negotiator_debug",
            "schedd_debug",
            "starter_debug",
        ],
        "logs have names, sizes and levels of Roost's unless these are set",
    ),
    **dict.fromkeys(("job_queue_log", "queue_clean_interval"), "the database has it; the file is written on demand"),
    **dict.fromkeys(
        ["master_backoff_ceiling", "master_backoff_constant", "master_backoff_factor", "master_recover_factor"],
        "a daemon starts again at once unless one of these is set",
    ),
    "singularity": "apptainer is looked for first",
    **dict.fromkeys(("base_cgroup", "cgroup_memory_limit_policy", "disable_swap_for_job"), "limits are asked for"),
    **dict.fromkeys(("slots_connected_to_console", "slots_connected_to_keyboard"), "the manual: all slots"),
    "allow_client": "without effect, so that a value is nothing to be told of",
    "collector_name": "POOL_NAME names a pool",
    "console_devices": "the devices of a Linux console",
    "interactive_submit_file": "interactive jobs have no description of their own",
    "max_jobs_per_submission": "a submission is one transaction of the database, whatever its size",
    "modify_request_expr_requestdisk": "there are no files common to jobs in catalogs",
    "mount_under_scratch": "nothing is mounted unless it is asked for",
    "rooster_interval": "there is no rooster",
    "starter_upload_timeout": "there is no such limit",
    "system_max_releases": "unset is no limit, as -1 is there",
    "user_config_file": "Roost's own file",
}


@pytest.fixture(scope="module")
def reference() -> dict[str, object]:
    """Case-folded names and the library's values."""
    import json

    answer = subprocess.run(
        [sys.executable, "-c", _ASK], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
    ).stdout
    return {name.lower(): value for name, value in json.loads(answer.rpartition("\0")[2]).items()}


def config_of(condor_version: tuple[int, int, int] | None) -> Config:
    name = socket.gethostname()
    detected = {"FULL_HOSTNAME": name, "HOSTNAME": name.partition(".")[0], "DETECTED_CPUS": str(os.cpu_count())}
    detected |= {"USERNAME": "root" if os.getuid() == 0 else os.environ.get("USER", "")}
    host = MemoryHost(files={"/pool/condor_config": "if defined ROOST\n LOCAL_DIR =\nendif\n"})
    return load(host, LoadOptions(roots=("/pool/condor_config",), detected=detected, condor_version=condor_version))


def is_same(config: Config, name: str, wanted: object) -> bool:
    """Whether a value reads as the library's typed one."""
    text = config.get(name) or ""
    found = config.find(name)
    knob = next(row for row in BY_NAME.values())
    reading = Reading(name=name, text=text, span=found.span, knob=knob, host=config.host) if found else None
    if isinstance(wanted, bool):
        return reading is not None and as_boolean(reading) is wanted
    if isinstance(wanted, int | float) and text.lower() not in ("true", "false"):
        return reading is not None and as_real(reading) == pytest.approx(wanted)
    is_switch = str(wanted).lower() in ("true", "false")
    if isinstance(wanted, int):
        return reading is not None and as_boolean(reading) is bool(wanted)
    return text.split() == str(wanted or "").split() or (is_switch and text.lower() == str(wanted).lower())


def differing(config: Config, reference: Mapping[str, object], names: set[str]) -> list[tuple[str, object, object]]:
    return [
        (name, reference[name], config.get(name))
        for name in sorted(names)
        if not is_same(config, name, reference[name])
    ]


def test_a_configuration_read_as_htcondor_has_all_of_its_defaults(reference: dict[str, object]) -> None:
    names = set(reference) - _OF_MACHINE - PRESETS
    assert len(names) > 900
    assert differing(config_of((25, 14, 1)), reference, names) == []


def test_every_name_without_a_row_of_its_own_means_what_it_means_there(reference: dict[str, object]) -> None:
    names = set(reference) - _OF_MACHINE - set(BY_NAME) - htcondor.OF_FAMILIES
    assert len(names) > 650
    assert differing(config_of(None), reference, names) == []


def test_every_knob_of_dagman_has_a_row(reference: dict[str, object]) -> None:
    assert {name for name in reference if name.startswith("dagman_")} <= set(BY_NAME)


def test_names_with_a_row_mean_the_same_but_for_those_listed(reference: dict[str, object]) -> None:
    names = (set(reference) & set(BY_NAME)) - _OF_MACHINE - PRESETS
    assert {name for name, _, _ in differing(config_of(None), reference, names)} == set(OWN) & names
    assert set(OWN) <= names


def test_families_that_roost_reads_have_their_own_defaults() -> None:
    wanted = {
        name
        for name in htcondor.DEFAULTS
        if name not in BY_NAME and (row := find(name)) is not None and row.is_pattern and row.unread is None
    }
    assert set(htcondor.OF_FAMILIES) == wanted
    assert wanted.isdisjoint(DEFAULTS)
