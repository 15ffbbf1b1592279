"""The machine's values in a job's ad."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd
from roost.schedd.runs.match_macros import Unexpandable, expanded

MACHINE = ClassAd({"Arch": "X86_64", "Memory": 2048, "Name": "slot1@node", "Gone": "x"})
MACHINE.set("Half", "Memory / 2")


def value(text: str, name: str = "Args") -> object:
    return expanded(ClassAd({name: text, "Mine": 3}), MACHINE)[name]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"),
        ("$$(Arch)", "X86_64"),
        ("a$$(arch)b$$(Memory)c", "aX86_64b2048c"),
        ("$$(Half)", "1024"),
        ("$$(Nope:d)", "d"),
        ("$$(Nope:)", ""),
        ("$$(Nope:$$(Arch))", "X86_64"),
        ("$$([TARGET.Memory / 4 + MY.Mine])", "515"),
        ('$$([strcat("a", Arch)])', "aX86_64"),
        ("$$(DOLLARDOLLAR)(x)", "$$(x)"),
    ],
)
def test_references_are_replaced(text: str, wanted: str) -> None:
    assert value(text) == wanted


@pytest.mark.parametrize("text", ["$$(Nope)", "$$([Nope])", "$$([(])", "$$(Arch", "$$(Nope:$$(Nope))"])
def test_what_the_machine_does_not_say_is_named(text: str) -> None:
    with pytest.raises(Unexpandable, match="Args"):
        value(text)


def test_the_scratch_directory_is_left_to_the_machine() -> None:
    assert value("T=$$(CondorScratchDir)/t", "Environment") == "T=$$(CondorScratchDir)/t"
    assert value("$$(condorscratchdir:x)/$$(Arch)", "Arguments") == "$$(condorscratchdir)/X86_64"
    with pytest.raises(Unexpandable):
        value("$$(CondorScratchDir)", "Out")


def test_expressions_are_replaced_and_those_of_matching_left() -> None:
    ad = ClassAd()
    ad.set("Want", 'strcat("$$(Arch)", "!")')
    ad.set("Requirements", 'Name == "$$(Name)"')
    result = expanded(ad, MACHINE)
    assert result.eval("Want") == "X86_64!"
    assert "$$(Name)" in str(result["Requirements"])


def test_the_result_is_whole_and_ones_own() -> None:
    cluster, own = ClassAd({"Cmd": "/bin/$$(Arch)", "Same": 1}), ClassAd({"ProcId": 1})
    own.chain_to(cluster)
    result = expanded(own, MACHINE)
    assert (result["Cmd"], result["ProcId"], result["Same"], result.chained) == ("/bin/X86_64", 1, 1, None)
    result["Same"] = 2
    assert cluster["Same"] == 1
