"""The maps that userMap() knows in a queue."""

from __future__ import annotations

import pytest

from roost.config import MemoryHost, load_text
from roost.schedd.admission.user_maps import UserMap, user_maps
from roost.schedd.configured import queue_settings

MAP = r"""
# a comment
* ann physics,chemistry
* "bob b" maths
* /^c(.*)@x$/ group_\1
* /^D.*$/i dees
* cat@x never
* dot before
"""


@pytest.mark.parametrize(
    ("user", "value"),
    [
        ("ann", "physics,chemistry"),
        ("bob b", "maths"),
        ("cat@x", "group_at"),
        ("dora", "dees"),
        ("dot", "dees"),
        ("eve", None),
    ],
)
def test_the_first_line_that_fits_counts(user: str, value: str | None) -> None:
    assert UserMap(MAP).get(user) == value


def test_lines_that_make_no_sense_are_named_and_the_others_count() -> None:
    found = UserMap("* ann\nFS bob x\n* /(/ y\n* carl z\n")
    assert found.unread == [1, 2, 3]
    assert found.get("carl") == "z"


def test_maps_come_from_files_and_from_the_configuration() -> None:
    text = """
SCHEDD_CLASSAD_USER_MAP_NAMES = Groups here gone none
CLASSAD_USER_MAPFILE_Groups = /maps/groups
CLASSAD_USER_MAPFILE_gone = /maps/gone
CLASSAD_USER_MAPDATA_here @=end
* ann a
* bob b
@end
"""
    maps, wrong = user_maps(load_text(text, MemoryHost(files={"/maps/groups": "* ann physics\n"})))
    assert (maps.get("GROUPS") or {}).get("ann") == "physics"
    assert (maps.get("here") or {}).get("bob") == "b"
    assert maps.get("gone") is None and maps.get("other") is None
    assert len(wrong) == 2
    assert "cannot read /maps/gone" in wrong[0].message
    assert "neither it nor CLASSAD_USER_MAPDATA_none is set" in wrong[1].message


def test_a_queue_says_what_is_wrong_with_its_maps() -> None:
    config = load_text("SCHEDD_CLASSAD_USER_MAP_NAMES = x\nCLASSAD_USER_MAPFILE_x = /x\n", MemoryHost())
    assert any("cannot read /x" in str(each) for each in queue_settings(config, name="q").problems)
