"""From a job's ad to the process that its program is to be: what `job_environment` says, as an order to the nursery."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from roost.classad import ClassAd
from roost.config import ConfigError
from roost.model.command_line import environment_from_submit
from roost.model.starter import StarterHold
from roost.runtime.job_environment import JobPlace, job_environment, job_program, lent_environment, write_ads
from roost.runtime.spawn_order import SpawnOrder

if TYPE_CHECKING:
    from roost.config import Config
    from roost.runtime.runner import Runner


class BadJob(Exception):
    """The job can't be started as its ad describes it."""

    def __init__(self, text: str, code: StarterHold = StarterHold.FAILED_TO_CREATE_PROCESS) -> None:
        super().__init__(text)
        self.code = code


def job_order(runner: Runner, number: int, job_ad: ClassAd) -> SpawnOrder:
    """The order for one start of a job, whose ads are put into its sandbox first. Raises BadJob, OSError."""
    assert runner.sandbox is not None
    cpus = runner.slot_ad.cell("cpus")
    place = JobPlace(
        sandbox=runner.sandbox.path,
        slot=runner.slot.partition("@")[0],
        cpus=cpus if isinstance(cpus, int) else 1,
        moves_files=runner.moved,
        given=_given(runner.around.config),
        lent=lent_environment(runner.around.config.get("JOB_INHERITS_STARTER_ENVIRONMENT") or "", os.environ),
    )
    try:
        program = job_program(job_ad, place)
        environment = job_environment(job_ad, place)
    except ValueError as error:
        raise BadJob(str(error)) from None
    write_ads(place.sandbox, job_ad, runner.slot_ad)
    return SpawnOrder(
        key=f"{runner.run}/{number}",
        record_dir=runner.record.with_name(f"{runner.record.name}.{number}"),
        program=program.path,
        arguments=program.arguments,
        environment=environment,
        directory=program.directory,
        stdin=program.stdin,
        stdout=program.stdout,
        stderr=program.stderr,
        append=number > 1,
    )


def _given(config: Config) -> dict[str, str]:
    """STARTER_JOB_ENVIRONMENT. Raises BadJob."""
    try:
        text = config.get("STARTER_JOB_ENVIRONMENT", subsys="STARTER") or ""
        return environment_from_submit(text) if text.strip() else {}
    except (ConfigError, ValueError) as error:
        raise BadJob(f"STARTER_JOB_ENVIRONMENT: {error}") from None
