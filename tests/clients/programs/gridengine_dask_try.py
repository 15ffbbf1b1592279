"""dask-jobqueue's SGECluster: two workers in the cell, tasks, and their end."""

import json
import time
from pathlib import Path

from dask.distributed import Client
from dask_jobqueue import SGECluster

if __name__ == "__main__":
    with SGECluster(
        cores=1,
        memory="200MB",
        walltime="00:10:00",
        queue="all.q",
        n_workers=0,
        log_directory=str(Path.cwd()),
        scheduler_options={"host": "127.0.0.1", "dashboard_address": ":0"},
        death_timeout=60,
    ) as cluster:
        cluster.scale(jobs=2)
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
            answers = client.gather(client.map(lambda number: number * number, range(6)))
            workers = len(client.scheduler_info()["workers"])
        cluster.scale(jobs=0)
        time.sleep(1)
    print(json.dumps({"answers": answers, "workers": workers}))
