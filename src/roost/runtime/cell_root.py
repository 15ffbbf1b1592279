"""SGE_ROOT of a pool: the files that Grid Engine's programs and users look for, in a state directory.

``default/common``  ``act_qmaster``, ``bootstrap``, ``settings.sh``, ``settings.csh``, and ``sge_request``, into which
                    an administrator writes options for all users
``man``             the man pages of the commands
``bin/ARC``         Grid Engine's commands, for the pool of this state directory unless ROOST_HOME names another
``util/arch``       prints ARC
``util/resources/jsv/jsv_include.sh``  functions for verifiers in shell, which source it by that name

The commands' shims, the queue and each machine write them; files that an administrator may change are left as they are.
Launchers such as Open MPI's find ``$SGE_ROOT/bin/$ARC/qrsh`` through variables of the job (`root_environment`).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from roost.gridengine.pool.hosts import architecture
from roost.model.cell_commands import NAMES
from roost.runtime.command_scripts import script, write_script
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import host_name
from roost.runtime.machine import detected_values

CELL: Final = "default"
REQUESTS: Final = "sge_request"
#: Files that an administrator may change.
_KEPT: Final = (REQUESTS, "bootstrap")
_BOOTSTRAP: Final = """\
admin_user              none
default_domain          none
ignore_fqdn             false
security_mode           none
"""
_MAN_PAGES: Final = Path(__file__).resolve().parents[1] / "cli/gridengine/share/man"
_JSV_INCLUDE: Final = Path(__file__).with_name("jsv_include.sh")
_REQUEST_LINES: Final = "# Options that qsub takes as if they stood first on its command line; see sge_request(5).\n"


@lru_cache(maxsize=1)
def arc() -> str:
    """Grid Engine's name for the architecture of this machine: ``lx-amd64``."""
    found = detected_values()
    return architecture(str(found.get("OPSYS", "")), str(found.get("ARCH", ""))) or "unknown"


def root_of(home: Home) -> Path:
    """SGE_ROOT of a state directory."""
    return home.path / "gridengine"


def root_environment(home: Home) -> dict[str, str]:
    """The variables by which a job's programs find all that."""
    root = root_of(home)
    return {
        "SGE_ROOT": str(root),
        "SGE_CELL": CELL,
        "SGE_ARCH": arc(),
        "ARC": arc(),
        "SGE_BINARY_PATH": str(root / "bin" / arc()),
    }


def write_root(home: Home) -> Path:
    """Write the missing files, and return the directory. Raises OSError."""
    root = root_of(home)
    for name, (text, mode) in _files(home, root).items():
        path = root / name
        if path.name in _KEPT and path.exists():
            continue
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_script(path, text, mode)
    if not (root / "man").is_symlink():
        (root / "man").symlink_to(_MAN_PAGES, target_is_directory=True)
    return root


def _files(home: Home, root: Path) -> Mapping[str, tuple[str, int]]:
    """Path in the root to its text and its mode."""
    common = f"{CELL}/common"
    where, path, pages = (shlex.quote(str(root / name)) for name in ("", f"bin/{arc()}", "man"))
    head = f"import os\nos.environ.setdefault('ROOST_HOME', {str(home.path)!r})\n"
    entry = "from roost.cli.gridengine.entry import run_and_leave\nrun_and_leave({!r}, sys.argv[1:])\n"
    commands = {f"bin/{arc()}/{name}": (script(head + entry.format(name), "Roost"), 0o755) for name in NAMES}
    return commands | {
        "util/resources/jsv/jsv_include.sh": (_JSV_INCLUDE.read_text(encoding="utf-8"), 0o644),
        "util/arch": (f"#!/bin/sh\n# Written by Roost.\necho {arc()}\n", 0o755),
        f"{common}/act_qmaster": (f"{central_name(home)}\n", 0o644),
        f"{common}/bootstrap": (_BOOTSTRAP, 0o644),
        f"{common}/{REQUESTS}": (_REQUEST_LINES, 0o644),
        f"{common}/settings.sh": (
            f"SGE_ROOT={where}; export SGE_ROOT\nSGE_CELL={CELL}; export SGE_CELL\nSGE_ARCH={arc()}; export SGE_ARCH\n"
            f'PATH={path}:"$PATH"; export PATH\nMANPATH={pages}:"${{MANPATH-}}"; export MANPATH\n',
            0o644,
        ),
        f"{common}/settings.csh": (
            f"setenv SGE_ROOT {where}\nsetenv SGE_CELL {CELL}\nsetenv SGE_ARCH {arc()}\nset path = ( {path} $path )\n"
            f'if ( ! $?MANPATH ) setenv MANPATH ""\nsetenv MANPATH {pages}:"$MANPATH"\n',
            0o644,
        ),
    }


def let_users_to(home: Home) -> None:
    """Give users whose jobs run here access to the root; they see no other names. Raises OSError."""
    home.let_others_to(root_of(home))


def central_name(home: Home) -> str:
    """The host of the pool's central manager."""
    try:
        return str(home.contact().get("node") or host_name())
    except HomeError:
        return host_name()


def is_written(home: Home) -> bool:
    """Whether the root exists; another user may have written it."""
    return os.access(root_of(home) / CELL / "common" / "act_qmaster", os.R_OK)
