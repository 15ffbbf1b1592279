"""Parsl's GridEngineProvider: a job that ends, and one that is cancelled while it runs."""

import json
import time
from pathlib import Path

from parsl.jobs.states import JobState
from parsl.providers import GridEngineProvider


def until(provider, job, *states):
    for _ in range(300):
        (status,) = provider.status([job])
        if status.state in states:
            return status.state.name
        time.sleep(0.2)
    return status.state.name


provider = GridEngineProvider(init_blocks=0, walltime="00:10:00", queue="all.q", worker_init="export GREETING=hello")
provider.script_dir = str(Path.cwd())
ends = provider.submit('echo "$GREETING from $QUEUE"; sleep 1', tasks_per_node=1, job_name="ends")
found = {"ends": until(provider, ends, JobState.COMPLETED)}
(written,) = Path.cwd().glob("ends.*.submit.stdout")
found["written"] = [line for line in written.read_text().splitlines() if "from" in line]
runs = provider.submit("sleep 300", tasks_per_node=1, job_name="runs")
found["runs"] = until(provider, runs, JobState.RUNNING)
found["cancel"] = provider.cancel([runs])
print(json.dumps(found))
