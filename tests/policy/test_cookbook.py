"""Every recipe of the policy cookbook decides in every situation what the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from roost.classad import ClassAd, FixedWorld, parse_expression, unparse_value
from roost.classad.forms import Form, parse_ad
from roost.config import Config, LoadOptions, MemoryHost, check, load
from roost.policy.catalogue import POLICIES
from roost.policy.explain import explain
from roost.policy.explain.configured import configured_expression, configured_machine
from roost.policy.model import AdKind
from roost.policy.render import render_text

PAGE = (Path(__file__).resolve().parents[2] / "docs/guides/policy-cookbook.md").read_text(encoding="utf-8")
WORLD = FixedWorld(instant=1_700_000_000.0)
JOB = 'Owner = "ada"; JobUniverse = 5; ImageSize = 10000; RequestMemory = 128; NumJobStarts = 0'
DETECTED = {"DETECTED_CORES": "4", "DETECTED_CPUS": "4", "DETECTED_MEMORY": "8192", "HOSTNAME": "host"}


@dataclass(frozen=True, kw_only=True)
class Situation:
    """One row of a table under a recipe."""

    recipe: str
    kind: str
    body: str
    name: str
    #: Column title to cell.
    cells: dict[str, str]


def code_in(cell: str) -> str:
    """The code in a cell."""
    return "; ".join(re.findall(r"`([^`]+)`", cell))


def statements(text: str) -> list[tuple[str, str]]:
    """``a = 1; b = 2`` as pairs; no value here has a semicolon."""
    return [(name, value) for part in text.split(";") for name, _, value in [part.strip().partition(" = ")] if name]


def with_statements(ad: ClassAd, text: str) -> ClassAd:
    """The ad, with the statements added."""
    for name, value in statements(text):
        ad.set(name, value)
    return ad


def rows_of(section: str) -> Iterator[dict[str, str]]:
    """The rows of the table a section begins with."""
    lines = [line for line in section.strip().splitlines() if line.startswith("|")]
    titles = [cell.strip() for cell in lines[0].strip("|").split("|")]
    for line in lines[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\|)\|(?!\|)", line.strip("|"))]
        yield dict(zip(titles, cells, strict=True))


_BLOCKS = re.compile(r"^## ([^\n]+)$|^```(config|job)\n(.*?)^```\n\s*((?:^\|[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def situations() -> Iterator[Situation]:
    """All rows of the page."""
    heading = ""
    for found in _BLOCKS.finditer(PAGE):
        if found[1]:
            heading = found[1]
            continue
        for row in rows_of(found[4]):
            yield Situation(recipe=heading, kind=found[2], body=found[3], name=row["situation"], cells=row)


SITUATIONS = list(situations())
_WORDS = re.search(r"^\| word \|.*\n(?:\|.*\n)+", PAGE, re.MULTILINE)
assert _WORDS is not None
WORDS = {row["word"]: code_in(row["machine"]) for row in rows_of(_WORDS[0])}


def configured(body: str) -> Config:
    """The configuration of a recipe; it must be without fault."""
    options = LoadOptions(roots=("/etc/my.config",), subsystem="STARTD", detected=DETECTED, environment=False)
    config = load(MemoryHost(files={"/etc/my.config": body}), options)
    assert config.errors == ()
    return config


def my_ad(situation: Situation) -> ClassAd:
    """The machine, or the starter's ad, of a situation."""
    cell = situation.cells.get("machine", situation.cells.get("starter", ""))
    word = re.match(r"\w+", cell)
    ad = with_statements(ClassAd(), WORDS[word[0]] if word else "")
    return with_statements(ad, code_in(cell))


def job_ad(situation: Situation) -> ClassAd | None:
    """The job of a situation; None for a dash."""
    cell = situation.cells["job"]
    return None if cell == "–" else with_statements(with_statements(ClassAd(), JOB), code_in(cell))


def decided(situation: Situation, name: str) -> tuple[str, str]:
    """The value of an expression in a situation, and why."""
    job = job_ad(situation)
    if situation.kind == "job":
        assert job is not None
        mine = parse_ad(situation.body, Form.OLD)
        for attribute in job:
            mine[attribute] = job[attribute]
        explanation = explain(mine[name], mine, world=WORLD, name=name)
        return unparse_value(explanation.value, old=True), render_text(explanation)
    config = configured(situation.body)
    ad, row = my_ad(situation), POLICIES.get(name.upper())
    made = configured_machine(config)
    assert made.problems == []
    if "machine" in situation.cells:
        for attribute in made.ad:
            ad[attribute] = made.ad[attribute]
    if row is not None and row.my is AdKind.JOB and row.submit_command is None:
        assert job is not None
        ad, job = job, None if row.target is AdKind.NONE else ad
    found = configured_expression(config, name, subsys=row.evaluated_by.upper() if row else "STARTD")
    expression = found.expression if found else parse_expression(name)
    explanation = explain(expression, ad, job, world=WORLD, name=name, origins=made.origins)
    return unparse_value(explanation.value, old=True), render_text(explanation)


@pytest.mark.parametrize("situation", SITUATIONS, ids=[f"{one.recipe}: {one.name}" for one in SITUATIONS])
def test_a_recipe_decides_as_the_page_says(situation: Situation) -> None:
    expected = statements(code_in(situation.cells["decided"]))
    assert expected
    for name, value in expected:
        found, why = decided(situation, name)
        assert found == value, f"{name} should be {value}\n{why}"


def test_every_block_of_configuration_has_situations() -> None:
    blocks = re.findall(r"^```(?:config|job)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 15
    assert {one.body for one in SITUATIONS} == set(blocks)


@pytest.mark.parametrize("body", sorted({one.body for one in SITUATIONS if one.kind == "config"}))
def test_the_configuration_of_a_recipe_has_no_faults(body: str) -> None:
    assert [str(one) for one in check(configured(body))] == []


def test_the_job_of_the_tables_is_the_one_described() -> None:
    assert f"`{JOB}`" in PAGE


@pytest.mark.parametrize(
    "name",
    [
        "Desktop", "Test_User", "Desktop_After_Hours", "Desktop_Hours", "Desktop_Idle", "Always_Run_Jobs",
        "Prefer_Users", "Desktop_Or_Dedicated", "Guaranteed_Runtime", "No_Preemption",
        "Suspendable_Slots", "Interactive_Slot_Preferred", "Interactive_Slot_Reserved", "Background_Jobs",
        "Starter_Evict_if_Memory_Exceeded", "Pool_Minimum_Memory", "Pool_Maximum_Starts",
    ],
)  # fmt: skip
def test_a_template_is_in_the_cookbook(name: str) -> None:
    assert re.search(rf"^use POLICY : {name}\b", PAGE, re.MULTILINE)
