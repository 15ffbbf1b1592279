"""The dashboard and the alerts use metrics that the server gives, with their labels; promtool accepts them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.api import metrics

CONTRIB = Path(__file__).resolve().parents[2] / "contrib"
PROMTOOL = shutil.which("promtool")
#: Labels that Prometheus adds.
_ADDED = {"instance", "job"}


def expressions() -> Iterator[str]:
    dashboard = json.loads((CONTRIB / "grafana/roost-pool.json").read_text())
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    rules = (CONTRIB / "prometheus/roost.rules.yml").read_text()
    yield from re.findall(r"expr: (?:>-\n)?((?:.|\n(?= {10}))*)", rules)


def test_all_metrics_are_given_and_have_the_labels() -> None:
    source = Path(metrics.__file__).read_text()
    suffixes = {"Counter": ("_total",), "Histogram": ("_bucket", "_sum", "_count")}
    families = {
        name + suffix: {*re.findall(r'"(\w+)"', labels or ""), *(["le"] if suffix == "_bucket" else [])}
        for kind, name, labels in re.findall(
            r'(\w+)MetricFamily\(\s*"(\w+)",\s*"[^"]*",?\s*(?:labels=\[([^\]]*)\])?', source
        )
        for suffix in suffixes.get(kind, ("",))
    }
    used: dict[str, set[str]] = {}
    for text in expressions():
        for name, labels in re.findall(r"\b(roost_\w+)(?:\{([^}]*)\})?", text):
            used.setdefault(name, set()).update(re.findall(r"(\w+)=~?", labels))
    assert len(used) >= 7
    for name, labels in used.items():
        assert name in families, name
        assert labels <= families[name] | _ADDED, name


def test_panels_have_numbers_and_places_of_their_own() -> None:
    dashboard: dict[str, Any] = json.loads((CONTRIB / "grafana/roost-pool.json").read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not taken & cells, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
@pytest.mark.parametrize("words", [("check", "rules", "roost.rules.yml"), ("test", "rules", "roost.test.yml")])
def test_promtool_finds_nothing_wrong_with_the_alerts(words: tuple[str, ...]) -> None:
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, *words], cwd=CONTRIB / "prometheus", capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
