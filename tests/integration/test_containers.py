"""Jobs of the container universe on a real pool, with a stand-in for apptainer's command line."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import pytest

from tests.integration.kit import Pool, eventually, running
from tests.integration.test_ssh_to_job import done, value

#: Understands the options that Roost gives, tells what it was asked for, and runs the program on the machine itself.
RUNTIME = """#!/bin/sh
[ "$1" = --version ] && { echo apptainer version 9.9; exit; }
[ "$1" = --silent ] || exit 90
verb=$2; shift 2
bound=
while :; do
    case $1 in
        --contain|--no-home) shift;;
        --bind) bound="$bound $2"; shift 2;;
        --pwd) cd "$2" || exit 91; shift 2;;
        -*) echo "unknown option $1" >&2; exit 92;;
        *) break;;
    esac
done
image=$1; shift
case $image in docker://*) ;; *) [ -e "$image" ] || { echo "no image $image" >&2; exit 93; };; esac
export IMAGE=$image BOUND="$bound"
[ $verb = run ] && exec echo "runscript of $image: $*"
exec "$@"
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    place = tmp_path_factory.mktemp("containers")
    runtime = place / "apptainer"
    runtime.write_text(RUNTIME)
    runtime.chmod(runtime.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    os.chmod(place, 0o755)  # noqa: PTH101
    with running(place, f"SINGULARITY = {runtime}\nDOCKER = /nonexistent/docker\n", cpus=2) as found:
        yield found


def ended(pool: Pool, **lines: str) -> str:
    """What a job prints, once it is over."""
    given = {"universe": "container", "output": "out", "error": "err", "should_transfer_files": "yes", **lines}
    (pool.work / "job.sub").write_text("".join(f"{key} = {text}\n" for key, text in given.items()) + "queue\n")
    status, out, err = done(pool, "condor_submit", "-terse", "job.sub")
    assert status == 0, err
    job = out.split()[0]
    eventually(lambda: value(pool, job, "JobStatus") in ("4", "5"), lambda: f"job {job} is over", 30)
    assert value(pool, job, "JobStatus") == "4", value(pool, job, "HoldReason")
    return (pool.work / "out").read_text() + (pool.work / "err").read_text()


def test_a_machine_says_what_it_can_run(pool: Pool) -> None:
    _, out, _ = done(pool, "condor_status", "-af", "HasContainer", "HasSIF", "SingularityVersion", "HasDocker")
    assert set(out.splitlines()) == {"true true apptainer version 9.9 undefined"}


def test_a_program_runs_in_its_image_where_the_scratch_directory_is_bound(pool: Pool) -> None:
    (pool.work / "image.sif").write_text("an image")
    script = pool.work / "show.sh"
    script.write_text('#!/bin/sh\necho "$1 ${IMAGE##*/} $COLOUR"; cat "$IMAGE"\n[ "$BOUND" = " $_CONDOR_SCRATCH_DIR" ]')
    printed = ended(
        pool, container_image="image.sif", executable="show.sh", arguments="one", environment="COLOUR=green"
    )
    assert printed == "one image.sif green\nan image"


def test_an_image_of_a_registry_and_a_program_in_it(pool: Pool) -> None:
    printed = ended(
        pool, container_image="docker://debian:12", executable="sh", transfer_executable="false",
        arguments="\"-c 'echo $IMAGE'\"",
    )  # fmt: skip
    assert printed == "docker://debian:12\n"


def test_without_an_executable_the_image_runs_its_own(pool: Pool) -> None:
    directory = pool.work / "tree"
    directory.mkdir()
    printed = ended(pool, container_image=str(directory), arguments="a b")
    assert printed == f"runscript of {directory}: a b\n"


def test_a_shell_beside_the_job_is_in_the_image_too(pool: Pool) -> None:
    (pool.work / "long.sub").write_text(
        "universe=container\ncontainer_image=docker://x\nexecutable=/bin/sleep\ntransfer_executable=false\n"
        "arguments=300\nqueue\n"
    )
    job = done(pool, "condor_submit", "-terse", "long.sub")[1].split()[0]
    assert done(pool, "condor_ssh_to_job", "-auto-retry", job, "echo $IMAGE")[1] == "docker://x\n"
    assert done(pool, "condor_ssh_to_job", job, text=b"echo $IMAGE\n")[1] == "docker://x\n"
    done(pool, "condor_rm", job)


def test_a_docker_job_waits_where_there_is_no_docker(pool: Pool) -> None:
    (pool.work / "docker.sub").write_text("universe=docker\ndocker_image=debian\nexecutable=/bin/true\nqueue\n")
    job = done(pool, "condor_submit", "-terse", "docker.sub")[1].split()[0]
    assert "TARGET.HasDocker" in done(pool, "condor_q", job, "-af:r", "Requirements")[1]
    assert value(pool, job, "JobStatus") == "1"
    done(pool, "condor_rm", job)
