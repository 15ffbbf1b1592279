"""law's HTCondorJobManager: a job that fails, and one that is cancelled."""

import json
import time
from pathlib import Path

import law

law.contrib.load("htcondor")
from law.contrib.htcondor import HTCondorJobFileFactory, HTCondorJobManager  # noqa: E402

place = Path.cwd()


def submitted(name, line):
    program = place / name
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)
    factory = HTCondorJobFileFactory(dir=str(place / f"{name}.d"), mkdtemp=False, postfix_output_files=False)
    job_file, _ = factory(file_name="job.jdl", executable=str(program), arguments="1 2", log="log.txt")
    return manager.submit(job_file)


def until(job, *statuses):
    for _ in range(300):
        found = manager.query(job)
        # A job whose output is being moved (JobStatus 6) law takes for one that failed, with neither code nor error.
        if found["status"] in statuses and (found["status"] != "failed" or found["code"] or found["error"]):
            return found
        time.sleep(0.2)
    return found


manager = HTCondorJobManager()
fails = until(submitted("fails", "exit 3"), "finished", "failed")
job = submitted("runs", "sleep 300")
runs = until(job, "running")
manager.cancel(job)
gone = until(job, "failed")
print(
    json.dumps(
        {
            "version": manager.htcondor_version,
            "fails": [fails["status"], fails["code"]],
            "runs": runs["status"],
            "gone": [gone["status"], gone["error"]],
        }
    )
)
