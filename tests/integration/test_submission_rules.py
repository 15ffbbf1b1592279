"""The administrator's rules for what is submitted, as users meet them."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

from tests.integration.kit import Pool

RULES = """
JOB_TRANSFORM_NAMES = tag
JOB_TRANSFORM_tag = SET Site "lab"
SUBMIT_REQUIREMENT_NAMES = memory, project
SUBMIT_REQUIREMENT_memory = RequestMemory <= 1024
SUBMIT_REQUIREMENT_memory_REASON = strcat(RequestMemory, " MB are too many: 1024 at most")
SUBMIT_REQUIREMENT_project = Project =!= undefined
SUBMIT_REQUIREMENT_project_IS_WARNING = true
PROTECTED_JOB_ATTRS = Site
"""


def test_jobs_are_changed_refused_and_warned_of_until_the_rules_are_others(start: Callable[..., Pool]) -> None:
    pool = start(RULES, cpus=1)
    text = "executable = /bin/true\n{}\nqueue\n"
    done = pool.try_("submit", text=text.format("request_memory = 2000"))
    assert done.returncode != 0
    assert "SUBMIT_REQUIREMENT_memory: 2000 MB are too many: 1024 at most" in done.stderr
    assert pool.jobs() == []
    done = pool.try_("submit", text=text.format("hold = true"))
    assert done.returncode == 0
    assert "SUBMIT_REQUIREMENT_project is false: Project =!= undefined" in done.stderr
    (job,) = pool.jobs()
    assert job["Site"] == "lab"
    config = pool.home / "roost.config"
    config.write_text(config.read_text().replace("memory, project", "project"))
    pool("reconfig")
    assert pool.try_("submit", text=text.format("hold = true\nrequest_memory = 2000")).returncode == 0


def test_jobs_get_the_group_that_the_map_has_for_their_user(start: Callable[..., Pool], tmp_path: Path) -> None:
    users = tmp_path / "groups.map"
    me = pwd.getpwuid(os.geteuid()).pw_name
    users.write_text(f"* {me} physics,chemistry\n")
    pool = start(f"use FEATURE : AssignAccountingGroup({users})\n", cpus=1)
    text = "executable = /bin/true\nhold = true\n{}\nqueue\n"
    pool("submit", text=text.format(""))
    pool("submit", text=text.format("accounting_group = chemistry\naccounting_group_user = other"))
    refused = pool.try_("submit", text=text.format("accounting_group = maths"))
    assert refused.returncode != 0
    assert "not a member of accounting group maths" in refused.stderr
    found = {(job["AcctGroup"], job["AccountingGroup"]) for job in pool.jobs()}
    assert found == {("physics", f"physics.{me}"), ("chemistry", f"chemistry.{me}")}
