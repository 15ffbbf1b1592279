"""Parses the text of DAG files into a plan.

A file is read twice: first its definitions (nodes, descriptions, splices), then the commands that refer to them.
INCLUDE reads another file as if its lines were written there; SPLICE reads one as a separate draft, whose nodes are
then merged. The caller reads the files (`Read`), so that nothing here touches a disk.

What it does not do: read submit descriptions, or check that they exist.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from roost.base.records import dataclass, replace
from roost.config import Severity, Span
from roost.config.diagnostics import Diagnostics
from roost.config.limits import DEFAULT_LIMITS
from roost.config.lines import LineReader, LogicalLine
from roost.config.not_text import nature
from roost.dag.draft import Description, Draft
from roost.dag.plan import Dag, NodeKind
from roost.dag.problems import PROBLEMS_MAX, BadDag, DagCode, Problems
from roost.dag.statement_reader import Malformed, StatementReader
from roost.dag.statements import DEFINING, SHAPING, Handler, define

#: Returns the text of a file by path; None if it cannot be read.
Read = Callable[[str], str | None]

#: Maximum nesting of files, and maximum number of nodes.
DEPTH_MAX: Final = 50
NODES_MAX: Final = 1_000_000
#: A file with at least this many lines, none of which has a command, is not a DAG file.
PROSE_LINES: Final = 3

_BLOCKS: Final = {"JOB": NodeKind.JOB, "NODE": NodeKind.JOB, "FINAL": NodeKind.FINAL,
                  "PROVISIONER": NodeKind.PROVISIONER, "SERVICE": NodeKind.SERVICE}  # fmt: skip


_WITH_BLOCKS: Final = frozenset((*_BLOCKS, "SUBMIT_DESCRIPTION"))
#: ``{`` or ``@=tag`` at the end of a line.
_TAG: Final = re.compile(r"\s(?:\{|@=(\S+))\s*\Z")
#: Lines that begin with // are comments, like those with #.
_SLASHES: Final = re.compile(r"^([ \t]*)//", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statement:
    """One command, with the block of lines that belongs to it."""

    keyword: str
    words: StatementReader
    block: str | None


def read_dag(files: Iterable[str], read: Read, *, in_their_directories: bool = False) -> Dag:
    """The combined plan of files; paths in them are as `read` understands them.

    `in_their_directories`: nodes run in the directory of their file, not where the run is started. Raises BadDag.
    """
    files = tuple(files)
    problems = Problems()
    drafts = [_draft(file, read, problems, None, 0) for file in files]
    if in_their_directories:
        for file, draft in zip(files, drafts, strict=True):
            directory = posixpath.dirname(file)
            for name, node in draft.nodes.items():
                draft.nodes[name] = replace(node, directory=_under(directory, node.directory) or directory)
    whole = drafts[0] if len(drafts) == 1 else _together(drafts, problems)
    whole.fill_in_descriptions()
    if not any(one.code is DagCode.NOT_A_DAG for one in problems):
        _check(whole, files[0], problems)
    if problems.kept:
        raise BadDag(tuple(problems), problems.dropped)
    return Dag(
        files=files,
        nodes=whole.nodes,
        children={name: tuple(whole.children.get(name, ())) for name in whole.nodes},
        parents={name: tuple(whole.parents.get(name, ())) for name in whole.nodes},
        weak=frozenset(whole.weak),
        category_limits=whole.category_limits,
        attributes=whole.attributes,
        environment_kept=tuple(dict.fromkeys(whole.environment_kept)),
        environment_set=";".join(whole.environment_set),
        config=whole.config,
        status_file=whole.status_file,
        job_state_log=whole.job_state_log,
        dot=whole.dot,
        warnings=tuple(problems.warnings),
    )


def apply_rescue(dag: Dag, file: str, read: Read) -> Dag:
    """The plan after applying a rescue file: which nodes are done, and how many retries are left. Raises BadDag."""
    problems = Problems()
    draft = Draft(problems=problems, nodes=dict(dag.nodes))
    for statement in _statements(file, read, problems, None, 0):
        if statement.keyword in ("DONE", "RETRY"):
            _run(draft, statement, SHAPING)
        else:
            problems.report(
                DagCode.KEYWORD, f"{statement.keyword} is not allowed in a rescue file", statement.words.span
            )
    if problems.kept:
        raise BadDag(tuple(problems), problems.dropped)
    return replace(dag, nodes=draft.nodes)


def _together(drafts: list[Draft], problems: Problems) -> Draft:
    """Merge several files: a node's name gets the number of its file, so that names may repeat."""
    whole = Draft(problems=problems)
    for number, draft in enumerate(drafts):
        whole.take(draft, f"{number}.")
        whole.attributes.update(draft.attributes)
        whole.environment_kept += draft.environment_kept
        whole.environment_set += draft.environment_set
        whole.config = whole.config or draft.config
        whole.status_file = whole.status_file or draft.status_file
        whole.job_state_log = whole.job_state_log or draft.job_state_log
        whole.dot = whole.dot or draft.dot
    whole.describe_lent()
    return whole


def _draft(file: str, read: Read, problems: Problems, via: Span | None, depth: int) -> Draft:
    """Read one file, with its includes and splices."""
    draft = Draft(problems=problems)
    statements = _statements(file, read, problems, via, depth)
    for statement in statements:
        if statement.block is not None:
            _block(draft, statement)
        elif statement.keyword == "SPLICE":
            _splice(draft, statement, read, depth)
        elif statement.keyword in DEFINING:
            _run(draft, statement, DEFINING)
        if len(draft.nodes) > NODES_MAX:
            problems.report(DagCode.LIMIT, f"there are more than {NODES_MAX} nodes", statement.words.span)
            return draft
    draft.describe_lent()
    for statement in statements:
        if statement.block is None and statement.keyword in SHAPING:
            _run(draft, statement, SHAPING)
    return draft


def _run(draft: Draft, statement: _Statement, handlers: dict[str, Handler]) -> None:
    with contextlib.suppress(Malformed):
        handlers[statement.keyword](draft, statement.words)


def _block(draft: Draft, statement: _Statement) -> None:
    """Read JOB or a similar command, or SUBMIT-DESCRIPTION, with inline lines of the description."""
    assert statement.block is not None
    with contextlib.suppress(Malformed):
        if statement.keyword == "SUBMIT_DESCRIPTION":
            name = statement.words.word("the description's name")
            span = statement.words.span
            statement.words.end()
            draft.describe(name, Description(text=statement.block, span=span))
        else:
            define(draft, statement.words, _BLOCKS[statement.keyword], statement.block)


def _splice(draft: Draft, statement: _Statement, read: Read, depth: int) -> None:
    words = statement.words
    with contextlib.suppress(Malformed):
        name, span = words.new_name(), words.span
        file, directory = words.path("the DAG file"), ""
        if words.maybe("DIR"):
            directory = words.path("the directory")
        words.end()
        inner = _draft(_under(directory, file), read, draft.problems, span, depth + 1)
        if not inner.nodes:
            raise words.fail(DagCode.SPLICE, f"{file} has no nodes")
        special = next((one for one in inner.nodes.values() if one.kind is NodeKind.FINAL), None)
        if special is not None:
            raise words.fail(DagCode.SPLICE, f"{file} has a FINAL node, {special.name}")
        for each, node in inner.nodes.items():
            inner.nodes[each] = replace(node, directory=_under(directory, node.directory))
        draft.splice(name, inner, span)


def _under(directory: str, path: str) -> str:
    """A path relative to the directory in which the run is started."""
    if not directory or path.startswith("/"):
        return path
    return f"{directory}/{path}" if path else directory


# -- lines ---------------------------------------------------------------------------------------------


def _statements(file: str, read: Read, problems: Problems, via: Span | None, depth: int) -> list[_Statement]:
    """The commands of a file, including those of included files."""
    text = read(file)
    place = via or Span(file)
    if depth > DEPTH_MAX:
        problems.report(DagCode.LIMIT, f"files include each other more than {DEPTH_MAX} deep", place)
        return []
    if text is None:
        problems.report(DagCode.FILE_MISSING, f"{file} cannot be read, or is longer than 67,108,864 characters", place)
        return []
    binary = nature(text)
    if binary:
        problems.report(DagCode.NOT_A_DAG, f"{file} is {binary}, not a DAG file", place)
        return []
    log, unknown = Diagnostics(PROBLEMS_MAX), 0
    before = len(problems.kept)
    lines = iter(LineReader(_SLASHES.sub(r"\1#/", text), file, via, log, DEFAULT_LIMITS))
    found: list[_Statement] = []
    for line in lines:
        statement = _statement(line, lines, file, problems, via)
        if statement.keyword == "INCLUDE":
            with contextlib.suppress(Malformed):
                path, span = statement.words.path("the file"), statement.words.span
                statement.words.end()
                found += _statements(path, read, problems, span, depth + 1)
        elif statement.keyword in DEFINING or statement.keyword in SHAPING or statement.keyword == "SPLICE":
            found.append(statement)
        else:
            unknown += 1
            problems.report(DagCode.KEYWORD, f"unknown command {statement.keyword[:40]}", statement.words.span)
    if unknown >= PROSE_LINES and not found and not via:
        del problems.kept[before:]
        problems.report(DagCode.NOT_A_DAG, f"{file} is not a DAG file: no line begins with a command", place)
        return []
    for one in log:
        if one.severity is Severity.ERROR:
            problems.report(DagCode.LIMIT, one.message, one.span)
    return found


def _statement(
    line: LogicalLine, lines: Iterator[LogicalLine], file: str, problems: Problems, via: Span | None
) -> _Statement:
    def place(offset: int) -> Span:
        number, column = line.place(offset)
        return Span(file, number, column, via)

    words = StatementReader(line.text, place, problems)
    keyword = words.word("a command").upper().replace("-", "_")
    tag = _TAG.search(line.text) if keyword in _WITH_BLOCKS else None
    if tag is None:
        return _Statement(keyword=keyword, words=words, block=None)
    words.text = line.text[: tag.start()]
    end = "}" if tag[0].strip() == "{" else f"@{tag[1]}"
    block: list[str] = []
    for each in lines:
        if each.text == end or (each.text.startswith(end) and each.text[len(end)].isspace()):
            # Text after the end marker belongs to the line that opened the block.
            words.text += each.text[len(end) :]
            return _Statement(keyword=keyword, words=words, block="\n".join(block))
        block.append(each.text)
    problems.report(DagCode.BLOCK, f"the block that begins here is not ended by a line {end}", place(0))
    return _Statement(keyword=keyword, words=words, block="\n".join(block))


# -- the whole -----------------------------------------------------------------------------------------


def _check(draft: Draft, file: str, problems: Problems) -> None:
    """Check what can only be checked in the complete DAG."""
    if problems.kept:
        return
    if not any(node.kind in (NodeKind.JOB, NodeKind.SUBDAG) for node in draft.nodes.values()):
        problems.report(DagCode.EMPTY, f"{file} has no nodes", Span(file))
        return
    waits = {name: len(draft.parents.get(name, ())) for name in draft.nodes}
    ready = [name for name, count in waits.items() if not count]
    while ready:
        name = ready.pop()
        del waits[name]
        for child in draft.children.get(name, ()):
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    if waits:
        circle = _circle(draft, waits)
        message = f"nodes depend on each other in a cycle: {' -> '.join(circle)}"
        problems.report(DagCode.CYCLE, message, draft.nodes[circle[0]].span)


def _circle(draft: Draft, among: Mapping[str, int]) -> list[str]:
    """One cycle, found by following parents, in the order of the edges."""
    name, path = next(iter(among)), list[str]()
    while name not in path:
        path.append(name)
        name = next(parent for parent in draft.parents[name] if parent in among)
    circle = [*path[path.index(name) :], name]
    return circle[::-1]
