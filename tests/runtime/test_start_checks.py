"""What daemons refuse, `roost config check` refuses before, with the place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from roost.api.daemon import WebDaemon
from roost.cli.__main__ import main
from roost.config import Config, MemoryHost, load_text
from roost.config.knob import KnobType, Reload
from roost.config.knobs import ALL
from roost.runtime.bus_settings import BusSettings
from roost.runtime.central.daemon import CentralDaemon
from roost.runtime.home import Home
from roost.runtime.log_settings import log_settings
from roost.runtime.master_settings import master_settings
from roost.runtime.node.daemon import NodeDaemon
from roost.runtime.queue.daemon import ScheddDaemon
from roost.runtime.registrar.authority import Authority
from roost.runtime.registrar.daemon import Registrar
from roost.runtime.role import RoleContext
from roost.runtime.start_checks import ROLES, SUBSYSTEMS, errors
from roost.wire.subjects import Subjects

#: What makes members of families count.
_BESIDE = (
    "STARTD_CRON_JOBLIST = x",
    "SCHEDD_CRON_JOBLIST = x",
    "STARTD_CRON_x_EXECUTABLE = /bin/true",
    "SCHEDD_CRON_x_EXECUTABLE = /bin/true",
    "STARTD_CRON_x_PERIOD = 1h",
    "SCHEDD_CRON_x_PERIOD = 1h",
    "SUBMIT_REQUIREMENT_NAMES = x",
    "SUBMIT_REQUIREMENT_x = True",
    "JOB_TRANSFORM_NAMES = x",
    "GROUP_NAMES = x",
    "SCHEDD_CLASSAD_USER_MAP_NAMES = x",
    "NUM_SLOTS_TYPE_1 = 1",
    "MACHINE_RESOURCE_NAMES = x",
    "MACHINE_RESOURCE_x = 2",
)
#: Daemon in the table of knobs to the roles that read it.
_ROLES = {
    "STARTD": ("node",),
    "STARTER": ("node",),
    "SCHEDD": ("schedd",),
    "SHADOW": ("schedd",),
    "COLLECTOR": ("central",),
    "NEGOTIATOR": ("central",),
    "DEFRAG": ("central",),
    "MASTER": ("master",),
}
#: What the lines above need; and what only the machine can tell: which database answers, which directories are there.
_KEPT = {line.partition(" ")[0] for line in _BESIDE} | {
    "DATABASE_URL",
    "MACHINE_RESOURCE_INVENTORY_x",
    "AUDIT_DATABASE_URL",
    "EXECUTE",
    "SLOT1_EXECUTE",
}


class _Bus:
    """Nobody is reached by it."""

    subjects = Subjects("pool")


def _lines(role: str, value: str) -> dict[str, str]:
    """Each knob that the daemon of a role reads, set to a value."""
    names = (
        re.sub(r"<\w+>", "x", row.name.replace("<N>", "1"))
        for row in ALL
        if row.read_by and row.reload is not Reload.PRESET and row.type is not KnobType.MACRO
        if role in _ROLES.get(row.subsystem, SUBSYSTEMS)
    )
    return {name.lower(): f"{name} = {value}" for name in names if name not in _KEPT}


def _start(role: str, config: Config, home: Home) -> None:
    """Do what the daemon of a role does with a configuration before it is ready."""
    if role == "master":
        master_settings(config)
        return
    log_settings(config, home, role)
    made: Any = {
        "central": CentralDaemon, "schedd": ScheddDaemon, "node": NodeDaemon, "web": WebDaemon, "registrar": Registrar,
    }[role]  # fmt: skip
    if role == "registrar":
        Authority.make(home.authority, pool="pool", machine="m", host="localhost", port=1, listen="127.0.0.1")
    settings = BusSettings(urls=(), pool="pool", name=role, user="")
    context = RoleContext(role=role, name="m", home=home, roots=None, bus=settings)
    daemon = made(context, config, cast("Any", _Bus()))
    if isinstance(daemon, ScheddDaemon):
        daemon.store.close()


@pytest.mark.parametrize("value", ["1x [", "-3", "two words = x", "/nowhere", "1.5 Pb"])
@pytest.mark.parametrize("role", ROLES)
def test_what_the_check_passes_no_daemon_refuses(role: str, value: str, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make()
    lines = _lines(role, value)
    tried = len(lines)
    while True:
        text = "\n".join([f"EXECUTE = {home.execute}", *_BESIDE, *lines.values(), ""])
        config = load_text(text, MemoryHost(), subsystem=SUBSYSTEMS[role])
        found = errors(config, (role,))
        if not found:
            break
        # One error may hide others of the same reader.
        for one in found:
            assert one.name is not None and one.span.line > 0, one
            lines.pop(one.name.lower(), None)
        assert len(lines) < tried, found
        tried = len(lines)
    _start(role, config, home)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /x\nSTARTD_CRON_A_PERIOD = 1x\n",
            "3:1: error: STARTD_CRON_A_PERIOD",
        ),
        ("STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_EXECUTABLE = /x\n", "1:1: error: STARTD_CRON_A_PERIOD"),
        ("SCHEDD_CRON_JOBLIST = A\nSCHEDD_CRON_A_PERIOD = 1m\n", "1:1: error: SCHEDD_CRON_A_EXECUTABLE"),
        ("STARTD.STARTD_CRON_JOBLIST = A\nSTARTD_CRON_A_PERIOD = 1m\n", "1:1: error: STARTD_CRON_A_EXECUTABLE"),
        ("\nMAX_SCHEDD_LOG = 10 Pb\n", "2:1: error: MAX_SCHEDD_LOG: 10 Pb is not a size"),
        ("STARTD_LOG = log/x\n", "1:1: error: STARTD_LOG: log/x is not an absolute path"),
        ("USER_CEILINGS = ann\n", "1:1: error: USER_CEILINGS: 'ann'"),
        ("SLOT_CONFIG_FAILURE_MODE = maybe\n", "1:1: error: SLOT_CONFIG_FAILURE_MODE"),
        ("MACHINE_RESOURCE_INVENTORY_x = gpus -a\n", "1:1: error: MACHINE_RESOURCE_INVENTORY_x: gpus is"),
        (
            "SUBMIT_REQUIREMENT_NAMES = A\n",
            "1:1: error: SUBMIT_REQUIREMENT_A: it is listed in SUBMIT_REQUIREMENT_NAMES",
        ),
        ("MACHINE_RESOURCE_X = 2\nENVIRONMENT_FOR_AssignedX = a=\n", "2:1: error: ENVIRONMENT_FOR_AssignedX"),
        ("JOB_TRANSFORM_NAMES = A\n", "1:1: warning: JOB_TRANSFORM_A: it is listed in JOB_TRANSFORM_NAMES"),
        ("SCHEDD_CRON_A_PERIOD = 1m\n", "1:1: warning: SCHEDD_CRON_A_PERIOD has no effect: SCHEDD_CRON_JOBLIST"),
        ("SCHEDD_DEBUG = D_ALWAYS D_FULDEBUG\n", "1:1: warning: SCHEDD_DEBUG: D_FULDEBUG is not a log category"),
    ],
)
def test_check_and_lint_have_the_place_of_what_daemons_find(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "roost.config"
    path.write_text(text, encoding="utf-8")
    assert main(["config", "check", "-c", str(path)]) == int("error" in said)
    assert f"{path}:{said}" in capsys.readouterr().out
    assert main(["policy", "lint", str(path)]) == 1
    place, _, words = said.partition(":1: ")
    severity, _, words = words.partition(": ")
    line = rf"{re.escape(str(path))}:{place}(:1)?: {severity} \S+: {re.escape(words)}"
    assert re.search(line, capsys.readouterr().out)
