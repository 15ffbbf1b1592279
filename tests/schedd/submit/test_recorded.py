"""Ads of single jobs as the reference makes them, recorded with release 25.14.1, and where Roost means to differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from roost.classad.forms import Form, format_ad
from roost.config import Severity
from roost.schedd.submit import SubmitCode
from roost.schedd.submit.foreign import without_effect
from tests.schedd.submit.machine import submitted

RECORD: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))
BASE: Final[dict[str, str]] = RECORD["base"]

#: Attributes that the reference does not have, or that tell who submitted.
OURS: Final = {"Owner", "User", "JobRunCount", "NumShadowStarts", "NumHolds"}

#: Parts of the reference's requirements that say of which release a machine is, or what every machine of Roost can do.
CLAUSES: Final = (
    (
        '(versionGE(split(TARGET.CondorVersion)[1],"25.12.0") || (TARGET.Disk >= RequestDisk))',
        "(TARGET.Disk >= RequestDisk)",
    ),
    (' && versioncmp(split(TARGET.CondorVersion)[1],"8.9.7") >= 0', ""),
    (" && TARGET.HasSelfCheckpointTransfers", ""),
    (" && TARGET.HasPerFileEncryption", ""),
    ("(TARGET.HasFileTransfer)", "TARGET.HasFileTransfer"),
)

#: Lines of descriptions for which Roost means to do otherwise, by the heading in differences.md.
DIFFERENT: Final[dict[str, tuple[str, ...]]] = {
    "universes": ("universe = local", "universe = scheduler", "universe = parallel", "universe = grid"),
    "files-that-are-missing": (
        "executable = nosuch",
        "executable = x$(Process)",
        "executable = sleep2",
        "input = nosuch",
        "container_image = debian.sif",
        "transfer_input_files = nosuch",
        "transfer_input_files = d/e",
        "transfer_input_files = $(x)",
        "transfer_input_files = a.dat a b.dat",
        "transfer_input_files = a\n",
    ),
    "containers": ("container_image = docker://",),
    "sizes": ("request_memory = -5",),
    "more-memory": ("retry_request_memory",),
    "resources": ("request_foo = undefined",),
    "words": ("when_to_transfer_output = never", "hold = yes", "hold = t\n", "kill_sig = usr1", "kill_sig = TERM"),
    "limits": ("concurrency_limits = b:-1", "concurrency_limits = a:x", "concurrency_limits = A a"),
    "reasons": ("periodic_remove_reason",),
    "computed": ("kill_sig = 5+4", "retry_until = true", "$INT(nosuch)", "max_idle = foo"),
    "hooks": ("hook_keyword", "hookkeyword"),
    "factories": ("max_materialize = 5",),
    "not-acted-on": (
        "transfer_plugins",
        "append_files",
        "buffer_size",
        "compress_files",
        "cuda_version",
        "fetch_files",
        "local_files",
        "tool_daemon_cmd",
        "public_input_files",
    ),
    "environment": ("env = A=1\nenvironment = B=2",),
    "warnings": (
        "Cpus > 3\nrequest_cpus=2",
        "requirements = MY.Disk",
        "+Foo = bar",
        "transfer_checkpoint_files = a\n",
        "on_exit_remove = ExitCode == 0",
        "leave_in_queue = true",
    ),
    "lists": ("transfer_checkpoint_files = a, b",),
    "names": ("+1x = 3",),
    "kept-by-the-queue": ('+Owner = "x"', "+JobStatus = 2"),
    "preset-names": ("Process=7", "$(SUBMIT_FILE)"),
}


def different(text: str) -> str | None:
    return next((why for why, parts in DIFFERENT.items() if any(part in text for part in parts)), None)


def attributes(text: str) -> tuple[list[dict[str, str]], bool, bool]:
    """The jobs' ads as lines, whether the description was refused, and whether something was warned of."""
    found = submitted(text)
    ads = []
    for cluster in found.clusters:
        for ad in cluster.for_cluster(100).ads():
            lines = (line.partition(" = ") for line in format_ad(ad, Form.OLD).splitlines())
            ads.append({name: text for name, _, text in lines if name and name not in OURS})
    # What nothing comes of here is said besides.
    warnings = [one for one in found.findings if one.severity is Severity.WARNING]
    warned = any(one.code != SubmitCode.NO_EFFECT or without_effect((one.name or "").lower()) for one in warnings)
    return ads, bool(found.errors), warned


def told(ad: dict[str, str]) -> dict[str, str]:
    """An ad of the reference without what Roost never says."""
    for theirs, ours in CLAUSES:
        if "Requirements" in ad:
            ad["Requirements"] = ad["Requirements"].replace(theirs, ours)
    return {name: text for name, text in ad.items() if name not in OURS}


def disagreement(case: dict[str, Any]) -> str:
    ads, refused, warned = attributes(case["text"])
    if refused is not case["refused"]:
        return f"refused: {refused}"
    if refused:
        return ""
    for ours, theirs in zip(ads, case["ads"], strict=True):
        whole = told({name: text for name, text in {**BASE, **theirs}.items() if text is not None})
        ours = told(ours)
        wrong = {name: (ours.get(name), whole.get(name)) for name in ours | whole if ours.get(name) != whole.get(name)}
        if wrong:
            return str(wrong)
    return "" if warned is case["warned"] else f"warned: {warned}"


@pytest.mark.parametrize("case", RECORD["cases"], ids=lambda case: case["text"].replace("\n", " | ")[:90])
def test_the_ads_are_those_of_the_reference(case: dict[str, Any]) -> None:
    why, found = different(case["text"]), disagreement(case)
    assert bool(found) is (why is not None), found or f"no difference any more: {why}"


def test_every_difference_is_written_down() -> None:
    text = Path(__file__).parents[1].joinpath("differences.md").read_text(encoding="utf-8")
    assert [why for why in DIFFERENT if f"## {why}\n" not in text] == []
