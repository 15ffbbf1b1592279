"""The table of hooks is that of the rooms and of the knobs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from website.manual.hooks import blocks, picture

from roost.config.knobs import ALL
from roost.model.starter import HookPoint
from roost.node.hook_table import HOOKS, RunBy
from roost.runtime.node.fetching import TIMEOUT_S
from roost.starter.configured import TIMEOUT_S as STARTER_TIMEOUT_S


def test_the_table_has_every_hook() -> None:
    assert {row.name for row in HOOKS if row.by is RunBy.STARTER} == set(HookPoint)
    assert {row.name for row in HOOKS if row.by is RunBy.SLOT} == {"FETCH_WORK", "REPLY_FETCH", "EVICT_CLAIM"}


def test_each_hook_has_its_knobs_with_the_time_of_the_table() -> None:
    knobs = {row.name: row for row in ALL}
    for row in HOOKS:
        limit = knobs[f"{row.knob}_TIMEOUT"]
        assert row.knob in knobs
        assert limit.default == (None if row.limit_s is None else str(row.limit_s)), row.name
    times = {row.name: row.limit_s for row in HOOKS if row.limit_s is not None}
    assert times == {**TIMEOUT_S, **STARTER_TIMEOUT_S}


def test_the_page_tells_every_hook_and_the_picture_is_whole() -> None:
    text, drawn = "\n".join(blocks()["reference/hooks.md"]["hooks"]), picture()
    for row in HOOKS:
        assert f"### {row.name}\n" in text
    assert ET.fromstring(drawn).tag.endswith("svg")
    for name in (
        "FETCH_WORK",
        "REPLY_FETCH",
        "PREPARE_JOB",
        "UPDATE_JOB_INFO",
        "VACATE_JOB",
        "JOB_EXIT",
        "EVICT_CLAIM",
    ):
        assert name in drawn
