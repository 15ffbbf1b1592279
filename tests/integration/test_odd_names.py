"""Files whose names are not UTF-8: they are moved like others, and nobody falls silent about them."""

from __future__ import annotations

import os
from collections.abc import Callable

from tests.integration.kit import Pool, eventually

Start = Callable[..., Pool]

_TRANSFER = "should_transfer_files = yes\nwhen_to_transfer_output = on_exit\n"
_ODD = os.fsdecode(b"a\xff")


def test_a_machine_goes_on_after_a_job_that_leaves_what_has_no_name_in_utf_8(start: Start) -> None:
    """Its machine could not tell how the job had ended, and told nobody anything from then on."""
    pool = start(cpus=1)
    job = pool.submit(f"{_TRANSFER}transfer_output_files = d\n", script="mkdir d; mkfifo $(printf 'd/a\\377')")
    held = pool.seen(f"{job}.0", JobStatus=5)
    assert held["HoldReason"].endswith(r"d/a\xff is neither a file nor a directory")
    pool.wait(pool.submit("", script="exit 0"))


def test_files_with_odd_names_are_moved_like_others(start: Start) -> None:
    """Their jobs waited for their input forever."""
    pool = start()
    (pool.work / "in").mkdir()
    for name, text in ((_ODD, "odd"), (r"a\xff", "plain"), ("b", "b")):
        (pool.work / "in" / name).write_text(text)
    script = "cp -r in out; printf more >> $(printf 'out/a\\377')"
    pool.wait(pool.submit(f"{_TRANSFER}transfer_input_files = in\ntransfer_output_files = out\n", script=script))
    found = {path.name: path.read_text() for path in (pool.work / "out").iterdir()}
    assert found == {_ODD: "oddmore", r"a\xff": "plain", "b": "b"}


def test_what_a_run_has_saved_under_an_odd_name_is_output_of_the_next(start: Start) -> None:
    pool = start()
    script = "f=$(printf 'a\\377'); test -e $f && exit 0; echo kept > $f; touch $1/begun; sleep 1000"
    text = "should_transfer_files = yes\nwhen_to_transfer_output = on_exit_or_evict\n"
    job = pool.submit(f"arguments = {pool.work}\n{text}", script=script)
    eventually((pool.work / "begun").exists, "the start of the job")
    pool("vacate", str(job))
    pool.wait(job)
    assert (pool.work / _ODD).read_text() == "kept\n"
