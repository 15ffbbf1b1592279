"""What Roost says of each situation in the table is true: the cause, and the remedy, which is tried where it can be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.kit import eventually, running
from tests.integration.situations import POOLS, REMEDIES, ROW_S, SITUATIONS, Situation, Stage

#: A prolog that blames the machine while a file is next to it.
PROLOG = """#!/bin/sh
[ ! -e "${0%/*}/broken" ] || exit 7
"""


@pytest.mark.parametrize("name", POOLS)
def test_what_is_said_of_every_situation_is_true(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    config, options = POOLS[name]
    rows = [row for row in SITUATIONS if row.pool == name]
    failures: list[tuple[str, str]] = []
    place = tmp_path_factory.mktemp(name)
    for program, text in (("prolog", PROLOG), ("hang", "#!/bin/sh\nexec sleep 600\n")):
        (place / program).write_text(text)
        (place / program).chmod(0o755)
    with running(place / "pool", config.replace("@place@", str(place)), **options) as pool:
        together = [(row, Stage(pool)) for row in rows if not row.alone]
        for step in (_begun, _answered, _cured):
            failures += [(row.name, _failed(step, row, stage)) for row, stage in together]
        failures += [(row.name, _failed(_whole, row, Stage(pool))) for row in rows if row.alone]
    wrong = [f"{row}: {what}" for row, what in failures if what]
    assert not wrong, "\n\n".join(wrong)


def test_the_table_is_as_large_as_it_was_meant_to_be() -> None:
    assert len(SITUATIONS) >= 40 and len({row.name for row in SITUATIONS}) == len(SITUATIONS)


def _failed(step: Callable[[Situation, Stage], None], row: Situation, stage: Stage) -> str:
    """What went wrong; "" if nothing did. One row that fails keeps no other from being looked at."""
    try:
        step(row, stage)
    except AssertionError as error:
        return str(error)
    return ""


def _whole(row: Situation, stage: Stage) -> None:
    try:
        _begun(row, stage)
        _answered(row, stage)
    finally:
        _cured(row, stage)


def _begun(row: Situation, stage: Stage) -> None:
    if row.before is not None:
        row.before(stage)
    if not row.no_job:
        stage.job = stage.submit(row.job, row.script)
    if row.seen:
        stage.seen(stage.job, **row.seen)
    _done(row.after, stage)


def _done(steps: Any, stage: Stage) -> None:
    if callable(steps):
        steps(stage)
        return
    for words in steps:
        stage.run(*words)


def _answered(row: Situation, stage: Stage) -> None:
    """Ask until the answer is what it is to be; the text and the JSON say the same."""
    other = stage.others[0] if stage.others else ""
    words = [word.replace("{job}", stage.job).replace("{other}", other) for word in row.ask]

    def wrong() -> list[str]:
        done = stage.pool.try_(*words)
        text = " ".join((done.stdout + done.stderr).split())
        found = [f"it does not say {each!r}" for each in row.says if " ".join(each.split()) not in text]
        found += [f"it says {each!r}" for each in row.never if each in text]
        data = _data(stage, words) if row.cause or row.remedy else {}
        if row.cause and data.get("cause") != row.cause:
            found.append(f"the cause is {data.get('cause')} ({data.get('causes')})")
        if row.remedy and row.remedy not in [each["kind"] for each in data.get("remedies", ())]:
            found.append(f"no remedy is of the kind {row.remedy}")
        return found and [*found, done.stdout, done.stderr]

    eventually(lambda: not wrong(), lambda: "\n".join(wrong()), ROW_S)


def _data(stage: Stage, words: list[str]) -> dict[str, Any]:
    found = json.loads(stage.pool.try_(*words, "--json").stdout or "{}")
    return found if isinstance(found, dict) else {}


def _cured(row: Situation, stage: Stage) -> None:
    """Carry the remedy out, and see that it is one; then take the row's jobs away."""
    try:
        if row.cure == REMEDIES:
            for words in _commands(_data(stage, ["explain", "job", stage.job])):
                stage.pool(*words)
        else:
            _done(row.cure, stage)
        if row.cure and row.cured and stage.job:
            stage.seen(stage.job, **row.cured)
    finally:
        stage.pool.try_("rm", *(each for each in (stage.job, *stage.others) if each), "--at-once")
        gone = [each for each in (stage.job, *stage.others) if each]
        eventually(lambda: not any(stage.pool.jobs(each) for each in gone), f"{gone} to be gone")


def _commands(data: dict[str, Any]) -> Iterator[list[str]]:
    found = [each["command"] for each in data["remedies"] if each["command"]]
    assert found, f"no remedy has a command: {data['remedies']}"
    for words in found:
        assert words[0] == "roost"
        yield words[1:]
