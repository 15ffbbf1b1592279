"""Random sequences of changes by `qconf`: a pool keeps what the room alone makes of them, and no cell comes out wrong.

The steps are those that were recorded from Grid Engine, in an order drawn at random.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.cli.gridengine.kit import Desk
from tests.cli.gridengine.memory import HOSTS, CellInMemory, played, used_by_qconf
from tests.cli.gridengine.qconf_steps import Step, sections
from tests.cli.gridengine.test_qconf_steps import plain
from tests.gridengine import dumps
from tests.gridengine.questions import DATA
from tests.integration.kit import running

from roost.cli.cell.in_pool import configured
from roost.gridengine.cell import read_cell, write_cell
from roost.gridengine.edits import HANDLERS, Asker, QconfOption, edit, malformed
from roost.gridengine.references import settle_cell
from roost.runtime.identity import user_name

#: All steps that change something, by root.
STEPS = [
    step
    for steps in sections().values()
    for step in steps
    if step.user == "root" and not step.words.startswith("qconf -s") and "clearusage" not in step.words
]


def drawn(seed: int, number: int) -> list[Step]:
    """Steps in an order of chance."""
    return random.Random(seed).choices(STEPS, k=number)


@pytest.mark.parametrize("seed", range(6))
def test_no_sequence_leaves_a_cell_that_could_not_be_read(
    seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pool = CellInMemory(configured(dumps.cell("plain")))
    used_by_qconf(pool, monkeypatch)
    for step in drawn(seed, 120):
        before, revision = pool.cell, pool.revision
        done = played(step, tmp_path)
        assert "internal error" not in done.err, (step, done)
        if pool.cell is before:
            continue
        assert read_cell(write_cell(pool.cell)) == pool.cell, step
        assert [each.message for each in settle_cell(pool.cell)[1]] == [], step
        if pool.revision == revision:
            assert write_cell(pool.cell) == write_cell(before), step


def test_a_pool_keeps_what_the_room_makes_of_a_sequence(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("sequence")
    with running(place, cpus=1) as real:
        real("cell", "import", str(DATA / "plain"))
        desk = Desk(real)
        steps = drawn(77, 80)
        with pytest.MonkeyPatch.context() as patch:
            hosts_of_pool(patch)
            environment = {"ROOST_HOME": str(real.home), "SGE_ROOT": str(desk.root)}
            real_said = [played(step, real.work, **environment) for step in steps]
        real("cell", "export", str(place / "out"))
    room = CellInMemory(configured(dumps.cell("plain")))
    used_by_qconf(room, monkeypatch)
    for step, said in zip(steps, real_said, strict=True):
        done = played(step, place)
        told = [(one.status, *(_by_root(plain(text)) for text in (one.out, one.err))) for one in (said, done)]
        assert told[0] == told[1], step
    found = {str(path.relative_to(place / "out")): path for path in (place / "out").rglob("*") if path.is_file()}
    assert {name: path.read_text() for name, path in found.items()} == write_cell(room.cell)


def _by_root(text: str) -> str:
    """What is said to whoever runs the tests, as it is said to root."""
    return text.replace(f"{user_name()}@", "root@")


def hosts_of_pool(patch: pytest.MonkeyPatch) -> None:
    """Let the command say that it is used on sgehub."""
    from roost.cli.gridengine import qconf_editing

    patch.setattr(qconf_editing, "host_name", lambda: "sgehub")


#: Pieces of text that readers are likely to mistake for something.
PIECES = (
    *("NONE", "", "=", ",", "[", "]", "[node1=3]", "@", "@x", "{", "}", "\\", "\n", "\\\n", '"', "#", "/", "-1", "0x"),
    *("1e999", "slots", "slots=1", "=1", "$", "$num_proc*", "a b", "é", "\x00", "\t", "!", "&", "all.q@", "@@"),
    *("global", "template"),
    *("::", "9" * 40, "nan", "mon=", "20-6", "to", "users {", "childnodes=0"),
)  # fmt: skip


def mistyped(text: str, chance: random.Random) -> str:
    """A text with something else at one or two places."""
    for _ in range(chance.randint(1, 2)):
        begin = chance.randint(0, len(text))
        text = text[:begin] + chance.choice(PIECES) + text[begin + chance.choice((0, 1, 4)) :]
    return text


@pytest.mark.parametrize("seed", range(3))
def test_no_order_ends_by_an_error_or_makes_a_cell_that_cannot_be_read(seed: int) -> None:
    chance = random.Random(seed)
    cell = configured(dumps.cell("department"))
    texts = [text for step in STEPS for text in step.files.values()]
    words = [step.words.split()[2:] for step in STEPS if len(step.words.split()) > 2]
    asker = Asker(user="root", host="here", manages=True, operates=True, known_host=HOSTS.__contains__)
    tried = 0
    for _ in range(1500):
        given = [mistyped(word, chance) if chance.random() < 0.3 else word for word in chance.choice(words)]
        text, edited = mistyped(chance.choice(texts), chance), chance.random() < 0.3
        order = QconfOption(
            option=chance.choice(list(HANDLERS)), words=tuple(given), text=text, file="f", edited=edited
        )
        if malformed(order):
            continue
        tried += 1
        found = edit(cell, order, asker)
        if found.cell is not cell:
            assert read_cell(write_cell(found.cell)) == found.cell, order
            cell = found.cell
    assert tried > 300


@pytest.mark.parametrize(
    ("option", "words", "problem"),
    [
        ("sq", ("all.q",), "-sq does not change a cell"),
        ("am", (), "-am takes 1 words, and has 0"),
        ("dq", ("a", "b"), "-dq takes 1 words, and has 2"),
        ("au", ("a",), "-au takes 2 words, and has 1"),
        ("rattr", ("queue", "slots", "4"), "-rattr takes 4 or more words, and has 3"),
        ("Mrqs", ("a", "b"), "-Mrqs takes at most 1, and has 2"),
    ],
)
def test_what_is_not_an_order_is_told(option: str, words: tuple[str, ...], problem: str) -> None:
    assert malformed(QconfOption(option=option, words=words)) == problem


def test_a_name_that_is_read_as_a_comment_is_refused() -> None:
    cell = dumps.cell("plain")
    asker = Asker(user="root", host="here", manages=True, operates=True)
    found = edit(cell, QconfOption(option="am", words=("#ann",)), asker)
    assert found.cell is cell and found.status == 1
    assert "denied: the cell could not be read with this change" in found.lines[0].text
