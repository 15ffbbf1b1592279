"""Where and how much a daemon logs, as the configuration has it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.config import ConfigError, MemoryHost, load_text
from roost.runtime.daemon_log import LOGS_KEPT
from roost.runtime.home import Home
from roost.runtime.log_settings import PARTS, BadLog, LogSettings, PartSettings, log_as, log_problems, log_settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("ROOST_LOG_LEVEL", raising=False)
    found = Home(tmp_path / "home")
    found.make()
    return found


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    logger = logging.getLogger()
    before, level = list(logger.handlers), logger.level
    logger.handlers[:] = []
    yield logger
    for name in (name for parts in PARTS.values() for names in parts.values() for name in names):
        part = logging.getLogger(name)
        for each in list(part.handlers):
            part.removeHandler(each)
            each.close()
        part.propagate = True
        part.setLevel(logging.NOTSET)
    for each in logger.handlers:
        each.close()
    logger.handlers[:] = before
    logger.setLevel(level)


def settings(text: str, home: Home, role: str = "node") -> LogSettings:
    return log_settings(load_text(text, MemoryHost()), home, role)


def test_nothing_configured_is_a_file_in_the_state_directory(home: Home) -> None:
    size = 10 * 1024**2
    starters = PartSettings(name="STARTER", path=None, bytes_max=size, kept=LOGS_KEPT, level=logging.INFO)
    assert settings("", home) == LogSettings(
        path=home.log / "node.log", bytes_max=size, kept=LOGS_KEPT, level=logging.INFO, parts=(starters,)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MAX_STARTD_LOG = 1 Gb", 1024**3),
        ("MAX_STARTD_LOG = 500000", 500_000),
        ("MAX_DEFAULT_LOG = 20kb", 20 * 1024),
        ("MAX_DEFAULT_LOG = 20kb\nMAX_STARTD_LOG = 1 mb", 1024**2),
        ("MAX_SCHEDD_LOG = 20kb", 10 * 1024**2),
        ("STARTD.MAX_STARTD_LOG = 30kb", 30 * 1024),
        ("MAX_STARTD_LOG = 1", 10_000),
        ("MAX_STARTD_LOG = 0", 2**63 - 1),
    ],
)
def test_the_size_is_the_daemon_s_or_else_that_of_all(text: str, expected: int, home: Home) -> None:
    assert settings(text, home).bytes_max == expected


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("STARTD_DEBUG = D_FULLDEBUG D_COMMAND", logging.DEBUG),
        ("ALL_DEBUG = D_ANY", logging.DEBUG),
        ("STARTD_DEBUG = D_LOAD:2", logging.DEBUG),
        ("STARTD_DEBUG = D_ALWAYS D_NETWORK", logging.INFO),
        ("SCHEDD_DEBUG = D_FULLDEBUG", logging.INFO),
    ],
)
def test_the_level_follows_the_categories(text: str, level: int, home: Home) -> None:
    assert settings(text, home).level == level


@pytest.mark.parametrize("text", ["MAX_STARTD_LOG = 1 day", "STARTD_LOG = log/StartLog"])
def test_what_makes_no_sense_is_refused_with_the_name_of_the_knob(text: str, home: Home) -> None:
    with pytest.raises(ConfigError, match=text.partition(" ")[0]):
        settings(text, home)


def test_a_size_below_the_least_is_raised_with_a_warning(home: Home) -> None:
    config = load_text("MAX_DEFAULT_LOG = 9 kb\nMAX_STARTER_LOG = 10000\nMAX_STARTD_LOG = 0\n", MemoryHost())
    assert settings("MAX_DEFAULT_LOG = 9 kb", home).bytes_max == 10_000
    assert [str(one) for one in log_problems(config, "node")] == []
    (found,) = log_problems(config, "schedd")
    assert str(found).startswith("<text>:1:1: warning: MAX_DEFAULT_LOG: 9216 bytes are below the minimum of 10000")


def test_a_log_elsewhere_is_linked_to_and_rotated_there(home: Home, tmp_path: Path, root: logging.Logger) -> None:
    (home.log / "node.log").write_text("of before\n")
    path = tmp_path / "new" / "StartLog"
    log_as(settings(f"STARTD_LOG = {path}\nMAX_NUM_STARTD_LOG = 1\nMAX_STARTD_LOG = 10000", home), home, "node")
    for number in range(1000):
        root.warning("line %d of %s", number, "x" * 40)
    assert sorted(each.name for each in path.parent.iterdir()) == ["StartLog", "StartLog.1"]
    assert (home.log / "node.log").read_text() == path.read_text()
    assert path.read_text().splitlines()[-1].endswith(f"line 999 of {'x' * 40}")
    assert (home.log / "node.log.1").read_text() == "of before\n"


def test_a_place_that_cannot_be_written_is_named(home: Home, tmp_path: Path, root: logging.Logger) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadLog, match="STARTD_LOG: cannot write"):
        log_as(settings(f"STARTD_LOG = {tmp_path / 'file' / 'x'}", home), home, "node")


def test_a_part_of_a_daemon_has_a_log_of_its_own_while_it_is_configured(
    home: Home, tmp_path: Path, root: logging.Logger
) -> None:
    path = tmp_path / "new" / "NegotiatorLog"
    central, matchmaker = logging.getLogger("roost.central"), logging.getLogger("roost.matchmaker")
    defrag, main, link = logging.getLogger("roost.defrag"), home.log / "central.log", home.log / "negotiator.log"
    own = f"NEGOTIATOR_LOG = {path}\nMAX_NEGOTIATOR_LOG = 10000\nMAX_NUM_NEGOTIATOR_LOG = 1"
    log_as(settings(own, home, "central"), home, "central")
    central.info("of the collector")
    defrag.info("of a drain")
    matchmaker.info("of a cycle")
    assert [line.split(": ", 1)[1] for line in path.read_text().splitlines()] == ["of a cycle"]
    assert link.resolve() == path
    assert [line.split(": ", 1)[1] for line in main.read_text().splitlines()] == ["of the collector", "of a drain"]
    for number in range(1000):
        matchmaker.info("line %d of %s", number, "x" * 40)
    assert sorted(each.name for each in path.parent.iterdir()) == ["NegotiatorLog", "NegotiatorLog.1"]
    log_as(settings("", home, "central"), home, "central")
    matchmaker.info("of a later cycle")
    assert main.read_text().splitlines()[-1].endswith("roost.matchmaker: of a later cycle")
    assert not link.is_symlink()
    assert "later" not in path.read_text()


def test_a_part_may_log_where_its_daemon_does_and_two_parts_together(
    home: Home, tmp_path: Path, root: logging.Logger
) -> None:
    both, together = tmp_path / "central", tmp_path / "parts"
    log_as(settings(f"COLLECTOR_LOG = {both}\nNEGOTIATOR_LOG = {both}", home, "central"), home, "central")
    logging.getLogger("roost.matchmaker").info("once")
    assert both.read_text().count("once") == 1
    log_as(settings(f"DEFRAG_LOG = {together}\nNEGOTIATOR_LOG = {together}", home, "central"), home, "central")
    logging.getLogger("roost.matchmaker").info("a cycle")
    logging.getLogger("roost.defrag").info("a drain")
    assert [line.rpartition(": ")[2] for line in together.read_text().splitlines()] == ["a cycle", "a drain"]


@pytest.mark.parametrize(
    ("text", "of_daemon", "of_part"),
    [
        ("", False, False),
        ("STARTER_DEBUG = D_FULLDEBUG", False, True),
        ("STARTD_DEBUG = D_FULLDEBUG", True, True),
        ("STARTER_DEBUG = D_JOB\nALL_DEBUG = D_ALL", True, True),
        ("NEGOTIATOR_DEBUG = D_FULLDEBUG", False, False),
    ],
)
def test_the_categories_of_a_part_are_added_to_those_of_its_daemon(
    text: str, of_daemon: bool, of_part: bool, home: Home, root: logging.Logger
) -> None:
    log_as(settings(text, home), home, "node")
    logging.getLogger("roost.node").debug("of the machine")
    logging.getLogger("roost.starter").debug("of a starter")
    found = (home.log / "node.log").read_text()
    assert ("of the machine" in found, "of a starter" in found) == (of_daemon, of_part)


def test_what_makes_no_sense_of_a_part_is_told_too(home: Home, tmp_path: Path, root: logging.Logger) -> None:
    config = load_text("NEGOTIATOR_DEBUG = D_MATHC\nNEGOTIATOR_LOG = x\nMAX_DEFRAG_LOG = 3 pb\n", MemoryHost())
    assert [each.message for each in log_problems(config, "central")] == [
        "NEGOTIATOR_DEBUG: D_MATHC is not a log category",
        "NEGOTIATOR_LOG: x is not an absolute path",
        "MAX_DEFRAG_LOG: 3 pb is not a size",
    ]
    (tmp_path / "file").write_text("")
    with pytest.raises(BadLog, match="STARTER_LOG: cannot write"):
        log_as(settings(f"STARTER_LOG = {tmp_path / 'file' / 'x'}", home), home, "node")


@pytest.mark.parametrize(
    ("text", "loads"),
    [("", False), ("STARTD_DEBUG = D_FULLDEBUG\n", False), ("STARTD_DEBUG = D_FULLDEBUG D_LOAD\n", True),
     ("ALL_DEBUG = d_load:2\n", True), ("STARTD_DEBUG = D_ALL\n", True)],
)  # fmt: skip
def test_d_load_adds_loads_to_the_log(tmp_path: Path, text: str, loads: bool) -> None:
    assert log_settings(load_text(text, MemoryHost()), Home(tmp_path), "node").loads is loads
