"""The generated pages are what the code makes of its tables."""

import shutil
from pathlib import Path

import pytest
from website.manual import generate as manual

from roost.cli.condor import names as condor
from roost.cli.gridengine import names as gridengine
from roost.tables.pages import filled

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = manual.pages(DOCS)
INSTALLED = manual.installed()
PACKAGED = manual.packaged()


@pytest.mark.parametrize("path", PAGES)
def test_a_generated_page_is_current(path):
    assert (DOCS / path).read_text(encoding="utf-8") == PAGES[path], "run `make docs`"


@pytest.mark.parametrize("path", INSTALLED)
def test_a_file_to_be_installed_is_current(path):
    assert (DOCS.parent / "share" / path).read_text(encoding="utf-8") == INSTALLED[path], "run `make docs`"


@pytest.mark.parametrize("path", PACKAGED)
def test_a_file_of_the_shims_is_current(path):
    assert (DOCS.parent / manual.COMMANDS / path).read_text(encoding="utf-8") == PACKAGED[path], "run `make docs`"


def test_the_shims_have_no_other_files():
    commands = DOCS.parent / manual.COMMANDS
    assert {str(path.relative_to(commands)) for path in commands.glob("*/share/**/*") if path.is_file()} == set(
        PACKAGED
    )


def test_every_command_of_the_shims_says_what_it_does():
    for names in (condor, gridengine):
        assert list(names.SYNOPSES) == list(names.COMMANDS)


def test_nothing_else_is_installed():
    share = DOCS.parent / "share"
    assert {str(path.relative_to(share)) for path in share.rglob("*") if path.is_file()} == set(INSTALLED)


def test_the_program_writes_the_pages_and_says_how_it_is_called(tmp_path, capsys):
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.rmtree(tmp_path / "docs/lint")
    assert manual.main([str(tmp_path / "docs")]) == 0
    assert (tmp_path / "docs/lint/index.md").is_file()
    assert (tmp_path / "share/man/man1/roost.1").is_file()
    assert (tmp_path / manual.COMMANDS / "condor/share/man/man1/condor_q.1").is_file()
    assert manual.main([]) == 2
    assert "DOCS" in capsys.readouterr().err


@pytest.mark.parametrize(
    "page", ["", "<!-- generated: b -->\n<!-- end: b -->", "<!-- generated: a -->\n<!-- end: b -->"]
)
def test_a_page_without_its_blocks_is_refused(page):
    with pytest.raises(ValueError, match="blocks"):
        filled(page, {"a": ["text"]})


def test_what_people_write_between_blocks_stays():
    page = "one\n<!-- generated: a -->\nold\n<!-- end: a -->\ntwo\n"
    once = filled(page, {"a": ["new"]})
    assert once == "one\n<!-- generated: a -->\n\nnew\n\n<!-- end: a -->\ntwo\n"
    assert filled(once, {"a": ["new"]}) == once
