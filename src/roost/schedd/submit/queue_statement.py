"""The queue statement: how many jobs, and for which items.

``queue [N] [variables] [in | from | matching [files | dirs | any]] [slice] items`` makes N jobs for each item, in the
order of the items; ``$(Step)`` counts within an item, ``$(ItemIndex)`` is the item's place before the slice.

* ``in``: words, separated by commas or blanks, on one line or in parentheses over several;
* ``matching``: the files and directories that patterns match, sorted; directories end with a slash;
* ``from``: a file, the output of ``command |``, or lines in parentheses; one item per line, its words assigned to the
  variables in order, the last of which takes the rest. Comments and blank lines are not items. With ``TABLE`` before
  it, the first line names the variables; if it has commas, only they separate the words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from roost.base.records import dataclass
from roost.config import Span
from roost.config.expressions import ExpressionProblem
from roost.schedd.submit.diagnostics import Findings, SubmitCode
from roost.schedd.submit.host import FileKind, LanguageHost

#: Maximum number of jobs of one submission.
JOBS_MAX: Final = 10_000_000
ITEMS_MAX: Final = 5_000_000

_KEYWORD: Final = re.compile(r"(?:^|(?<=[\s,]))(in|from|matching)(?=[\s(\[]|$)", re.IGNORECASE)
_MODE: Final = re.compile(r"(files|dirs|any)\b\s*", re.IGNORECASE)
_SLICE: Final = re.compile(r"\[\s*(-?\d*)\s*(?:(:)\s*(-?\d*)\s*(?::\s*(-?\d*)\s*)?)?\]\s*")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_SEPARATORS: Final = re.compile(r"[,\s]+")
_FIELD: Final = re.compile(r"\s*([^,\s]*)\s*,?\s*")
_TABLE: Final = re.compile(r"table\b\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueItems:
    """The result of a queue statement."""

    #: Number of jobs for each item.
    count: int
    #: Names as written; empty if there are no items.
    variables: tuple[str, ...] = ()
    #: A row of values for each item left after the slice; one empty row if there are no items.
    rows: tuple[tuple[str, ...], ...] = ((),)
    #: The place of each row before the slice; None if unchanged.
    indices: tuple[int, ...] | None = None

    @property
    def jobs(self) -> int:
        """Number of jobs queued."""
        return self.count * len(self.rows)


class _Wrong(Exception):
    def __init__(self, message: str, code: SubmitCode = SubmitCode.QUEUE) -> None:
        super().__init__(message)
        self.code = code


def read_queue(
    arguments: str,
    item_lines: tuple[str, ...] | None,
    span: Span,
    *,
    expand: Callable[[str], str],
    host: LanguageHost,
    findings: Findings,
) -> QueueItems | None:
    """Parse a queue statement; None, with a finding, if it cannot be parsed."""
    reader = _Reader(span, expand, host, findings)
    try:
        items = reader.read(arguments.strip(), item_lines)
    except _Wrong as problem:
        findings.report(problem.code, str(problem), span)
        return None
    if items.jobs > JOBS_MAX:
        findings.report(SubmitCode.LIMIT_REACHED, f"{items.jobs} jobs exceed JOBS_MAX = {JOBS_MAX}", span)
        return None
    if items.jobs == 0:
        findings.report(SubmitCode.NO_JOBS, f"`queue {arguments}` produces no jobs", span)
    return items


@dataclass(frozen=True, slots=True)
class _Reader:
    span: Span
    expand: Callable[[str], str]
    host: LanguageHost
    findings: Findings

    def read(self, arguments: str, item_lines: tuple[str, ...] | None) -> QueueItems:
        keyword = _keyword(arguments)
        if keyword is None:
            return QueueItems(count=self._count(self.expand(arguments).strip()))
        before, after = arguments[: keyword.start()], arguments[keyword.end() :].strip()
        count, variables = self._before(self.expand(before))
        word = keyword.group(1).lower()
        mode = _MODE.match(after) if word == "matching" else None
        if mode is not None:
            after = after[mode.end() :]
        chosen = _SLICE.match(after)
        if chosen is not None:
            after = after[chosen.end() :]
        if word == "from" and (table := _TABLE.match(after)) is not None:
            lines = self._lines(after[table.end() :], item_lines)
            if not lines:
                raise _Wrong("the table has no line with column names", SubmitCode.ITEMS)
            variables = self._variables(lines[0])
            rows = _table(lines[1:], len(variables)) if "," in lines[0] else _rows(lines[1:], len(variables))
        elif word == "from":
            rows = _rows(self._lines(after, item_lines), len(variables))
        else:
            words = self._words(after, item_lines)
            if word == "matching":
                words = self._matching(words, mode.group(1).lower() if mode else "any")
            rows = [(one, *("" for _ in variables[1:])) for one in words]
        if len(rows) > ITEMS_MAX:
            raise _Wrong(f"{len(rows)} items exceed ITEMS_MAX = {ITEMS_MAX}", SubmitCode.LIMIT_REACHED)
        return self._sliced(count, variables, rows, chosen)

    # -- before the keyword

    def _count(self, text: str) -> int:
        if not text:
            return 1
        if re.fullmatch(r"[+-]?\d{1,18}", text):
            number: object = int(text)
        else:
            try:
                number = self.host.evaluate(text)
            except ExpressionProblem as problem:
                raise _Wrong(f"the number of jobs, {text!r}, cannot be computed: {problem}") from problem
        if isinstance(number, bool) or not isinstance(number, int):
            raise _Wrong(f"{text!r} is not a valid number of jobs")
        if number < 0:
            raise _Wrong(f"the number of jobs is negative: {number}")
        if number > JOBS_MAX:
            raise _Wrong(f"{number} jobs exceed JOBS_MAX = {JOBS_MAX}", SubmitCode.LIMIT_REACHED)
        return number

    def _before(self, text: str) -> tuple[int, tuple[str, ...]]:
        words = [word for word in _SEPARATORS.split(text.strip()) if word]
        count = 1
        if words and not _VARIABLE.match(words[0]):
            count = self._count(words.pop(0))
        return count, self._variables(" ".join(words)) if words else ("Item",)

    def _variables(self, text: str) -> tuple[str, ...]:
        names = tuple(word for word in _SEPARATORS.split(text.strip()) if word)
        for name in names:
            if not _VARIABLE.match(name):
                raise _Wrong(f"{name!r} is not a valid variable name")
        folded = [name.lower() for name in names]
        for name, key in zip(names, folded, strict=True):
            if folded.count(key) > 1:
                raise _Wrong(f"the variable {name} is named twice")
            if key in ("process", "cluster"):
                raise _Wrong(f"{name} is a variable that the queue sets; choose another name")
        return names

    # -- items

    def _words(self, text: str, item_lines: tuple[str, ...] | None) -> list[str]:
        if item_lines is not None:
            text = "\n".join([text.removeprefix("("), *item_lines])
        elif text.startswith("("):
            text = text[1:].rstrip().removesuffix(")")
        elif not text:
            raise _Wrong("no items follow")
        return [word for word in _SEPARATORS.split(self.expand(text)) if word]

    def _lines(self, text: str, item_lines: tuple[str, ...] | None) -> list[str]:
        if item_lines is not None:
            first = text.removeprefix("(").strip()
            return [first, *item_lines] if first else list(item_lines)
        if text.startswith("("):
            inner = text[1:].rstrip().removesuffix(")").strip()
            return [inner] if inner else []
        source = self.expand(text).strip()
        if not source:
            raise _Wrong("`from` is followed by neither a file nor items")
        if source.endswith("|"):
            result = self.host.run_command(source[:-1].strip())
            if result.status != 0:
                message = f"{source[:-1].strip()!r} exited with status {result.status}"
                raise _Wrong(message, SubmitCode.ITEMS)
            content: str | None = result.output
        else:
            content = self.host.read_text(source)
        if content is None:
            raise _Wrong(f"cannot read the items from {source!r}", SubmitCode.ITEMS)
        lines = (line.strip() for line in content.splitlines())
        return [line for line in lines if line and not line.startswith("#")]

    def _matching(self, patterns: list[str], mode: str) -> list[str]:
        found: dict[str, str] = {}
        for pattern in patterns:
            matched = 0
            for path in sorted(self.host.host.glob(pattern)):
                kind = self.host.host.kind_of(path)
                if kind is None or (mode == "files" and kind is not FileKind.FILE):
                    continue
                if mode == "dirs" and kind is not FileKind.DIRECTORY:
                    continue
                matched += 1
                item = path.rstrip("/") + "/" if kind is FileKind.DIRECTORY else path
                if item in found and found[item] != pattern:
                    message = f"{item!r} matches {pattern!r} and {found[item]!r}"
                    self.findings.report(SubmitCode.DUPLICATE_ITEM, message, self.span)
                found.setdefault(item, pattern)
            if not matched:
                self.findings.report(SubmitCode.NO_JOBS, f"nothing matches {pattern!r}", self.span)
        return list(found)

    def _sliced(
        self, count: int, variables: tuple[str, ...], rows: list[tuple[str, ...]], chosen: re.Match[str] | None
    ) -> QueueItems:
        if chosen is None:
            return QueueItems(count=count, variables=variables, rows=tuple(rows))
        begin, _, end, step = (int(part) if part and part != ":" else None for part in chosen.groups())
        if chosen.group(2) is None:
            if begin is None:
                raise _Wrong("a slice is empty")
            # A single number chooses one item, counted from the end if negative.
            indices = range(len(rows))[begin : begin + 1 if begin != -1 else None]
        elif step is not None and step < 1:
            raise _Wrong(f"the step of a slice must be at least 1, not {step}")
        else:
            indices = range(len(rows))[begin:end:step]
        return QueueItems(
            count=count, variables=variables, rows=tuple(rows[index] for index in indices), indices=tuple(indices)
        )


def _keyword(text: str) -> re.Match[str] | None:
    """The position of ``in``, ``from`` or ``matching`` as a separate word outside macros."""
    return next(
        (
            match
            for match in _KEYWORD.finditer(text)
            if text.count("(", 0, match.start()) == text.count(")", 0, match.start())
        ),
        None,
    )


def _rows(lines: Iterable[str], width: int) -> list[tuple[str, ...]]:
    """The fields of each line."""
    return [_fields(line, width) for line in lines]


def _table(lines: Iterable[str], width: int) -> list[tuple[str, ...]]:
    """The fields of each line, which are separated by commas only."""
    found = []
    for line in lines:
        fields = [field.strip() for field in line.split(",", width - 1)]
        found.append((*fields, *("" for _ in range(width - len(fields)))))
    return found


def _fields(line: str, width: int) -> tuple[str, ...]:
    if width == 1:
        return (line.strip(),)
    fields, at = [], 0
    for _ in range(width - 1):
        match = _FIELD.match(line, at)
        assert match is not None
        fields.append(match.group(1))
        at = match.end()
    return (*fields, line[at:].strip())
