"""Lines of accounting files, as 8.1.9 wrote them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roost.gridengine.accounting_lines import FIELDS, line_of, read_line
from roost.model.cell_accounting import AccountingRecord

#: What the real one wrote for a job in a queue of priority 5, and for one whose directory was missing.
LINES = (
    "all.q:node3:alice:alice:c5:1019:sge:5:1795450963:1795450963:1795450964:0:0:1:0.004097:0.008691:4220.000000:0:0:0:0:"
    "550:0:0:0.000000:16:0:0:0:10:4:NONE:staff:NONE:1:0:0.012788:0.000000:0.000000:-l h_rt=100,mem_free=1M,s_rt=50 "
    "-soft -l arch=lx-amd64:0.000000:NONE:0.000000:0:0",
    "all.q:node3:alice:alice:nodir:1008:sge:0:1795450716:0:0:28:0:0:0.000000:0.000000:0.000000:0:0:0:0:0:0:0:0.000000:0:"
    "0:0:0:0:0:NONE:defaultdepartment:NONE:1:0:0.000000:0.000000:0.000000:NONE:0.000000:NONE:0.000000:0:0",
)


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_read_and_written_back(line: str) -> None:
    assert line_of(read_line(line)) == line


def test_no_text_can_break_a_line() -> None:
    record = replace(read_line(LINES[0]), job_name="a:b\nc", account="\x00:", category="-l h=x:y", owner="\udce9")
    line = line_of(record)
    assert line.count(":") == FIELDS - 1 and "\n" not in line
    assert read_line(line).job_name == "a_b_c"
    line.encode()


def test_lines_of_6_2u5_are_read_and_others_refused() -> None:
    assert read_line(":".join(LINES[0].split(":")[:43])) == read_line(LINES[0])
    for line in ("", "a:b", LINES[0] + ":0", LINES[0].replace("1795450963", "soon", 1)):
        with pytest.raises(ValueError, match=r"fields|could not convert"):
            read_line(line)


def test_a_record_has_defaults_as_8_1_9_writes_them() -> None:
    record = AccountingRecord(
        queue="all.q", host="node3", group="alice", owner="alice", job_name="nodir", job=1008, submitted=1795450716,
        failed=28,
    )  # fmt: skip
    assert line_of(record) == LINES[1]
