"""The program that `scp` and `sftp` run in place of ssh for `condor_ssh_to_job -ssh`."""

from __future__ import annotations

import sys

from roost.cli.condor.errors import ToolError
from roost.cli.condor.ssh_to_job import as_ssh


def main() -> int:
    """Run it; its exit status."""
    try:
        return as_ssh(sys.argv[1:])
    except ToolError as error:
        sys.stderr.write(f"{error}\n")
        return 255


if __name__ == "__main__":
    sys.exit(main())
