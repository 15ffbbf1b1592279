"""Runs the commands of MACHINE_RESOURCE_INVENTORY_<NAME>, which list a machine's units of a custom resource.

A command runs once, before the slots are laid out, and again after a restart of the daemon. ``condor_gpu_discovery``,
which `use FEATURE : GPUs` names, is built in: if no program of that name is installed, `discovered_gpus` provides the
answer.
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from roost.config import Config
from roost.runtime.processes.hook_programs import OUTPUT_BYTES_MAX, refusal
from roost.startd.layout.resources import GPU_DISCOVERY, Inventory, inventories, inventory_error, inventory_words

#: How long a command may take, s.
TIMEOUT_S: Final = 60.0
_NVIDIA: Final = ("nvidia-smi", "--format=csv,noheader,nounits")
#: Field of nvidia-smi to its attribute.
_FIELDS: Final = {
    "uuid": "DeviceUuid",
    "name": "DeviceName",
    "memory.total": "GlobalMemoryMb",
    "compute_cap": "Capability",
    "driver_version": "DriverVersion",
    "pci.bus_id": "DevicePciBusId",
}


class Inventories:
    """The output of the commands of one machine."""

    def __init__(self) -> None:
        #: (name, command) to its output.
        self._printed: dict[tuple[str, str], str] = {}

    def read(self, config: Config) -> Mapping[str, str]:
        """Run the commands that have not run yet; return name to output. Raises ConfigError."""
        found = {}
        for each in inventories(config):
            key = (each.name, each.command)
            if key not in self._printed:
                self._printed[key] = _printed(each)
            found[each.name] = self._printed[key]
        return found


def _printed(inventory: Inventory) -> str:
    words = inventory_words(inventory)
    path = Path(words[0])
    if path.name == GPU_DISCOVERY and not path.exists():
        return discovered_gpus()
    refused = refusal(path)
    if refused:
        raise inventory_error(inventory, refused)
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False, cwd="/"
        )
    except subprocess.TimeoutExpired:
        raise inventory_error(inventory, f"{path} took longer than {TIMEOUT_S:g} s") from None
    except OSError as error:
        raise inventory_error(inventory, f"{path}: {error.strerror}") from None
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip()[:500] or "it printed nothing"
        raise inventory_error(inventory, f"{path} exited with status {done.returncode}: {complaint}")
    if len(done.stdout) > OUTPUT_BYTES_MAX:
        raise inventory_error(inventory, f"{path} printed more than {OUTPUT_BYTES_MAX} bytes")
    return done.stdout.decode(errors="replace")


def discovered_gpus() -> str:
    """The GPUs known to the NVIDIA driver, as attributes; none without a driver."""
    try:
        done = subprocess.run(
            [_NVIDIA[0], f"--query-gpu={','.join(_FIELDS)}", _NVIDIA[1]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "DetectedGPUs = 0\n"
    return gpus_of(done.stdout)


def gpus_of(table: str) -> str:
    """Attributes from the output of nvidia-smi: one line per GPU, fields as in `_FIELDS`."""
    names, lines = [], []
    for row in csv.reader(table.splitlines(), skipinitialspace=True):
        if len(row) != len(_FIELDS):
            continue
        fields = dict(zip(_FIELDS.values(), row, strict=True))
        uuid = fields["DeviceUuid"].removeprefix("GPU-")
        name = f"GPU-{uuid[:8]}"
        names.append(name)
        values = {**fields, "DeviceUuid": uuid, "Id": name}
        said = "; ".join(f"{attribute} = {_literal(value)}" for attribute, value in values.items() if value)
        lines.append(f"{name.replace('-', '_')} = [ {said} ]")
    listed = ", ".join(names)
    return "\n".join([f'DetectedGPUs = "{listed}"' if names else "DetectedGPUs = 0", *lines]) + "\n"


def _literal(text: str) -> str:
    try:
        return repr(float(text)) if "." in text else str(int(text))
    except ValueError:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
