"""The exchange with a verifier about one job: lines in, lines out.

Both sides write lines of words. ``START`` is answered by ``STARTED``, with ``SEND ENV`` before it if the verifier wants
the environment. Then follow a ``PARAM NAME VALUE`` for each parameter, an ``ENV ADD NAME VALUE`` for each variable, and
``BEGIN``. The verifier answers with corrections (``PARAM NAME VALUE``, without a value to remove one; ``ENV ADD``,
``MOD`` and ``DEL``), messages (``LOG INFO TEXT``) and finally ``RESULT STATE ACCEPT|CORRECT|REJECT|REJECT_WAIT TEXT``.
Line ends, tabs and backslashes in values are written ``\n``, ``\t`` and ``\\``.

Source: jsv_script_interface(3) and experiments with Grid Engine 8.1.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from roost.base.records import dataclass, field

#: Most lines of one verification, and most bytes of one line.
LINES_MAX: Final = 10_000
LINE_BYTES_MAX: Final = 128 * 1024
#: Most characters of a text that are shown.
_SHOWN_CHARS_MAX: Final = 1000

_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\a": "\\a", "\b": "\\b", "\v": "\\v"}
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_PLAIN: Final = {escape[1]: sign for sign, escape in _ESCAPES.items()}


class Result(StrEnum):
    """A verifier's result for a job."""

    ACCEPT = "ACCEPT"
    CORRECT = "CORRECT"
    REJECT = "REJECT"
    #: It may be accepted later.
    REJECT_WAIT = "REJECT_WAIT"


class Broken(Exception):
    """A verifier does not follow the protocol; the text is Grid Engine's."""


@dataclass(slots=True)
class Verdict:
    """The answers of a verifier about a job so far."""

    result: Result | None = None
    text: str = ""
    #: Name to value; "" removes a parameter.
    parameters: dict[str, str] = field(default_factory=dict)
    #: Name to value; None removes a variable.
    environment: dict[str, str | None] = field(default_factory=dict)
    #: Level and text of messages.
    messages: list[tuple[str, str]] = field(default_factory=list)

    @property
    def accepts(self) -> bool:
        """Whether the job is accepted."""
        return self.result in (Result.ACCEPT, Result.CORRECT)


class Conversation:
    """The exchange about one job."""

    def __init__(self, parameters: Sequence[tuple[str, str]], environment: Mapping[str, str]) -> None:
        self._parameters = parameters
        self._environment = environment
        self._sends_environment = False
        self._started = False
        self._lines = 0
        self.verdict = Verdict()

    @property
    def is_over(self) -> bool:
        """Whether the verifier has decided."""
        return self.verdict.result is not None

    def begin(self) -> list[str]:
        """The first lines to send."""
        return ["START"]

    def heard(self, line: str) -> list[str]:
        """Process a line of the verifier, and return the lines to send. Raises Broken."""
        self._lines += 1
        if self._lines > LINES_MAX:
            raise Broken(f"the JSV has sent more than {LINES_MAX} lines about one job")
        word, _, rest = line.strip("\r\n").lstrip().partition(" ")
        match word:
            case "":
                pass
            case "STARTED" if not self._started:
                self._started = True
                return self._job_lines()
            case "SEND" if rest.strip() == "ENV" and not self._started:
                self._sends_environment = True
            case "LOG":
                level, _, text = rest.partition(" ")
                if level not in ("INFO", "WARNING", "ERROR"):
                    raise Broken(_unknown(line))
                self.verdict.messages.append((level, text[:_SHOWN_CHARS_MAX]))
            case "PARAM" if self._started:
                name, _, value = rest.partition(" ")
                self.verdict.parameters[name] = value
            case "ENV" if self._started:
                self._environment_changes(line, rest)
            case "RESULT" if self._started:
                self._result(line, rest)
            case _:
                raise Broken(_unknown(line))
        return []

    def _job_lines(self) -> list[str]:
        variables = self._environment.items() if self._sends_environment else ()
        return [
            *(f"PARAM {name} {_one_line(value)}".rstrip(" ") for name, value in self._parameters),
            *(f"ENV ADD {name} {escaped(value)}".rstrip(" ") for name, value in variables),
            "BEGIN",
        ]

    def _environment_changes(self, line: str, rest: str) -> None:
        verb, _, more = rest.partition(" ")
        name, _, value = more.partition(" ")
        if verb not in ("ADD", "MOD", "DEL") or not name:
            raise Broken(_unknown(line))
        self.verdict.environment[name] = None if verb == "DEL" else unescaped(value)

    def _result(self, line: str, rest: str) -> None:
        word, _, more = rest.partition(" ")
        state, _, text = more.partition(" ")
        if word != "STATE":
            raise Broken(_unknown(line))
        if state not in list(Result):
            raise Broken(f'JSV sent unknown result "{state[:100]}"')
        self.verdict.result, self.verdict.text = Result(state), text[:_SHOWN_CHARS_MAX].strip()


def _unknown(line: str) -> str:
    word = (line.split(None, 1) or [""])[0]
    return f'master got unknown command from JSV: "{word[:100]}"'


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def escaped(text: str) -> str:
    """A value of the environment as it is sent."""
    return "".join(_ESCAPES.get(sign, sign) for sign in text)


def unescaped(text: str) -> str:
    """A value of the environment as it was sent."""
    return _ESCAPED.sub(lambda found: _PLAIN.get(found[1], found[0]), text)
