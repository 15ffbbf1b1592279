"""Expansion with a map: the same text as the configuration room's expansion, and every character found again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from roost.config import Config, LoadOptions, load
from roost.policy.lint import lint_text
from roost.policy.lint.engine import MACHINE
from roost.policy.lint.mapping import Mapped
from roost.policy.lint.pool import pool_of
from roost.runtime.machine import SystemHost

CORPUS = Path(__file__).parent / "corpus"
POOLS = sorted(path for kind in ("clean", "dirty") for path in (CORPUS / kind).iterdir() if path.is_dir())
HOST = SystemHost()


def config_of(pool: Path) -> Config:
    return load(HOST, LoadOptions(roots=(str(pool),), detected=MACHINE, environment=False))


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: f"{pool.parent.name}-{pool.name}")
def test_expansion_agrees_with_the_configuration_room(pool: Path) -> None:
    config = config_of(pool)
    for expression in pool_of(config).expressions:
        daemon = expression.policy.evaluated_by.upper() if expression.policy else "STARTD"
        if "(" not in expression.mapped.text or expression.policy is None:
            continue
        assert expression.mapped.text.strip() == (config.get(expression.knob, subsys=daemon) or "")


def characters(mapped: Mapped) -> list[tuple[str, int, int, str]]:
    """Each character that was written in a file: file, line, column, character."""
    found = []
    for index, run in enumerate(mapped.runs):
        end = mapped.runs[index + 1].start if index + 1 < len(mapped.runs) else len(mapped.text)
        if run.opaque or not run.definition.segments or not run.definition.span.file.startswith("/"):
            continue
        for offset in range(run.start, end):
            place, _ = mapped.place(offset)
            found.append((place.file, place.line, place.column, mapped.text[offset]))
    return found


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: f"{pool.parent.name}-{pool.name}")
def test_every_written_character_is_found_at_its_place(pool: Path) -> None:
    lines: dict[str, list[str]] = {}
    checked = 0
    for expression in pool_of(config_of(pool)).expressions:
        for file, line, column, char in characters(expression.mapped):
            text = lines.setdefault(file, Path(file).read_text(encoding="utf-8").split("\n"))
            if char not in "\n ":
                assert text[line - 1][column - 1] == char
                checked += 1
    assert checked or not list(pool.glob("*.config"))


def mutated(text: str, chance: random.Random) -> str:
    pieces = list(text)
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(len(pieces))
        match chance.randrange(4):
            case 0:
                del pieces[at : at + chance.randrange(1, 40)]
            case 1:
                pieces.insert(at, chance.choice('()=!&|"$#\\\n:{}[]?.,-0 '))
            case 2:
                other = chance.randrange(len(pieces))
                pieces[at:at] = pieces[other : other + chance.randrange(1, 60)]
            case _:
                pieces[at] = chance.choice('()=!&|"$#\\\n:')
        if not pieces:
            break
    return "".join(pieces)


@pytest.mark.parametrize("pool", POOLS, ids=lambda pool: f"{pool.parent.name}-{pool.name}")
def test_no_slip_in_a_real_configuration_makes_a_rule_fail(pool: Path) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(pool.iterdir()))
    chance = random.Random(pool.name)
    for _ in range(6):
        report = lint_text(mutated(text, chance), HOST)
        assert [f.message for f in report.findings if f.code == "RST000"] == []
