"""The table of all knobs, and lookup of the row for a name.

Rows are grouped in modules by the daemon that reads them. Rows whose name has ``<N>`` or a word in angle
brackets stand for a family of names. `find` also strips daemon and slot-type prefixes; it never guesses (see
`roost.config.suggest`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from roost.config.knob import Knob, KnobScope
from roost.config.knobs import (
    central,
    dagman,
    htcondor,
    macros,
    negotiator,
    policy,
    schedd,
    slots,
    sources,
    startd,
    starter,
)
from roost.config.subsystems import SUBSYSTEMS as SUBSYSTEMS

ALL: tuple[Knob, ...] = tuple(
    row
    for module in (
        macros,
        sources,
        policy,
        slots,
        startd,
        starter,
        schedd,
        negotiator,
        central,
        dagman,
    )
    for row in module.KNOBS
)
#: case-folded name to row, for rows that are one name
BY_NAME: dict[str, Knob] = {row.name.lower(): row for row in ALL if not row.is_pattern}
#: case-folded name to compiled-in default text: that of its row, otherwise HTCondor's
DEFAULTS: dict[str, str] = {
    **{
        name: text
        for name, text in htcondor.DEFAULTS.items()
        if name not in BY_NAME and name not in htcondor.OF_FAMILIES
    },
    **{name: row.default for name, row in BY_NAME.items() if row.default is not None},
}
#: the same when read as HTCondor
DEFAULTS_OF_HTCONDOR = htcondor.DEFAULTS
#: case-folded names that HTCondor knows and that have no row here
ONLY_HTCONDORS: frozenset[str] = (frozenset(htcondor.DEFAULTS) | htcondor.WITHOUT_DEFAULT) - frozenset(BY_NAME)
#: names that are set at start and cannot be assigned
PRESETS: frozenset[str] = frozenset(name for name, row in BY_NAME.items() if row.reload.value == "preset")

#: old names and their replacements; a name that ends in ``_`` is a prefix
DEPRECATED: dict[str, str] = {
    "num_virtual_machines": "NUM_SLOTS",
    "num_virtual_machines_type_": "NUM_SLOTS_TYPE_",
    "virtual_machine_type_": "SLOT_TYPE_",
    "vm_type_": "SLOT_TYPE_",
    "virtual_machines_connected_to_console": "SLOTS_CONNECTED_TO_CONSOLE",
    "virtual_machines_connected_to_keyboard": "SLOTS_CONNECTED_TO_KEYBOARD",
    "startd_vm_exprs": "STARTD_SLOT_ATTRS",
    "startd_vm_attrs": "STARTD_SLOT_ATTRS",
    "startd_slot_exprs": "STARTD_SLOT_ATTRS",
    "startd_job_exprs": "STARTD_JOB_ATTRS",
    "startd_exprs": "STARTD_ATTRS",
    "job_exprs": "STARTD_JOB_ATTRS",
    "slot_exprs": "STARTD_SLOT_ATTRS",
    "schedd_exprs": "SCHEDD_ATTRS",
    "submit_exprs": "SUBMIT_ATTRS",
    "hostallow_": "ALLOW_",
    "hostdeny_": "DENY_",
    "defrag_schedule": "DEFRAG_DRAINING_SCHEDULE",
    "enable_address_rewriting": "",
    "uwcs_": "",
}
_VIRTUAL_MACHINE = re.compile(r"vm(\d+)_(.+)\Z")
_SLOT_TYPE = re.compile(r"slot_type_\d+_(.+)\Z")
_SLOT = re.compile(r"slot\d+(?:_\d+)?_(.+)\Z")
_OLD_HOOK = re.compile(r"(.+)_hook_(fetch_job|reply_claim)\Z")


@lru_cache(maxsize=1)
def _families() -> tuple[tuple[re.Pattern[str], Knob], ...]:
    """Rows that are families, in the order they are tried."""
    return tuple((row.pattern(), row) for row in ALL if row.is_pattern)


def is_lost_on_roost(name: str, text: str) -> bool:
    """Whether a value of a case-folded name has an effect in HTCondor but not here.

    It has none if it is empty, HTCondor's default, another path of the same HTCondor program, or a macro.
    """
    if name not in ONLY_HTCONDORS or name in htcondor.MACROS:
        return False
    default = htcondor.DEFAULTS.get(name, "")
    same = " ".join(text.split()).lower() in ("", " ".join(default.split()).lower())
    is_program = default.startswith(("$(SBIN)/", "$(LIBEXEC)/", "$(BIN)/", "$(RELEASE_DIR)/")) and "," not in default
    return not same and not (is_program and text.strip().rpartition("/")[2] == default.rpartition("/")[2])


@lru_cache(maxsize=16384)
def find(name: str) -> Knob | None:
    """The row a name belongs to, prefixes and families considered."""
    key = name.lower()
    while True:
        row = BY_NAME.get(key)
        if row is not None:
            return row
        typed = _SLOT_TYPE.match(key)
        base = BY_NAME.get(typed.group(1)) if typed else None
        if base is not None and base.scope is KnobScope.SLOT_TYPE:
            return base
        slot = _SLOT.match(key)
        base = BY_NAME.get(slot.group(1)) if slot else None
        if base is not None and base.scope is KnobScope.SLOT:
            return base
        for pattern, family in _families():
            if pattern.match(key) and "." not in key:
                return family
        _, dot, key = key.partition(".")
        if not dot:
            return None


def slot_prefixed(name: str) -> Knob | None:
    """The row meant by SLOT<N>_NAME when that knob has no per-slot form."""
    match = _SLOT.match(name.lower())
    row = BY_NAME.get(match.group(1)) if match else None
    return row if row is not None and row.scope is not KnobScope.SLOT and row.type.value != "macro" else None


def replacement(name: str) -> str | None:
    """The replacement of an old name: the current name, empty if there is none, None when the name is not old."""
    key = name.lower().rpartition(".")[2]
    if key in DEPRECATED:
        return DEPRECATED[key]
    for old, new in DEPRECATED.items():
        if old.endswith("_") and key.startswith(old):
            return new + key[len(old) :].upper() if new else ""
    virtual = _VIRTUAL_MACHINE.match(key)
    if virtual:
        base = virtual.group(2)
        return f"SLOT{virtual.group(1)}_{DEPRECATED.get(base) or base.upper()}"
    hook = _OLD_HOOK.match(key)
    if hook:
        return f"{hook.group(1).upper()}_HOOK_{'FETCH_WORK' if hook.group(2) == 'fetch_job' else 'REPLY_FETCH'}"
    return None
