"""Running jobs that speak to their queue: HTCondor's own htchirp, condor_chirp, and the stand-in of the bindings."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import htcondor2
import pytest
from tests.cli.condor.kit import Desk
from tests.integration.kit import ROOT, Pool, eventually, running

if sys.platform != "linux":
    pytest.skip("jobs run on Linux only", allow_module_level=True)

#: The client of the reference wheel, which is Python and needs nothing else.
WHEEL = Path(htcondor2.__file__).with_name("htchirp") / "htchirp.py"
SESSION = """
import json, os, sys
found = {}
with HTChirp() as line:
    found["attribute"] = line.get_job_attr("Owner"), line.get_job_attr("NoSuch")
    line.set_job_attr("FromJob", "1 + 2")
    line.set_job_attr_delayed("ChirpLate", '"late"')
    found["set"] = line.get_job_attr("FromJob"), line.get_job_attr_delayed("ChirpLate")
    line.ulog("hello from the job")
    found["fetched"] = line.fetch("in.txt", "local.txt"), open("local.txt").read()
    big = os.urandom(900_000)
    open("big", "wb").write(big)
    found["put"] = line.put("big", "remote big")
    found["read"] = line.read("in.txt", 5).decode(), line.read("in.txt", 5, 6).decode()
    found["strided"] = line.read("in.txt", 4, 0, 1, 2).decode()
    line.write(b"first\\n", "log.txt", "cw")
    line.write(b"second\\n", "log.txt", "wa")
    line.write(b"F", "log.txt", "w", offset=0)
    found["size"] = line.stat("log.txt")["size"]
    line.mkdir("d", 0o755); line.symlink("log.txt", "d/link"); line.rename("d/link", "d/renamed")
    found["link"] = line.readlink("d/renamed").decode(), sorted(line.getdir("d")), line.lstat("d/renamed")["size"]
    found["long"] = line.getlongdir("d")["renamed"]["nlink"]
    line.link("log.txt", "hard"); line.chmod("hard", 0o600); line.truncate("hard", 3); line.utime("hard", 5, 6)
    found["hard"] = line.stat("hard")["mode"] & 0o777, line.stat("hard")["size"], line.stat("hard")["mtime"]
    found["space"] = line.statfs(".")["f_bsize"] > 0
    line.access("in.txt", "r")
    line.rmall("d"); line.remove("hard")
    found["who"] = line.whoami(), line.whoareyou("x")
    def refused(action, *arguments):
        try:
            getattr(line, action)(*arguments)
        except Exception as error:
            return type(error).__name__
        return ""
    found["refused"] = [refused("fetch", "no-such", "x"), refused("rmdir", "in.txt"), refused("mkdir", "keep"),
                        refused("set_job_attr", "ClusterId", "5"), refused("set_job_attr", "A", "1 +"),
                        refused("rmdir", "keep"), refused("read", "keep", 5)]
found["secret"] = os.stat(".chirp.config").st_mode & 0o777
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with running(tmp_path_factory.mktemp("chirp"), cpus=2) as pool:
        yield Desk(pool)


def _begin(pool: Pool) -> None:
    pool.work.joinpath("in.txt").write_text("hello world of input\n")
    pool.work.joinpath("keep").mkdir(exist_ok=True)
    pool.work.joinpath("keep", "file").write_text("")
    for name in ("log.txt", "remote big"):
        pool.work.joinpath(name).unlink(missing_ok=True)


def _ran(desk: Desk, script: str, **lines: str) -> tuple[str, str]:
    """The cluster of a job that is over, and what it printed."""
    work = desk.pool.work
    work.joinpath("job.py").write_text(script)
    given = {
        "executable": sys.executable, "transfer_executable": "false", "arguments": "job.py", "output": "out",
        "error": "err", "log": "events", "transfer_input_files": "job.py", "should_transfer_files": "yes",
        "want_io_proxy": "true", "leave_in_queue": "true", **lines,
    }  # fmt: skip
    text = "".join(f"{name} = {value}\n" for name, value in given.items()) + "queue\n"
    cluster = desk("condor_submit", "-terse", text=text).out.partition(".")[0]
    eventually(lambda: desk("condor_q", cluster, "-af", "JobStatus").out.strip() in ("4", "5"), "the job's end")
    said = work.joinpath("err").read_text()
    assert desk("condor_q", cluster, "-af", "ExitCode").out.strip() == "0", said
    return cluster, work.joinpath("out").read_text()


@pytest.mark.parametrize("which", ["of the wheel", "of Roost"])
def test_a_job_asks_its_queue_by_htchirp(desk: Desk, which: str) -> None:
    _begin(desk.pool)
    if which == "of the wheel":
        script, more = f"from htchirp import HTChirp\n{SESSION}", {"transfer_input_files": f"job.py, {WHEEL}"}
    else:
        script, more = f"from htcondor2.htchirp import HTChirp\n{SESSION}", {"environment": f"PYTHONPATH={_modules()}"}
    cluster, printed = _ran(desk, script, **more)
    found = json.loads(printed)
    work = desk.pool.work
    assert found.pop("attribute")[1] == "UNDEFINED"
    assert found == {
        "set": ["1 + 2", '"late"'],
        "fetched": [21, "hello world of input\n"],
        "put": 900_000,
        "read": ["hello", "world"],
        "strided": "hlow",
        "size": 13,
        "link": ["log.txt", ["renamed"], 7],
        "long": 1,
        "hard": [0o600, 3, 6],
        "space": True,
        "who": ["CONDOR", "CONDOR"],
        "refused": ["DoesntExist", "NotDir", "AlreadyExists", "NotAuthorized", "InvalidRequest", "NotEmpty", "IsDir"],
        "secret": 0o600,
    }
    assert work.joinpath("remote big").stat().st_size == 900_000
    assert work.joinpath("log.txt").read_text() == "Fir"
    assert not work.joinpath("d").exists() and not work.joinpath("hard").exists()
    assert not work.joinpath(".chirp.config").exists()
    assert desk("condor_q", cluster, "-af", "FromJob").out == "3\n"
    assert "hello from the job" in work.joinpath("events").read_text()


def _modules() -> str:
    program = [sys.executable, "-m", "roost.cli", "shims", "python", "--path"]
    return subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()


def test_condor_chirp_in_a_script(desk: Desk) -> None:
    _begin(desk.pool)
    script = desk.pool.work / "chirp.sh"
    script.write_text(
        '#!/bin/sh\nset -e\nc() { "$PYTHON" -m roost.cli.condor condor_chirp "$@"; }\n'
        "c fetch in.txt local; cat local; c fetch in.txt -; echo from stdin | c put - made.txt\n"
        "c put -mode wca -perm 600 local made.txt\nc set_job_attr Progress 42; c get_job_attr Progress\n"
        "c read -offset 6 in.txt 5; echo; c ulog 'half done'; c getdir keep; c stat in.txt | grep ^size\n"
        "if c fetch no-such x; then exit 3; fi\nif c frobnicate; then exit 4; fi\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    environment = f"PYTHON={sys.executable} PYTHONPATH={ROOT / 'src'}"
    cluster, printed = _ran(
        desk, "", executable="chirp.sh", transfer_executable="true", arguments="", environment=f'"{environment}"'
    )
    line = "hello world of input\n"
    assert printed == f"{line}{line}42\nworld\nfile\nsize: 21\n"
    assert desk.pool.work.joinpath("made.txt").read_text() == f"from stdin\n{line}"
    assert "condor_chirp fetch: There is no object by that name." in desk.pool.work.joinpath("err").read_text()
    assert desk("condor_q", cluster, "-af", "Progress").out == "42\n"


def test_without_want_io_proxy_there_is_no_line(desk: Desk) -> None:
    script = "import os\nprint(os.path.exists('.chirp.config'), '_CONDOR_CHIRP_CONFIG' in os.environ)"
    assert _ran(desk, script, want_io_proxy="false")[1] == "False False\n"


def test_a_wrong_secret_is_refused_and_nothing_else_is_answered(desk: Desk) -> None:
    script = """
import socket
host, port, secret = open(".chirp.config").read().split()
def told(*lines):
    with socket.create_connection((host, int(port))) as line:
        file = line.makefile("rwb")
        answers = []
        for each in lines:
            file.write(each + b"\\n"); file.flush()
            answers.append(file.readline().decode().strip())
        return answers
print(told(b"cookie wrong", b"get_job_attr Owner"))
print(told(b"get_job_attr Owner"))
print(told(b"cookie " + secret.encode(), b"frobnicate", b"unlink", b"close 77", b"open x q 1x", b"version"))
print(told(b"cookie " + secret.encode(), b"x" * 9000))
"""
    printed = _ran(desk, script)[1].splitlines()
    assert printed[0] == "['-1', '-1']"
    assert printed[1] == "['-1']"
    assert printed[2] == "['0', '-8', '-8', '-12', '-8', '2']"
    assert printed[3] == "['0', '']"


def test_the_line_is_there_again_after_the_machines_daemon_was_killed(desk: Desk) -> None:
    pool = desk.pool
    script = f"""
import os, sys, time
sys.path.insert(0, {_modules()!r})
from htcondor2.htchirp import HTChirp
with HTChirp() as line:
    line.set_job_attr("Phase", "1")
before = open(".chirp.config").read()
until = time.monotonic() + 60
while open(".chirp.config").read() == before and time.monotonic() < until:
    time.sleep(0.1)
with HTChirp() as line:
    line.set_job_attr("Phase", "2")
"""
    work = pool.work
    work.joinpath("job.py").write_text(script)
    text = (
        f"executable = {sys.executable}\ntransfer_executable = false\narguments = job.py\noutput = out\nerror = err\n"
        "transfer_input_files = job.py\nshould_transfer_files = yes\nwant_io_proxy = true\n"
        "leave_in_queue = true\nqueue\n"
    )
    cluster = desk("condor_submit", "-terse", text=text).out.partition(".")[0]
    eventually(lambda: desk("condor_q", cluster, "-af", "Phase").out.strip() == "1", "the job speaks")
    pool.kill("node")
    eventually(lambda: desk("condor_q", cluster, "-af", "JobStatus").out.strip() == "4", "the job's end")
    assert desk("condor_q", cluster, "-af", "Phase", "ExitCode").out == "2 0\n", work.joinpath("err").read_text()


# -- condor_tail, condor_top, condor_check_config ---------------------------------------------------------------------


@pytest.mark.parametrize("moved", ["yes", "no"])
def test_condor_tail_shows_what_a_running_job_has_written(desk: Desk, moved: str) -> None:
    script = desk.pool.work / "talk.sh"
    script.write_text(
        "#!/bin/sh\necho line one; echo line two; echo bad >&2; echo inside > 'its file'; exec sleep 300\n"
    )
    script.chmod(0o755)
    text = f"executable = talk.sh\noutput = talk.out\nerror = talk.err\nshould_transfer_files = {moved}\nqueue\n"
    job = desk("condor_submit", "-terse", text=text).out.split()[0]

    def tail(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "roost.cli.condor", "condor_tail", *arguments]
        environment = desk.pool.environment | {"ROOST_HOME": str(desk.pool.home)}
        return subprocess.run(program, env=environment, capture_output=True, text=True, check=False, timeout=60)

    assert tail("-auto-retry", job).stdout in ("line one\nline two\n", "line one\n", "")
    eventually(lambda: tail(job).stdout == "line one\nline two\n", "the job's output")
    assert tail("-maxbytes", "9", job).stdout == "line two\n"
    eventually(lambda: tail("-stderr", job).stdout == "bad\n", "its error output")
    eventually(lambda: tail(job, "its file").stdout == "inside\n", "its file")
    assert tail("-no-stdout", job).returncode == 1
    assert "No such file" in tail(job, "nothing").stderr
    desk("condor_rm", job)
    desk.pool.work.joinpath("its file").unlink(missing_ok=True)


def test_condor_top_lists_the_daemons(desk: Desk) -> None:
    lines = desk("condor_top").lines
    assert lines[0].split() == ["DAEMON", "PID", "CPU%", "CPU", "TIME", "MEMORY", "MB", "THREADS"]
    found = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    assert {"master", "schedd", "node", "central"} <= set(found)
    assert found["schedd"] == desk.pool.pid("schedd")


def test_condor_check_config_tells_what_is_wrong(desk: Desk, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.config", tmp_path / "bad.config"
    good.write_text("use ROLE : Personal\n")
    bad.write_text("use ROLE : Personal\nSTART = (\n")
    assert desk("condor_check_config", "-config", str(good)).status == 0
    said = desk("condor_check_config", "-config", str(bad), status=1)
    assert "START" in said.out + said.err


def test_jobs_that_have_left_are_in_the_history_file_without_a_setting(desk: Desk) -> None:
    cluster = desk.submit('+Mark = "kept"', seconds=0)
    path = Path(desk("condor_config_val", "HISTORY").out.strip())
    assert path == desk.pool.home / "spool" / "history"
    eventually(lambda: path.exists() and 'Mark = "kept"' in path.read_text(), "the job is in the file")
    assert f"ClusterId = {cluster}\n" in path.read_text()
