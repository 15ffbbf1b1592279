"""HTCondor's defaults as text, asked of its library: `python -m tests.config.htcondor_table` writes the module.

The library gives expanded values. So each name that occurs in others is defined as a reference to itself behind a
dollar sign, ``LOG = $(DOLLAR)(LOG)``, and what comes out is the text before expansion. Names that the library knows
and gives no default are found as words between such names in its shared object.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
import textwrap
from pathlib import Path

from roost.config.knobs import BY_NAME, PRESETS, find

MODULE = Path(__file__).parents[2] / "src/roost/config/knobs/htcondor.py"
#: Values of the machine that is asked, to what they are in the table; None for those that it sets at start.
OF_MACHINE = {
    "ADSTASH_SE_HOST": "localhost:9200",
    "ARC_GAHP_LOG": "/tmp/ArcGahpLog.$(USERNAME)",
    "COLLECTOR_HOST_FOR_NEGOTIATOR": "$(FULL_HOSTNAME)",
    "CONDOR_ADMIN": "root@$(FULL_HOSTNAME)",
    "C_GAHP_LOCK": "/tmp/CGAHPLock.$(USERNAME)",
    "C_GAHP_LOG": "/tmp/CGAHPLog.$(USERNAME)",
    "C_GAHP_WORKER_THREAD_LOCK": "/tmp/CGAHPWorkerLock.$(USERNAME)",
    "C_GAHP_WORKER_THREAD_LOG": "/tmp/CGAHPWorkerLog.$(USERNAME)",
    "EC2_GAHP_LOG": "/tmp/EC2GahpLog.$(USERNAME)",
    "GCE_GAHP_LOG": "/tmp/GceGahpLog.$(USERNAME)",
    "HOST_ALIAS": "$(FULL_HOSTNAME)",
    "PRIVATE_NETWORK_NAME": "$(FULL_HOSTNAME)",
    "UTSNAME_NODENAME": "$(FULL_HOSTNAME)",
    "OPSYSLONGNAME": None,
    "OPSYSNAME": None,
    "OPSYSSHORTNAME": None,
    "QUEUE_SUPER_USERS": "root, condor",
    "NUM_CPUS": "$(DETECTED_CPUS_LIMIT)",
    "FILESYSTEM_DOMAIN": "$(FULL_HOSTNAME)",
    "UID_DOMAIN": "$(FULL_HOSTNAME)",
    **dict.fromkeys(("ARCH", "OPSYS", "OPSYSVER", "OPSYSANDVER", "OPSYSMAJORVER", "UNAME_ARCH", "UNAME_OPSYS")),
    **dict.fromkeys(("DETECTED_MEMORY", "CONFIG_ROOT", "HOME", "TILDE")),
    "PERIODIC_CHECKPOINT": "((time() - LastPeriodicCheckpoint)/60.0) > (180.0 + $RANDOM_INTEGER(-30,30,1))",
    "UTSNAME_RELEASE": None,
    "UTSNAME_MACHINE": None,
    "UTSNAME_SYSNAME": None,
    "UTSNAME_VERSION": None,
    "CondorIsAdmin": None,
}
#: Names that configurations use and that are not found between others.
ADDED = ("FLOCK_FROM", "FLOCK_TO", "USE_AFS")


def asked() -> dict[str, object]:
    """Each name that the library has a value for, and the value, typed, expanded."""
    return _read("")


def _read(text: str, only: list[str] | None = None) -> dict[str, object]:
    """Values under a configuration, by a process of its own directory."""
    import htcondor2

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "condor_config")
        path.write_text(text)
        os.environ["CONDOR_CONFIG"] = str(path)
        htcondor2.reload_config()
        return {name: htcondor2.param.get(name) for name in only or list(htcondor2.param.keys())}


def raw() -> dict[str, str]:
    """Each name that the library has a value for, and its text before expansion."""
    plain = asked()
    texts = [name for name, value in plain.items() if isinstance(value, str)]
    inside: dict[str, list[str]] = {}
    for name in (*plain, "LOCAL_DIR", "RELEASE_DIR", "CONDOR_HOST"):
        if name in ("LOCAL_CONFIG_FILE", "LOCAL_CONFIG_DIR", "USER_CONFIG_FILE"):
            continue
        changed = _read(f"{name} = $(DOLLAR)({name})\n", [each for each in texts if each != name])
        inside[name] = [each for each, value in changed.items() if isinstance(value, str) and f"$({name})" in value]
    referred = [name for name, users in inside.items() if users]
    found = {name: str(value) for name, value in plain.items()}
    for name in sorted({user for users in inside.values() for user in users}):
        value = _read("".join(f"{one} = $(DOLLAR)({one})\n" for one in referred if one != name), [name])[name]
        found[name] = str(value)
    return found


def names_without_default(known: set[str]) -> set[str]:
    """Names of knobs in the shared object, those of `known` left out: words between words that are knobs."""
    spec = importlib.util.find_spec("htcondor2")
    assert spec is not None and spec.origin is not None
    [library] = Path(spec.origin).parents[1].glob("htcondor.libs/libcondor_utils_*.so")
    words = [
        match[1].decode() for match in re.finditer(rb"(?<=\0)([A-Za-z_][A-Za-z0-9_.]{2,70})\0", library.read_bytes())
    ]
    is_known = [word in known for word in words]
    return {
        word
        for at, word in enumerate(words)
        if not is_known[at]
        and re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", word)
        and min(sum(is_known[max(at - 6, 0) : at]), sum(is_known[at + 1 : at + 7])) >= 2
    }


def module(defaults: dict[str, str], unset: set[str], families: set[str]) -> str:
    """The text of the module."""
    rows = "".join(
        f"    {name.lower()!r}: {text!r},\n" for name, text in sorted(defaults.items(), key=lambda one: one[0].lower())
    )
    macros = {name for name in defaults if not name.isupper()}
    return (
        f"{_HEAD}{rows}}}\n"
        + _names("WITHOUT_DEFAULT", "Names in lower case without a default.", unset)
        + _names("OF_FAMILIES", "Names of families that Roost reads, with Roost's own defaults.", families)
        + _names("MACROS", "Names of macros for use in other values.", macros)
    )


def _names(name: str, meaning: str, names: set[str]) -> str:
    text = textwrap.indent(textwrap.fill(" ".join(sorted(one.lower() for one in names)), 112), "    ")
    return f'#: {meaning}\n{name}: Final = frozenset(\n    """\n{text}\n    """.split()\n)\n'


_HEAD = '''"""Names known to HTCondor 25.14, with their default texts.

Existing configurations refer to them: ``COLLECTOR_ARGS = -f $(COLLECTOR)``, ``$(StartIdleTime)``. Names without a row
in Roost's table of knobs have HTCondor's default; all names do when a file is read as HTCondor. `python -m
tests.config.htcondor_table` writes this module; `tests/config/test_htcondor_defaults.py` compares it with HTCondor's
library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# fmt: off
# ruff: noqa: E501, SIM905
#: Name in lower case to text.
DEFAULTS: Final[Mapping[str, str]] = {
'''


def main() -> None:
    """Write the module."""
    found = raw()
    unset = names_without_default(set(found)) | set(ADDED)
    texts = {name: value for name, text in found.items() if (value := OF_MACHINE.get(name, text)) is not None}
    texts = {name: value for name, value in texts.items() if name.lower() not in PRESETS}
    families = {name for name in texts if name.lower() not in BY_NAME and _is_of_read_family(name)}
    MODULE.write_text(module(texts, {name for name in unset if name.lower() not in BY_NAME}, families))


def _is_of_read_family(name: str) -> bool:
    row = find(name)
    return row is not None and row.is_pattern and row.unread is None


if __name__ == "__main__":
    sys.exit(main())
