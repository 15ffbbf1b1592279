"""dask-jobqueue: two workers on the pool, a task, and their end."""

import json
import time
from pathlib import Path

from dask.distributed import Client
from dask_jobqueue import HTCondorCluster

if __name__ == "__main__":
    with HTCondorCluster(
        cores=1,
        memory="200MB",
        disk="10MB",
        n_workers=0,
        log_directory=str(Path.cwd()),
        scheduler_options={"host": "127.0.0.1", "dashboard_address": ":0"},
        death_timeout=60,
    ) as cluster:
        cluster.scale(jobs=2)
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
            answer = client.submit(lambda number: number + 1, 41).result(timeout=60)
            workers = len(client.scheduler_info()["workers"])
        cluster.scale(jobs=0)
        time.sleep(1)
    print(json.dumps({"answer": answer, "workers": workers}))
