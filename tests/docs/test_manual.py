"""The generated pages are what the code makes of its tables."""

from pathlib import Path

import pytest

from roost.cli import manual

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = manual.pages()


@pytest.mark.parametrize("path", PAGES)
def test_a_generated_page_is_current(path):
    assert (DOCS / path).read_text(encoding="utf-8") == PAGES[path], "run `make docs`"


def test_the_program_writes_the_pages_and_says_how_it_is_called(tmp_path, capsys):
    assert manual.main([str(tmp_path)]) == 0
    assert (tmp_path / "lint/index.md").is_file()
    assert manual.main([]) == 2
    assert "DIRECTORY" in capsys.readouterr().err
