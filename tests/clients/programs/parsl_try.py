"""Parsl's CondorProvider: a job that ends, and one that is cancelled while it runs."""

import json
import time
from pathlib import Path

from parsl.jobs.states import JobState
from parsl.providers import CondorProvider


def until(provider, job, *states):
    for _ in range(300):
        (status,) = provider.status([job])
        if status.state in states:
            return status.state.name
        time.sleep(0.2)
    return status.state.name


provider = CondorProvider(nodes_per_block=1, cores_per_slot=1, mem_per_slot=0.1, init_blocks=0, walltime="00:10:00")
provider.script_dir = str(Path.cwd())
ends = provider.submit("sleep 1", tasks_per_node=1, job_name="ends")
found = {"ends": until(provider, ends, JobState.COMPLETED)}
runs = provider.submit("sleep 300", tasks_per_node=1, job_name="runs")
found["runs"] = until(provider, runs, JobState.RUNNING)
found["cancel"] = provider.cancel([runs])
print(json.dumps(found))
