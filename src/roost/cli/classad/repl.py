"""``roost classad repl``: type an expression, see its value.

Lines come from the keyboard, with history and editing if the readline module is available, or from a pipe, then without
prompts. ``Name = expression`` sets an attribute of the ad MY; lines that begin with a colon are commands.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from roost.classad import ClassAd, ParseError, evaluate, parse_expression, trace, unparse_value
from roost.classad.forms import Form, format_ad
from roost.cli.classad.input import clean, lines_of, one_ad
from roost.cli.terminal import CommandError, Exit, complain, say, width

_HELP: Final = """\
EXPRESSION        its value, in the ads MY and TARGET
Name = EXPRESSION set an attribute of MY
:my [AD]          show MY, or take it from a file or a text such as '[ a = 1 ]'
:target [AD]      likewise for TARGET; ':target none' removes it
:trace on|off     show the value of each part under the expression
:refs EXPRESSION  the attributes that it refers to
:flatten EXPRESSION  simplified with the values that MY gives
:load FILE        run the lines of a file as if you had typed them
:help             this
:quit             quit (or press Ctrl-D)"""

_ASSIGNMENT: Final = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*=(?![=?!])(.*)", re.DOTALL)
_PROMPT: Final = "classad> "
_HISTORY_LINES_MAX: Final = 1000
#: Maximum nesting depth of loaded files.
_LOADS_MAX: Final = 8


class Repl:
    """One session."""

    def __init__(self, *, my: ClassAd | None = None, target: ClassAd | None = None) -> None:
        self._my = my if my is not None else ClassAd()
        self._target = target
        self._tracing = False
        self._failed = False
        self._loads = 0
        self._done = False
        self._commands: dict[str, Callable[[str], None]] = {
            "my": self._command_my,
            "target": self._command_target,
            "trace": self._command_trace,
            "refs": self._command_refs,
            "flatten": self._command_flatten,
            "load": self._command_load,
            "help": lambda _: say(_HELP),
            "quit": lambda _: self._quit(),
            "exit": lambda _: self._quit(),
        }

    def run(self) -> int:
        """Run until the end of input; return `Exit.BAD` if lines from a pipe had errors."""
        interactive = sys.stdin is not None and sys.stdin.isatty()
        for line in _typed_lines() if interactive else lines_of("-"):
            self.line(line)
            sys.stdout.flush()
            if self._done:
                break
        return Exit.BAD if self._failed and not interactive else Exit.OK

    def line(self, line: str) -> None:
        """Carry out one line; errors are shown and the session continues."""
        text = clean(line).strip()
        if not text or text.startswith("#"):
            return
        try:
            if text.startswith(":"):
                self._command(text[1:])
            else:
                self._value_or_assignment(text)
        except (ParseError, CommandError) as error:
            self._fail(str(error))
        except OSError as error:
            self._fail(f"{error.filename}: {error.strerror}")

    def _fail(self, message: str) -> None:
        self._failed = True
        complain(message)

    def _command(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        command = self._commands.get(word.lower())
        if command is None:
            raise CommandError(f"unknown command :{word}; :help lists the commands")
        command(rest.strip())

    def _value_or_assignment(self, text: str) -> None:
        found = _ASSIGNMENT.match(text)
        if found:
            self._my.set(found.group(1), found.group(2).strip())
            return
        expression = parse_expression(text)
        value = evaluate(expression, self._my, self._target)
        if self._tracing:
            from roost.cli.classad.trace_view import draw

            say(draw(trace(expression, self._my, self._target), width()))
            say(f"=> {unparse_value(value)}")
        else:
            say(unparse_value(value))

    # -- commands ------------------------------------------------------------------------------

    def _command_my(self, where: str) -> None:
        if where:
            self._my = one_ad(where, ":my") or ClassAd()
        else:
            say(format_ad(self._my, Form.OLD).rstrip("\n") or "(no attributes)")

    def _command_target(self, where: str) -> None:
        if where == "none":
            self._target = None
        elif where:
            self._target = one_ad(where, ":target") or ClassAd()
        elif self._target is None:
            say("(no TARGET)")
        else:
            say(format_ad(self._target, Form.OLD).rstrip("\n") or "(no attributes)")

    def _command_trace(self, word: str) -> None:
        if word not in ("on", "off", ""):
            raise CommandError("write :trace on or :trace off")
        self._tracing = not self._tracing if not word else word == "on"
        say(f"trace is {'on' if self._tracing else 'off'}")

    def _command_refs(self, text: str) -> None:
        say(f"internal: {' '.join(self._my.internal_refs(text))}".rstrip())
        say(f"external: {' '.join(self._my.external_refs(text))}".rstrip())

    def _command_flatten(self, text: str) -> None:
        say(str(self._my.flatten(text)))

    def _command_load(self, name: str) -> None:
        if not name:
            raise CommandError("write :load FILE")
        if self._loads >= _LOADS_MAX:
            raise CommandError(f"loaded files are nested more than {_LOADS_MAX} deep")
        self._loads += 1
        try:
            for line in lines_of(name):
                if self._done:
                    break
                self.line(line)
        finally:
            self._loads -= 1

    def _quit(self) -> None:
        self._done = True


def _typed_lines() -> Iterator[str]:
    """Lines from the keyboard, with history if readline is available."""
    say("ClassAd expressions; :help shows the commands")
    with _history():
        while True:
            try:
                line = input(_PROMPT)
            except EOFError:
                say("")
                return
            except KeyboardInterrupt:
                say("")
                continue
            yield line


@contextlib.contextmanager
def _history() -> Iterator[None]:
    """Load the lines of earlier sessions and save those of this one; if that fails, continue without."""
    try:
        import readline
    except ImportError:
        yield
        return
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "roost" / "classad-history"
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_HISTORY_LINES_MAX)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(path)
