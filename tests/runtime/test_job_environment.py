"""What a job finds when its program begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.classad import ClassAd
from roost.classad.forms import Form, parse_ad
from roost.model.command_line import CommandLineError
from roost.runtime.files.input_files import STDERR, STDOUT
from roost.runtime.node.runs.job_environment import (
    JobPlace,
    Program,
    job_environment,
    job_program,
    lent_environment,
    write_ads,
)
from roost.runtime.processes.accounts import own_account
from tests.runtime.kit import Place, run, started

BOX = Path("/execute/dir_1")
THREADS = ("GOMAXPROCS", "OMP_NUM_THREADS")


def _place(**settings: object) -> JobPlace:
    return JobPlace(sandbox=BOX, slot="slot1_2", cpus=3, **{"moves_files": True, "threads": THREADS, **settings})  # type: ignore[arg-type]


def test_the_variables_are_those_that_jobs_know() -> None:
    found = job_environment(ClassAd({"Iwd": "/home/u", "Environment": "A='x y' OMP_NUM_THREADS=1 TMPDIR=/t"}), _place())
    box = str(BOX)
    assert {name: value for name, value in found.items() if name not in THREADS} == {
        "A": "x y",
        "BATCH_SYSTEM": "HTCondor",
        "PATH": "/bin:/usr/bin",
        "TEMP": box,
        "TMP": box,
        "TMPDIR": box,
        "_CONDOR_JOB_AD": f"{box}/.job.ad",
        "_CONDOR_JOB_IWD": box,
        "_CONDOR_JOB_PIDS": "",
        "_CONDOR_MACHINE_AD": f"{box}/.machine.ad",
        "_CONDOR_SCRATCH_DIR": box,
        "_CONDOR_SLOT": "slot1_2",
    }
    assert {name: found[name] for name in THREADS} == {**dict.fromkeys(THREADS, "3"), "OMP_NUM_THREADS": "1"}


def test_layers_of_variables_go_before_each_other() -> None:
    place = _place(lent={"A": "lent", "B": "lent", "C": "lent"}, given={"B": "given", "C": "given"}, moves_files=False)
    found = job_environment(ClassAd({"Iwd": "/home/u", "Env": "C=own"}), place)
    assert [found[name] for name in "ABC"] == ["lent", "given", "own"]
    assert found["_CONDOR_JOB_IWD"] == "/home/u"


def test_a_job_of_another_user_has_that_users_home() -> None:
    account = own_account()
    found = job_environment(ClassAd(), _place(account=account))
    assert (found["HOME"], found["USER"], found["LOGNAME"]) == (str(account.home), account.name, account.name)


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        ("False", []),
        ("true", ["HOME", "LANG", "LC_ALL"]),
        ("LC_*, lang", ["LANG", "LC_ALL"]),
        ("!l*", ["HOME"]),
        ("l* !LC_*", ["LANG"]),
    ],
)
def test_the_daemons_environment_is_lent_by_patterns(setting: str, names: list[str]) -> None:
    own = {"HOME": "/", "LANG": "C", "LC_ALL": "C"}
    assert sorted(lent_environment(setting, own)) == names


def test_the_program_is_found_where_it_is() -> None:
    ad = ClassAd({"Iwd": "/home/u", "Cmd": "bin/p", "Args": "a b", "In": "in.txt", "Out": "o", "Err": "/abs/e"})
    assert job_program(ad, _place()) == Program(
        path=BOX / "p",
        arguments=(str(BOX / "p"), "a", "b"),
        directory=BOX,
        stdin=BOX / "in.txt",
        stdout=BOX / STDOUT,
        stderr=BOX / STDERR,
    )
    home = Path("/home/u")
    assert job_program(ad, _place(moves_files=False)) == Program(
        path=home / "bin/p",
        arguments=("/home/u/bin/p", "a", "b"),
        directory=home,
        stdin=home / "in.txt",
        stdout=home / "o",
        stderr=Path("/abs/e"),
    )
    ad["TransferExecutable"], ad["TransferOut"], ad["Err"], ad["In"] = False, False, "o", "/dev/null"
    found = job_program(ad, _place())
    assert (found.path, found.stdin, found.stdout, found.stderr) == (home / "bin/p", None, home / "o", home / "o")


def test_a_wrapper_is_told_the_program_with_its_arguments() -> None:
    ad = ClassAd({"Cmd": "/bin/echo", "Arguments": "'a b' c", "TransferExecutable": False})
    found = job_program(ad, _place(wrapper=Path("/opt/wrap")))
    assert found.path == Path("/opt/wrap")
    assert found.arguments == ("/opt/wrap", "/bin/echo", "a b", "c")


def test_ads_that_say_no_program_are_refused() -> None:
    with pytest.raises(ValueError, match="executable"):
        job_program(ClassAd(), _place())
    with pytest.raises(CommandLineError, match="single quote"):
        job_program(ClassAd({"Cmd": "x", "Arguments": "'"}), _place())


def test_ads_are_written_as_jobs_read_them(tmp_path: Path) -> None:
    job, machine = ClassAd({"Owner": "u v", "Size": 3}), ClassAd({"Memory": 4})
    job.set("Requirements", "TARGET.Memory > Size")
    write_ads(tmp_path, job, machine)
    assert parse_ad((tmp_path / ".job.ad").read_text(), Form.OLD) == job
    assert (tmp_path / ".machine.ad").read_text() == "Memory = 4\n"


def test_a_job_runs_by_its_ad(one_place: Place) -> None:
    box = one_place.path / "box"
    box.mkdir()
    ad = ClassAd(
        {
            "Cmd": "/bin/sh",
            "TransferExecutable": False,
            "Arguments": "-c 'pwd; echo $0 $1; echo $GREETING; env | grep -c ^_CONDOR' zero one",
            "Environment": "GREETING='hello world'",
            "Out": "out",
            "Err": "out",
        }
    )
    place = JobPlace(sandbox=box, slot="slot1", cpus=1, moves_files=True)
    program = job_program(ad, place)

    async def work() -> None:
        async with one_place.fork_server() as fork_server:
            order = one_place.order(
                "1",
                program.path,
                *program.arguments[1:],
                environment=job_environment(ad, place),
                directory=program.directory,
                stdout=program.stdout,
                stderr=program.stderr,
            )
            assert (await (await started(fork_server, order)).wait()).exit_code == 0

    run(work())
    assert (box / STDOUT).read_text().splitlines() == [str(box), "zero one", "hello world", "6"]


def test_a_job_of_qsub_decides_itself_how_many_threads_it_starts() -> None:
    found = job_environment(ClassAd({"Iwd": "/home/u", "CellJobName": "omp", "CellScript": "true\n"}), _place())
    assert not {*THREADS, "BATCH_SYSTEM"} & found.keys()


def test_the_scratch_directory_is_put_into_arguments_and_environment() -> None:
    ad = ClassAd(
        {"Cmd": "/bin/echo", "Arguments": "a=$$(CondorScratchDir)/x 'b c'", "Environment": "D=$$(condorscratchdir)"}
    )
    where = _place()
    assert job_program(ad, where).arguments[1:] == (f"a={BOX}/x", "b c")
    assert job_environment(ad, where)["D"] == str(BOX)
