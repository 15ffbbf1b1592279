"""`roost down` ends the master of its pool, and no other process that has its number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from roost.cli.__main__ import main
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


def test_a_process_that_has_the_number_of_a_killed_daemon_is_not_shown_as_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path)
    home.make()
    contact = {"pid": os.getpid(), "began": start_of(os.getpid()), "boot": boot_id(), "roles": ["schedd", "node"]}
    (home.run / "contact.json").write_text(json.dumps(contact))
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        (home.run / "schedd.pid").write_text(f"{child.pid}\n")
        # It lives, and is no child of this master.
        (home.run / "node.pid").write_text("1\n")
        assert main(["status", "--daemons", "--home", str(tmp_path)]) == 1
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert lines[:2] == [["schedd", "runs,", "pid", str(child.pid)], ["node", "does", "not", "run"]]
    finally:
        child.kill()
        child.wait()
    assert main(["status", "--daemons", "--home", str(tmp_path)]) == 2
    assert "no pool is running" in capsys.readouterr().err
