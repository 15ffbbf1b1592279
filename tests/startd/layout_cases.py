"""Machines and configurations that the tests of layouts share."""

from __future__ import annotations

from roost.config import Config, LoadOptions, MemoryHost, load
from roost.model.slots import Filesystem, HostReading
from roost.startd.layout.layout import Layout, plan_layout
from roost.startd.layout.problems import LayoutRefused

GB = 1024 * 1024


def configured(text: str, cores: int = 4, memory_mb: int = 256) -> Config:
    """A configuration as the execute daemon of such a machine reads it."""
    return load(
        MemoryHost(files={"/etc/roost.conf": text}),
        LoadOptions(
            roots=("/etc/roost.conf",),
            subsystem="STARTD",
            detected={
                "DETECTED_CPUS": str(cores),
                "DETECTED_CPUS_LIMIT": str(cores),
                "DETECTED_CORES": str(cores),
                "DETECTED_MEMORY": str(memory_mb),
                "FULL_HOSTNAME": "vulture.example.org",
                "LOCAL_DIR": "/var/lib/roost",
            },
        ),
    )


def reading(cores: int = 4, memory_mb: int = 256, **more: object) -> HostReading:
    """What sensors find on such a machine, with one filesystem of 8 GB and 1 GB of swap."""
    fields: dict[str, object] = {
        "swap_kb": GB,
        "filesystems": {"/": Filesystem(name="root", free_kb=8 * GB)},
        **more,
    }
    return HostReading(cpus=cores, memory_mb=memory_mb, **fields)  # type: ignore[arg-type]


def plan(text: str, cores: int = 4, memory_mb: int = 256, **more: object) -> Layout | LayoutRefused:
    """The layout of such a machine."""
    return plan_layout(configured(text, cores, memory_mb), reading(cores, memory_mb, **more))


def laid_out(text: str, cores: int = 4, memory_mb: int = 256, **more: object) -> Layout:
    """The layout of such a machine, which must be possible."""
    layout = plan(text, cores, memory_mb, **more)
    assert isinstance(layout, Layout), str(layout)
    return layout


def refused(text: str, cores: int = 4, memory_mb: int = 256, **more: object) -> LayoutRefused:
    """Why the layout of such a machine is impossible."""
    layout = plan(text, cores, memory_mb, **more)
    assert isinstance(layout, LayoutRefused), layout
    return layout
