"""``roost shims drmaa``: compile the C library of DRMAA for this copy of Roost and its interpreter."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from roost import __version__
from roost.cli.terminal import CommandError

NAME: Final = "libdrmaa.so.1.0"
#: Names under which linkers and programs look for it.
_LINKS: Final = ("libdrmaa.so", "libdrmaa.so.1")
_HEADER: Final = "drmaa.h"
_COMPILERS: Final = ("cc", "gcc", "clang")
_COMPILE_S: Final = 120.0


def build_library(directory: Path) -> Path:
    """Compile the library into a directory, unless it already exists; return its path. Raises CommandError and
    OSError.
    """
    source = Path(__file__).resolve().parents[1] / "compat" / "drmaa" / "library"
    parent = str(source.parents[3])
    # A C string literal with the contents of a Python string literal.
    definitions = {
        "ROOST_PYTHON": json.dumps(sys.executable),
        "ROOST_SOURCE": json.dumps(json.dumps(parent)),
        "ROOST_VERSION": json.dumps(__version__),
    }
    texts = "".join((source / name).read_text(encoding="utf-8") for name in ("drmaa.c", _HEADER))
    mark = hashlib.sha256("\0".join((texts, *definitions.values())).encode()).hexdigest()
    library, seal = directory / NAME, directory / ".source"
    if library.exists() and seal.exists() and seal.read_text(encoding="utf-8") == mark:
        return library
    directory.mkdir(parents=True, exist_ok=True)
    _compile(source, directory, definitions)
    shutil.copyfile(source / _HEADER, directory / _HEADER)
    for name in _LINKS:
        fresh = directory / f".{name}.{os.getpid()}"
        fresh.symlink_to(NAME)
        fresh.replace(directory / name)
    seal.write_text(mark, encoding="utf-8")
    return library


def _compile(source: Path, directory: Path, definitions: dict[str, str]) -> None:
    found = [path for name in _COMPILERS if (path := shutil.which(name))]
    compiler = os.environ.get("CC", "").split() or found[:1]
    if not compiler:
        raise CommandError(
            "there is no C compiler (cc, gcc, clang), which the library of DRMAA is built with\n"
            "    hint: install one, or name one with CC; Python programs need none: roost shims python"
        )
    with tempfile.TemporaryDirectory(prefix="roost-drmaa-") as place:
        made = Path(place, NAME)
        command = [
            *compiler, "-O2", "-fPIC", "-shared", "-pthread", "-std=gnu11", "-fvisibility=default",
            *(f"-D{name}={value}" for name, value in definitions.items()), f"-Wl,-soname,{NAME}",
            "-o", str(made), str(source / "drmaa.c"),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise CommandError(f"cannot run the C compiler {compiler[0]}: {problem}") from None
        if done.returncode:
            raise CommandError(f"{compiler[0]} cannot build the library of DRMAA:\n{done.stderr[:4000].rstrip()}")
        fresh = directory / f".{NAME}.{os.getpid()}"
        shutil.copyfile(made, fresh)
        fresh.chmod(0o755)
        fresh.replace(directory / NAME)
