"""``python -m tests.faults``: the program of `many`, whose processes import what they run from there."""

import sys

from tests.faults.many import main

if __name__ == "__main__":
    sys.exit(main())
