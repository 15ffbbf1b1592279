"""Macros and items as the reference reads them, on generated descriptions."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.schedd.submit import MemorySubmitHost
from tests.schedd.submit.machine import submitted

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("htcondor2") is None, reason="the reference library is not installed"
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    root = tmp_path_factory.mktemp("reference")
    (root / "a.dat").write_text("")
    (root / "b.dat").write_text("")
    (root / "d").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONDOR_CONFIG", "ONLY_ENV")
        patch.chdir(root)
        yield importlib.import_module("htcondor2")


_NAMES = st.sampled_from(["A", "b", "Cc", "x.y"])
_WORDS = st.sampled_from(["a", "b1", "x.y", "/p/q.r", "d/", "s/t", "c d", "e=f", "/", "/u.v.w", " ", "n,m"])
_LATER = {"A": ["b", "Cc", "x.y"], "b": ["Cc", "x.y"], "Cc": ["x.y"], "x.y": []}


@st.composite
def _references(draw: st.DrawFn, names: list[str]) -> str:
    name = draw(st.sampled_from([*names, "Nope", "Process", "Step"]))
    form = draw(st.sampled_from(["$({})", "$({}:dflt)", "$({}:)", "$$({})", "$F({})", "$Fn({})", "$Fpx({})", "$({}"]))
    return form.format(name)


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    """Definitions that refer only to later names, so that there are no circles."""
    lines = []
    for name, later in _LATER.items():
        if draw(st.booleans()):
            pieces = draw(st.lists(st.one_of(_WORDS, _references(later)), min_size=1, max_size=3))
            value = "".join(pieces).strip().lstrip("=").strip()
            if value and not value.endswith("\\"):
                lines.append(f"{name} {draw(st.sampled_from(['=', '=', '+=']))} {value}")
    return "\n".join(["executable = /bin/sleep", *lines, ""])


def expansions(description: Any) -> dict[str, str]:
    """What each macro of a description comes to; nothing for one that comes to nothing."""
    found = {}
    for name in description:
        try:
            found[name] = str(description.expand(name))
        except KeyError:
            found[name] = ""
    del found["executable"]
    return found


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(descriptions())
def test_macros_come_to_what_the_reference_makes_of_them(reference: Any, text: str) -> None:
    wanted = expansions(reference.Submit(text))
    lines = "".join(f'+W{number} = "$({name})"\n' for number, name in enumerate(wanted))
    (cluster,) = submitted(text + lines + "queue\n").clusters
    found = {name: str(cluster.common.get(f"W{number}")).strip() for number, name in enumerate(wanted)}
    assert found == {name: value.strip() for name, value in wanted.items()}


_ITEMS = st.lists(st.text("ab1.-/", min_size=1, max_size=3), min_size=1, max_size=4)


@st.composite
def queues(draw: st.DrawFn) -> str:
    items = draw(_ITEMS)
    count = draw(st.sampled_from(["", "2 ", "1+1 "])) if draw(st.booleans()) else ""
    names = draw(st.sampled_from(["", "x ", "x,y ", "x y ", "x, y "]))
    separator = draw(st.sampled_from([" ", ",", ", "]))
    form = draw(st.sampled_from(["in {}", "in ({})", "from ({})", "matching *.dat", "matching files *", "matching d*"]))
    return f"{count}{names}{form.format(separator.join(items))}"


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(queues())
def test_items_are_those_of_the_reference(reference: Any, queue: str) -> None:
    description = reference.Submit("executable = /bin/sleep\n")
    description.setQArgs(queue)
    try:
        wanted = list(description.itemdata())
    except ValueError:
        return
    files = {f"{Path.cwd()}/{name}": "" for name in ("a.dat", "b.dat")} | {"/bin/sleep": ""}
    host = MemorySubmitHost(cwd=str(Path.cwd()), files=files, directories={f"{Path.cwd()}/d"})
    found = submitted(f"executable = /bin/sleep\nqueue {queue}\n", host)
    assert not found.errors, [str(one) for one in found.errors]
    rows = [row for plan in found.clusters for row in plan.batches[0].rows]
    names = [key.lower() for key in wanted[0]]
    assert [dict(zip(names, row, strict=True)) for row in rows] == [
        {key.lower(): value for key, value in one.items()} for one in wanted
    ]
