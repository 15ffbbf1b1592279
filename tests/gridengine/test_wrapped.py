"""Long lines are broken where `qconf` breaks them, and read back as the same."""

from __future__ import annotations

import pytest

from roost.gridengine.objects.kinds import HOST, QUEUE
from roost.gridengine.objects.text import wrapped
from tests.gridengine import dumps

#: printed by Grid Engine 8.1.9
PRINTED = (
    """\
prolog                /bin/aaaaaaaaaa bbbbbbbbbbbbb ccccccccccccccccc \\
                      dddddddddddddddddd eeeeeeeeeeeeeeeee fffffffffffff \\
                      gggggggggggg
""",
    """\
prolog                /bin/aaaaaaaaaabbbbbbbbbbbbbcccccccccccccccccddddddddddddddddddeeeeeeeeeeeeeeeeefffff \\
                      hhh
""",
    """\
prolog                /bin/aaaaaaaaaa,bbbbbbbbbbbbb,ccccccccccccccccc, \\
                      dddddddddddddddddd,eeeeeeeeeeeeeeeee,fffffffffffff, \\
                      gggggggggggg
""",
    """\
slots                 4,[node1=1],[node2=2],[node3=3],[sgehub=4],[node4=5], \\
                      [node5=6],[a=7],[b=8],[c=9],[d=10],[e=11]
""",
    """\
subordinate_list      all.q=1, all.q=2, all.q=3, all.q=4, all.q=5, all.q=6, \\
                      all.q=7, all.q=8, all.q=9, all.q=10
""",
    """\
hostlist node1 node1 node1 node1 node1 node1 node1 node1 node1 node1 node1 \\
         node1 node1 node1 node1 node1
""",
    """\
entries aaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbbbbbb,cccccccccccccccc, \\
        dddddddddddddddd,eeeeeeeeeeeee
""",
    f"prolog                {'a' * 55} bb\n",
    f"prolog                {'a' * 56} \\\n                      bb\n",
)
#: further lines of quota sets begin elsewhere
QUOTA = """\
   limit        users aaaaaaaaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbbbbbbbb, \\
   cccccccccccccccccccc hosts dddddddddddddddd,eeeeeeeeeeeeeee to slots=1, \\
   mem_free=2G
"""


def single(text: str) -> str:
    """A value on one line: a comma takes no blank behind it, but in subordinate lists."""
    lines = [line.strip() for line in text.replace("\\\n", "\n").splitlines()]
    joined = lines[0]
    for line in lines[1:]:
        joined += line if joined.endswith(",") and not text.startswith("subordinate") else f" {line}"
    return joined + "\n"


@pytest.mark.parametrize("text", PRINTED)
def test_a_long_line_is_broken_as_qconf_breaks_it(text: str) -> None:
    assert wrapped(single(text)) == text


def test_lines_of_quota_sets_go_on_below_their_names() -> None:
    assert wrapped("   " + single(QUOTA), 3) == QUOTA


@pytest.mark.parametrize("name", dumps.NAMES)
def test_broken_lines_read_back(name: str) -> None:
    cell = dumps.cell(name)
    for kind in (QUEUE, HOST):
        for one in cell.objects(kind).values():
            assert kind.parse(wrapped(kind.show(one)), "t") == one
