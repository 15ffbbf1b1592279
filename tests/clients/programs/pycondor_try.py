"""pycondor: a DAG of two jobs, and a job with three arguments."""

import json
import subprocess
import time
from pathlib import Path

import pycondor

place = Path.cwd()
program = place / "work.sh"
program.write_text("#!/bin/sh\necho $@\n")
program.chmod(0o755)
where = {name: str(place / name) for name in ("error", "log", "output", "submit")}
first = pycondor.Job("first", str(program), request_memory="64MB", **where)
second = pycondor.Job("second", str(program), request_memory="64MB", **where)
first.add_arg("one", name="a")
second.add_arg("two", name="b")
second.add_arg("three", name="c")
second.add_parent(first)
dag = pycondor.Dagman("flow", submit=str(place / "submit"))
dag.add_job(first)
dag.add_job(second)
dag.build_submit(fancyname=False)
alone = pycondor.Job("alone", str(program), queue=3, **where)
alone.build_submit(fancyname=False)

until = time.monotonic() + 120
while time.monotonic() < until:
    left = subprocess.run(["condor_q", "-af", "ClusterId"], capture_output=True, text=True, check=True).stdout
    if not left:
        break
    time.sleep(0.3)
print(
    json.dumps(
        {
            "left": left,
            "printed": sorted(each.read_text().strip() for each in (place / "output").iterdir()),
            "rescue": [each.name for each in (place / "submit").glob("*rescue*")],
            "ended": json.loads((place / "submit" / "flow.submit.metrics").read_text())["exitcode"],
        }
    )
)
