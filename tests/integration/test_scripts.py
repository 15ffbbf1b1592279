"""Prolog and epilog of a real pool, as sh, Perl and Python programs: what their status does to job and slot."""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.integration.kit import Pool, eventually

PROLOG: str = """\
#!/usr/bin/perl
# Perl: prints to the job's output, and ends as the job's environment says.
$| = 1;
print "prolog of $ARGV[0] for $ARGV[1] in $ENV{WHERE} $ENV{QUEUE}\\n";
if (-e "@PLACE@/broken") { exit 7 }
exit($ENV{PROLOG_STATUS} && ! -e "@PLACE@/tried.$ENV{JOB_ID}" ? do { open(my $f, ">", "@PLACE@/tried.$ENV{JOB_ID}");
    $ENV{PROLOG_STATUS} } : 0);
"""
EPILOG: str = """\
#!/bin/sh
echo "epilog: the job ended with $SGE_JOBEXIT_STAT"
[ -z "$EPILOG_STATUS" ] || [ -z "$SGE_JOBEXIT_STAT" ] || [ -e @PLACE@/after.$JOB_ID ] && exit 0
touch @PLACE@/after.$JOB_ID
exit $EPILOG_STATUS
"""
AS_ADMIN: str = """\
#!/usr/bin/env python3
import os, pathlib
told = [os.environ.get("BASH_ENV", "-"), os.environ.get("MINE", "-"), os.getcwd()]
pathlib.Path("@PLACE@/admin").write_text(" ".join(told))
"""


def scripts(place: Path) -> Path:
    place.mkdir(mode=0o755)
    for name, text in (("prolog", PROLOG), ("epilog", EPILOG), ("admin.py", AS_ADMIN)):
        path = place / name
        path.write_text(text.replace("@PLACE@", str(place)))
        path.chmod(0o755)
    return place


def test_prolog_and_epilog_decide_what_becomes_of_job_and_slot(start: Callable[..., Pool], tmp_path: Path) -> None:
    place = scripts(tmp_path / "site")
    pool = start(f"STARTER_PROLOG = {place}/prolog $job_id $job_owner\nSTARTER_EPILOG = {place}/epilog\n", cpus=4)
    out = pool.work / "out"
    first = pool.submit(f"output = {out}\nenvironment = WHERE=here", script="echo job; exit 3")
    again = pool.submit("environment = PROLOG_STATUS=99;EPILOG_STATUS=99", script="exit 0")
    held = {code: pool.submit(f"environment = {point}_STATUS=100", script="exit 0") for point, code in HELD.items()}
    pool.wait(first, again, status=1)
    begun, *rest = out.read_text().splitlines()
    assert begun.startswith(f"prolog of {first} for {getpass.getuser()} in here slot")
    assert rest == ["job", "epilog: the job ended with 3"]
    assert (place / f"tried.{again}").exists() and (place / f"after.{again}").exists()
    assert pool.job(f"{again}.0")["NumJobStarts"] == 2
    # The scripts of a job are in the log under the id that follows it through all logs.
    log, request = (pool.home / "log" / "node.log").read_text(), pool.job(f"{first}.0")["SubmitRequestId"]
    for point, path in (("prolog", place / "prolog"), ("epilog", place / "epilog")):
        assert re.search(rf"{first}\.0#\S+ \[{request}\]: the {point} {path} exited with status 0", log)
    for code, cluster in held.items():
        ad = pool.seen(f"{cluster}.0", JobStatus=5)
        assert (ad["HoldReasonCode"], ad["HoldReasonSubCode"]) == (code, 100)
    assert not closed(pool)

    (place / "broken").touch()
    sent_back = pool.submit("", script="exit 0")
    (name, *_) = eventually(lambda: closed(pool), "a slot to be closed")
    log = (pool.home / "log" / "node.log").read_text()
    assert f"{name} accepts no jobs until you run `roost reopen {name}`: The prolog exited with status 7" in log
    (place / "broken").unlink()
    assert f"{name} accepts jobs again" in pool("reopen", name)
    pool("reopen", name, status=1)
    # Another one may have tried meanwhile.
    pool.try_("reopen", name.partition("@")[2])
    pool.wait(sent_back)


#: Which status 100 leads to which hold.
HELD = {"PROLOG": 43, "EPILOG": 44}


def closed(pool: Pool) -> list[str]:
    """The slots whose prolog has failed."""
    ads = json.loads(pool("status", "--json", "--long"))
    return [ad["Name"] for ad in ads if ad.get("SlotBrokenReason") == "The prolog exited with status 7"]


def test_a_script_runs_as_somebody_else_only_where_the_administrator_says_so(
    start: Callable[..., Pool], tmp_path: Path
) -> None:
    place = scripts(tmp_path / "site")
    me = getpass.getuser()
    other = "daemon" if me != "daemon" else "nobody"
    types = "".join(
        f"SLOT_TYPE_{number} = cpus=1\nNUM_SLOTS_TYPE_{number} = 1\n"
        f"SLOT_TYPE_{number}_START = TARGET.Kind == {number}\n"
        for number in (1, 2)
    )
    pool = start(
        f"{types}SLOT_TYPE_1_STARTER_PROLOG = {other}@{place}/admin.py\n"
        f"SLOT_TYPE_2_STARTER_PROLOG = {me}@{place}/admin.py\nSTARTER_SCRIPT_USERS = {me}\n",
        cpus=2,
    )
    well = pool.submit("+Kind = 2\nenvironment = MINE=yes", script="exit 0")
    pool.wait(well)
    assert (place / "admin").read_text().split()[:2] == ["-", "yes"]
    pool.submit("+Kind = 1", script="exit 0")
    eventually(lambda: "The prolog could not be run" in pool("status", "--long"), "the slot to be closed")
    log = "".join(path.read_text() for path in (pool.home / "log").iterdir())
    assert f"STARTER_SCRIPT_USERS does not name {other}" in log
