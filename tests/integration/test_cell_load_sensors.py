"""Load sensors by Grid Engine's protocol on a real pool: what they say, and what comes of it."""

from __future__ import annotations

import getpass
import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.cli.gridengine.kit import Desk
from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import cell, node

#: Says what the file next to it has, and notes that it was started.
SENSOR = """\
#!/bin/sh
echo $$ >> {place}/started
while read line; do
    echo begin
    echo "{host}:scratch:$(cat {place}/scratch)"
    echo "global:lic:2"
    echo "{host}:nosuch:5"
    echo "elsewhere:scratch:99"
    echo garbage
    echo end
    [ -e {place}/dies ] && rm {place}/dies && exit 3
done
"""
COMPLEXES = "scratch sc INT <= YES NO 0 0\nlic lic INT <= YES NO 0 0\n"


def test_values_of_load_sensors_count_and_sensors_are_started_again(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start(f"STARTD_LOAD_SENSOR_USER = {getpass.getuser()}\n")
    place, host = tmp_path / "sensor", node(pool)
    place.mkdir()
    (place / "scratch").write_text("10")
    program = place / "sensor.sh"
    program.write_text(SENSOR.format(place=place, host=host))
    program.chmod(0o755)
    cell(pool, tmp_path / "cell", complexes=COMPLEXES)
    configurations = tmp_path / "cell/configurations"
    (configurations / host).write_text(f"load_sensor {program}\nload_report_time 0:0:1\n")
    pool("cell", "apply", str(tmp_path / "cell"))
    grid = Desk(pool)

    def started() -> list[int]:
        return [int(word) for word in (place / "started").read_text().split()]

    # A job that asks for more waits, and starts once the sensor says that there is enough.
    script = grid.script("job.sh", "exit 0")
    job = grid.qsub("-l", "scratch=20,lic=2", "-o", "/dev/null", "-j", "y", str(script))
    eventually(
        lambda: "because it offers only hl:scratch=10" in grid("qstat", "-j", str(job)).out,
        lambda: grid("qstat", "-j", str(job)).out,
    )
    over = grid.qsub("-l", "lic=3", "-o", "/dev/null", "-j", "y", str(script))
    eventually(lambda: "gl:lic=2" in grid("qstat", "-j", str(over)).out, lambda: grid("qstat", "-j", str(over)).out)
    assert len(started()) == 1
    # The daemon is killed: the sensor ends, and the next one is started.
    first = started()[0]
    pool.kill("node")
    eventually(lambda: len(started()) == 2, "a sensor is started by the daemon that follows")
    eventually(lambda: not Path(f"/proc/{first}").exists(), "the first one has ended")
    (place / "dies").touch()
    eventually(lambda: len(started()) == 3, "one that ends is started again")
    os.kill(started()[-1], signal.SIGKILL)
    eventually(lambda: len(started()) == 4, "one that is killed is started again")
    program.write_text(SENSOR.format(place=place, host=host) + "# changed\n")
    eventually(lambda: len(started()) == 5, "one that has changed is started again")
    (place / "scratch").write_text("30")
    pool.wait(job)
    assert "format error from loadsensor" in pool.logs()
    # Without a sensor its values are gone.
    last = started()[-1]
    (configurations / host).write_text("load_sensor none\n")
    pool("cell", "apply", str(tmp_path / "cell"))
    eventually(lambda: not Path(f"/proc/{last}").exists(), "the sensor is stopped")
    job = grid.qsub("-l", "scratch=1", "-o", "/dev/null", "-j", "y", str(script))
    eventually(
        lambda: (
            'because it does not offer resource "scratch"' in (out := grid("qstat", "-j", str(job)).out)
            or "scratch" in out.partition("scheduling info")[2]
        ),
        lambda: grid("qstat", "-j", str(job)).out,
    )
