"""The C library of DRMAA, compiled here, against a real pool: a program in C, and PyPI's package as it is."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kit import PATIENCE_S, ROOT, Pool, running
from tests.integration.test_cell_jobs import cell

COMPILER = shutil.which("cc") or shutil.which("gcc")
PROGRAM = Path(__file__).with_name("drmaa_program.c")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
needs_package = pytest.mark.skipif(importlib.util.find_spec("drmaa") is None, reason="PyPI's drmaa is not installed")

#: What the program prints; Grid Engine 8.1.9's own library makes it print the same.
SAID = """\
before: code 5
again: code 11
version 1.0, contact session=
variable A=1
variable B=x y
command: /bin/sh
not set: code 14
bad state: code 14
no attribute: code 4
denied: code 17: unknown resource "nosuch"
exit: same id 1, exited 1, status 3, signaled 0 , aborted 0, usage 1
exit: waited for again: code 18
signal: same id 1, exited 0, status 0, signaled 1 SIGUSR1, aborted 0, usage 1
signal: waited for again: code 18
terminated: same id 1, exited 0, status 0, signaled 0 , aborted 1, usage 1
terminated: waited for again: code 18
bulk job .2
bulk job .5
bulk job .8
bulk jobs: 3
bulk status 2
bulk status 5
bulk status 8
bad range: code 4
state 0x12
in time: code 23
suspend: code 20
no usage: code 24
no job: code 18
threads: 12 of 12
after: code 5
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with running(tmp_path_factory.mktemp("library"), cpus=4) as found:
        cell(found, found.place / "cell", slots=4)
        yield found


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("drmaa")
    done = shims(place)
    assert done.returncode == 0, done.stderr
    assert f"export DRMAA_LIBRARY_PATH={place}/libdrmaa.so.1.0;\n" in done.stdout
    return place


def shims(place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roost.cli", "shims", "drmaa", "--dir", str(place), "--shell", "sh"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def run(pool: Pool, library: Path, home: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("SGE_ROOT", "SGE_CELL", "PYTHONPATH")}
    env |= {
        "HOME": str(home),
        "ROOST_HOME": str(pool.home),
        "DRMAA_LIBRARY_PATH": str(library / "libdrmaa.so"),
        "LD_LIBRARY_PATH": str(library),
    }
    return subprocess.run(
        command, env=env, cwd=home, capture_output=True, text=True, timeout=PATIENCE_S * 2, check=False
    )


@needs_compiler
def test_a_program_in_c_sees_what_it_sees_in_grid_engine(pool: Pool, library: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    assert COMPILER is not None
    flags = ("-Wall", "-Wextra", "-Werror", "-pthread", f"-I{library}", f"-L{library}")
    made = [COMPILER, *flags, str(PROGRAM), "-ldrmaa", "-o", str(program)]
    subprocess.run(made, check=True, capture_output=True)
    done = run(pool, library, tmp_path, str(program))
    assert (done.returncode, done.stdout, done.stderr) == (0, SAID, "")


def python(pool: Pool, library: Path, home: Path, text: str) -> str:
    done = run(pool, library, home, sys.executable, "-c", textwrap.dedent(text))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_compiler
@needs_package
def test_the_package_of_pypi_runs_over_it_unmodified(pool: Pool, library: Path, tmp_path: Path) -> None:
    text = """
    import drmaa
    assert drmaa.session.__file__.endswith("site-packages/drmaa/session.py"), drmaa.session.__file__
    with drmaa.Session() as s:
        print(s.version, s.contact[:8], s.drmsInfo)
        jt = s.createJobTemplate()
        jt.remoteCommand, jt.args, jt.joinFiles = "/bin/sh", ["-c", 'echo "$A"; exit $SGE_TASK_ID'], True
        jt.jobEnvironment = {"A": "x=\\u00e4 'y'"}
        jt.outputPath = ":" + jt.HOME_DIRECTORY + "/out." + jt.PARAMETRIC_INDEX
        print(jt.args, jt.joinFiles, "drmaa_wd" in jt.attributeNames)
        try:
            jt.jobSubmissionState = "x"
        except drmaa.InvalidAttributeValueException as error:
            print(error)
        jobs = s.runBulkJobs(jt, 1, 3, 2)
        s.synchronize(jobs, 120, False)
        for job in jobs:
            info = s.wait(job, 1)
            print(info.jobId == job, info.hasExited, info.exitStatus, info.resourceUsage["exit_status"])
        try:
            s.wait(jobs[0], 1)
        except drmaa.InvalidJobException as error:
            print(str(error)[:8])
        jt.outputPath, jt.args = ":/dev/null", ["-c", "sleep 60"]
        job = s.runJob(jt)
        s.control(job, drmaa.JobControlAction.TERMINATE)
        s.synchronize([s.JOB_IDS_SESSION_ALL], 120, True)
    """
    assert python(pool, library, tmp_path, text).splitlines() == [
        "1.0 session= SGE 8.1.9 (Roost)",
        """['-c', 'echo "$A"; exit $SGE_TASK_ID'] True True""",
        "code 14: drmaa_js_state must be 'drmaa_active' or 'drmaa_hold', not 'x'",
        "True True 1 1.0000",
        "True True 3 3.0000",
        "code 18:",
    ]
    assert [(tmp_path / f"out.{number}").read_text() for number in (1, 3)] == ["x=ä 'y'\n"] * 2


@needs_compiler
@needs_package
def test_a_session_goes_on_when_its_process_has_died(pool: Pool, library: Path, tmp_path: Path) -> None:
    text = """
    import drmaa, os, pathlib, signal, threading, time
    s = drmaa.Session()
    s.initialize()
    jt = drmaa.JobTemplate(remoteCommand="/bin/sh", args=["-c", "sleep 2; exit 5"])
    job, contact = s.runJob(jt), s.contact
    (child,) = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    threading.Timer(0.3, os.kill, (int(child), signal.SIGKILL)).start()
    try:
        s.wait(job, 120)
    except drmaa.DrmCommunicationException as error:
        print(error)
    try:
        s.jobStatus(job)
    except drmaa.DrmCommunicationException as error:
        print(str(error)[:7])
    s.exit()
    s.initialize(contact)
    print(s.wait(drmaa.Session.JOB_IDS_SESSION_ANY, 120).exitStatus)
    if not os.fork():
        try:
            s.jobStatus(job)
        except drmaa.DrmCommunicationException as error:
            print(str(error)[8:], flush=True)
        os._exit(0)
    os.wait()
    job = s.runJob(drmaa.JobTemplate(remoteCommand="/bin/sleep", args=["60"]))
    s.control(job, "terminate")
    s.exit()
    """
    assert python(pool, library, tmp_path, text).splitlines() == [
        "code 2: the process that speaks to the pool has ended: end the session, and begin it again",
        "code 2:",
        "5",
        "the session is that of the process that this one was forked from",
    ]


@needs_compiler
def test_it_is_compiled_once(library: Path) -> None:
    before = (library / "libdrmaa.so.1.0").stat().st_mtime_ns
    assert shims(library, CC="/nonexistent").returncode == 0
    assert (library / "libdrmaa.so.1.0").stat().st_mtime_ns == before


def test_without_a_compiler_it_says_so(tmp_path: Path) -> None:
    done = shims(tmp_path / "a", PATH=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no C compiler (cc, gcc, clang)" in done.stderr and "roost shims python" in done.stderr
    done = shims(tmp_path / "b", CC="/nonexistent")
    assert done.returncode == 2 and "cannot run the C compiler /nonexistent" in done.stderr
