"""DAG files in memory."""

from __future__ import annotations

from roost.dag import Dag, read_dag


def dag_of(text: str, **others: str) -> Dag:
    """The plan of a file, `x_dag` being read as x.dag."""
    files = {"main.dag": text, **{name.replace("_dag", ".dag"): other for name, other in others.items()}}
    return read_dag(["main.dag"], files.get)


DIAMOND = """
JOB A a.sub
JOB B b.sub
JOB C c.sub
JOB D d.sub
PARENT A CHILD B C
PARENT B C CHILD D
"""
