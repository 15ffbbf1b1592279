"""`qstat` on a real pool: its tables are those of Grid Engine 8.1.9, ids, times, the host and the user apart."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.gridengine.kit import ME, Desk, cell, node
from tests.integration.kit import eventually, running
from tests.integration.test_cell_jobs import queue_text

from roost.explain.cell_tasks import numbers

HEAD = (
    "job-ID  prior   name       user         state submit/start at     "
    "queue                          slots ja-task-ID \n"
    "-----------------------------------------------------------------------------------------------------------------\n"
)
FULL_HEAD = (
    "queuename                      qtype resv/used/tot. load_avg arch          states\n"
    "---------------------------------------------------------------------------------\n"
)
PENDING = (
    "\n############################################################################\n"
    " - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS - PENDING JOBS\n"
    "############################################################################\n"
)


def started(desk: Desk, number: int, states: int = 1) -> None:
    """Wait until so many tasks of a job run."""

    def count() -> int:
        lines = desk("qstat").out.splitlines()
        return sum(bool(re.match(rf" *{number} .* r  ", line)) for line in lines)

    eventually(lambda: count() == states, lambda: desk("qstat").out)


def test_without_jobs_it_prints_nothing_and_xml_its_frame(desk: Desk) -> None:
    assert desk("qstat").out == desk("qstat", "-u", "*").out == desk("qstat", "-u", "nobody").out == ""
    assert desk("qstat", "-xml").out == (
        "<?xml version='1.0'?>\n"
        '<job_info  xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd">\n'
        "  <queue_info>\n  </queue_info>\n  <job_info>\n  </job_info>\n</job_info>\n"
    )


def test_the_table_shows_held_and_waiting_tasks_as_ranges(desk: Desk) -> None:
    array = desk.qsub("-N", "a", "-h", "-t", "1-6:2", "-b", "y", "sleep", "60")
    job = desk.qsub("-N", "b", "-h", "-b", "y", "sleep", "60")
    assert desk.plain(desk("qstat").out, array, job) == HEAD + (
        "     J1 0.00000 a          alice        hqw   11/21/2026 06:54:46                                    1 1-5:2\n"
        f"     J2 0.00000 b          alice        hqw   11/21/2026 06:54:46 {'':30}     1        \n"
    )
    assert desk.plain(desk("qstat", "-g", "d", "-s", "hu").out, array, job).splitlines()[2:4] == [
        "     J1 0.00000 a          alice        hqw   11/21/2026 06:54:46                                    1 1",
        "     J1 0.00000 a          alice        hqw   11/21/2026 06:54:46                                    1 3",
    ]
    assert desk("qstat", "-s", "r").out == desk("qstat", "-s", "ho").out == desk("qstat", "-s", "s").out == ""
    assert desk("qstat", "-s", "p").out == desk("qstat").out


def test_running_tasks_come_first_and_full_output_shows_their_instance(desk: Desk) -> None:
    array = desk.qsub("-N", "ar", "-o", "/dev/null", "-j", "y", "-t", "1-6", "-b", "y", "sleep", "60")
    started(desk, array, 3)
    queue = "all.q@node1                   "
    assert desk.plain(desk("qstat").out, array) == HEAD + "".join(
        f"     J1 0.55500 ar         alice        r     11/21/2026 06:54:46 {queue}     1 {task}\n"
        for task in (1, 2, 3)
    ) + (
        "     J1 0.55500 ar         alice        qw    11/21/2026 06:54:46                                    1 4-6:1\n"
    )
    full = desk.plain(desk("qstat", "-f").out, array)
    full = re.sub(r"0/3/3          \d+\.\d\d     lx-\w+ +\n", "0/3/3          0.00     lx-amd64      \n", full)
    assert (
        full
        == FULL_HEAD
        + "all.q@node1                    BIP   0/3/3          0.00     lx-amd64      \n"
        + "".join(
            f"     J1 0.55500 ar         alice        r     11/21/2026 06:54:46     1 {task}\n" for task in (1, 2, 3)
        )
        + PENDING
        + ("     J1 0.55500 ar         alice        qw    11/21/2026 06:54:46     1 4-6:1\n")
    )
    for options in ((), ("-f",)):
        assert desk("qstat", *options, "-q", "nosuch", status=1).out == ""
    assert desk("qstat", "-f", "-q", "all.q@@allhosts").out == desk("qstat", "-f", "-ne").out == desk("qstat", "-f").out
    groups = desk("qstat", "-g", "c").out.splitlines()
    assert groups[:2] == [
        "CLUSTER QUEUE                   CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE  ",
        "-" * 80,
    ]
    assert re.sub(r"\d+\.\d\d", "0.00", groups[2]) == (
        "all.q                             0.00      3      0      0      3      0      0 "
    )
    details = desk("qstat", "-j", "ar").out
    instance = re.search(r'queue instance "(all.q@[^"]+)" dropped because it is full', details)
    assert instance is not None
    assert f"scheduling info:            {instance[0]}\n" in details


def test_requests_and_priorities_are_shown_when_asked_for(desk: Desk) -> None:
    given = (
        "-q",
        "all.q",
        "-soft",
        "-q",
        f"all.q@{node(desk.pool)}",
        "-l",
        "mem_free=1G,h_rt=3600",
        "-hard",
        "-l",
        "h_cpu=3,arch=x",
    )
    job = desk.qsub(*given, "-h", "-N", "soft", "-b", "y", "sleep", "5")
    row = f"     J1 0.00000 soft       alice        hqw   11/21/2026 06:54:46 {'':30}     1        \n"
    assert desk.plain(desk("qstat", "-r").out, job) == HEAD + row + (
        "       Full jobname:     soft\n"
        "       Hard Resources:   h_cpu=3 (0.000000)\n"
        "                         arch=x (0.000000)\n"
        "       Soft Resources:   mem_free=1G\n"
        "                         h_rt=3600\n"
        "       Hard requested queues: all.q\n"
        "       Soft requested queues: all.q@node1\n"
        "       Binding:          NONE\n"
    )
    assert desk.plain(desk("qstat", "-pri").out, job) == (
        "job-ID  prior   nurg    npprior ntckts   ppri name       user         state submit/start at     "
        "queue                          slots ja-task-ID \n" + "-" * 148 + "\n"
        "     J1 0.00000 0.00000 0.00000 0.00000     0 soft       alice        hqw   11/21/2026 06:54:46"
        "                                    1        \n"
    )
    assert desk.plain(desk("qstat", "-urg").out, job) == (
        "job-ID  prior   nurg    urg      rrcontr  wtcontr  dlcontr  name       user         state "
        "submit/start at      deadline           queue                          slots ja-task-ID \n" + "-" * 177 + "\n"
        "     J1 0.00000 0.00000        0        0        0        0 soft       alice        hqw   11/21/2026 06:54:46"
        "                                                        1        \n"
    )


def test_details_have_grid_engines_names_and_order(desk: Desk) -> None:
    given = ("-v", "A=3", "-N", "cmd", "-M", "z@w", "-p", "-7", "-r", "y", "-A", "acct", "-S", "/bin/sh", "-o", "/tmp")
    more = ("-e", "x", "-j", "y", "-i", "/dev/null", "-wd", "/tmp", "-t", "2-8:3", "-tc", "2", "-a", "203001011200.05")
    requests = ("-q", "all.q", "-soft", "-q", "all.q", "-l", "mem_free=1G", "-hard", "-l", "h_rt=20")
    script = desk.script("sleep.sh", "sleep 1")
    number = desk.qsub("-h", *given, *more, *requests, str(script), "1", "2")
    lines = dict(line.split(":", 1) for line in desk("qstat", "-j", "cmd").out.splitlines()[1:])
    names = (
        "job_number exec_file submission_time owner uid group gid sge_o_home sge_o_log_name sge_o_path sge_o_shell "
        "sge_o_tz sge_o_workdir sge_o_host execution_time account cwd stderr_path_list merge hard-resource_list "
        "soft-resource_list mail_list notify job_name stdout_path_list stdin_path_list priority jobshare "
        "hard_queue_list soft_queue_list restart shell_list env_list job_args script_file job-array-tasks "
        "maximum-concurrency binding job_type scheduling-info"
    )
    wanted = [name for name in names.split() if name.replace("-", " ") in lines or "array" in name]
    assert [name.replace(" ", "-") for name in lines] == wanted
    assert {name: value.strip() for name, value in lines.items() if name in _SAID} == _SAID | {
        "job_number": str(number), "exec_file": f"job_scripts/{number}", "owner": ME
    }  # fmt: skip
    assert lines["scheduling info"] == "            Job is in hold state"


_SAID = {
    "job_number": "", "exec_file": "", "owner": "", "execution_time": "Tue Jan  1 12:00:05 2030", "account": "acct",
    "cwd": "/tmp", "stderr_path_list": "NONE:NONE:x", "merge": "y", "hard resource_list": "h_rt=20",
    "soft resource_list": "mem_free=1G", "mail_list": "z@w", "notify": "FALSE", "job_name": "cmd",
    "stdout_path_list": "NONE:NONE:/tmp", "stdin_path_list": "NONE:NONE:/dev/null", "priority": "-7",
    "hard_queue_list": "all.q", "soft_queue_list": "all.q", "restart": "y", "shell_list": "NONE:/bin/sh",
    "job_args": "1,2", "script_file": "sleep.sh", "job-array tasks": "2-8:3", "maximum concurrency": "2",
    "job_type": "NONE",
}  # fmt: skip


def test_jobs_that_do_not_exist_are_told_on_standard_error(desk: Desk) -> None:
    done = desk("qstat", "-j", "99999,nosuch", status=1)
    assert (done.out, done.err) == ("", "Following jobs do not exist: \n99999, nosuch\n")
    assert desk("qstat", "-j", "99999", "-xml").out == (
        "<?xml version='1.0'?>\n<unknown_jobs >\n    <ST_name>99999</ST_name>\n</unknown_jobs>\n"
    )


def test_xml_has_running_and_waiting_jobs_in_different_parents(desk: Desk) -> None:
    array = desk.qsub("-N", "<x>", "-o", "/dev/null", "-j", "y", "-t", "5-9:4", "-b", "y", "sleep", "60")
    started(desk, array, 2)
    held = desk.qsub("-N", "h", "-h", "-b", "y", "true")
    running = "".join(
        '    <job_list state="running">\n      <JB_job_number>J1</JB_job_number>\n      <JAT_prio>0.55500</JAT_prio>\n'
        f"      <JB_name>&lt;x&gt;</JB_name>\n      <JB_owner>{ME}</JB_owner>\n      <state>r</state>\n"
        "      <JAT_start_time>2026-11-21T06:54:46</JAT_start_time>\n      <queue_name>all.q@node1</queue_name>\n"
        f"      <slots>1</slots>\n      <tasks>{task}</tasks>\n    </job_list>\n"
        for task in (5, 9)
    )
    waiting = (
        '    <job_list state="pending">\n      <JB_job_number>J2</JB_job_number>\n      <JAT_prio>0.00000</JAT_prio>\n'
        f"      <JB_name>h</JB_name>\n      <JB_owner>{ME}</JB_owner>\n      <state>hqw</state>\n"
        "      <JB_submission_time>2026-11-21T06:54:46</JB_submission_time>\n      <queue_name></queue_name>\n"
        "      <slots>1</slots>\n    </job_list>\n"
    )
    found = desk.plain(desk("qstat", "-xml").out, array, held)
    assert found.partition("qstat.xsd")[2] == (
        f'">\n  <queue_info>\n{running}  </queue_info>\n  <job_info>\n{waiting}  </job_info>\n</job_info>\n'
    )


def test_xml_tells_requests_and_what_a_priority_is_made_of(desk: Desk) -> None:
    first = desk.qsub("-N", "first", "-h", "-t", "1-2", "-b", "y", "true")
    wants = (
        "-q",
        "all.q@@allhosts,all.q",
        "-soft",
        "-q",
        "all.q",
        "-l",
        "h_cpu=5",
        "-hard",
        "-l",
        "h_rt=100,mem_free=1K",
    )
    job = desk.qsub("-N", "full", "-h", *wants, "-masterq", "all.q", "-pe", "make", "2-3", "-p", "-5", "-hold_jid",
                    "first", "-b", "y", "true")  # fmt: skip
    found = desk("qstat", "-xml", "-r", "-urg", "-pri").out.partition(f">{job}<")[2].partition("    </job_list>")[0]
    tags = re.findall(r"<(JAT_ntix|JB_nppri|JB_nurg|JB_rrcontr|JB_wtcontr|JB_dlcontr|JB_priority|JB_name)>", found)
    assert tags == [
        "JAT_ntix", "JB_nppri", "JB_nurg", "JB_rrcontr", "JB_wtcontr", "JB_dlcontr", "JB_priority", "JB_name"
    ]  # fmt: skip
    assert "<JB_priority>-5</JB_priority>" in found
    assert found.partition("</slots>\n")[2] == (
        "      <full_job_name>full</full_job_name>\n"
        '      <requested_pe name="make">2,3</requested_pe>\n'
        '      <hard_request name="h_rt" resource_contribution="0.000000">100</hard_request>\n'
        '      <hard_request name="mem_free" resource_contribution="0.000000">1K</hard_request>\n'
        '      <soft_request name="h_cpu">5</soft_request>\n'
        "      <hard_req_queue>all.q@@allhosts</hard_req_queue>\n      <hard_req_queue>all.q</hard_req_queue>\n"
        "      <soft_req_queue>all.q</soft_req_queue>\n      <master_hard_req_queue>all.q</master_hard_req_queue>\n"
        "      <predecessor_jobs_req>first</predecessor_jobs_req>\n"
        f"      <predecessor_jobs>{first}</predecessor_jobs>\n"
        "      <binding>NONE</binding>\n"
    )
    desk("qdel", str(first), str(job))


def test_jobs_in_error_and_jobs_that_ended(desk: Desk) -> None:
    bad = desk.qsub("-N", "bado", "-o", "/nosuch/dir/x", "-b", "y", "true")
    eventually(lambda: " Eqw " in desk("qstat").out, lambda: desk("qstat").out)
    details = desk("qstat", "-j", str(bad)).out
    words = r"error: can't open output file \"/nosuch/dir/x\": No such file or directory$"
    assert re.search(rf"^error reason          1:      \d\d/\d\d/\d{{4}} \d\d:\d\d:\d\d {words}", details, re.M)
    assert details.endswith("scheduling info:            Job is in error state\n")
    good = desk.qsub("-N", "good", "-sync", "y", "-o", "/dev/null", "-j", "y", "-b", "y", "true")
    ended = desk.plain(desk("qstat", "-s", "z").out, good).splitlines()
    assert ended[-1] == (
        "     J1 0.00000 good       alice        z     11/21/2026 06:54:46                                    1        "
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-s", "x"), "ERROR! wrong argument to -s option\n"),
        (("-bogus",), 'invalid option argument "-bogus"\n'),
        (("-g", "x"), "wrong character 'x' for -g option\n"),
        (("-u",), "-u option must have argument\n"),
    ],
)
def test_wrong_options_end_in_grid_engines_words(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    done = desk("qstat", *arguments, status=1)
    assert done.out == "" and done.err.endswith(words)


def test_numbers_of_tasks_are_listed_as_grid_engine_does() -> None:
    assert numbers([1, 3, 5]) == "1-5:2" and numbers([7, 8]) == "7,8" and numbers([3]) == "3"
    assert numbers(range(3, 9)) == "3-8:1" and numbers([1, 5]) == "1,5" and numbers([1, 2, 3, 7, 9]) == "1-3:1,7,9"


def test_jobs_of_other_commands_are_jobs_too(desk: Desk, tmp_path: Path) -> None:
    text = "executable = /bin/sleep\nbatch_name = other\nhold = true\nqueue 2\n"
    number = json.loads(desk.pool("submit", "--json", text=text))[0]["cluster"]
    assert desk.plain(desk("qstat").out, number) == HEAD + (
        "     J1 0.00000 other      alice        hqw   11/21/2026 06:54:46                                    1 1,2\n"
    )


def test_jobs_suspended_by_a_queue_and_by_their_user_have_different_letters(tmp_path: Path) -> None:
    with running(tmp_path / "pool", cpus=4) as pool:
        cell(pool, tmp_path / "cell")
        (tmp_path / "cell/cqueues/low.q").write_text(queue_text("low.q"))
        (tmp_path / "cell/cqueues/all.q").write_text(queue_text(subordinate_list="low.q=1"))
        pool("cell", "apply", str(tmp_path / "cell"))
        desk = Desk(pool)
        quiet = ("-o", "/dev/null", "-j", "y")

        def state(job: int) -> str:
            found = re.search(rf"^ *{job} (?:\S+ +){{3}}(\S+)", desk("qstat").out, re.M)
            return found[1] if found else ""

        low = desk.qsub("-q", "low.q", *quiet, "-b", "y", "sleep", "60")
        eventually(lambda: state(low) == "r", lambda: desk("qstat").out)
        high = desk.qsub("-q", "all.q", *quiet, "-b", "y", "sleep", "60")
        eventually(lambda: state(low) == "S", lambda: desk("qstat").out)
        assert state(high) == "r" and " S  " in desk("qstat", "-f").out
        assert f"{low:>7} " in desk("qstat", "-s", "s").out and f"{high:>7} " not in desk("qstat", "-s", "s").out
        pool("suspend", f"{high}.0")
        eventually(lambda: state(high) == "s", lambda: desk("qstat").out)
        assert desk("qdel", str(high)).out == f"{ME} has registered the job {high} for deletion\n"
        eventually(lambda: state(low) == "r", lambda: desk("qstat").out)


def test_queue_instances_tell_what_they_have(desk: Desk) -> None:
    lines = desk("qstat", "-F").out.splitlines()
    assert lines[0] == FULL_HEAD.splitlines()[0]
    shown = [line[1:] for line in lines if line.startswith("\t")]
    host = lines[2].split()[0].partition("@")[2]
    for wanted in ("hl:arch=lx-amd64", "hl:num_proc=4", "qf:qname=all.q", f"qf:hostname={host}", "qc:slots=3",
                   "qf:h_rt=infinity", "qf:min_cpu_interval=00:05:00", "qf:rerun=0.000000", "qf:seq_no=0"):  # fmt: skip
        assert wanted in shown, shown
    job = desk.qsub("-N", "one", "-b", "y", "sleep", "60")
    started(desk, job)
    few = desk("qstat", "-F", "slots,nosuch,a").out.splitlines()
    assert few[3:5] == ["\thl:arch=lx-amd64", "\tqc:slots=2"] and few[5].split()[2] == "one"
    assert '      <resource name="slots" type="qc">2</resource>\n' in desk("qstat", "-F", "slots", "-xml").out


def test_states_are_explained_and_jobs_that_wait_are_summed_up(desk: Desk) -> None:
    desk("qconf", "-rattr", "queue", "load_thresholds", "np_load_avg=-1", "all.q")
    try:
        held = desk.qsub("-h", "-b", "y", "true")
        waits = desk.qsub("-l", "hostname=nosuch", "-b", "y", "true")
        reason = "\talarm hl:np_load_avg=0.000000 load-threshold=-1"
        eventually(lambda: desk("qstat", "-explain", "aA").out.splitlines()[3] == reason)
        assert f"<load-alarm-reason>{reason[1:]}</load-alarm-reason>" in desk("qstat", "-explain", "a", "-xml").out
        assert desk("qstat", "-explain", "ax", status=1).err == (
            "error: unknown queue state: x found in string: ax\nunknown queue state: x found in string: ax\n"
        )
        overload = "dropped because it is overloaded: np_load_avg=0.000000 (no load adjustment) >= -1"
        eventually(lambda: overload in desk("qstat", "-j").out, lambda: desk("qstat", "-j").out)
        assert f"\n\nJobs dropped because of hold state\n\t{held}\n" in desk("qstat", "-j").out
    finally:
        desk("qconf", "-rattr", "queue", "load_thresholds", "np_load_avg=1.75", "all.q")
    words = f"\n\nJobs can not run because the resource requirements can not be satisfied\n\t{waits}\n"
    eventually(lambda: words in desk("qstat", "-j").out, lambda: desk("qstat", "-j").out)
    assert "<MES_message_number>17</MES_message_number>" in desk("qstat", "-j", "-xml").out


def test_details_of_jobs_are_printed_as_xml(desk: Desk) -> None:
    held = desk.qsub("-h", "-N", "before", "-b", "y", "sleep", "60")
    given = (
        "-t",
        "1-6:2",
        "-tc",
        "1",
        "-hold_jid",
        "before",
        "-p",
        "-5",
        "-v",
        "FOO=bar,BAZ",
        "-M",
        "bob",
        "-e",
        "err",
    )
    script = desk.script("sleep.sh", "sleep 1")
    number = desk.qsub(
        "-N", "arr", *given, "-o", "out", "-soft", "-l", "arch=x", "-hard", "-l", "h_rt=0:0:50", str(script), "b c"
    )
    text = desk("qstat", "-j", "arr,before", "-xml").out
    root = ElementTree.fromstring(text)
    job, other = root.findall("djob_info/element")
    # As 8.1.9 prints them, without a second JB_jid_request_list.
    assert [each.tag.removeprefix("JB_") for each in job] == [
        "job_number",
        "ar",
        "exec_file",
        "submission_time",
        "owner",
        "uid",
        "group",
        "gid",
        "account",
        "merge_stderr",
        "mail_list",
        "notify",
        "job_name",
        "stdout_path_list",
        "jobshare",
        "hard_resource_list",
        "soft_resource_list",
        "env_list",
        "job_args",
        "script_file",
        "stderr_path_list",
        "jid_predecessor_list",
        "jid_request_list",
        "deadline",
        "execution_time",
        "checkpoint_attr",
        "checkpoint_interval",
        "reserve",
        "mail_options",
        "priority",
        "restart",
        "verify",
        "script_size",
        "verify_suitable_queues",
        "soft_wallclock_gmt",
        "hard_wallclock_gmt",
        "override_tickets",
        "version",
        "ja_structure",
        "type",
        "binding",
        "ja_task_concurrency",
        "nurg",
    ]
    said = {each.tag: each.text for each in job}
    assert (said["JB_job_number"], said["JB_priority"], said["JB_type"], said["JB_ja_task_concurrency"]) == (
        str(number), "1019", "128", "1"
    )  # fmt: skip
    limit = {each.tag: each.text for each in job.iterfind("JB_hard_resource_list/qstat_l_requests/*")}
    assert (limit["CE_name"], limit["CE_valtype"], limit["CE_stringval"], limit["CE_doubleval"]) == (
        "h_rt", "3", "0:0:50", "50.000000"
    )  # fmt: skip
    assert job.findtext("JB_job_args/element/ST_name") == "b c"
    assert job.findtext("JB_jid_predecessor_list/job_predecessors/JRE_job_number") == str(held)
    assert [each.text for each in job.iterfind("JB_ja_structure/task_id_range/*")] == ["1", "6", "2"]
    assert other.findtext("JB_jid_successor_list/ulong_sublist/JRE_job_number") == str(number)
    message = root.find("messages/element/SME_message_list/element")
    assert message is not None and message.findtext("MES_message_number") == "35"
    assert message.findtext("MES_job_number_list/ulong_sublist/ULNG_value") == str(number)
    desk("qrls", "before")
    started(desk, held)
    running = ElementTree.fromstring(desk("qstat", "-j", "before", "-xml").out)
    used = [each.text for each in running.iterfind("djob_info/element/JB_ja_tasks/ulong_sublist//UA_name")]
    assert used == ["cpu", "mem", "io", "iow", "vmem", "maxvmem"]
    assert desk("qstat", "-j", "nosuch", "-xml").out.startswith("<?xml version='1.0'?>\n<unknown_jobs >\n")


def test_usage_is_shown_of_jobs_that_run(desk: Desk) -> None:
    job = desk.qsub("-N", "one", "-b", "y", "sleep", "60")
    started(desk, job)
    words = desk("qstat", "-ext").out.splitlines()[2].split()
    assert words[0] == str(job) and words[3] == "one" and words[5:8] == ["NA", "defaultdep", "r"]
    assert words[11:17] == ["0", "0", "0", "0", "0", "0.00"] and words[17].startswith("all.q@")


def test_states_of_queues_alone_choose_no_jobs_that_wait(desk: Desk) -> None:
    held = desk.qsub("-h", "-q", "all.q", "-b", "y", "true")
    assert desk("qstat", "-qs", "d").out.splitlines()[2].split()[0] == str(held)
    assert desk("qstat", "-f", "-qs", "d").out == ""
