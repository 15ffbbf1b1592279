"""The documentation site: it builds without a warning, its links hold, and all pages are in it.

The tests that render need the generator (`pip install '.[site]'`, which `make test` does) and are skipped without it.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("zensical", "mmdr")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
rendered = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; pip install '.[site]'")


def build_program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("website_build", ROOT / "website/build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


build = build_program()


def navigation(entries: list[dict[str, object]]) -> Iterator[str]:
    """The pages of the navigation."""
    for entry in entries:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                assert isinstance(value, list)
                yield from navigation(value)


def staged(tmp_path: Path) -> Path:
    stage = build.Stage(tmp_path / "pages")
    stage.directory.mkdir()
    stage.fill()
    assert isinstance(stage.directory, Path)
    return stage.directory


def test_the_navigation_has_every_page_once_but_those_of_rules_and_files(tmp_path: Path) -> None:
    config = tomllib.loads((ROOT / "website/zensical.toml").read_text(encoding="utf-8"))
    named = list(navigation(config["project"]["nav"]))
    assert len(named) == len(set(named))
    directory = staged(tmp_path)
    pages = {str(path.relative_to(directory)) for path in directory.rglob("*.md")}
    assert set(named) <= pages
    rest = {page for page in pages - set(named) if not re.match(r"lint/RST\d+\.md|lint/cell/RGE\d+\.md|files/", page)}
    assert rest == set()


def test_files_beside_the_pages_become_pages(tmp_path: Path) -> None:
    directory = staged(tmp_path)
    shown = (directory / "files/examples/hello.sub.md").read_text(encoding="utf-8")
    assert (ROOT / "examples/hello.sub").read_text(encoding="utf-8").strip() in shown
    assert "](<../files/examples/index.md>)" in (directory / "tutorial/first-pool.md").read_text(encoding="utf-8")
    assert "```mermaid" not in (directory / "concepts/starter.md").read_text(encoding="utf-8")


def test_lost_links_lost_headings_and_lost_pages_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<h1 id="top">a</h1><a href="#top">1</a><a href="b.html#there">2</a><a href="b.html#gone">3</a>'
        '<a href="c.html">4</a><a href="https://example.org/x">5</a><img src="d.png">'
    )
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    (tmp_path / "alone.html").write_text('<a href="b.html">b</a>')
    assert build.lost_links(tmp_path) == [
        "index.html: b.html#gone",
        "index.html: c.html",
        "index.html: d.png",
        "alone.html: no link leads to it",
    ]


@rendered
@pytest.mark.slow
def test_the_site_builds_and_needs_nothing_of_other_servers(tmp_path: Path) -> None:
    site = tmp_path / "site"
    # It fails upon a warning of the generator, and upon any link of its own that leads nowhere.
    assert build.build(site) > 200
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    loaded = [
        f"{path.name}: {each}"
        for path, text in pages.items()
        for each in re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]+)"', text)
    ]
    assert loaded == []
    states = pages[site / "concepts/slot-states.html"]
    assert states.count('<div class="diagram"') == states.count('<svg id="diagram-') == 1
    assert ">All rules</a>" in pages[site / "lint/RST101.html"]
    assert "<code>starter/<wbr>transitions.py</code>" in pages[site / "documents.html"]
    assert "37 (P)" in states and "mermaid" not in states
    # Search works on the reader's side, from an index that has the words of the pages.
    assert "MAX_JOBS_RUNNING" in (site / "search.json").read_text(encoding="utf-8")
