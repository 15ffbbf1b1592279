"""``roost classad`` as its users meet it: arguments, files, pipes, nonsense."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from roost.cli.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
COMMAND = [sys.executable, "-m", "roost.cli"]


class Done(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Roost = Callable[..., Done]


@pytest.fixture
def roost(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Roost:
    """Run a command in this process."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str, stdin: str | bytes = "") -> Done:
        data = stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogateescape")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        code = main(arguments)
        return Done(code, out.getvalue(), err.getvalue())

    return run


# -- the frame -----------------------------------------------------------------------------------


def test_version(roost: Roost) -> None:
    assert roost("--version")[:2] == (0, "roost 0.1.0\n")


@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        ((), "usage: roost COMMAND"),
        (("nonsense",), "roost: 'nonsense' is not a command of roost\n"),
        (("classad",), "roost: classad needs a command: eval, parse, "),
        (("classad", "nonsense"), "roost: 'nonsense' is not a command of roost classad\n"),
        (("classad", "eval", "--x"), "roost: --x is not an option of roost classad eval\n"),
    ],
)
def test_bad_usage_is_code_2_and_a_message(roost: Roost, arguments: tuple[str, ...], begin: str) -> None:
    done = roost(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(begin)


@pytest.mark.parametrize("where", ["nosuch.ad", "."])
def test_a_file_that_cannot_be_read_is_code_2_and_its_name(roost: Roost, where: str) -> None:
    done = roost("classad", "eval", "--my", where, "x")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"roost: {where}: ")
    assert done.err.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = 'seq 100000 | "$0" -m roost.cli classad eval | head -1; echo "${PIPESTATUS[1]}"'
    done = subprocess.run(["bash", "-c", script, sys.executable], env=ENVIRONMENT, capture_output=True, timeout=60)
    assert (done.stdout, done.stderr) == (b"1\n141\n", b"")


def test_ctrl_c_ends_without_a_word() -> None:
    process = subprocess.Popen(
        [*COMMAND, "classad", "eval", "--jsonl"],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Shells have what they start in the background ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin and process.stdout
    process.stdin.write(b'{"expr": "1"}\n')
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == b""


def test_a_command_without_tables_does_not_import_numpy() -> None:
    script = (
        "import sys; from roost.cli.__main__ import main; main(['classad', 'eval', '1']); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, stdout=subprocess.PIPE, timeout=60)
    assert done.stdout == b"1\nFalse\n"


def test_orders_to_the_terminal_in_bad_input_are_made_visible(roost: Roost) -> None:
    done = roost("classad", "eval", "\x1b[31m")
    assert done.code == 2
    assert "\x1b" not in done.err


# -- eval ----------------------------------------------------------------------------------------


def test_expressions_from_arguments_files_and_standard_input(roost: Roost, tmp_path: Path) -> None:
    file = tmp_path / "expressions"
    file.write_text("# first\n1 + 1\n\n  2 * 3\r\n")
    assert roost("classad", "eval", "5", "-f", str(file)).out == "5\n2\n6\n"
    assert roost("classad", "eval", stdin="7 % 4\n").out == "3\n"


def test_a_bad_line_is_named(roost: Roost) -> None:
    done = roost("classad", "eval", stdin="1\n\n  2 +\n")
    assert (done.code, done.out) == (2, "1\n")
    assert done.err.startswith("roost: standard input:3:5: an operand is missing after +\n      2 +\n        ^")


@pytest.mark.parametrize(
    "where", ["[a = 5]", '{"a": 5}', '<c><a n="a"><i>5</i></a></c>', "a = 5"], ids=["new", "json", "xml", "old"]
)
def test_an_ad_may_be_text_file_or_standard_input(roost: Roost, tmp_path: Path, where: str) -> None:
    file = tmp_path / "some.ad"
    file.write_text(where)
    assert roost("classad", "eval", "--my", where, "a").out == "5\n"
    assert roost("classad", "eval", "--my", str(file), "a").out == "5\n"
    assert roost("classad", "eval", "--my", "-", "a", stdin=where).out == "5\n"


@pytest.mark.parametrize("text", ["[x=1] [x=2]", "{[x=1],[x=2]}", "x = 1\n\nx = 2"])
def test_a_text_may_hold_several_ads(roost: Roost, text: str) -> None:
    assert roost("classad", "eval", "--my", text, "x") == Done(0, "1\n2\n", "")


def test_an_empty_text_is_no_ad(roost: Roost) -> None:
    done = roost("classad", "eval", "--my", "", "x")
    assert (done.code, done.out) == (2, "")
    assert "the argument is empty" in done.err and "[]" in done.err


def test_check_asks_whether_all_is_true(roost: Roost) -> None:
    assert roost("classad", "eval", "--check", "1 < 2", "true").code == 0
    assert roost("classad", "eval", "--check", "1 < 2", "undefined").code == 1
    assert roost("classad", "eval", "--check", "1").code == 1


def test_bytes_that_are_not_utf_8_come_out_as_they_went_in(tmp_path: Path) -> None:
    file = tmp_path / "latin.ad"
    file.write_bytes(b'A = "caf\xe9"\n')
    done = subprocess.run(
        [*COMMAND, "classad", "eval", "--raw", "--my", str(file), "A"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        timeout=60,
    )
    assert done.stdout == b"caf\xe9\n"


def test_json_output(roost: Roost) -> None:
    done = roost("classad", "eval", "--json", "--trace", "1 + 1")
    assert json.loads(done.out) == {"expr": "1 + 1", "value": "2", "type": "integer", "trace": "1 + 1\n  |\n  2"}


# -- the batch mode ------------------------------------------------------------------------------


def answers(roost: Roost, *lines: str | bytes) -> list[dict[str, object]]:
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    done = roost("classad", "eval", "--jsonl", stdin=data)
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


def test_every_type_has_its_name(roost: Roost) -> None:
    expressions = {
        "undefined": "undefined",
        "error": "error",
        "true": "boolean",
        "1": "integer",
        "1.5": "real",
        '"x"': "string",
        "{1}": "list",
        "[a=1]": "classad",
        'absTime("2020-01-01T00:00:00Z")': "abstime",
        "relTime(5)": "reltime",
    }
    found = answers(roost, *[json.dumps({"expr": expression}) for expression in expressions])
    assert [answer["type"] for answer in found] == list(expressions.values())


def test_values_are_literals(roost: Roost) -> None:
    requests = [
        {"expr": "{1, x}", "my": "x = 1"},
        {"expr": 'strcat("é", "\\n")'},
        {"expr": "MY.x + TARGET.x", "my": "x = 1", "target": "[x = 2]"},
        {"expr": "TARGET.x", "target": "x = 2", "my": None},
    ]
    found = answers(roost, *map(json.dumps, requests))
    assert [answer["value"] for answer in found] == ["{ 1,x }", '"\\303\\251\\n"', "3", "2"]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("", "the line is not JSON: "),
        ("{", "the line is not JSON: "),
        ("[1]", "not a JSON object"),
        ("{}", "expr is missing"),
        ('{"expr": 5}', "expr is not a string"),
        ('{"expr": null}', "expr is not a string"),
        ('{"expr": "1", "my": {}}', "my is not a string"),
        ('{"expr": "1", "target": 1}', "target is not a string"),
        (b'{"expr": "\xff"', "the line is not JSON: "),
        ("[" * 100_000, "the line cannot be decoded as JSON"),
    ],
)
def test_a_line_that_is_no_request_gets_an_error_and_the_run_goes_on(
    roost: Roost, line: str | bytes, part: str
) -> None:
    first, second = answers(roost, line, '{"expr": "1"}')
    error = first["error"]
    assert isinstance(error, dict)
    assert error["code"] == "request"
    assert part in error["message"]
    assert second["value"] == "1"


def test_mistakes_say_where(roost: Roost) -> None:
    requests = [{"expr": "1 +\n+ *"}, {"expr": "1", "my": "a = 1\nb = ("}, {"expr": "1", "target": "[a = ]"}]
    found = [answer["parse_error"] for answer in answers(roost, *map(json.dumps, requests))]
    assert [(e["in"], e["line"], e["column"], e["code"]) for e in found] == [  # type: ignore[index]
        ("expr", 2, 3, "operand"),
        ("my", 2, 5, "bracket"),
        ("target", 1, 6, "operand"),
    ]
    assert set(found[0]) == {"message", "line", "column", "code", "hint", "in"}  # type: ignore[call-overload]


def test_halves_of_surrogate_pairs_do_no_harm(roost: Roost) -> None:
    [answer] = answers(roost, '{"expr": "size(\\"\\ud800\\")"}')
    assert answer["type"] == "integer"


def test_the_pipe_answers_at_once() -> None:
    process = subprocess.Popen(
        [*COMMAND, "classad", "eval", "--jsonl"], env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin and process.stdout
    for number in range(3):
        process.stdin.write(b'{"expr": "%d + 1"}\n' % number)
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"value": str(number + 1), "type": "integer"}
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_twenty_thousand_lines(roost: Roost) -> None:
    lines = [
        json.dumps({"expr": f"TARGET.Memory >= Memory + {i % 7}", "my": f"Memory = {i}", "target": f"Memory = {i + 3}"})
        for i in range(20_000)
    ]
    found = answers(roost, *lines)
    assert len(found) == 20_000
    assert [answer["value"] for answer in found[:7]] == ["true"] * 4 + ["false"] * 3


# -- the others ----------------------------------------------------------------------------------


def test_parse_goes_on_after_a_mistake(roost: Roost) -> None:
    done = roost("classad", "parse", stdin="1+1\n(\na=?=b\n")
    assert (done.code, done.out) == (2, "1 + 1\na is b\n")
    assert done.err.startswith("roost: standard input:2:1: ")


def test_old_strings(roost: Roost) -> None:
    assert roost("classad", "parse", "--old", r'"\d\n"').out == '"\\\\d\\\\n"\n'


def test_match_answers_with_its_exit_code(roost: Roost) -> None:
    job = "[Requirements = TARGET.Memory > 10]"
    assert roost("classad", "match", job, "[Memory = 20; Requirements = true]").code == 0
    done = roost("classad", "match", job, "[Memory = 20]", "[Memory = 5; Requirements = true]")
    assert done.code == 1
    assert "the first ad's Requirements are true; the second ad's are missing" in done.out
    assert "ad 2: no match" in done.out
    assert roost("classad", "match", job, "-").code == 2


def test_match_wants_one_first_ad(roost: Roost) -> None:
    done = roost("classad", "match", "-", "[a=1]", stdin="a = 1\n\nb = 2\n")
    assert done.code == 2
    assert "more than one ad" in done.err


@pytest.mark.parametrize("form", ["old", "new", "json", "xml"])
def test_convert_there_and_back(roost: Roost, form: str) -> None:
    ads = 'A = 1\nB = "x"\nRequirements = A > 1 && TARGET.c =?= undefined\n\nA = { 1,[ b = 2 ] }\n\n'
    there = roost("classad", "convert", "--to", form, "--order", "insertion", stdin=ads)
    assert roost("classad", "convert", "--to", "old", "--order", "insertion", stdin=there.out).out == ads


def test_convert_is_strict_unless_told(roost: Roost) -> None:
    text = "A = 1\nB = (\nC = 2\n\nD = 3\n"
    assert roost("classad", "convert", stdin=text).code == 2
    done = roost("classad", "convert", "--lenient", stdin=text)
    assert (done.code, done.out) == (0, "{\n[ A = 1 ]\n,\n[ D = 3 ]\n}\n")
    assert done.err.startswith("roost: warning: standard input:2:5: the ad ends here: ")


def test_convert_warns_of_what_the_old_form_cannot_hold(roost: Roost) -> None:
    done = roost("classad", "convert", "--to", "old", r'[ a = "x\ny"; b = 1 ]')
    assert done.code == 0
    assert "cannot represent a exactly" in done.err


def test_flatten_and_refs(roost: Roost) -> None:
    assert roost("classad", "flatten", "--my", "[a = 2]", "b + a * 3").out == "b + 6\n"
    assert roost("classad", "refs", "--my", "[a = c]", "a + TARGET.b").out == "internal: a\nexternal: c TARGET.b\n"
    assert roost("classad", "refs", "--internal", "--my", "[a = c]", "a + b").out == "a\n"
    done = roost("classad", "refs", "--json", "x")
    assert json.loads(done.out) == {"expr": "x", "internal": [], "external": ["x"]}


def test_repl_from_a_pipe(roost: Roost, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("b = a * 2\nb\n")
    lines = f"a = 5\n:load {script}\n:trace on\na > 3 && nope\n:trace off\n:my\n:target [q = 1]\nq\n:quit\n99\n"
    done = roost("classad", "repl", stdin=lines)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "10\ntrace is on\na > 3 && nope\n| |   |  |\n5 |   |  undefined\n  |   undefined\n  true\n"
        "=> undefined\ntrace is off\na = 5\nb = a * 2\n1\n"
    )


def test_repl_goes_on_after_mistakes(roost: Roost, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.write_text(f":load {loop}\n")
    done = roost("classad", "repl", stdin=f"1 +\n:bogus\n:load nosuch\n:load {loop}\n:my [a=\n1 + 1\n")
    assert (done.code, done.out) == (2, "2\n")
    assert done.err.count("roost: ") == 5
