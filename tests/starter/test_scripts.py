"""Prolog and epilog: what their commands may name, and what reaches one that runs as somebody else."""

from __future__ import annotations

import pytest

from roost.starter.scripts import breaks_slot, expanded, for_somebody_else


def test_pseudo_variables_stay_within_their_words() -> None:
    values = {"job_id": "7", "job_name": "a b; rm -rf $host", "host": "desk"}
    assert expanded(("--job=$job_id", "$job_name", "$host.x", "$other", "$$"), values) == (
        "--job=7",
        "a b; rm -rf $host",
        "desk.x",
        "$other",
        "$$",
    )


@pytest.mark.parametrize(
    ("status", "breaks"), [(0, False), (99, False), (100, False), (1, True), (-9, True), (None, True)]
)
def test_a_status_that_blames_the_machine_closes_its_slot(status: int | None, breaks: bool) -> None:
    assert breaks_slot(status) is breaks


def test_what_would_change_a_program_of_somebody_else_does_not_reach_it() -> None:
    bad = (
        *("LD_PRELOAD", "IFS", "BASH_ENV", "ENV", "PATH", "MANPATH", "PYTHONSTARTUP", "PERL5OPT", "BASH_FUNC_x%%"),
        *("HOME", "USER", "SHELL", "CURL_HOME", "XDG_CONFIG_HOME", "WGETRC", "TAR_OPTIONS", "https_proxy", "MAKEFLAGS"),
        *("OPENSSL_CONF", "GLIBC_TUNABLES", "RSYNC_RSH", "LESSOPEN", "VIMINIT"),
    )
    good = {"JOB_ID": "1", "MYVAR": "x", "OLD_LD_X": "y", "HOMES": "z"}
    assert for_somebody_else({**dict.fromkeys(bad, "/evil"), **good}) == good
