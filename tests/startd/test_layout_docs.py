"""The page on slots tells every code, and its examples are true."""

from __future__ import annotations

import re
from pathlib import Path

from roost.model.slots import SlotId
from roost.startd.layout.layout import SLOTS_MAX
from roost.startd.layout.problems import CODES, LayoutCode
from roost.startd.load import apportion
from tests.startd.layout_cases import laid_out

PAGE = (Path(__file__).parents[2] / "docs" / "concepts" / "slots.md").read_text()


def test_every_code_is_in_the_table_and_no_other() -> None:
    rows = dict(re.findall(r"^\| `(slots-[a-z-]+)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert set(rows) == {code.value for code in LayoutCode}
    assert {str(code): text.split(" | ")[0] for code, text in rows.items()} == {
        str(code): str(doc.severity) for code, doc in CODES.items()
    }
    assert f"more than {SLOTS_MAX} slots" in rows["slots-too-many"]


def test_the_example_types_are_possible() -> None:
    for line in re.findall(r"^SLOT_TYPE_\d = .*$", PAGE, re.MULTILINE):
        number = line[len("SLOT_TYPE_")]
        assert len(laid_out(f"{line}\nNUM_SLOTS_TYPE_{number} = 1").slots) == 1


def test_the_example_of_load_is_what_is_logged() -> None:
    one, two = SlotId(1), SlotId(2)
    load = apportion(1.25, {one: 0.0, two: 0.996}, {one: "Owner", two: "Claimed"})
    assert "\n".join((load.line, *(f"{slot}: {share.line}" for slot, share in load.slots.items()))) in PAGE
