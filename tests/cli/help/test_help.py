"""`roost --help` and `roost help`: groups, topics, and what was probably meant."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from roost.cli.__main__ import COMMANDS, main, parser_of_all
from roost.cli.help.groups import GROUPS
from roost.cli.help.markdown import readable
from roost.cli.help.names import explained, names
from roost.cli.help.topics import TOPICS
from roost.cli.parsing import commands_of

COMMAND_WORDS = [words for words, _, _ in commands_of(parser_of_all())]


def out_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    told = capsys.readouterr()
    assert (told.err if code == 0 else told.out) == ""
    return told.out if code == 0 else told.err


def test_every_command_is_in_one_group() -> None:
    assert sorted(name for group in GROUPS for name in group.commands) == sorted(COMMANDS)


def test_the_groups_say_of_a_command_what_its_parser_says() -> None:
    told = {words[0]: about for words, _, about in commands_of(parser_of_all()) if len(words) == 1}
    assert {name: about for group in GROUPS for name, about in group.commands.items()} == told


@pytest.mark.parametrize("arguments", ["--version", "--help", "", "quue"])
def test_no_command_is_imported_where_none_is_named(arguments: str) -> None:
    """All of them take a second and a half."""
    program = (
        "import sys; from roost.cli.__main__ import COMMANDS, main; main(sys.argv[1:]); "
        "print([name for name in COMMANDS.values() if f'roost.cli.{name}' in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments.split()], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_the_help_shows_a_group_with_an_example_that_can_be_typed(
    group: object, capsys: pytest.CaptureFixture[str]
) -> None:
    text = out_of(capsys, "--help")
    assert f"{group.title}, for example `{group.example}`\n" in text  # type: ignore[attr-defined]
    parser_of_all().parse_args(shlex.split(group.example)[1:])  # type: ignore[attr-defined]


def test_help_without_a_topic_is_the_help_of_roost(capsys: pytest.CaptureFixture[str]) -> None:
    assert out_of(capsys, "help") == out_of(capsys, "--help")


@pytest.mark.parametrize("words", COMMAND_WORDS, ids=" ".join)
def test_help_of_a_command_is_what_the_command_says(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert out_of(capsys, "help", *words) == out_of(capsys, *words, "--help")


@pytest.mark.parametrize("topic", TOPICS)
def test_help_of_a_topic_is_its_text(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    written = re.sub(r"[|\s]|---", "", TOPICS[topic].text)
    assert written in re.sub(r"\s", "", out_of(capsys, "help", topic))


@pytest.mark.parametrize(
    ("topic", "lines"),
    [
        (
            "max_jobs_running",
            ["MAX_JOBS_RUNNING: knob of the configuration (integer; ≥ 0; default 10000; takes effect"],
        ),
        ("KeyboardIdle", ["KeyboardIdle: attribute of a machine ad (integer, s)"]),
        ("START", ["START: knob of the configuration", "START: policy expression", "START: attribute of a machine ad"]),
        ("request_memory", ["request_memory: command of submit descriptions (sets RequestMemory)"]),
        ("rst101", ["RST101: Arithmetic with a text"]),
        ("RGE101", ["RGE101: "]),
        ("JOB_STOP_COUNT", ["    No effect. Jobs are stopped at once."]),
        ("MAX_JOBS_RUNNING", ["    Read by roost.schedd.configured."]),
        ("<subsys>_log", ["<SUBSYS>_LOG: knob of the configuration"]),
        ("KBDD_LOG", ["KBDD_LOG, of the family <SUBSYS>_LOG: knob of the configuration"]),
        ("config-without-effect", ["config-without-effect: warning in a configuration"]),
        ("submit-no-executable", ["submit-no-executable: error in a submit description", "    Add a line"]),
        ("bad-request", ["bad-request: code of an answer of a daemon"]),
        ("dag-cycle", ["dag-cycle: error in a DAG file"]),
        ("cell-in-use", ["cell-in-use: error in a Grid Engine cell"]),
        ("slots-too-many", ["slots-too-many: error in a layout of slots"]),
        ("D_LOAD", ["D_LOAD: category of <DAEMON>_DEBUG and ALL_DEBUG"]),
        ("splice", ["SPLICE: command of DAG files"]),
        ("claim", ["claim: word (glossary: Jobs and machines)"]),
        ("dynamic slot", ["static slot, partitionable slot, dynamic slot: word (glossary"]),
        ("Suspended", ["Suspended: activity (glossary: States of slots)", "Suspended: status 7 (glossary: Statuses"]),
        ("condor_q", ["condor_q: command of HTCondor, which", "  -constraint EXPR"]),
        ("qsub", ["qsub: command of Grid Engine, which", "  -N "]),
    ],
)
def test_help_of_a_name_says_what_it_is(topic: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = out_of(capsys, "help", topic)
    assert [line for line in lines if not any(each.startswith(line) for each in text.splitlines())] == []


def test_every_name_that_is_completed_is_explained() -> None:
    explanations = {name: list(explained(name)) for name in names()}
    assert [name for name, texts in explanations.items() if not texts] == []
    assert [name for name, texts in explanations.items() for text in texts if "](" in text] == [], "links of pages"


def test_the_help_of_another_systems_command_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    text = out_of(capsys, "help", "qsub")
    assert [line for line in text.splitlines()[1:] if len(line) > 72] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("story 3.0", "'3.0' is not a command of roost story\n    hint: try `roost story job 3.0`; `roost"),
        ("explain slot1@vm", "is not a command of roost explain\n    hint: try `roost explain slot slot1@vm`; `roost"),
        ("quue", "roost: 'quue' is not a command of roost\n    hint: did you mean queue? `roost --help` lists the"),
        ("config chek", "'chek' is not a command of roost config\n    hint: did you mean check? `roost config --help`"),
        ("queue --hed", "--hed is not an option of roost queue\n    hint: did you mean --held? `roost queue --help`"),
        ("explain job 1.0 --hme=x", "--hme is not an option of roost explain job\n    hint: did you mean --home?"),
        (
            "down now",
            "'now' is not an argument of roost down\n    hint: `roost down --help` lists its options and arguments",
        ),
        ("--versoin", "--versoin is not an option of roost\n    hint: did you mean --version?"),
        ("help request_memry", "no help on 'request_memry'\n    hint: did you mean `roost help request_memory`?"),
        ("help exit-statsu", "hint: did you mean `roost help exit-status`?"),
        ("help zzzzqqqq", "hint: `roost help` lists the commands and topics"),
        (
            "lab",
            "roost: lab needs a command: simulate, test or compare\n    hint: `roost lab --help` describes them",
        ),
        ("explain", "roost: explain needs a command: expr, "),
        (
            "queue --limit x",
            "roost: queue: -n/--limit: 'x' is not a whole number\n    hint: `roost queue --help` lists",
        ),
        ("userprio ann --floor x", "roost: userprio: --floor: 'x' is not a number\n"),
        ("completion csh", "roost: completion: 'csh' is not bash, zsh or fish\n    hint: `roost completion --help`"),
        ("drain --then x", "roost: drain: --then: 'x' is not nothing, resume, exit, restart or reconfig\n"),
        (
            "config get",
            "roost: config get: the following arguments are required: NAME\n    hint: `roost config get --help`",
        ),
        ("history --limit x", "roost: history: -n/--limit: 'x' is not a whole number"),
        ("zzzz", "roost: 'zzzz' is not a command of roost\n    hint: `roost --help` lists the commands"),
    ],
)
def test_what_is_misspelt_is_refused_with_what_was_meant(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told in out_of(capsys, *arguments.split(), code=2)


def test_pages_are_laid_out_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.cli.help.markdown.width", lambda: 46)
    page = """# A [page](x.md)

| word | meaning |
|:--|---|
| `a` | one \\| two, and what does not fit into the line |
| `longer` | |

## Next
"""
    assert (
        readable(page)
        == """A page
======

word      meaning
`a`       one | two, and what does not fit
          into the line
`longer`

Next
----"""
    )


def test_the_names_of_commands_stand_apart_from_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    lines = out_of(capsys, "help").splitlines()
    for group in GROUPS:
        for name, about in group.commands.items():
            assert any(line.startswith(f"  {name}  ") and line.endswith(f"  {about}") for line in lines), name
