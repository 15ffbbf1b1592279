"""pysge: an array job whose tasks give back what a function of Python gave them.

A login shell sets PATH again, and a worker is found by PATH: it is asked for without a shell, as pysge's options allow.
"""

import json

import pysge


def squared(number, offset=0):
    return number * number + offset


if __name__ == "__main__":
    tasks = [{"task": squared, "args": [number], "kwargs": {"offset": 1}} for number in range(4)]
    answers = pysge.sge_submit(
        tasks,
        "squares",
        "areas",
        options="-q all.q -b y -shell n",
        sleep=0.5,
        request_resubmission_options=False,
        dill_kw={"recurse": True},
    )
    print()
    print(json.dumps({"answers": list(answers)}))
