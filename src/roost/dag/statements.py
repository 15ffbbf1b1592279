"""The commands of a DAG file: each takes the words of its line and changes the draft.

`DEFINING` are read first, in all lines of a file, and then `SHAPING`: a node may be referred to before it is defined.
ALL_NODES stands for ordinary nodes only, not for FINAL, PROVISIONER and SERVICE nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from roost.base.records import replace
from roost.dag.draft import Draft
from roost.dag.plan import Abort, DotFile, Node, NodeKind, Script, ScriptPoint, StatusFile, Tolerance, Variable
from roost.dag.problems import DagCode
from roost.dag.scripts import MACROS
from roost.dag.statement_reader import StatementReader

Handler = Callable[[Draft, StatementReader], None]

_ORDINARY: Final = (NodeKind.JOB, NodeKind.SUBDAG)


def _node(kind: NodeKind) -> Handler:
    def handle(draft: Draft, words: StatementReader) -> None:
        define(draft, words, kind, None)

    return handle


def define(draft: Draft, words: StatementReader, kind: NodeKind, text: str | None) -> None:
    """Define a node; `text` is its description if that is inline in the DAG file."""
    name = words.new_name()
    span = words.span
    submit = "" if text is not None else words.path("the submit description")
    if submit == "{" or submit.startswith("@="):
        raise words.fail(DagCode.BLOCK, f"{submit} must be the last word of its line")
    directory, noop, done = "", False, False
    while words.left:
        match words.maybe("DIR", "NOOP", "DONE"):
            case "DIR":
                directory = words.path("the directory")
            case "NOOP":
                noop = True
            case "DONE":
                done = True
            case _:
                words.end()
    special = kind not in _ORDINARY
    if special and kind is not NodeKind.SERVICE and any(one.kind is kind for one in draft.nodes.values()):
        raise words.fail(DagCode.TWICE, f"there is a {kind} node already")
    if special and done:
        raise words.fail(DagCode.ARGUMENTS, f"a {kind} node cannot be DONE beforehand")
    node = Node(name=name, kind=kind, submit=submit, text=text, directory=directory, noop=noop, done=done, span=span)
    draft.add(node)


def _subdag(draft: Draft, words: StatementReader) -> None:
    if words.word("EXTERNAL").upper() != "EXTERNAL":
        raise words.fail(DagCode.ARGUMENTS, "only SUBDAG EXTERNAL is supported")
    define(draft, words, NodeKind.SUBDAG, None)


def _weak(draft: Draft, words: StatementReader) -> None:
    if not words.maybe("PARENT"):
        raise words.fail(DagCode.ARGUMENTS, "WEAK is not followed by PARENT", "Write WEAK PARENT node … CHILD node ….")
    _parent(draft, words, weak=True)


def _parent(draft: Draft, words: StatementReader, *, weak: bool = False) -> None:
    sides: tuple[list[str], list[str]] = ([], [])
    children = False
    while words.left:
        word = words.word("a node")
        if word.upper() == "CHILD" and not children:
            children = True
            continue
        names = draft.named(word, words.span, last=not children)
        special = [name for name in names if draft.nodes[name].kind not in _ORDINARY]
        if special:
            raise words.fail(DagCode.FINAL, f"{special[0]} is not an ordinary node: it cannot have parents or children")
        sides[children].extend(names)
        if not names:
            return
    if not sides[0] or not sides[1]:
        missing = "child" if sides[0] else "parent"
        raise words.fail(DagCode.ARGUMENTS, f"no {missing} is given", "Write PARENT node … CHILD node ….")
    draft.join(sides[0], sides[1], weak=weak)


def _change(draft: Draft, words: StatementReader, name: str, **fields: object) -> None:
    """Change fields of nodes; ALL_NODES stands for the ordinary ones."""
    if name.upper() == "ALL_NODES" and name not in draft.nodes:
        for each, node in draft.nodes.items():
            if node.kind in _ORDINARY:
                draft.nodes[each] = replace(node, **fields)
        return
    draft.change(name, words.span, **fields)


def _script(draft: Draft, words: StatementReader) -> None:
    status, wait_s, debug, streams = None, 0, "", "ALL"
    while kind := words.maybe("DEFER", "DEBUG"):
        if kind == "DEFER":
            status, wait_s = words.number("the exit status"), words.count("the time, in seconds,")
        else:
            debug, streams = words.word("the file"), words.word("STDOUT, STDERR or ALL").upper()
            if streams not in ("STDOUT", "STDERR", "ALL"):
                raise words.fail(DagCode.ARGUMENTS, f"{streams} is not one of STDOUT, STDERR, ALL")
    point = words.word("PRE, POST or HOLD").upper()
    if point not in ScriptPoint.__members__:
        raise words.fail(DagCode.ARGUMENTS, f"{point[:40]} is not one of PRE, POST, HOLD")
    name = words.word("the node's name")
    script = Script(
        words=_script_words(words),
        defer_status=status,
        defer_s=wait_s,
        debug_file=debug,
        debug_streams=streams,
    )
    field = {ScriptPoint.PRE: "pre", ScriptPoint.POST: "post", ScriptPoint.HOLD: "held"}[ScriptPoint(point)]
    _change(draft, words, name, **{field: script})


def _script_words(words: StatementReader) -> tuple[str, ...]:
    """The rest of the line: a script's program and arguments; warns about unknown macros."""
    found = [words.word("the script")]
    while words.left:
        found.append(words.word("an argument"))
        name = found[-1].upper()
        if name.startswith("$") and name not in MACROS:
            words.problems.report(DagCode.SCRIPT_MACRO, f"{found[-1][:40]} is not a macro of scripts", words.span)
    return tuple(found)


def _pre_skip(draft: Draft, words: StatementReader) -> None:
    name = words.word("the node's name")
    _change(draft, words, name, pre_skip=words.number("the exit status"))
    words.end()


def _retry(draft: Draft, words: StatementReader) -> None:
    name, tries = words.word("the node's name"), words.count("the number of retries")
    unless = words.number("the exit status") if words.maybe("UNLESS-EXIT") else None
    words.end()
    _change(draft, words, name, retries=tries, unless_exit=unless)


def _abort(draft: Draft, words: StatementReader) -> None:
    name, status = words.word("the node's name"), words.number("the exit status")
    code = words.number("the value to return") if words.maybe("RETURN") else None
    if code is not None and not 0 <= code <= 255:
        raise words.fail(DagCode.NUMBER, f"a process cannot return {code}", "Write a number from 0 to 255.")
    words.end()
    _change(draft, words, name, abort=Abort(status=status, exit_code=code))


def _vars(draft: Draft, words: StatementReader) -> None:
    name = words.word("the node's name")
    place = words.span
    side = words.maybe("PREPEND", "APPEND")
    found: list[Variable] = []
    while words.left:
        variable, value = words.assignment()
        if variable.lower().startswith("queue"):
            raise words.fail(DagCode.VARIABLE, f"{variable} is not a valid macro name: names may not begin with queue")
        found.append(Variable(name=variable, value=value, prepended={"PREPEND": True, "APPEND": False}.get(side)))
    if not found:
        raise words.fail(DagCode.VARIABLE, "no macro is given")
    every = name.upper() == "ALL_NODES" and name not in draft.nodes
    for each in draft.named(name, place, every=True):
        node = draft.nodes[each]
        if not every or node.kind in _ORDINARY:
            draft.nodes[each] = replace(node, variables=(*node.variables, *found))


def _priority(draft: Draft, words: StatementReader) -> None:
    name = words.word("the node's name")
    _change(draft, words, name, priority=words.number("the priority"))
    words.end()


def _category(draft: Draft, words: StatementReader) -> None:
    name = words.word("the node's name")
    _change(draft, words, name, category=words.word("the category"))
    words.end()


def _max_jobs(draft: Draft, words: StatementReader) -> None:
    category = words.word("the category")
    draft.category_limits[category] = words.count("the number of nodes")
    words.end()


def _description(draft: Draft, words: StatementReader) -> None:
    raise words.fail(
        DagCode.BLOCK, "SUBMIT-DESCRIPTION requires a block of lines", "Write SUBMIT-DESCRIPTION name {, lines, and }."
    )


def _config(draft: Draft, words: StatementReader) -> None:
    path = words.path("the file")
    words.end()
    if draft.config and draft.config != path:
        raise words.fail(DagCode.TWICE, f"CONFIG names {path}, but an earlier CONFIG names {draft.config}")
    draft.config = path


def _attribute(draft: Draft, words: StatementReader) -> None:
    text = words.rest("the attribute")
    name, sign, value = text.partition("=")
    if not sign or not name.strip().isidentifier() or not value.strip():
        raise words.fail(DagCode.ARGUMENTS, f"{text[:60]!r} is not NAME = EXPRESSION")
    draft.attributes[name.strip()] = value.strip()


def _environment(draft: Draft, words: StatementReader) -> None:
    kind = words.word("GET or SET").upper()
    if kind == "GET":
        draft.environment_kept.extend(words.rest("names of variables").replace(",", " ").split())
    elif kind == "SET":
        draft.environment_set.append(words.rest("NAME=VALUE"))
    else:
        raise words.fail(DagCode.ARGUMENTS, f"{kind[:40]} is not one of GET, SET")


def _dot(draft: Draft, words: StatementReader) -> None:
    dot = DotFile(path=words.path("the file"))
    while words.left:
        match words.maybe("UPDATE", "DONT-UPDATE", "OVERWRITE", "DONT-OVERWRITE", "INCLUDE"):
            case "UPDATE":
                dot = replace(dot, update=True)
            case "DONT-UPDATE":
                dot = replace(dot, update=False)
            case "OVERWRITE":
                dot = replace(dot, overwrite=True)
            case "DONT-OVERWRITE":
                dot = replace(dot, overwrite=False)
            case "INCLUDE":
                dot = replace(dot, include=words.path("the file to include"))
            case _:
                words.end()
    draft.dot = dot


def _status_file(draft: Draft, words: StatementReader) -> None:
    path, interval_s, always = words.path("the file"), 60, False
    while words.left:
        if words.maybe("ALWAYS-UPDATE"):
            always = True
        else:
            interval_s = words.count("the time between two writings, in seconds,")
    draft.status_file = StatusFile(path=path, interval_s=interval_s, always=always)


def _job_state_log(draft: Draft, words: StatementReader) -> None:
    draft.job_state_log = words.path("the file")
    words.end()


def _save_point(draft: Draft, words: StatementReader) -> None:
    name = words.word("the node's name")
    if name not in draft.nodes and (name.upper() == "ALL_NODES" or name in draft.splices):
        raise words.fail(DagCode.ARGUMENTS, f"a save point applies to one node, but {name} stands for several")
    if name in draft.nodes and draft.nodes[name].kind not in _ORDINARY:
        raise words.fail(DagCode.ARGUMENTS, f"a {draft.nodes[name].kind} node has no save point")
    span = words.span
    path = words.path("the file") if words.left else ""
    words.end()
    draft.change(name, span, save_point=path)


def _tolerance(draft: Draft, words: StatementReader) -> None:
    name = words.word("the node's name")
    given = words.word("how many jobs may fail")
    percent = given.endswith("%")
    number = given.removesuffix("%")
    if not re.fullmatch(r"\d{1,9}", number) or (percent and int(number) > 100):
        message = f"{given[:40]!r} is not a number of jobs or a percentage up to 100%"
        raise words.fail(DagCode.NUMBER, message, "Write a whole number, followed by % for a percentage.")
    waits = words.maybe("FAIL-FAST", "WAIT") == "WAIT"
    words.end()
    _change(draft, words, name, tolerance=Tolerance(most=int(number), percent=percent, waits=waits))


def _reject(draft: Draft, words: StatementReader) -> None:
    raise words.fail(DagCode.REJECTED, "the file is marked as not to be run (REJECT)")


def _done(draft: Draft, words: StatementReader) -> None:
    """Mark a node as done. Nodes that are not ordinary run in every run, whatever a rescue file says."""
    given = words.word("the node's name")
    if given.upper() == "ALL_NODES" and given not in draft.nodes:
        raise words.fail(DagCode.ARGUMENTS, "DONE applies to one node, not to ALL_NODES")
    for name in draft.named(given, words.span, every=True):
        if draft.nodes[name].kind in _ORDINARY:
            draft.change(name, words.span, done=True)
    words.end()


def _connect(draft: Draft, words: StatementReader) -> None:
    first, second = words.word("a splice"), words.word("the other splice")
    draft.connect(first, second, words.span)
    words.end()


def _pin(side: str) -> Handler:
    def handle(draft: Draft, words: StatementReader) -> None:
        name = words.word("the node's name")
        names = draft.named(name, words.span)
        pin = words.count("the pin's number")
        words.end()
        pins: dict[int, list[str]] = getattr(draft.pins, side)
        pins.setdefault(pin, []).extend(names)

    return handle


#: Read first.
DEFINING: Final[dict[str, Handler]] = {
    "JOB": _node(NodeKind.JOB),
    "NODE": _node(NodeKind.JOB),
    "SUBDAG": _subdag,
    "FINAL": _node(NodeKind.FINAL),
    "PROVISIONER": _node(NodeKind.PROVISIONER),
    "SERVICE": _node(NodeKind.SERVICE),
    "SUBMIT_DESCRIPTION": _description,
    "REJECT": _reject,
}

#: Read when all nodes are known.
SHAPING: Final[dict[str, Handler]] = {
    "PARENT": _parent,
    "WEAK": _weak,
    "TOLERANCE": _tolerance,
    "SCRIPT": _script,
    "PRE_SKIP": _pre_skip,
    "RETRY": _retry,
    "ABORT_DAG_ON": _abort,
    "VARS": _vars,
    "PRIORITY": _priority,
    "CATEGORY": _category,
    "MAXJOBS": _max_jobs,
    "CONFIG": _config,
    "SET_JOB_ATTR": _attribute,
    "ENV": _environment,
    "DOT": _dot,
    "NODE_STATUS_FILE": _status_file,
    "JOBSTATE_LOG": _job_state_log,
    "SAVE_POINT_FILE": _save_point,
    "DONE": _done,
    "CONNECT": _connect,
    "PIN_IN": _pin("ins"),
    "PIN_OUT": _pin("outs"),
}
