"""`roost down` ends the master of its pool, and no other process that has its number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from roost.cli.down import stop
from roost.cli.reconfig import reconfigure
from roost.cli.terminal import CommandError
from roost.runtime.home import Home
from roost.runtime.processes.shepherd.processes import boot_id, start_of


@pytest.mark.parametrize(("later", "boot"), [(1, ""), (0, "another boot")])
def test_a_process_that_has_the_number_of_a_killed_master_hears_nothing(tmp_path: Path, later: int, boot: str) -> None:
    home = Home(tmp_path)
    home.make()
    program = "import time; print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None and stranger.stdout.readline()
        contact = {"pid": stranger.pid, "began": start_of(stranger.pid) + later, "boot": boot or boot_id()}
        for order in (reconfigure, lambda home: stop(home, "graceful")):
            (home.run / "contact.json").write_text(json.dumps(contact))
            with pytest.raises(CommandError, match="its master was killed"):
                order(home)
        assert stranger.poll() is None
        stranger.kill()
