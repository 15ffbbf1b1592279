"""toil with --batchSystem grid_engine: jobs whose values others wait for, and one that fails.

A login shell sets PATH again, and a worker is found by PATH: it is asked for without a shell, as a variable of toil's
allows.
"""

import json
import os
from pathlib import Path

from toil.common import Toil
from toil.exceptions import FailedJobsException
from toil.job import Job

os.environ["TOIL_GRIDENGINE_ARGS"] = "-shell n"
PLACE = Path(__file__).resolve().parent
SMALL = {"cores": 1, "memory": "2G", "disk": "10M"}


def squared(job, number):
    return number * number


def total(job, numbers):
    return sum(numbers)


def spread(job, count):
    squares = [job.addChildJobFn(squared, number, **SMALL).rv() for number in range(count)]
    return job.addFollowOnJobFn(total, squares, **SMALL).rv()


def fails(job):
    raise ValueError("on purpose")


def options(name):
    return Job.Runner.getDefaultArgumentParser().parse_args(
        [str(PLACE / name), "--batchSystem", "grid_engine", "--retryCount", "0", "--disableProgress", "--logError",
         "--batchLogsDir", str(PLACE)]
    )  # fmt: skip


if __name__ == "__main__":
    with Toil(options("adds")) as runner:
        answer = runner.start(Job.wrapJobFn(spread, 3, **SMALL))
    try:
        with Toil(options("breaks")) as runner:
            runner.start(Job.wrapJobFn(fails, **SMALL))
        failed = 0
    except FailedJobsException as error:
        failed = error.numberOfFailedJobs
    print(json.dumps({"answer": answer, "failed": failed}))
