"""qstats: tables of what runs and waits, of what is over, and of queues.

It is given the records of the accounting file alone, since it does not expect the comments that Grid Engine writes at
its head. By its own mistakes every job that is over has failed for it (it compares numbers with text), and it needs two
jobs that run, two queues, and jobs that name a queue.
"""

import json
import os
import subprocess
import time
from pathlib import Path

import qstats


def qsub(*words):
    out = subprocess.run(["qsub", "-terse", "-b", "y", *words], capture_output=True, text=True, check=True).stdout
    return int(out.split(".")[0])


def until(look):
    end = time.monotonic() + 60
    while not look() and time.monotonic() < end:
        time.sleep(0.2)
    return look()


def is_ours(record):
    """Whether a line of the accounting file is of a job of this program."""
    return record[0] != "#" and int(record.split(":")[5]) in (good, bad)


def rows(frame, *jobs):
    """Name, state, kind of state, slots and task of jobs."""
    columns = ["JB_name", "state", "@state", "slots", "tasks", "hard_req_queue"]
    return [list(row) for row in frame[frame["JB_job_number"].isin(jobs)][columns].astype(str).itertuples(index=False)]


accounting = Path(os.environ["SGE_ROOT"]) / "default/common/accounting"
good = qsub("-N", "good", "-q", "all.q", "true")
bad = qsub("-N", "bad", "-q", "all.q", "-t", "1-2", "-shell", "n", "false")
until(lambda: accounting.exists() and len([line for line in accounting.read_text().splitlines() if is_ours(line)]) == 3)
records = Path("records")
records.write_text("".join(line for line in accounting.read_text().splitlines(True) if line[0] != "#"))
over = qstats.finished_jobs(str(records))
runs = qsub("-N", "runs", "-t", "3-5:2", "-q", "all.q", "sleep", "300")
waits = qsub("-N", "waits", "-h", "-t", "1-2", "-q", "short.q", "sleep", "300")
running = ["qstat", "-s", "r"]
until(lambda: subprocess.run(running, capture_output=True, text=True, check=True).stdout.count(" runs ") == 2)
now = qstats.pending_jobs()
queues = qstats.queue_status().to_dict("records")
everything = qstats.all_jobs(str(records))
subprocess.run(["qdel", str(runs), str(waits)], check=True, stdout=subprocess.DEVNULL)
print(
    json.dumps(
        {
            "over": rows(over, good, bad),
            "now": rows(now, runs, waits),
            "all": len(rows(everything, good, bad, runs, waits)),
            "queues": [[queue[name] for name in ("name", "used", "available", "total")] for queue in queues],
        }
    )
)
