"""No input makes the room raise anything but `ConfigError`, or take long."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.config import ConfigError, LoadOptions, MemoryHost, check, explain, load

#: pieces that make text look like configuration
FRAGMENTS = [
    "A",
    "B",
    "START",
    " = ",
    " += ",
    " : ",
    " @=e\n",
    "@e\n",
    "\n",
    "\\\n",
    "# c\n",
    "$(A)",
    "$(B)",
    "$(",
    "$(A:",
    ")",
    "$$(",
    "$INT(",
    "$ENV(",
    "$REAL(",
    "$STRING(",
    "$EVAL(",
    "$CHOICE(",
    "$RANDOM_CHOICE(",
    "$RANDOM_INTEGER(",
    "$SUBSTR(",
    "$Fpnq(",
    "$BASENAME(",
    "$DIRNAME(",
    "$(DOLLAR)",
    ",",
    "%d",
    "%999999d",
    "1",
    "-1",
    "99999999999999999999",
    "1e400",
    '"',
    "'",
    "if ",
    "elif ",
    "else\n",
    "endif\n",
    "defined ",
    "version >= 8.1\n",
    "use POLICY : ",
    "Desktop",
    "Preempt_if(",
    "Hold_if_Runtime_Exceeds(",
    "Want_Hold_if(A,1,",
    "include : ",
    "include ifexist : ",
    "/a",
    "/b",
    "error : ",
    "TOOL.",
    "SLOT1_",
    "SLOT_TYPE_1",
    "[",
    "]",
    "!",
    "&&",
    "é",
    "\0",
    "\t",
    "\r\n",
    "$(1)",
    "$(0#)",
    "$(2+)",
    "LOCAL_CONFIG_DIR = /\n",
    "LOCAL_CONFIG_FILE = /b\n",
    "STARTD_ATTRS",
    "POLLING_INTERVAL = ",
    "x.y.",
    ".",
    "..",
    "SUBSYSTEM",
    "\u2028",
    "\ufffd",
]

texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=5)), max_size=40).map("".join),
)


@settings(max_examples=400, deadline=None)
@given(first=texts, second=texts, variable=texts)
def test_no_text_makes_reading_checking_or_explaining_raise(first: str, second: str, variable: str) -> None:
    host = MemoryHost(files={"/a": first, "/b": second}, variables={"_CONDOR_A": variable})
    config = load(host, LoadOptions(roots=("/a",), runtime=(("B", variable),)))
    for one in check(config):
        assert str(one.code) in str(one)
    for name in [*config.names()[:20], "START", "POLLING_INTERVAL"]:
        explain(config, name).to_json()
        for ask in (config.get, config.get_int, config.get_bool, config.get_float, config.get_expr, config.get_list):
            with contextlib.suppress(ConfigError):
                ask(name)


@settings(max_examples=100, deadline=None)
@given(piece=st.sampled_from(FRAGMENTS), count=st.integers(min_value=100, max_value=5000))
def test_long_repetitions_do_no_harm(piece: str, count: int) -> None:
    host = MemoryHost(files={"/a": "A = " + piece * count + "\nB = $(A)\n"})
    config = load(host, LoadOptions(roots=("/a",)))
    check(config)
