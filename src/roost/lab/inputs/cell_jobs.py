"""Recorded jobs as jobs of a cell: several cores become slots of a parallel environment, a requested run time becomes
`h_rt`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roost.base.records import replace
from roost.classad import parse_expression
from roost.gridengine.cell import Cell
from roost.lab.machines import LabError
from roost.model import cell_requests as cell_ads
from roost.sim.inputs.workload import Job


def in_cell(jobs: Iterable[Job], cell: Cell, environment: str) -> Iterator[Job]:
    """The jobs as submitted to a cell. Raises LabError for jobs of several cores without an environment."""
    if environment and environment not in cell.parallel_environments:
        known = ", ".join(cell.parallel_environments) or "none"
        raise LabError(f"--pe {environment}: the cell has no such parallel environment; its environments are: {known}")
    for job in jobs:
        cpus = job.ad.eval("RequestCpus")
        parallel = isinstance(cpus, int) and cpus > 1
        time_s = job.ad.eval("JobMaxRunTime")
        if not parallel and (not isinstance(time_s, int) or cell_ads.RESOURCES in job.ad):
            yield job
            continue
        ad = job.ad.copy()
        if parallel and cell_ads.PARALLEL not in ad:
            if not environment:
                raise LabError(
                    f"job {job.name} requests {cpus} cores; name the parallel environment for such jobs with --pe"
                )
            ad["RequestCpus"], ad[cell_ads.PARALLEL] = 1, f"{environment} {cpus}"
            ad.put("Requirements", parse_expression("true"))
        if isinstance(time_s, int) and cell_ads.RESOURCES not in ad:
            ad[cell_ads.RESOURCES] = f"h_rt={time_s}"
        yield replace(job, ad=ad, kind=f"{job.kind}/{cpus}/{time_s}")
