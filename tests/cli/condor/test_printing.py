"""What HTCondor's commands print of ads, with the ads in files: tables, ``-af``, ``-format``, print formats, whole ads.

Whole ads and the texts of values are compared with the reference library's own printing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.condor.kit import run

from roost.classad import ClassAd
from roost.classad.forms import parse_ad
from roost.classad.unparse import unparse_value
from roost.cli.condor.errors import ToolError
from roost.cli.condor.printing.columns import Column, Mask, lines
from roost.cli.condor.printing.print_format import read_print_format
from roost.cli.condor.printing.rows import AdRow
from roost.cli.condor.printing.values import text_of

JOBS = """
ClusterId = 12
ProcId = 0
Owner = "ann"
QDate = 1795283262
JobStatus = 2
JobPrio = 5
JobUniverse = 5
ImageSize = 2048
Cmd = "/usr/bin/sim"
Arguments = "-n 3 'two words'"
ShadowBday = 1795283300
ServerTime = 1795286961
RemoteWallClockTime = 100.0
RemoteHost = "slot1@desk"
Double = JobPrio * 2
Ratio = 0.5

ClusterId = 12
ProcId = 1
Owner = "ann"
QDate = 1795283262
JobStatus = 5
JobPrio = 0
ImageSize = 1
Cmd = "/usr/bin/sim"
HoldReason = "because"
EnteredCurrentStatus = 1795283400
"""


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    """A file with two jobs."""
    path = tmp_path / "jobs.ads"
    path.write_text(JOBS)
    return str(path)


def q(*arguments: str) -> str:
    done = run("condor_q", *arguments, TZ="UTC")
    assert (done.status, done.err) == (0, "")
    return done.out


def test_autoformat_prints_values_and_expressions(jobs: str) -> None:
    assert q("-job", jobs, "-af", "ClusterId", "Owner", "Double", "JobPrio + 1", "Missing", "Ratio") == (
        "12 ann 10 6 undefined 0.5\n12 ann undefined 1 undefined undefined\n"
    )


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", "ann 10\n"),
        (",", "ann, 10\n"),
        ("t", "ann\t10\n"),
        ("n", "ann\n 10\n"),
        ("g", "\nann10\n"),
        ("l", "Owner = ann Double = 10\n"),
        ("V", '"ann" 10\n'),
        ("r", '"ann" JobPrio * 2\n'),
        ("j", "12.0 ann 10\n"),
        ("jl", "ID = 12.0 Owner = ann Double = 10\n"),
        ("lrng", '\nOwner = "ann"\nDouble = JobPrio * 2\n'),
        ("h", "Owner Double\nann   10    \n"),
        ("jh", " ID      Owner Double\n  12.0   ann   10    \n"),
    ],
)
def test_autoformat_flags(jobs: str, flags: str, expected: str) -> None:
    written = f"-af:{flags}" if flags else "-autoformat"
    assert q("-job", jobs, "12.0", written, "Owner", "Double") == expected


def test_format_brings_its_own_ends_and_leaves_out_what_is_not_there(jobs: str) -> None:
    def formatted(*pairs: tuple[str, str]) -> list[str]:
        return [word for form, name in pairs for word in ("-format", form, name)]

    wanted = formatted(("%d.", "ClusterId"), ("%d ", "ProcId"), ("[%s]\\n", "Owner"), ("%d\\n", "Missing"))
    assert q("-job", jobs, *wanted) == "12.0 [ann]\n12.1 [ann]\n"
    asked = [("%-6s|", "Owner"), ("%5.2f|", "Ratio"), ("%v|", "Ratio"), ("%s|", "Double"), ("%d%%\\n", "Ratio")]
    assert q("-job", jobs, "12.0", *formatted(*asked)) == "ann   | 0.50|0.5|JobPrio * 2|0%\n"


def test_the_table_of_jobs(jobs: str) -> None:
    assert q("-job", jobs).splitlines()[2].endswith(" sim -n 3 'two word")
    assert q("-job", jobs, "-wide").splitlines() == [
        f"-- Jobs: {jobs}",
        " ID      OWNER            SUBMITTED     RUN_TIME ST PRI SIZE CMD",
        "  12.0   ann            11/21 17:47   0+01:02:41 R  5    2.0 sim -n 3 'two words'",
        "  12.1   ann            11/21 17:47   0+00:00:00 H  0    0.0 sim",
        "",
        "Total for query: 2 jobs; 0 completed, 0 removed, 0 idle, 1 running, 1 held, 0 suspended",
        "",
    ]


def test_the_tables_of_held_and_running_jobs(jobs: str) -> None:
    assert q("-job", jobs, "-hold").splitlines()[1:3] == [
        " ID      OWNER          HELD_SINCE  HOLD_REASON",
        "  12.1   ann            11/21 17:50 because",
    ]
    assert q("-job", jobs, "-run").splitlines()[1:] == [
        " ID      OWNER            SUBMITTED     RUN_TIME HOST(S)",
        "  12.0   ann            11/21 17:47   0+01:02:41 slot1@desk",
    ]


def test_whole_ads(jobs: str) -> None:
    assert q("-job", jobs, "12.1", "-long", "-attributes", "Owner,ProcId,HoldReason") == (
        'HoldReason = "because"\nOwner = "ann"\nProcId = 1\n\n'
    )
    found = json.loads(q("-job", jobs, "-json", "-attributes", "ProcId,Double"))
    assert found == [{"Double": "/Expr(JobPrio * 2)/", "ProcId": 0}, {"ProcId": 1}]
    assert q("-job", jobs, "-jsonl", "-attributes", "ProcId").splitlines()[1].replace(" ", "") == '{"ProcId":1}'
    assert q("-job", jobs, "-xml").startswith('<?xml version="1.0"?>')


def test_of_no_ads_json_is_nothing_and_xml_its_header(jobs: str) -> None:
    assert q("-job", jobs, "99", "-json") == ""
    assert q("-job", jobs, "99", "-long") == ""
    assert q("-job", jobs, "99", "-af", "Owner") == ""
    assert "<classads>" in q("-job", jobs, "99", "-xml")


def test_a_print_format_file(jobs: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.cpf"
    path.write_text(
        """# mine
SELECT NOTITLE
   ClusterId  AS ' ID'  NOSUFFIX WIDTH 5 PRINTF '%4d.'
   ProcId     AS ' '    NOPREFIX WIDTH 3 PRINTF '%-3d'
   Owner      AS OWNER  WIDTH -6
   JobPrio * 2 AS TWICE PRINTF '%5d'
   QDate      AS WHEN   WIDTH 12 PRINTAS QDATE
   Missing    AS M      WIDTH 4 PRINTF '%d' OR _
WHERE JobStatus > 0
GROUP BY ProcId DESCENDING
SUMMARY NONE
"""
    )
    assert q("-job", jobs, "-print-format", str(path)).splitlines() == [
        " ID      OWNER  TWICE WHEN         M   ",
        "  12.1   ann        0  11/21 17:47    _",
        "  12.0   ann       10  11/21 17:47    _",
    ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("SELECT\n  Owner WIDTH x\n", "f:2: WIDTH x"),
        ("SELECT\n  Owner PRINTAS NOBODY\n", "f:2: PRINTAS NOBODY"),
        ("SELECT\n  Owner AS\n", "f:2: AS needs a value"),
        ("SELECT\n\n  Owner ) \n", "f:3: Owner )"),
        ("Owner\n", "f:1: Owner"),
        ("SELECT\nSUMMARY much\n", "f:2: SUMMARY"),
    ],
)
def test_a_mistake_in_a_print_format_names_its_line(text: str, place: str) -> None:
    with pytest.raises(ToolError, match=f"^{place.replace(')', '[)]')}"):
        read_print_format(text, "f")


def test_the_table_of_slots(tmp_path: Path) -> None:
    path = tmp_path / "slots.ads"
    slot = (
        'MyType = "Machine"\nName = "slot{0}@desk07.example.org"\nMachine = "desk07.example.org"\nOpSys = "LINUX"\n'
        'Arch = "X86_64"\nState = "{1}"\nActivity = "{2}"\nLoadAvg = 0.5\nMemory = {3}\nCpus = 1\n'
        'MyCurrentTime = 1000\nEnteredCurrentActivity = 910\nRemoteUser = "ann@x"\n\n'
    )
    path.write_text(slot.format(2, "Claimed", "Busy", 1024) + slot.format(1, "Unclaimed", "Idle", 512))
    assert run("condor_status", "-ads", str(path)).out.splitlines() == [
        "Name                     OpSys      Arch   State     Activity LoadAv Mem   ActvtyTime",
        "",
        "slot1@desk07.example.org LINUX      X86_64 Unclaimed Idle      0.500  512  0+00:01:30",
        "slot2@desk07.example.org LINUX      X86_64 Claimed   Busy      0.500 1024  0+00:01:30",
        "",
        "             Total Owner Claimed Unclaimed Matched Preempting  Drain Backfill BkIdle",
        "",
        "X86_64/LINUX     2     0       1         1       0          0      0        0      0",
        "",
        "       Total     2     0       1         1       0          0      0        0      0",
    ]
    assert run("condor_status", "-ads", str(path), "-claimed", "-af", "Name").out == "slot2@desk07.example.org\n"
    assert run("condor_status", "-ads", str(path), "-compact", "-total").out.splitlines()[-1].split()[1] == "2"
    assert run("condor_status", "-ads", str(path), "nobody").out == ""


def test_columns_grow_cut_and_fill() -> None:
    rows = [AdRow({"A": "a"}), AdRow({"A": "abcdef", "B": 3})]
    mask = Mask((Column("A", "T", wide=3, left=True, cut=True), Column("B", "N", wide=2, otherwise="??", form="%d")))
    assert list(lines(mask, rows)) == ["T   N \n", "a    ?\n", "abc  3\n"]


# -- against the reference library ---------------------------------------------------------------------------------

VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(-1e300, 1e300),
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\\\x7f"), max_size=12),
    st.sampled_from(['{ 1,2,"x" }', "a + 1 > TARGET.b", '[ x = 1; y = "z" ]', "undefined", "error"]).map(
        lambda text: parse_ad(f"A = {text}\n")["A"]
    ),
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: name.lower() not in ("true", "false", "undefined", "error", "is", "isnt", "parent", "my", "target",
                                      "toplevel", "root", "self")
)  # fmt: skip
ADS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=6)


def reference(text: str) -> object:
    classad2 = pytest.importorskip("classad2", reason="the reference library is not installed")
    return classad2.ClassAd(text)


@settings(max_examples=150, deadline=None)
@given(data=ADS)
def test_whole_ads_are_what_the_reference_library_prints(data: dict[str, object]) -> None:
    from roost.classad.forms import Form, format_ad
    from roost.cli.condor.printing.documents import JSON, LONG, write_ads

    ad = ClassAd()
    for name, value in data.items():
        ad[name] = value  # type: ignore[assignment]
    theirs = reference(format_ad(ad, Form.NEW))
    for form, printed in ((LONG, theirs.formatOld()), (JSON, theirs.formatJson())):  # type: ignore[attr-defined]
        out: list[str] = []
        write_ads([AdRow.of(ad)], form, Writer(out))
        mine = sorted(line.rstrip(",") for line in "".join(out).splitlines() if line and line not in ("[", "]"))
        assert mine == sorted(line.rstrip(",") for line in printed.splitlines() if line), form


class Writer:
    """A stream that keeps what is written."""

    def __init__(self, kept: list[str]) -> None:
        self.write = kept.append


@settings(max_examples=300, deadline=None)
@given(st.floats(-1e300, 1e300) | st.floats(-100, 100).map(lambda x: round(x, 3)))
def test_reals_have_one_text(value: float) -> None:
    assert text_of(value) == unparse_value(value, old=True)
    theirs = reference(f"[ A = {value!r} ]").formatOld().strip()  # type: ignore[attr-defined]
    assert theirs == f"A = {text_of(value)}"
