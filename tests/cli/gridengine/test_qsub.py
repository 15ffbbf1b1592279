"""`qsub` on a real pool: what it says, and what becomes of the job. Words are those of Grid Engine 8.1.9."""

from __future__ import annotations

import getpass
import os
import re
from pathlib import Path

import pytest
from tests.cli.gridengine.kit import Desk, node
from tests.integration.kit import running

from roost.gridengine.commands.errors import BAD_VALUE, FAILED, NO_INPUT, NO_SCRIPT, USAGE

ME = getpass.getuser()


def test_a_script_runs_with_what_is_embedded_and_what_follows_it(desk: Desk) -> None:
    lines = ("#$ -N emb -j y", "#$ -o out.txt -cwd", "#  $ -h", 'for a; do echo "[$a]"; done', "pwd", "echo $FOO$X")
    script = desk.script("args.sh", *lines)
    done = desk(
        "qsub",
        "-v",
        "FOO,X=1",
        "-sync",
        "y",
        str(script),
        "-N",
        "other",
        "-l",
        "x y",
        "$HOME",
        "$$(Machine)",
        FOO="bar",
    )
    number = re.fullmatch(
        r'Your job (\d+) \("emb"\) has been submitted\nJob (\1) exited with exit code 0\.\n', done.out
    )
    assert number is not None and not done.err
    expected = ["[-N]", "[other]", "[-l]", "[x y]", "[$HOME]", "[$$(Machine)]", str(desk.pool.work), "bar1"]
    assert (desk.pool.work / "out.txt").read_text().splitlines() == expected


def test_the_script_is_the_one_that_was_submitted(desk: Desk) -> None:
    script = desk.script("first.sh", "echo first '$$(Machine)'")
    number = desk.qsub("-h", "-cwd", str(script))
    script.write_text("#!/bin/sh\necho second\n")
    desk.pool("release", str(number))
    desk.pool.wait(number)
    assert (desk.pool.work / f"first.sh.o{number}").read_text() == "first $$(Machine)\n"
    assert (desk.pool.work / f"first.sh.e{number}").read_text() == ""


def test_a_script_from_standard_input_gives_its_exit_status(desk: Desk) -> None:
    (desk.home / "d").mkdir()
    done = desk("qsub", "-sync", "y", "-j", "y", "-o", "d", text="echo hi; exit 3\n", status=3)
    number = re.fullmatch(r'Your job (\d+) \("STDIN"\) has been submitted\n', done.out)
    assert number is not None and done.err == f"Job {number[1]} exited with exit code 3.\n"
    assert (desk.home / "d" / f"STDIN.o{number[1]}").read_text() == "hi\n"
    killed = desk("qsub", "-sync", "y", "-o", "/dev/null", "-e", "/dev/null", text="kill -9 $$\n", status=1)
    assert killed.err == f"Job {int(number[1]) + 1} exited because of signal SIGKILL\n"


def test_commands_are_lines_for_a_shell_unless_they_are_not(desk: Desk) -> None:
    given = ("-sync", "y", "-b", "y", "-j", "y", "-o", "out", "echo", "a  b", "$HOME", "x;y")
    assert desk("qsub", *given, status=127).err.endswith(" exited with exit code 127.\n")
    assert (desk.home / "out").read_text().startswith("a b ")
    desk("qsub", "-sync", "y", "-shell", "n", *given[2:])
    # Grid Engine appends to the files of streams.
    assert (desk.home / "out").read_text().splitlines()[-1] == "a  b $HOME x;y"


def test_a_job_is_told_its_account_directory_and_shell(desk: Desk) -> None:
    text = "echo $SGE_ACCOUNT $SGE_CWD_PATH $SHELL\n"
    desk("qsub", "-sync", "y", "-j", "y", "-o", "told", "-v", "SHELL=/bin/zsh,SGE_ACCOUNT=x", text=text)
    desk("qsub", "-sync", "y", "-j", "y", "-o", "told", "-A", "acc", "-cwd", "-S", "/bin/bash", text=text)
    assert (desk.home / "told").read_text() == f"sge {desk.home} /bin/sh\n"
    assert (desk.pool.work / "told").read_text() == f"acc {desk.pool.work} /bin/bash\n"


def test_an_array_has_a_file_for_each_task(desk: Desk) -> None:
    path = "$HOME/$JOB_NAME.$JOB_ID.$TASK_ID.$USER"
    done = desk("qsub", "-terse", "-sync", "y", "-t", "1-10:4", "-j", "y", "-o", path, "-b", "y", "-N", "arr", "true")
    number = done.out.partition(".")[0]
    assert done.out == f"{number}.1-10:4\n"
    assert {each.name for each in desk.home.glob("arr.*")} == {f"arr.{number}.{task}.{ME}" for task in (1, 5, 9)}
    failed = desk(
        "qsub", "-terse", "-sync", "y", "-t", "1-3", "-o", "/dev/null", "-j", "y", text="exit $SGE_TASK_ID", status=1
    )
    job = failed.out.partition(".")[0]
    # Of which task they come first, depends on when they end.
    told = [f"Job {job}.{task} exited with exit code {task}." for task in (1, 2, 3)]
    assert sorted(failed.err.splitlines()) == told
    one = desk("qsub", "-sync", "y", "-cwd", "-t", "5", text="true\n")
    assert one.out == (
        f'Your job-array {int(job) + 1}.5-5:1 ("STDIN") has been submitted\n'
        f"Job {int(job) + 1}.5 exited with exit code 0.\n"
    )
    assert (desk.pool.work / f"STDIN.o{int(job) + 1}.5").exists()


def test_stronger_places_win_and_lists_are_put_together(desk: Desk) -> None:
    common = desk.root / "default" / "common"
    common.mkdir(parents=True, exist_ok=True)
    (common / "sge_request").write_text("# for all\n-A site -l h_cpu=1:0:0\n-N site\n")
    (desk.home / ".sge_request").write_text("-N mine -l h_rt=10 \\\n-q nosuch.q -M x@y\n-v A=1,B=2")
    (desk.pool.work / ".sge_request").write_text("-p -3\n")
    try:
        script = desk.script("more.sh", "#$ -l h_rt=20 -v A=3 -h", "#$ -q all.q -M z@w")
        ad = desk.pool.job(f"{desk.qsub('-l', 'h_vmem=1G', str(script))}.0")
        assert ad["CellResources"] == "h_cpu=1:0:0,h_rt=20,h_vmem=1G"
        assert (ad["CellJobName"], ad["CellQueues"], ad["CellAccount"]) == ("mine", "all.q", "site")
        assert (ad["JobPrio"], ad["CellMailList"], ad["JobStatus"]) == (-3, "x@y,z@w", 5)
        assert {"A=3", "B=2"} <= set(ad["Environment"].split())
        ad = desk.pool.job(f"{desk.qsub('-clear', '-C', '', '-h', str(script))}.0")
        assert ad["CellJobName"] == "more.sh" and "CellResources" not in ad
    finally:
        for path in (common / "sge_request", desk.home / ".sge_request", desk.pool.work / ".sge_request"):
            path.unlink()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("nofile.sh",), NO_SCRIPT,
         "Unable to read script file because of error: error opening nofile.sh: No such file or directory\n"),
        ((), NO_INPUT, "Unable to read script file because of error: no input read from stdin\n"),
        (("-bogus",), USAGE, 'qsub: invalid option argument "-bogus"\n'),
        (("-N",), USAGE, "qsub: -N option must have argument\n"),
        (("-N", "a/b"), USAGE, "qsub: argument to -N option must not contain / \n"),
        (("-N", "1abc"), FAILED,
         'Unable to run job: denied: "1abc" is not a valid object name (cannot start with a digit)\nExiting.\n'),
        (("-N", "@x"), FAILED, "Unable to run job: At ('@') not allowed in objectname\nExiting.\n"),
        (("-N", "none"), FAILED, 'Unable to run job: Keyword ("NONE") not allowed as objectname\nExiting.\n'),
        (("-p", "2000"), BAD_VALUE, 'qsub: invalid priority "2000".  Must be an integer from -1023 to 1024\n'),
        (("-t", "x"), BAD_VALUE,
         'qsub: Numerical value invalid!\nThe initial portion of string "x" contains no decimal number\n'),
        (("-t", "0"), FAILED, "Unable to run job: job rejected: 0 is an invalid task id\nExiting.\n"),
        (("-t", "1-3:0"), BAD_VALUE, "qsub: Negative or zero step in range is not allowed\n"),
        (("-l", "nosuch=1"), FAILED, 'Unable to run job: unknown resource "nosuch"\nExiting.\n'),
        (("-q", "nosuch"), FAILED,
         'Unable to run job: Job was rejected because job requests unknown queue "nosuch"\nExiting.\n'),
        (("-P", "nosuch"), FAILED,
         'Unable to run job: job rejected: the requested project "nosuch" does not exist\nExiting.\n'),
        (("-l", "slots=2"), FAILED,
         'Unable to run job: "job" denied: use parallel environments instead of requesting slots explicitly\n'
         "Exiting.\n"),
        (("-j", "x"), BAD_VALUE, 'qsub: invalid option argument "-j x"\n'),
        (("-m", "z"), BAD_VALUE, 'qsub: Wrong mail options list format "z" specified to -m option\n'),
        (("-a", "99"), BAD_VALUE,
         '\nInvalid format of date/hour-minute field.\nqsub: Wrong date/time format "99" specified to -a option\n'),
        (("-a", "202713010000"), BAD_VALUE,
         '\nInvalid month specification.\n'
         'qsub: Wrong date/time format "202713010000" specified to -a option\n'),
        (("-a", "202701010000.60"), BAD_VALUE,
         '\nInvalid seconds specification.\n'
         'qsub: Wrong date/time format "202701010000.60" specified to -a option\n'),
        (("-o", ":/a,/b"), FAILED, "Unable to run job: ERROR! two files are specified for the same host\nExiting.\n"),
        (("-e", "/a,here:"), FAILED, "Unable to run job: paths may not be empty strings\nExiting.\n"),
        (("-o", "nosuchhost:/a,/b"), FAILED, 'Unable to run job: can\'t resolve hostname "nosuchhost"\nExiting.\n'),
        (("-S", "nosuchhost:/bin/sh"), FAILED, 'Unable to run job: can\'t resolve hostname "nosuchhost"\nExiting.\n'),
        (("-pe", "make", "x"), BAD_VALUE,
         'qsub: Numerical value invalid!\nThe initial portion of string "x" contains no decimal number\n'),
        (("-pe", "make", "1-3:2"), BAD_VALUE, 'qsub: Range specifier "3:2" has unknown trailer ":2"\n'),
        (("-t", "1-6:2:3"), BAD_VALUE, 'qsub: Range specifier "2:3" has unknown trailer ":3"\n'),
        (("-hold_jid", ""), BAD_VALUE, 'qsub: Wrong jid_hold list format "" specified to -hold_jid option\n'),
        (("-l", "nosuch=1", "-q", "nosuch"), FAILED, 'Unable to run job: unknown resource "nosuch"\nExiting.\n'),
        (("-pe", "make", "0"), 1,
         'Unable to run job: "job" rejected: pe range must be greater than zero\nExiting.\n'),
        (("-R", "z"), BAD_VALUE, 'qsub: invalid option argument "-R z"\n'),
        (("-js", "-3"), USAGE, "qsub: invalid jobshare, must be an unsigned integer\n"),
        (("-tc", "x"), BAD_VALUE,
         'qsub: invalid task concurrency number "x". Must be an integer greater or equal to 0.\n'),
        (("-ot", "5"), USAGE, 'qsub: invalid option argument "-ot"\n'),
        (("-dl", "x"), BAD_VALUE,
         '\nInvalid format of date/hour-minute field.\nqsub: Wrong date/time format "x" specified to -dl option\n'),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_grid_engines_words(
    desk: Desk, arguments: tuple[str, ...], status: int, words: str
) -> None:
    before = desk.pool("queue", "--json")
    script = () if arguments in ((), ("nofile.sh",)) or len(arguments) == 1 else (str(desk.script("no.sh", "true")),)
    done = desk("qsub", *arguments, *script, status=status)
    assert (done.out, done.err) == ("", words)
    assert desk.pool("queue", "--json") == before


def test_a_job_does_not_start_before_its_time(desk: Desk) -> None:
    late = desk.pool.job(f"{desk.qsub('-a', '203001011200.05', '-r', 'n', '-b', 'y', 'true')}.0")
    assert late["Requirements"]["expr"] == f"time() >= {late['CellNotBefore']}"
    assert late["CellRerun"] == "n"


def test_mail_is_told_to_have_no_effect(desk: Desk) -> None:
    assert desk("qsub", "-m", "n", "-h", "-b", "y", "true").err == ""
    assert desk("qsub", "-m", "ea", "-h", "-b", "y", "true").err == (
        "qsub: the pool sends no mail: -m ea has no effect\n"
    )


def test_the_machine_is_the_one_of_the_cell(desk: Desk, tmp_path: Path) -> None:
    number = desk.qsub("-sync", "y", "-o", f"{tmp_path}/$HOSTNAME", "-e", "/dev/null", "-b", "y", "true")
    assert [each.name.partition(".")[0] for each in tmp_path.iterdir() if each.is_file()] == [
        node(desk.pool).partition(".")[0]
    ], number


def test_paths_for_hosts_count_on_these(desk: Desk, tmp_path: Path) -> None:
    here, place = node(desk.pool), tmp_path / "a (b) $c [d]"
    (place / "dir").mkdir(parents=True)
    desk("qconf", "-as", "localhost")

    def ran(*options: str) -> int:
        return desk.qsub("-sync", "y", *options, "-e", "/dev/null", "-N", "h", "-b", "y", "echo", "$0")

    cases = {
        f"localhost:{place}/no,{here.upper()}:{place}/$JOB_NAME.$JOB_ID,{place}/rest": "h.{}",
        f"{place}/rest.$HOSTNAME,localhost:{place}/no": f"rest.{here}",
        # As in Grid Engine: the last path of a list in which no path counts.
        f"localhost:{place}/no,localhost.there:{place}/last": "last",
        f"{here}:{place}/dir,{place}/rest": "dir/h.o{}",
    }
    for paths, name in cases.items():
        number = ran("-o", paths)
        assert (place / name.format(number)).read_text() == "-sh\n", paths
        (place / name.format(number)).unlink()
    assert [each.name for each in place.iterdir()] == ["dir"]
    shell = tmp_path / "shell"
    shell.symlink_to("/bin/sh")
    number = ran("-o", f"{place}/sh", "-S", f"localhost:/nosuch,{here}:{shell},/bin/none")
    assert (place / "sh").read_text() == "shell\n"
    number = ran("-o", f"{place}/sh", "-S", "localhost:/nosuch")
    assert (place / "sh").read_text() == "shell\n-sh\n"
    number = desk.qsub("-h", "-S", f"{here}:/bin/bash,/bin/sh", "-o", f"{here}:/x,/y", "-b", "y", "true")
    told = desk("qstat", "-j", str(number)).out
    assert f"shell_list:                 {here}:/bin/bash,NONE:/bin/sh\n" in told
    assert f"stdout_path_list:           {here}:NONE:/x,NONE:NONE:/y\n" in told
    changed = desk("qalter", "-o", f"localhost:/no,{here}:{place}/altered", str(number))
    assert changed.err == ""
    desk("qalter", "-h", "n", str(number))
    desk.pool.wait(number)
    assert (place / "altered").read_text() == ""
    number = desk.qsub("-h", "-b", "y", "true")
    refused = desk("qalter", "-o", "nosuchhost:/a", str(number), status=FAILED)
    assert 'can\'t resolve hostname "nosuchhost"' in refused.out + refused.err


@pytest.mark.parametrize("size", [0, 3_000_000])
def test_scripts_may_be_long_and_have_any_bytes_but_0(desk: Desk, tmp_path: Path, size: int) -> None:
    data = b"#$ -N packed\ncat $0 > $1; exit 0\n" + bytes(range(1, 256)) + b"x" * size
    script = tmp_path / "any.sh"
    script.write_bytes(data)
    done = desk("qsub", "-sync", "y", "-o", "/dev/null", "-j", "y", str(script), str(tmp_path / "copy"))
    assert '("packed")' in done.out
    assert (tmp_path / "copy").read_bytes() == data
    held = desk.qsub("-h", str(script))
    assert desk.qsub("-terse", "-sync", "y", text="true\n")
    again = re.search(r"\d+", desk("qresub", str(held)).out)
    assert again and desk.pool.job(f"{again[0]}.0")["CellScript"] == desk.pool.job(f"{held}.0")["CellScript"]


def test_scripts_without_text_or_with_a_byte_0_are_refused(desk: Desk, tmp_path: Path) -> None:
    script = tmp_path / "no.sh"
    for data, words in (
        (b"true\n\0", "Script length does not match declared length"),
        (b"", "job rejected: no script in your request"),
    ):
        script.write_bytes(data)
        assert desk("qsub", str(script), status=FAILED).err == f"Unable to run job: {words}\nExiting.\n"
    script.write_bytes(os.urandom(3_000_000).replace(b"\0", b"1"))
    assert "is longer than 3000000 bytes when compressed" in desk("qsub", str(script), status=FAILED).err


def test_a_pool_without_a_cell_takes_no_jobs_of_qsub(tmp_path: Path) -> None:
    with running(tmp_path / "plain", cpus=1) as pool:
        done = Desk(pool)("qsub", "-b", "y", "true", status=FAILED)
    assert done.err == "Unable to run job: the pool has no Grid Engine cell\nExiting.\n"
    assert "Unable to contact qmaster" in Desk(pool)("qsub", "-b", "y", "true", status=FAILED).err
