"""condorpy: a job of three, waited for, with a file that each brings back."""

import json
from pathlib import Path

from condorpy import Job

place = Path.cwd()
program = place / "work.sh"
program.write_text("#!/bin/sh\necho made by $1 > made.$1\necho out $1\n")
program.chmod(0o755)
job = Job("trial", executable=str(program), num_jobs=3, working_directory=str(place))
job.arguments = "$(Process)"
job.output = "$(job_name).$(Process).out"
job.transfer_output_files = "made.$(Process)"
job.should_transfer_files = "YES"
job.when_to_transfer_output = "ON_EXIT"
cluster = job.submit()
job.wait()
names = [*place.rglob("made.*"), *place.rglob("*.out")]
print(
    json.dumps(
        {
            "cluster": cluster > 0,
            "status": job.status,
            "files": {each.name: each.read_text().strip() for each in sorted(names)},
        }
    )
)
