"""``roost hook test``: what it shows of a hook, and what it says would follow."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.cli.__main__ import main
from roost.runtime.identity import user_name

if sys.platform != "linux":
    pytest.skip("hooks run on Linux only", allow_module_level=True)

FETCH = "#!/bin/sh\ngrep -q '^Memory' && echo 'Cmd = \"/bin/true\"' && echo 'Want = 5' && echo 'Owner = \"ann\"'\n"


@pytest.fixture
def hook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any, str]]:
    """Configure one hook, and try it."""
    home = tmp_path / "home"
    home.mkdir()
    place = tmp_path / "hooks"
    place.mkdir(mode=0o755)

    def tried(name: str, program: str, *words: str, config: str = "", mode: int = 0o755) -> tuple[int, Any, str]:
        path = place / "hook"
        path.write_text(program)
        path.chmod(mode)
        home.joinpath("roost.config").write_text(
            "use ROLE : Personal\nSTARTD_JOB_HOOK_KEYWORD = DB\n"
            f"DB_HOOK_{name} = {path}\nSTARTER_{name} = {path}\n{config}\n"
        )
        status = main(["hook", "test", name, "--home", str(home), "--json", *words])
        said = capsys.readouterr()
        return status, json.loads(said.out) if said.out else None, said.err

    return tried


@pytest.mark.parametrize(("start", "word"), [("TARGET.Want > 3", "accept"), ("TARGET.Want > 7", "reject")])
def test_a_fetched_job_is_judged_by_the_policy(hook: Callable[..., Any], start: str, word: str) -> None:
    status, told, _ = hook("FETCH_WORK", FETCH, config=f"START = {start}")
    assert status == 0 and told["output"].startswith("Cmd")
    assert any(line.startswith(f"REPLY_FETCH {word}: START is") for line in told["follows"])
    assert any('HookKeyword = "DB"' in line for line in told["follows"]) is (word == "accept")


def test_it_is_the_slot_of_this_machine_that_judges(hook: Callable[..., Any], tmp_path: Path) -> None:
    parts = "use FEATURE : PartitionableSlot"
    _, told, _ = hook("FETCH_WORK", FETCH, config=parts)
    assert any("does not have RequestCpus, RequestMemory, RequestDisk, which" in line for line in told["follows"])
    assert any(line.startswith("REPLY_FETCH reject: WithinResourceLimits") for line in told["follows"])
    asks = FETCH + "printf 'RequestCpus = 1\\nRequestMemory = 1\\nRequestDisk = 1\\n'\n"
    _, told, _ = hook("FETCH_WORK", asks, config=parts)
    assert any("A part of the slot is cut off" in line for line in told["follows"])
    two = "NUM_SLOTS = 2\nNUM_CPUS = 2\nSTART = SlotID != 2\n"
    assert "accept" in str(hook("FETCH_WORK", FETCH, config=two)[1]["follows"])
    assert "reject: START is false for this job on slot2@" in str(
        hook("FETCH_WORK", FETCH, "--slot", "2", config=two)[1]["follows"]
    )
    mine = tmp_path / "slot.ad"
    mine.write_text('Memory = 7\nState = "Unclaimed"\n')
    start = "START = MY.Memory == 7"
    assert "accept" in str(hook("FETCH_WORK", FETCH, "--slot-ad", str(mine), config=start)[1]["follows"])
    assert "has no slot 99" in hook("FETCH_WORK", FETCH, "--slot", "99")[2]


def test_a_prolog_has_the_words_and_variables_that_a_machine_gives_it(hook: Callable[..., Any]) -> None:
    script = '#!/bin/sh\nset -u\necho "$1 $JOB_NAME $SGE_TASK_ID $NSLOTS $SGE_STDOUT_PATH"\n'
    _, told, _ = hook("PROLOG", script, config="STARTER_PROLOG = $(STARTER_PROLOG) $job_name")
    assert told["output"] == "sleep sleep undefined 1 /dev/null\n"
    _, told, _ = hook("PROLOG", script, config="STARTER_PROLOG = daemon@$(STARTER_PROLOG)")
    assert "STARTER_SCRIPT_USERS does not name daemon" in told["follows"][0]


def test_no_output_is_no_work_and_no_ad_is_said_to_be_none(hook: Callable[..., Any]) -> None:
    assert "There is no work" in hook("FETCH_WORK", "#!/bin/sh\n")[1]["follows"][0]
    status, told, _ = hook("FETCH_WORK", "#!/bin/sh\necho nothing of use\n")
    assert status == 1 and "is not an ad" in told["failed"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'Cmd = \"/bin/other\"'", "runs with these attributes"),
        ("exit 0", "runs unchanged"),
        ("exit 3", "put on hold: Hook PREPARE_JOB exited with status 3 (code 19, 3)"),
        ("echo 'HookStatusCode = 300'", "goes back to its queue"),
    ],
)
def test_what_a_prepare_hook_decides_is_told(hook: Callable[..., Any], script: str, says: str) -> None:
    assert any(says in line for line in hook("PREPARE_JOB", f"#!/bin/sh\n{script}\n")[1]["follows"])


def test_words_and_ads_of_ones_own_reach_the_hook(hook: Callable[..., Any], tmp_path: Path) -> None:
    ad = tmp_path / "job.ad"
    ad.write_text("Mine = 7\n")
    script = "#!/bin/sh\necho \"$1 $(sed -n 's/^Mine = //p') $(grep -c -e -----)\"\n"
    status, told, _ = hook("JOB_EXIT", script, "--word", "remove", "--job", str(ad))
    assert (status, told["output"]) == (0, "remove 7 0\n"), "sed has read all, so grep finds nothing"


@pytest.mark.parametrize(
    ("status", "says"), [(0, "The job runs"), (99, "goes back"), (100, "on hold"), (5, "roost reopen")]
)
def test_the_end_of_a_prolog_is_told(hook: Callable[..., Any], status: int, says: str) -> None:
    assert any(says in line for line in hook("PROLOG", f"#!/bin/sh\nexit {status}\n")[1]["follows"])


def test_a_hook_that_a_machine_would_refuse_is_refused_here(hook: Callable[..., Any]) -> None:
    status, told, _ = hook("JOB_EXIT", "#!/bin/sh\n", mode=0o757)
    assert status == 1 and "is world-writable" in told["failed"]


def test_one_that_takes_too_long_is_killed(hook: Callable[..., Any]) -> None:
    status, told, _ = hook("JOB_EXIT", "#!/bin/sh\nsleep 100\n", "--time", "0.3")
    assert status == 1 and "took longer than 0.3 s" in told["failed"]


def test_names_that_there_are_not_are_told(hook: Callable[..., Any]) -> None:
    status, _, err = hook("NO_SUCH", "#!/bin/sh\n")
    assert status == 2 and "is not a hook" in err


def test_a_fetched_job_that_can_not_run_is_told_to_the_source(hook: Callable[..., Any]) -> None:
    wrong = FETCH + "echo 'JobUniverse = 7'\n"
    _, told, _ = hook("FETCH_WORK", wrong, config="START = True")
    text = "\n".join(told["follows"])
    assert "its starter cannot run this job, and runs STARTER_FAILURE" in text
    assert "JobUniverse is 7; fetched jobs are of universe 5 (vanilla)" in text
    assert "its starter runs this job" not in text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs as their owners")
def test_a_fetched_job_of_an_owner_without_account_is_told_to_the_source(hook: Callable[..., Any]) -> None:
    script = "#!/bin/sh\necho 'Cmd = \"/bin/true\"'; echo 'Owner = \"no-such-user-here\"'\n"
    _, told, _ = hook("FETCH_WORK", script, config="START = True")
    assert "this machine has no user 'no-such-user-here'" in "\n".join(told["follows"])


@pytest.mark.parametrize(
    ("ad", "says"),
    [
        (
            'Iwd = "@/none"',
            "The job's working directory cannot be entered: '@/none': No such file or directory; check 'ini",
        ),
        ('Iwd = "@/file"', "The job's working directory cannot be entered: '@/file': Not a directory"),
        (
            'Iwd = "@"\nIn = "none"',
            "The job's standard input cannot be opened: '@/none': No such file or directory; check",
        ),
        ('Iwd = "@"\nCmd = "none"', "The job's program cannot be executed: '@/none': No such file or directory; check"),
        ('Cmd = "/none"', "The job's program cannot be executed: '/none': No such file or directory; check"),
        ('Iwd = "@"', ""),
        ('Cmd = "in-the-scratch-directory"', ""),
    ],
)
def test_a_fetched_job_that_lacks_what_it_needs_is_told_as_the_machine_would(
    hook: Callable[..., Any], tmp_path: Path, ad: str, says: str
) -> None:
    """A job whose Iwd did not exist was said to be run."""
    (tmp_path / "file").touch()
    lines = f'Cmd = "/bin/true"\nOwner = "{user_name()}"\n{ad}'.replace("@", str(tmp_path))
    script = f"#!/bin/sh\ncat <<'AD'\n{lines}\nAD\n"
    _, told, _ = hook("FETCH_WORK", script, config="START = True")
    text = "\n".join(told["follows"])
    if says:
        assert says.replace("@", str(tmp_path)) in text
        assert "its starter cannot run this job, and runs STARTER_FAILURE" in text
    else:
        assert "its starter runs this job" in text
    prepares = tmp_path / "hooks" / "hook"
    _, told, _ = hook("FETCH_WORK", script, config=f"START = True\nDB_HOOK_PREPARE_JOB = {prepares}")
    assert ("PREPARE_JOB would have to create it" in "\n".join(told["follows"])) == bool(says)
