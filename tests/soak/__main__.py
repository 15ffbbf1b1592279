"""Break a pool at random for a long time, then compare what its jobs did with what it says they did.

    python -m tests.soak --rounds 500 --jobs 5000 --dags 100 --seed 1

The command enters network, mount and process namespaces of its own, so it needs root, ``unshare`` and ``ip``. All that
it starts ends with it. It exits 0 if nothing was lost, crossed, doubled, falsely held or falsely failed, 1 otherwise,
and 2 if it cannot run here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_INSIDE = "ROOST_SOAK_INSIDE"


def unable() -> str:
    """Return why the soak cannot run here, or an empty string."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "the soak needs Linux and root, for its network namespaces"
    missing = [name for name in ("unshare", "nsenter", "ip", "flock") if shutil.which(name) is None]
    if missing:
        return f"the soak needs {', '.join(missing)} (Debian: util-linux, iproute2)"
    tried = subprocess.run(
        ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "ip", "link", "add", "probe", "type", "bridge"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if tried.returncode == 0 else f"namespaces or bridges cannot be made here: {tried.stderr.strip()}"


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--rounds", type=int, default=500, help="faults to inject (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=5000, help="jobs to submit over all rounds (default: %(default)s)")
    parser.add_argument("--dags", type=int, default=100, help="DAGs to submit over all rounds (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of jobs and faults (default: %(default)s)")
    parser.add_argument("--machines", type=int, default=2, help="execute machines (default: %(default)s)")
    parser.add_argument("--only", default="", help="kinds of faults, separated by commas (default: all)")
    parser.add_argument("--place", type=Path, help="directory to work in, kept afterwards (default: a temporary one)")
    return parser.parse_args(words)


def main() -> int:
    """Enter the namespaces, or, inside them, run."""
    options = arguments()
    if _INSIDE in os.environ:
        from tests.soak.run import soak

        return soak(options)
    why = unable()
    if why:
        print(f"soak: {why}", file=sys.stderr)
        return 2
    place = options.place or Path(tempfile.mkdtemp(prefix="roost-soak-"))
    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    # The shell is process 1 of the namespace: it reaps what is orphaned there, and all ends when it does.
    inner = 'mount -t proc proc /proc && ip link set lo up && "$@" & wait $!'
    words = [sys.executable, "-m", "tests.soak", *sys.argv[1:], "--place", str(place)]
    try:
        return subprocess.run(
            [
                "unshare",
                "--net",
                "--uts",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                inner,
                "sh",
                *words,
            ],
            env={**os.environ, _INSIDE: "1"},
            check=False,
        ).returncode
    finally:
        if options.place is None:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
