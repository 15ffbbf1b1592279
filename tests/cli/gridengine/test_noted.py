"""What is noted with jobs, and options of which several commands do the same: contexts, `-verify`, `-@`, `-V`."""

from __future__ import annotations

import re

import pytest
from tests.cli.gridengine.kit import ME, Desk, node
from tests.integration.kit import eventually

from roost.gridengine.commands import context
from roost.gridengine.commands.errors import BAD_VALUE, Failure
from roost.gridengine.commands.options import Given


def _context(desk: Desk, job: int) -> str:
    found = re.search(r"^context: +(.*)$", desk("qstat", "-j", str(job)).out, re.MULTILINE)
    return found[1] if found else ""


def test_contexts_are_noted_with_jobs_as_grid_engine_does(desk: Desk) -> None:
    job = desk.qsub("-h", "-ac", "A=1,B=2", "-ac", "D", "-b", "y", "true")
    assert _context(desk, job) == "A=1,B=2,D=NONE"
    steps = (("-ac", "E=5,A=7", "A=7,B=2,D=NONE,E=5"), ("-dc", "B,Z", "A=7,D=NONE,E=5"), ("-sc", "Q=1", "Q=1"))
    for option, given, after in steps:
        assert desk("qalter", option, given, str(job)).out == f"modified context of job {job}\n"
        assert _context(desk, job) == after
    done = desk("qalter", "-sc", "", str(job), status=BAD_VALUE)
    assert (done.err, _context(desk, job)) == ('qalter: Wrong context list format -sc ""\n', "Q=1")
    assert desk("qalter", "-dc", "Q", str(job)).out == f"modified context of job {job}\n"
    assert _context(desk, job) == ""
    assert _context(desk, desk.qsub("-h", "-sc", "A=1,B=2", "-ac", "C=3", "-dc", "A", "-b", "y", "true")) == "B=2,C=3"


def test_a_context_has_a_limit() -> None:
    name = "x" * context.LENGTH_MAX
    assert context.changed("", [Given("ac", (name,))]) == name
    with pytest.raises(Failure, match="at most 10000 characters"):
        context.changed("a", [Given("ac", (name,))])


@pytest.mark.parametrize("command", ["qsub", "qrsh"])
def test_verify_prints_the_job_and_submits_nothing(desk: Desk, command: str) -> None:
    given = ("-verify", "-N", "x", "-l", "h_rt=10", "-ac", "A=1", "-cwd", "-p", "-3")
    words = (*given, "-t", "1-5:2", "-pe", "make", "2", "-b", "y", "echo", "a", "b") if command == "qsub" else given
    rows = dict(re.findall(r"^([^:\n]+): +(.*)$", desk(command, *words).out, re.MULTILINE))
    wanted = {"job_number": "unassigned", "owner": ME, "hard resource_list": "h_rt=10", "job_name": "x",
              "context": "A=1", "priority": "-3", "cwd": str(desk.pool.work)}  # fmt: skip
    if command == "qsub":
        wanted |= {"job-array tasks": "1-5:2", "parallel environment": "make range: 2", "job_args": "a,b",
                   "script_file": "echo", "job_type": "binary"}  # fmt: skip
    assert {name: rows.get(name) for name in wanted} == wanted
    assert desk("qstat", "-u", "*").out == ""


def test_verify_prints_the_script(desk: Desk) -> None:
    script = desk.script("shown.sh", "#$ -N embedded", "echo hello")
    out = desk("qsub", "-verify", str(script)).out
    assert re.search(r"^job_name: +embedded$", out, re.MULTILINE)
    assert out.endswith(f"script_ptr:\n{script.read_text()}\n")


def test_options_are_read_from_files_that_the_command_line_names(desk: Desk) -> None:
    (desk.pool.work / "more").write_text("-N inner -p -7\n")
    (desk.pool.work / "options").write_text("-h -@ more\n-ac F=1\n")
    ad = desk.pool.job(f"{desk.qsub('-@', 'options', '-p', '-2', '-b', 'y', 'true')}.0")
    assert (ad["CellJobName"], ad["JobPrio"], ad["CellContext"], ad["JobStatus"]) == ("inner", -2, "F=1", 5)
    (desk.pool.work / "more").write_text("-@ more\n")
    done = desk("qsub", "-@", "more", "-b", "y", "true", status=2)
    assert done.err == "qsub: -@ more: files name one another more than 10 deep\n"


def test_the_whole_environment_is_given_with_v(desk: Desk) -> None:
    for command in ("qsub", "qalter"):
        job = desk.qsub("-h", "-b", "y", "true") if command == "qalter" else 0
        words = ("-V", str(job)) if job else ("-V", "-terse", "-h", "-b", "y", "true")
        out = desk(command, *words, MINE="mine").out
        ad = desk.pool.job(f"{job or int(out)}.0")
        assert "MINE=mine" in ad["Environment"].split()


def test_qalter_changes_what_jobs_reserve_read_and_where_they_run(desk: Desk) -> None:
    job = desk.qsub("-h", "-b", "y", "-pe", "make", "2", "true")
    place = desk.pool.work / "elsewhere"
    place.mkdir(exist_ok=True)
    given = ("-R", "y", "-i", "/etc/hostname", "-wd", str(place), "-soft", "-l", "h_cpu=5", "-hard", "-l", "h_rt=9")
    told = desk("qalter", *given, "-masterq", "all.q", str(job)).out
    assert f"modified reservation behaviour of job {job}\n" in told
    ad = desk.pool.job(f"{job}.0")
    assert (ad["CellReserve"], ad["In"], ad["Iwd"]) == (True, "/etc/hostname", str(place))
    assert (ad["CellSoftResources"], ad["CellResources"], ad["CellMasterQueues"]) == ("h_cpu=5", "h_rt=9", "all.q")


def test_users_choose_what_is_held_shown_and_counted(desk: Desk) -> None:
    job = desk.qsub("-h", "-b", "y", "true")
    assert desk("qrls", "-u", ME).out == f"modified hold of job {job}\n"
    held = desk.qsub("-hold_jid", str(job), "-N", "later", "-a", "203001010000", "-b", "y", "true")
    assert desk("qhold", "-u", ME).out.endswith(f"modified hold of job {held}\n")
    runs = desk.qsub("-q", "all.q", "-b", "y", "sleep", "600")
    eventually(lambda: " r " in desk("qstat", "-s", "r").out, "a job that runs")
    assert re.search(rf"^ +{runs} ", desk("qhost", "-j", "-u", ME).out, re.MULTILINE)
    assert not re.search(rf"^ +{runs} ", desk("qhost", "-j", "-u", "nobody").out, re.MULTILINE)
    behind = desk("qstat", "-j", str(runs)).out.splitlines()[-3:]
    assert behind[0].startswith("usage         1:            cpu=")
    assert behind[1:] == [
        "binding       1:            NONE", "scheduling info:            There are no messages available"
    ]  # fmt: skip
    assert desk("qstat", "-ncb").out == desk("qstat").out
    desk("qdel", "-f", str(runs))
    assert desk("qacct", "-u", ME, status=None).out == desk("qacct", "-o", ME, status=None).out
    assert node(desk.pool) in desk("qhost").out


def test_quotas_are_shown_for_projects_and_queues(desk: Desk) -> None:
    rules = "limit queues {all.q} to slots=9\n   limit projects {none} to slots=8"
    text = f"{{\n   name some\n   description NONE\n   enabled TRUE\n   {rules}\n}}\n"
    (desk.pool.work / "quota").write_text(text)
    desk("qconf", "-Arqs", "quota")
    try:
        desk.qsub("-b", "y", "sleep", "600")
        eventually(lambda: "some/1" in desk("qquota").out, "a limit in use")
        assert "slots=1/9" in desk("qquota", "-q", "all.q").out
        assert "some/1" not in desk("qquota", "-q", "other.q").out
        assert "some/2" not in desk("qquota", "-P", "elsewhere").out
    finally:
        desk("qconf", "-drqs", "some")


def test_a_reservation_has_an_account_addresses_and_queues(desk: Desk) -> None:
    desk("qconf", "-au", ME, "arusers", status=None)
    given = ("-A", "course", "-M", "a@b", "-masterq", "all.q", "-now", "n", "-pe", "make", "1", "-d", "60")
    number = desk("qrsub", *given).out.split()[3]
    try:
        shown = desk("qrstat", "-ar", number).out
        assert {"course", "a@b"} <= {line.split()[-1] for line in shown.splitlines() if line.strip()}
    finally:
        desk("qrdel", number)
        desk("qconf", "-du", ME, "arusers", status=None)


def test_a_binding_is_shown_and_warned_of(desk: Desk) -> None:
    warning = "the pool binds no job to cores: -binding has no effect\n"
    done = desk("qsub", "-terse", "-h", "-binding", "env", "linear:1", "-b", "y", "true")
    assert done.err == f"qsub: {warning}"
    job = done.out.strip()
    assert re.search(r"^binding: +env linear:1$", desk("qstat", "-j", job).out, re.MULTILINE)
    done = desk("qalter", "-binding", "striding:2:1", job)
    assert (done.out, done.err) == (f"modified binding of job {job}\n", f"qalter: {warning}")
    assert "       Binding:          set striding:2:1\n" in desk("qstat", "-r").out
    assert "<BN_strategy>striding_automatic</BN_strategy>" in desk("qstat", "-j", job, "-xml").out


@pytest.mark.parametrize("command", ["qsub", "qalter", "qrsh", "qsh", "qlogin"])
def test_a_binding_that_means_nothing_is_refused(desk: Desk, command: str) -> None:
    done = desk(command, "-binding", "x", *["987654"] * (command not in ("qsh", "qlogin")), status=None)
    assert done.status and "couldn't parse binding parameter (no strategy found)" in done.err
