"""Rules that change ads: each statement, and what is wrong with rules told with its line."""

from __future__ import annotations

import pytest

from roost.classad.forms import Form, Order, format_ad, parse_ad
from roost.config import MemoryHost
from roost.schedd.admission.transform import TransformError, read_transform

AD = 'Owner = "ann"\nRequestMemory = 2048\nOldA = 1\nOldB = "b"\nSize = RequestMemory / 2\n'


def changed(rules: str, **macros: str) -> dict[str, str]:
    """What rules make of the ad: the lines that are new, and the names that are gone."""
    ad = parse_ad(AD)
    read_transform(rules, "r").apply(ad, MemoryHost(), macros)
    before, after = AD.splitlines(), format_ad(ad, Form.OLD, Order.INSERTION).splitlines()
    new = {line.split(" = ")[0]: line.split(" = ", 1)[1] for line in after if line not in before}
    names = {line.split(" = ")[0] for line in after}
    return new | {name: "gone" for name in (line.split(" = ")[0] for line in before) if name not in names}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ('SET Tag "x"', {"Tag": '"x"'}),
        ("SET Tag = 1 + 1", {"Tag": "1 + 1"}),
        ('SET Owner strcat(\\\n  "a","b")', {"Owner": 'strcat("a","b")'}),
        ("DEFAULT Owner 1\nDEFAULT Project 2", {"Project": "2"}),
        ("EVALSET Half RequestMemory / 2", {"Half": "1024"}),
        ("COPY RequestMemory Kept", {"Kept": "2048"}),
        ("COPY Missing Kept", {}),
        ("RENAME OldA NewA", {"NewA": "1", "OldA": "gone"}),
        # The new name is the text alone, with what was matched put in.
        (r"RENAME /ld/ Test", {"Test": '"b"', "OldA": "gone", "OldB": "gone"}),
        (r"COPY /(.+)A$/ Test\0_\1\2", {"TestOldA_Old": "1"}),
        (r"RENAME /^Old(.)$/ New\1", {"NewA": "1", "NewB": '"b"', "OldA": "gone", "OldB": "gone"}),
        ("DELETE OldA", {"OldA": "gone"}),
        ("DELETE /^old/", {"OldA": "gone", "OldB": "gone"}),
        ("f = 3\nSET N $(f) * 2", {"N": "3 * 2"}),
        ("SET N $(g:7)", {"N": "7"}),
        ("SET N $(RequestMemory:0) + $(MY.RequestMemory)", {"N": "0 + 2048"}),
        ('SET N "$(MY.Owner)-$(MY.OldA)"', {"N": '"ann-1"'}),
        ("EVALMACRO m RequestMemory * 2\nSET N $(m)", {"N": "4096"}),
        ("SET N $INT(MY.RequestMemory)", {"N": "2048"}),
        ("REQUIREMENTS RequestMemory > 1000\nSET N 1", {"N": "1"}),
        ("REQUIREMENTS RequestMemory > 9000\nSET N 1", {}),
        ("NAME x\nUNIVERSE vanilla\n# nothing\n\nSET N 1\nTRANSFORM", {"N": "1", "JobUniverse": "5"}),
        ("SET N $(given)", {"N": "5"}),
        ("if true\nSET N 1\nelse\nSET N 2\nendif", {"N": "1"}),
        ("IF $(given)\nSET N 1\nENDIF\nif $(none:0)\nSET M 1\nelif version > 8.0\nSET M 2\nelse\nSET M 3\nendif",
         {"N": "1", "M": "2"}),
        ("EVALMACRO big RequestMemory > 4000\nif $(big)\nif $(nothing)\nSET N 1\nendif\nelse\nSET N 2\nendif",
         {"N": "2"}),
        ("if defined MY.OldA\nDELETE OldA\nendif\nif defined MY.OldA\nSET N 1\nendif", {"OldA": "gone"}),
        ("if ! defined given\nx = 1\nelse\nx = 2\nendif\nSET N $(x)", {"N": "2"}),
    ],
)  # fmt: skip
def test_statements(rules: str, expected: dict[str, str]) -> None:
    assert changed(rules, given="5") == expected


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("SET A 1\nSETT B 2", "r:2: SETT B 2: neither"),
        ("SET A", "r:1: SET needs"),
        ("DELETE", "r:1: DELETE needs"),
        ("DELETE /(/", "r:1: /"),
        ("TRANSFORM 3", "r:1: TRANSFORM 3"),
        ("REQUIREMENTS (", "r:1: "),
        ("SET A 1 +", "r:1: "),
        ("SET A 1\nendif", "r:2: endif without a matching if"),
        ("if 1\nelse\nelif 1\nendif", "r:3: elif without a matching if"),
        ("if 1\nif 0\nendif", "r:1: if: the endif is missing"),
        ("if $(given) > 3\nendif", "r:1: if $(given) > 3: "),
        ("if 1\n" * 65, "r:65: conditions nested more than 64 deep"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(rules: str, message: str) -> None:
    with pytest.raises(TransformError) as error:
        changed(rules)
    assert str(error.value).startswith(message)
