"""SGE_ROOT of a pool: the files that programs of Grid Engine's users read, in the pool's state directory.

``default/common`` has ``act_qmaster``, ``bootstrap``, ``settings.sh``, ``settings.csh`` and ``sge_request``, into which
an administrator writes options that `qsub` takes for all users. What is there is left as it is, but for the name of the
central manager and the two settings.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from roost.cli.gridengine.request_files import NAME as REQUESTS
from roost.cli.terminal import CommandError
from roost.runtime.files.whole_files import write_whole
from roost.runtime.home import Home, HomeError
from roost.runtime.identity import host_name

CELL: Final = "default"
_REQUESTS: Final = "# Options that qsub takes as if they stood first on its command line; see sge_request(5).\n"
_BOOTSTRAP: Final = """\
admin_user              none
default_domain          none
ignore_fqdn             false
security_mode           none
"""


def write_root(commands: Path) -> Path:
    """Write what is missing, and give the directory; `commands` is where the commands are. Raises CommandError."""
    home = Home.find(None)
    root = home.path / "gridengine"
    common = root / CELL / "common"
    texts = _texts(home, root, commands)
    if not home.path.is_dir():
        raise CommandError(f"there is no pool in {home.path}; set ROOST_HOME, or start one with `roost up`")
    try:
        common.mkdir(mode=0o755, parents=True, exist_ok=True)
        for name, text in texts.items():
            path = common / name
            kept = name in (REQUESTS, "bootstrap") and path.exists()
            if not kept and not (path.exists() and path.read_text(encoding="utf-8") == text):
                write_whole(path, text, mode=0o644)
    except PermissionError as error:
        # What the pool's owner has written is for all users.
        if not (common / "act_qmaster").exists():
            raise CommandError(
                f"{error.filename}: {error.strerror}; the owner of the pool has to run `roost shims gridengine` once"
            ) from None
    return root


def _texts(home: Home, root: Path, commands: Path) -> dict[str, str]:
    where, path = shlex.quote(str(root)), shlex.quote(str(commands))
    return {
        "act_qmaster": f"{central_name(home)}\n",
        "bootstrap": _BOOTSTRAP,
        REQUESTS: _REQUESTS,
        "settings.sh": f"SGE_ROOT={where}; export SGE_ROOT\nSGE_CELL={CELL}; export SGE_CELL\n"
        f'PATH={path}:"$PATH"; export PATH\n',
        "settings.csh": f"setenv SGE_ROOT {where}\nsetenv SGE_CELL {CELL}\nset path = ( {path} $path )\n",
    }


def central_name(home: Home) -> str:
    """The host of the pool's central manager."""
    try:
        return str(home.contact().get("node") or host_name())
    except HomeError:
        return host_name()
