"""What jobs do not see of their machine: MOUNT_UNDER_SCRATCH, USE_PID_NAMESPACES and JOB_NO_NEW_PRIVILEGES.

The first two take root, for namespaces are made. Where this process is not root, or may not make any, jobs run without,
and the machine says so. How it is done is the shepherd's (`shepherd.isolation`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.base.records import dataclass
from roost.classad import ClassAd, ParseError, Syntax, parse_expression
from roost.runtime.processes.shepherd.system import read_kernel_file

if TYPE_CHECKING:
    from roost.config import Config

#: The capability that namespaces take.
_SYS_ADMIN: Final = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What of the machine one job does not see."""

    #: Directories of which the job has its own.
    private: tuple[Path, ...] = ()
    #: Directories that stay where they are, even below those: the scratch directory first.
    kept: tuple[Path, ...] = ()
    #: It sees its own processes only.
    processes: bool = False
    #: No program gives it rights that its user does not have.
    no_rights: bool = False

    def packed(self) -> dict[str, object]:
        """As the shepherd reads it."""
        return {
            "private": [os.fsencode(each) for each in self.private],
            "kept": [os.fsencode(each) for each in self.kept],
            "processes": self.processes,
            "no_rights": self.no_rights,
        }


def isolation_of(config: Config, slot_ad: ClassAd, job_ad: ClassAd, kept: tuple[Path, ...]) -> Isolation | None:
    """What a job does not see; None where it sees all. `kept`: its scratch directory, and others that it needs."""
    able = not _unable()
    found = Isolation(
        private=_directories(_named(config, slot_ad, job_ad)) if able else (),
        kept=kept,
        processes=able and config.get_bool("USE_PID_NAMESPACES", subsys="STARTER"),
        no_rights=config.get_bool("JOB_NO_NEW_PRIVILEGES", subsys="STARTER"),
    )
    return found if found.private or found.processes or found.no_rights else None


def isolation_problem(config: Config) -> str:
    """Why jobs are not isolated as the configuration asks; "" if they are."""
    text = (config.get("MOUNT_UNDER_SCRATCH", subsys="STARTER") or "").strip()
    names = ["MOUNT_UNDER_SCRATCH"] if text else []
    names += ["USE_PID_NAMESPACES"] if config.get_bool("USE_PID_NAMESPACES", subsys="STARTER") else []
    unable = _unable()
    if names and unable:
        return f"jobs are not isolated, though the configuration has {' and '.join(names)}: {unable}"
    listed = _split(text) if _is_list(text) else []
    missing = [each for each in listed if not (each.startswith("/") and Path(each).is_dir())]
    if missing:
        return (
            f"MOUNT_UNDER_SCRATCH names {', '.join(missing)}: not a directory of this machine, so no job gets its own"
        )
    return ""


def _unable() -> str:
    """Why this process cannot make namespaces; "" if it can."""
    if os.geteuid() != 0:
        return "only daemons that root runs can make namespaces"
    for line in read_kernel_file("/proc/self/status").splitlines():
        if line.startswith(b"CapEff:") and not int(line.split()[1], 16) & _SYS_ADMIN:
            return "this container or service lacks the capability CAP_SYS_ADMIN"
    if not Path("/proc/self/ns/pid").exists():
        return "this kernel has no namespaces"
    return ""


def _named(config: Config, slot_ad: ClassAd, job_ad: ClassAd) -> list[str]:
    """What MOUNT_UNDER_SCRATCH names: a list, or an expression over slot and job that gives one."""
    text = (config.get("MOUNT_UNDER_SCRATCH", subsys="STARTER") or "").strip()
    if _is_list(text):
        return _split(text)
    try:
        value = slot_ad.eval_expr(parse_expression(text, Syntax.OLD), job_ad) if text else ""
    except ParseError:
        return []
    return _split(value) if isinstance(value, str) else []


def _is_list(text: str) -> bool:
    return text.startswith("/")


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _directories(names: list[str]) -> tuple[Path, ...]:
    """Those that exist, each once, outer ones before those in them."""
    found = dict.fromkeys(os.path.realpath(each) for each in names if each.startswith("/"))
    return tuple(Path(each) for each in sorted(found) if each != "/" and Path(each).is_dir())
