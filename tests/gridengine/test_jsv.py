"""Verifiers of submissions without a process: what they are told, what they say, and the job that comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from roost.cli.gridengine.description import Work, plan_of
from roost.gridengine.cell import new_cell, read_cell, write_cell
from roost.gridengine.commands.errors import Failure
from roost.gridengine.commands.options import taken
from roost.gridengine.commands.qsub import OPTIONS, Asked
from roost.gridengine.jsv.parameters import (
    JsvSubmitter,
    Misused,
    Submission,
    corrected,
    environment,
    not_allowed,
    parameters_of,
)
from roost.gridengine.jsv.protocol import LINES_MAX, Broken, Conversation, Result, Verdict, escaped, unescaped
from roost.gridengine.jsv.url import BadUrl, Settings, Url, read_url, settings_of
from roost.runtime.local_time import date_time, instant
from roost.schedd.submit.host import MemorySubmitHost

BY = JsvSubmitter(
    user="ann",
    group="staff",
    home="/home/ann",
    host="here",
    submit_host=MemorySubmitHost(),
    now=1e9,
    date_time=date_time,
    instant=instant,
)


def said(*lines: str) -> Verdict:
    """What a verifier says after it has started."""
    talk = Conversation([("N", "a")], {})
    talk.heard("STARTED\n")
    for line in lines:
        assert talk.heard(f"{line}\n") == []
    return talk.verdict


def test_the_environment_is_told_to_those_who_ask_for_it() -> None:
    parameters = [("VERSION", "1.0"), ("N", "two\nlines"), ("P", "")]
    for wants in (False, True):
        talk = Conversation(parameters, {"A": "1\t2\n\\", "B": ""})
        assert talk.begin() == ["START"]
        if wants:
            assert talk.heard("SEND ENV\n") == []
        variables = ["ENV ADD A 1\\t2\\n\\\\", "ENV ADD B"] if wants else []
        assert talk.heard("STARTED\n") == ["PARAM VERSION 1.0", "PARAM N two lines", "PARAM P", *variables, "BEGIN"]
    assert unescaped(escaped("a\\nb\n\v\x07\\")) == "a\\nb\n\v\x07\\"


def test_a_verdict_has_corrections_messages_and_a_result() -> None:
    found = said("LOG INFO hello there", "PARAM N b", "PARAM P ", "PARAM i", "ENV ADD A x y", "ENV MOD B", "ENV DEL C",
                 "", "RESULT STATE CORRECT it was changed")  # fmt: skip
    assert found.messages == [("INFO", "hello there")]
    assert found.parameters == {"N": "b", "P": "", "i": ""}
    assert found.environment == {"A": "x y", "B": "", "C": None}
    assert (found.result, found.text, found.accepts) == (Result.CORRECT, "it was changed", True)
    assert not said("RESULT STATE REJECT_WAIT").accepts


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("HELLO", 'master got unknown command from JSV: "HELLO"'),
        ("STARTED", 'master got unknown command from JSV: "STARTED"'),
        ("LOG LOUD x", 'master got unknown command from JSV: "LOG"'),
        ("ENV TAKE A", 'master got unknown command from JSV: "ENV"'),
        ("RESULT IS fine", 'master got unknown command from JSV: "RESULT"'),
        ("RESULT STATE PERHAPS", 'JSV sent unknown result "PERHAPS"'),
    ],
)
def test_what_is_not_of_the_protocol_is_refused_in_grid_engines_words(line: str, words: str) -> None:
    with pytest.raises(Broken) as caught:
        said(line)
    assert str(caught.value) == words


def test_corrections_come_after_the_start_and_lines_are_counted() -> None:
    with pytest.raises(Broken, match="unknown command"):
        Conversation([], {}).heard("PARAM N x\n")
    talk = Conversation([], {})
    for _ in range(LINES_MAX):
        talk.heard("LOG INFO x\n")
    with pytest.raises(Broken, match="more than 10000 lines"):
        talk.heard("LOG INFO x\n")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("script:/a/b", Url("/a/b")),
        ("script:ann@/a/b", Url("/a/b", "ann")),
        ("ann@/a b", Url("/a b", "ann")),
        ("/a:b@c", Url("/a:b@c")),
        ("jsv.sh", Url("jsv.sh")),
    ],
)
def test_urls_name_a_program_and_an_account(text: str, url: Url) -> None:
    assert read_url(text) == url


@pytest.mark.parametrize("text", ["http://x/y", "perl:/a", "script:", ""])
def test_other_urls_are_refused(text: str) -> None:
    with pytest.raises(BadUrl):
        read_url(text)


def settings(**values: str) -> Settings:
    files = write_cell(new_cell())
    name = "configurations/global"
    kept = [line for line in files[name].splitlines() if line.partition(" ")[0] not in values]
    files[name] = "\n".join([*kept, *(f"{key} {value}" for key, value in values.items())]) + "\n"
    return settings_of(read_cell(files))


def test_the_configuration_of_a_cell_names_the_verifier_and_its_times() -> None:
    default = frozenset(("ac", "h", "i", "e", "o", "j", "M", "N", "p", "w"))
    assert settings() == Settings(url=None, changeable=default, timeout_s=10, threshold_ms=5000)
    found = settings(
        jsv_url="script:/a", jsv_allowed_mod="none", qmaster_params="FORBID_APPERROR=1 jsv_timeout=3,jsv_threshold=0"
    )
    assert found == Settings(url="script:/a", changeable=frozenset(), timeout_s=3, threshold_ms=0)
    assert settings(qmaster_params="jsv_timeout=0,jsv_threshold=x")[2:] == (10, 5000)


def submitted(*words: str, command: str = "/bin/echo") -> Submission:
    given, rest = taken("qsub", ["-b", "y", *words, command, "x y", "$$(z)"], OPTIONS)
    asked = Asked()
    asked.take(given)
    return Submission(plan=plan_of(asked, Work(None, rest[0], tuple(rest[1:])))[1])


ALL = ("-a", "203001020304.05", "-A", "acc", "-wd", "/tmp", "-e", "/e", "-o", "/o", "-i", "/i", "-j", "y", "-l",
       "h_rt=5,mem_free=1M", "-q", "all.q,b.q@n", "-masterq", "all.q", "-M", "a@b,c@d", "-N", "full", "-P", "prj", "-p",
       "-5", "-pe", "make", "2-4", "-r", "y", "-S", "/bin/sh", "-shell", "n", "-R", "y", "-notify",
       "-js", "3", "-ckpt", "ck", "-c", "sx", "-t", "2-10:2", "-tc", "2", "-h", "-soft",
       "-l", "arch=x", "-q", "a*")  # fmt: skip


def test_a_verifier_is_told_what_the_options_say() -> None:
    found = dict(parameters_of(submitted(*ALL), BY))
    assert found == {
        "VERSION": "1.0", "CONTEXT": "server", "CLIENT": "qmaster", "USER": "ann", "GROUP": "staff", "JOB_ID": "0",
        "CMDNAME": "/bin/echo", "CMDARGS": "2", "CMDARG0": "x y", "CMDARG1": "$$(z)", "a": "203001020304.05",
        "A": "acc", "b": "y", "cwd": "/tmp", "e": "/e", "h": "u", "i": "/i", "j": "y", "l_hard": "h_rt=5,mem_free=1M",
        "l_soft": "arch=x", "M": "a@b,c@d", "masterq": "all.q", "N": "full", "o": "/o", "P": "prj", "p": "-5",
        "pe_name": "make", "pe_min": "2", "pe_max": "4", "q_hard": "all.q,b.q@n", "q_soft": "a*", "r": "y",
        "S": "/bin/sh", "shell": "n", "R": "y", "notify": "y",
        "js": "3", "ckpt": "ck", "c_occasion": "sx", "t_min": "2", "t_max": "10", "t_step": "2", "tc": "2",
    }  # fmt: skip
    plain = dict(parameters_of(submitted(), BY))
    assert set(plain) - {"CMDARG0", "CMDARG1"} == {
        "VERSION", "CONTEXT", "CLIENT", "USER", "GROUP", "JOB_ID", "CMDNAME", "CMDARGS", "b", "N",
    }  # fmt: skip


_INSTANTS = ("QDate", "EnteredCurrentStatus")


def ads(submission: Submission) -> list[dict[str, Any]]:
    """The jobs, whole but for when they were planned."""
    plans = submission.plan.for_cluster(7).ads()
    return [{name: str(ad.cell(name.lower())) for name in ad if name not in _INSTANTS} for ad in plans]


@pytest.mark.parametrize("words", [(), ALL, ("-t", "3", "-cwd"), ("-h", "-r", "n", "-o", "/tmp/")])
def test_a_job_that_is_planned_again_is_the_same(words: tuple[str, ...]) -> None:
    before = submitted(*words)
    # A correction and its opposite; the second one makes it the job that it was.
    changed, _ = corrected(before, said("PARAM A other", "ENV ADD NEW x", "RESULT STATE CORRECT"), BY)
    account = dict(parameters_of(before, BY)).get("A", "")
    back, _ = corrected(changed, said(f"PARAM A {account}", "ENV DEL NEW", "RESULT STATE CORRECT"), BY)
    assert ads(changed) != ads(before)
    assert ads(back) == ads(before)
    assert environment(back) == environment(before)


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("PARAM l_hard h_rt=9", ("-l", "h_rt=9")),
        ("PARAM l_soft arch=x", ("-soft", "-l", "arch=x")),
        ("PARAM q_hard b.q", ("-q", "b.q")),
        ("PARAM q_soft b.q", ("-soft", "-q", "b.q")),
        ("PARAM N other", ("-N", "other")),
        ("PARAM A acc", ("-A", "acc")),
        ("PARAM a 203001020304.00", ("-a", "203001020304")),
        ("PARAM p -7", ("-p", "-7")),
        ("PARAM P prj", ("-P", "prj")),
        ("PARAM r n", ("-r", "n")),
        ("PARAM j y", ("-j", "y")),
        ("PARAM o /x/$JOB_ID.$JOB_NAME", ("-o", "/x/$JOB_ID.$JOB_NAME")),
        ("PARAM e /x", ("-e", "/x")),
        ("PARAM i /x", ("-i", "/x")),
        ("PARAM cwd /var/$USER", ("-wd", "/var/$USER")),
        ("PARAM h u", ("-h",)),
        ("PARAM tc 3", ("-tc", "3")),
        ("PARAM dl 203001020304.00", ("-dl", "203001020304")),
        ("PARAM R y", ("-R", "y")),
        ("PARAM notify y", ("-notify",)),
        ("PARAM js 5", ("-js", "5")),
        ("PARAM ckpt c", ("-ckpt", "c")),
        ("PARAM M a@b", ("-M", "a@b")),
        ("PARAM S /bin/ksh", ("-S", "/bin/ksh")),
        ("PARAM shell n", ("-shell", "n")),
        ("ENV ADD X a\\nb", ("-v", "X=a\nb")),
    ],
)
def test_a_correction_does_what_the_option_does(
    line: str, option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    found, warnings = corrected(submitted(), said(line, "RESULT STATE CORRECT"), BY._replace(user=_user()))
    wanted = ads(submitted(*option))
    given = ads(found)
    assert warnings == []
    assert [sorted(each.items()) for each in given] == [sorted(each.items()) for each in wanted]


def _user() -> str:
    from roost.runtime.identity import user_name

    return user_name()


def test_tasks_parallel_requests_and_the_command_are_corrected() -> None:
    changes = "t_min 1,t_max 5,t_step 2,pe_name mpi,pe_min 2,pe_max 8,CMDNAME /bin/true,CMDARGS 1,CMDARG0 a  'b'"
    lines = (*(f"PARAM {each}" for each in changes.split(",")), "RESULT STATE CORRECT")
    found, _ = corrected(submitted("-N", "n"), said(*lines), BY)
    jobs = ads(found)
    assert len(jobs) == 3 and {job["CellParallel"] for job in jobs} == {"mpi 2-8"}
    assert [job["Out"].rpartition("/")[2] for job in jobs] == ["n.o7.1", "n.o7.3", "n.o7.5"]
    assert (jobs[0]["Cmd"], jobs[0]["Arguments"]) == ("/bin/true", "a'  '''b''''")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("PARAM USER bob", 'JSV tries to modify read-only parameter "USER"'),
        ("PARAM j", 'JSV tries to delete boolean parameter "j"'),
        ("PARAM binding_type set", 'JSV sets "binding_type" to "set", which Roost does not act on'),
        ("PARAM hold_jid 5", 'JSV sets "hold_jid", which is possible in a JSV of qsub only'),
        ("PARAM b n", 'JSV sets "b": a script cannot become a command'),
        ("PARAM h s", 'JSV sets "h" to "s": a job begins with the hold u, or none'),
        ("PARAM CMDARGS many", "which is not a number of arguments"),
        ("PARAM N 1a", "is not a valid object name"),
        ("PARAM tc x", 'invalid task concurrency number "x"'),
        ("PARAM a soon", "Wrong date/time format"),
    ],
)
def test_a_correction_that_cannot_act_is_refused(line: str, words: str) -> None:
    with pytest.raises((Misused, Failure)) as caught:
        corrected(submitted("-j", "y"), said(line, "RESULT STATE CORRECT"), BY)
    assert words in str(caught.value)


def test_what_has_no_effect_is_told() -> None:
    before = submitted()
    found, warnings = corrected(before, said("PARAM nosuch 1", "PARAM m be", "PARAM R n", "RESULT STATE ACCEPT"), BY)
    assert [text.partition(":")[0] for text in warnings] == [
        'JSV sets "nosuch", which is not a parameter of jobs',
        "JSV sets m",
    ]
    assert ads(found) == ads(before)


def test_only_some_parameters_of_other_jobs_can_be_corrected() -> None:
    from roost.schedd.submit import SubmitContext, read_submission

    text = "executable = /bin/echo\narguments = a b\noutput = o\ncell_resources = lic=1\nqueue 2\n"
    host = MemorySubmitHost()
    context = SubmitContext(host=host, now=0.0, owner="ann", uid_domain="", look_at_files=False)
    found = read_submission(text, "x", context)
    (plan,) = found.clusters
    submission = Submission(plan=plan)
    told = dict(parameters_of(submission, BY))
    assert {name: told[name] for name in ("CMDNAME", "CMDARGS", "CMDARG1", "l_hard", "t_max", "N")} == {
        "CMDNAME": "/bin/echo", "CMDARGS": "2", "CMDARG1": "b", "l_hard": "lic=1", "t_max": "2", "N": "echo",
    }  # fmt: skip
    lines = ("PARAM l_hard lic=2", "PARAM p 5", "PARAM pe_name mpi", "PARAM pe_min 2", "PARAM pe_max 2", "ENV ADD A 1")
    fixed, _ = corrected(submission, said(*lines, "RESULT STATE CORRECT"), BY)
    job = ads(fixed)[1]
    assert (job["CellResources"], job["JobPrio"], job["CellParallel"], job["Environment"]) == (
        "lic=2", "5", "mpi 2", "A=1",
    )  # fmt: skip
    with pytest.raises(Misused, match='JSV sets "o" of a job that qsub did not submit'):
        corrected(submission, said("PARAM o /x", "RESULT STATE CORRECT"), BY)


def test_qalter_may_change_what_is_allowed() -> None:
    from roost.classad import ClassAd

    given = ClassAd({"CellResources": "a=1", "CellJobName": "x", "Other": 1})
    assert not_allowed(given, frozenset(("l_hard", "N"))) == ""
    words = "rejected due to jsv_allowed_mod configuration which does not allow: l_hard"
    assert not_allowed(given, frozenset(("N",))) == words
    assert not_allowed(ClassAd({"Other": 1}), frozenset()) == ""
    words = "No job modification allowed due to jsv_allowed_mod configuration"
    assert not_allowed(ClassAd({"CellHolds": "u"}), frozenset()) == words
