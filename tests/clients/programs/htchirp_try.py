"""PyPI's htchirp in a running job: files where it was submitted, attributes, the event log."""

import json
import subprocess
import sys
import time
from pathlib import Path

import htchirp

place = Path.cwd()
place.joinpath("in.txt").write_text("input\n")
place.joinpath("job.py").write_text(
    """
import os, sys
sys.path.insert(0, os.getcwd())
from htchirp import HTChirp
with HTChirp() as line:
    line.fetch("in.txt", "here")
    with open("here", "a") as file:
        file.write("more\\n")
    line.put("here", "back.txt")
    line.set_job_attr("FromJob", "7")
    line.ulog("told by the job")
    print(line.get_job_attr("FromJob"), line.whoami(), sorted(line.getdir("."))[:1])
"""
)
module = Path(htchirp.__file__)
files = module.parent if module.name == "__init__.py" else module
place.joinpath("job.sub").write_text(
    f"executable = {sys.executable}\ntransfer_executable = false\narguments = job.py\noutput = out\nerror = err\n"
    f"log = events\ntransfer_input_files = job.py, {files}\nshould_transfer_files = yes\nwant_io_proxy = true\nqueue\n"
)
subprocess.run(["condor_submit", "job.sub"], check=True, capture_output=True)
subprocess.run(["condor_wait", "-wait", "60", "events"], check=True, capture_output=True)
time.sleep(0.2)
print(
    json.dumps(
        {
            "printed": place.joinpath("out").read_text() + place.joinpath("err").read_text(),
            "back": place.joinpath("back.txt").read_text(),
            "told": "told by the job" in place.joinpath("events").read_text(),
        }
    )
)
