"""The table of claims as the queue sees them: every trigger in every stage, and nothing else changes one."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest
from website.manual.job_states import blocks

import roost.schedd
from roost.schedd.claims.claim_transitions import CLAIM_TRANSITIONS, ClaimOn, move_claim
from roost.schedd.claims.held_claims import HeldClaim, Stage

#: Stage and trigger to the stage after it; what is not there is an internal error.
GRID: Final = {
    (Stage.ASKED, ClaimOn.GRANTED): Stage.IDLE,
    (Stage.ASKED, ClaimOn.REFUSED): Stage.OVER,
    (Stage.ASKED, ClaimOn.LOST): Stage.OVER,
    (Stage.IDLE, ClaimOn.STARTED): Stage.RUNNING,
    (Stage.IDLE, ClaimOn.GIVEN_BACK): Stage.OVER,
    (Stage.IDLE, ClaimOn.LOST): Stage.OVER,
    (Stage.RUNNING, ClaimOn.RUN_ENDED): Stage.IDLE,
    (Stage.RUNNING, ClaimOn.GIVEN_BACK): Stage.OVER,
    (Stage.RUNNING, ClaimOn.LOST): Stage.OVER,
    (Stage.UNSURE, ClaimOn.RUN_ENDED): Stage.IDLE,
    (Stage.UNSURE, ClaimOn.CONFIRMED): Stage.RUNNING,
    (Stage.UNSURE, ClaimOn.GIVEN_BACK): Stage.OVER,
    (Stage.UNSURE, ClaimOn.LOST): Stage.OVER,
}


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("on", ClaimOn, ids=lambda on: on.name)
def test_every_trigger_does_what_the_grid_says_and_nothing_else(stage: Stage, on: ClaimOn) -> None:
    claim = HeldClaim(id="c", node="n", slot="slot1@n", submitter="ann", slot_ad=None, stage=stage, heard_at=0.0)
    target = GRID.get((stage, on))
    if target is None:
        with pytest.raises(AssertionError, match=f"claim of slot1@n is {stage}: no transition where {on}"):
            move_claim(claim, on)
        assert claim.stage is stage
    else:
        move_claim(claim, on)
        assert claim.stage is target


def test_the_grid_has_every_row_and_every_row_is_in_the_grid() -> None:
    assert {((row.source, on), row.target) for row in CLAIM_TRANSITIONS for on in row.on} == set(GRID.items())


def test_nothing_but_the_table_changes_the_stage_of_a_claim() -> None:
    found = set()
    for path in Path(roost.schedd.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for target in node.targets if isinstance(node, ast.Assign) else []:
                for place in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(place, ast.Attribute) and place.attr == "stage":
                        found.add(path.name)
    assert found == {"claim_transitions.py"}


def test_the_page_has_every_row_and_stage() -> None:
    lines = [line for block in blocks()["concepts/job-states.md"].values() for line in block]
    for row in CLAIM_TRANSITIONS:
        assert any(line.startswith(f"| {row.number} |") and f"| {row.target} | {row.on[0]} |" in line for line in lines)
    for stage in Stage:
        assert any(line.startswith(f"| {stage} |") for line in lines)
