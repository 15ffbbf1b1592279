"""Every knob has a reader: the row names a module that asks for it, or says that nothing does, and why.

The names that the code asks for are collected from its text: whole strings, and strings with parts to be filled in,
such as ``f"SLOT{number}_JOB_HOOK_KEYWORD"``.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from roost.config import MemoryHost, Severity, check, load_text
from roost.config.knob import Knob, KnobType
from roost.config.knobs import ALL, find
from roost.config.templates import ALL as TEMPLATES
from roost.policy.catalogue import KNOB_POLICIES, VARIANTS

ROOST = Path(__file__).parents[2] / "src" / "roost"

#: Modules that write names down and act on none: the tables themselves, what judges configurations, and prose.
_TABLES = ("config.knobs", "config.templates", "policy.lint", "policy.catalogue", "policy.attributes")
#: What is filled in.
_HOLE = "\0"
#: Methods that ask a configuration for a name.
_ASKING = frozenset(
    ("get", "get_int", "get_float", "get_bool", "get_list", "get_expr", "get_path", "find", "slot_numbers")
)
#: Modules that ask for all names of a table that stands elsewhere.
_WHOLE_TABLES = {
    "startd.slot_ad.config": frozenset(
        f"{row.name}{suffix}".lower()
        for row in KNOB_POLICIES.values()
        if row.attribute is not None
        for suffix in ("", *(VARIANTS if row.variants else ()))
    ),
}
#: Families of which a module asks for whatever a list in the configuration names.
_BY_LIST = {"SLOT<N>_<ATTR>": "startd.slot_ad.config"}
#: Names that the code asks for and that are not knobs.
_OTHERS = frozenset(
    (
        # Of the environment of a process.
        "ROOST_HOME",
        # Names of daemons and of hooks.
        "COLLECTOR",
        "NEGOTIATOR",
        "SCHEDD",
        "STARTD",
        "FETCH_WORK",
    )
)


def _modules() -> list[str]:
    found = (".".join(path.relative_to(ROOST).with_suffix("").parts) for path in sorted(ROOST.rglob("*.py")))
    return [name for name in found if not name.startswith(_TABLES)]


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((ROOST / f"{module.replace('.', '/')}.py").read_text())


def _text(node: ast.expr) -> str | None:
    """A string, with a hole for each part of it that is filled in; None for what is not one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or _HOLE for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None and right is None else (left or _HOLE) + (right or _HOLE)
    return None


@cache
def _strings(module: str) -> frozenset[str]:
    """The strings of a module that are not docstrings, the groups of regular expressions as holes."""
    tree = _tree(module)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (_text(node) for node in ast.walk(tree) if isinstance(node, ast.expr) and id(node) not in prose)
    return frozenset(
        re.sub(r"\(\?P<\w+>[^()]*\)|\(\\d\+\)|<\w+>", _HOLE, text).removesuffix(r"\Z").lower()
        for text in texts
        if text and len(text) < 200
    )


def _meets(row: Knob, text: str) -> bool:
    """Whether a string of the code may be a name of the row."""
    name = re.sub(r"<\w+>", _HOLE, row.name).lower()
    # A value for one type of slots is asked for by the plain name.
    if text in (name, name.strip(_HOLE), name.removeprefix(f"slot_type_{_HOLE}_")):
        return True
    if _HOLE not in text or len(text.replace(_HOLE, "")) < 4:
        return False
    return _form(text).fullmatch(name) is not None


@cache
def _form(text: str) -> re.Pattern[str]:
    return re.compile("".join(".+" if part == _HOLE else re.escape(part) for part in re.split(f"({_HOLE})", text)))


def reads(module: str, row: Knob) -> bool:
    """Whether a module names a knob."""
    if row.name.lower() in _WHOLE_TABLES.get(module, ()) or _BY_LIST.get(row.name) == module:
        return True
    return any(_meets(row, text) for text in _strings(module))


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_a_row_names_its_reader_or_says_why_there_is_none(row: Knob) -> None:
    if row.unread is not None:
        assert row.read_by == ""
        assert row.unread.why.endswith(".")
        return
    if row.read_by == "config.expand":
        # The text of other values.
        assert row.type in (KnobType.MACRO, KnobType.PATH)
        return
    assert row.read_by in _modules()
    assert reads(row.read_by, row), f"{row.read_by} does not ask for {row.name}"


def _asked() -> list[tuple[str, str]]:
    """Names that calls ask a configuration for, each with the place of the call."""
    found = []
    for module in _modules():
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Call) and node.args and (name := _text(node.args[0])) is not None:
                method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                of_config = isinstance(node.func, ast.Attribute) and _is_config(node.func.value)
                if (method in _ASKING and (of_config or method.startswith("get_"))) or any(map(_is_config, node.args)):
                    found.append((name, f"{module}:{node.lineno}"))
            if isinstance(node, ast.Call) and len(node.args) > 1 and _is_config(node.args[0]):
                found += [(text, f"{module}:{node.lineno}") for each in node.args[1:] if (text := _text(each))]
    found = [(re.sub(r"<\w+>", _HOLE, name), place) for name, place in found]
    return [(name, place) for name, place in found if re.fullmatch(r"[A-Z0-9_a-z\0]{4,}", name)]


def _is_config(node: ast.expr) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in ("config", "_config", "view", "fresh")


def test_what_the_code_asks_for_is_in_the_table_with_a_reader() -> None:
    wrong = []
    for name, place in dict(_asked()).items():
        if name in _OTHERS or name.upper() != name.replace(_HOLE, ""):
            continue
        # A name with a part to be filled in may be that of several rows, of which it is meant to be some.
        rows = [row for row in ALL if _meets(row, name.lower())] or [find(name.replace(_HOLE, "1"))]
        if all(row is None or row.unread is not None for row in rows):
            wrong.append(f"{place} asks for {name.replace(_HOLE, '<>')}")
    assert wrong == []


def test_a_row_without_effect_is_one_that_no_module_names() -> None:
    """A row without effect is one that no module names: else the row is out of date. Plain words mean other things."""
    named = {
        row.name: [module for module in _modules() if row.name.lower() in _strings(module)]
        for row in ALL
        if row.unread is not None and "_" in row.name
    }
    # Where condor_fetchlog finds a log of that name.
    assert named.pop("STARTD_HISTORY") == ["cli.condor.fetchlog"]
    assert {name: modules for name, modules in named.items() if modules} == {}


#: What templates set although nothing reads it.
_SET_BY_TEMPLATES = {
    "CONDOR_HOST",
    "COLLECTOR_HOST",
    "STARTD_CRON_<NAME>_METRICS",
}


def test_templates_set_what_something_reads() -> None:
    """A name that a template sets has a reader, or other lines of the template use it."""
    unread = set()
    for template in TEMPLATES:
        names = re.findall(r"(?m)^\s*([\w.$()]+)\s*=", template.body)
        rows = (find(re.sub(r"\$\([^()]*\)", "X", name)) for name in names)
        unread |= {row.name for row in rows if row is not None and row.unread is not None}
    assert unread == _SET_BY_TEMPLATES


@pytest.mark.parametrize(
    ("line", "severity", "words"),
    [
        ("DENY_WRITE = guest.example.org", Severity.ERROR, "DENY_WRITE: guest.example.org is a host, a network or"),
        ("DENY_READ = 192.0.2.0/24", Severity.ERROR, "DENY_READ: 192.0.2.0/24 names a host"),
        ("ALLOW_WRITE = *@x.org, ann@x.org/*.x.org", Severity.ERROR, "ALLOW_WRITE: ann@x.org/*.x.org names a host"),
        (
            "ALLOW_ADMINISTRATOR_SCHEDD = *@x.org",
            Severity.ERROR,
            "*@x.org is a pattern, but administrators must be listed individually",
        ),
        ("HOSTDENY_WRITE = guest.example.org", Severity.ERROR, "has no effect: it is an old name of DENY_WRITE"),
        ("DENY_DAEMON = *@example.org", Severity.ERROR, "DENY_DAEMON has no effect: "),
        ("DENY_WRITE_MASTER = *", Severity.ERROR, "DENY_WRITE_MASTER has no effect: "),
        ("ALLOW_DAEMON = condor_pool@*", Severity.ERROR, "Daemons authenticate with the message servers"),
        ("NEGOTIATOR_DEPTH_FIRST = True", Severity.WARNING, "NEGOTIATOR_DEPTH_FIRST has no effect: Slots are filled"),
        ("SHADOW_LOG = $(LOG)/ShadowLog", Severity.WARNING, "SHADOW_LOG has no effect: The queue does the work"),
        ("KBDD_LOG = $(LOG)/KbdLog", Severity.NOTE, "KBDD_LOG has no effect: No daemon of Roost has that name"),
        ("CONDOR_ADMIN = root@example.org", Severity.NOTE, "CONDOR_ADMIN has no effect: Roost sends no mail"),
        ("STARTD.MAX_JOBS_SUBMITTED = 3", Severity.ERROR, "MAX_JOBS_SUBMITTED is read by SCHEDD"),
        ("NEGOTIATOR.START = True", Severity.WARNING, "START is read by STARTD"),
        ("DENY_WRITES = *", Severity.ERROR, "nothing reads DENY_WRITES"),
        ("ALLOW_WIRTE = *", Severity.ERROR, "nothing reads ALLOW_WIRTE"),
        ("MAX_JOBS_RUNING = 3", Severity.ERROR, "nothing reads MAX_JOBS_RUNING"),
        ("NUM_SLOT = 3", Severity.WARNING, "nothing reads NUM_SLOT"),
        ("STARTD_CRON_A_KILLS = True", Severity.WARNING, "nothing reads STARTD_CRON_A_KILLS"),
        ("MY_HOOK_FETCH_WROK = /x", Severity.WARNING, "nothing reads MY_HOOK_FETCH_WROK"),
        ("SLOT1_MAX_JOBS_RUNNING = 4", Severity.ERROR, "MAX_JOBS_RUNNING cannot be set for single slots"),
        ("SLOT_TYPE_1_MAX_JOBS_RUNNING = 4", Severity.ERROR, "MAX_JOBS_RUNNING cannot be set for slot types"),
        ("SLOT_TYPE_1_NEGOTIATOR_INTERVAL = 4", Severity.WARNING, "cannot be set for slot types"),
        ("HOSTDENY_READ = *.evil", Severity.ERROR, "HOSTDENY_READ has no effect: it is an old name of DENY_READ"),
        ("SEC_DEFAULT_INTEGRITY = REQUIRED", Severity.ERROR, "SEC_DEFAULT_INTEGRITY has no effect"),
    ],
)
def test_a_line_without_effect_is_reported(line: str, severity: Severity, words: str) -> None:
    found = [one for one in check(load_text(line, MemoryHost())) if one.code != "config-deprecated-name"]
    assert [one.severity for one in found] == [severity]
    assert words in found[0].message


def test_nobody_is_advised_to_name_administrators_by_a_pattern() -> None:
    (found,) = check(load_text("ALLOW_ADMINISTRATOR = *", MemoryHost()))
    assert found.remedy.startswith("Name each administrator as `user@domain`.")


@pytest.mark.parametrize(
    "text",
    [
        # What happens anyway.
        "ALLOW_READ = *",
        "DENY_WRITE =",
        "DENY_WRITE = ann@example.org, *@example.com, */*",
        "ALLOW_ADMINISTRATOR_STARTD = ann@example.org",
        "NEGOTIATOR_DEPTH_FIRST = False",
        "SEC_DEFAULT_AUTHENTICATION = REQUIRED",
        "NATS_SERVERS = tls://a:4222, tls://b:4222\nSEC_DEFAULT_ENCRYPTION = REQUIRED",
        "SLOT_TYPE_1_START = True",
        "STARTD_ATTRS = Rack\nRack = 1\nSLOT_TYPE_1_Rack = 3",
        # A macro of the administrator's own that another value uses, or that is not written like a knob.
        "SITE_LOG = /x\nSTARTD_LOG = $(SITE_LOG)/startd",
        "SITE_CORES = 3\nNUM_SLOTS = $INT(SITE_CORES)",
        "SITE_IS_BIG = true\nif defined SITE_IS_BIG\n  NUM_SLOTS = 3\nendif",
        "MyLimit = 3",
        "CONDOR_HOST = cm\nPOOL_NAME = pool of $(CONDOR_HOST)",
        # A line of the template, which no user can remove.
        "use ROLE : Personal",
        # For HTCondor alone.
        "if ! defined ROOST\n  DENY_WRITE = *\nendif",
        # With the prefix of a daemon that reads it.
        "SCHEDD.MAX_JOBS_SUBMITTED = 3",
        "STARTER.KILLING_TIMEOUT = 3",
        "NEGOTIATOR.UPDATE_INTERVAL = 3",
    ],
)
def test_a_line_that_loses_nothing_is_not(text: str) -> None:
    assert check(load_text(text, MemoryHost())) == []


def test_an_old_name_of_a_list_is_told_once_with_the_name_that_counts() -> None:
    (found,) = check(load_text("HOSTDENY_READ = *.evil", MemoryHost()))
    assert found.remedy == "Write DENY_READ."


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("DENY_FROB = *", "DENY_FROB has no effect: FROB is not an authorization level"),
        ("ALLOW_OWNER_FOO = x", "ALLOW_OWNER_FOO has no effect: OWNER_FOO is not an authorization level"),
        ("SEC_FROB_LEVEL = 3", "SEC_FROB_LEVEL has no effect: no security setting has that name"),
        ("MAX_JOBS_PER_USER = 3", "MAX_JOBS_PER_USER has no effect: no limit on jobs has that name"),
    ],
)
def test_what_is_named_like_a_limit_and_limits_nothing_is_an_error(line: str, message: str) -> None:
    (found,) = check(load_text(line, MemoryHost()))
    assert (found.severity, found.message) == (Severity.ERROR, message)


@pytest.mark.parametrize(
    ("line", "severity", "why"),
    [
        ("FROB_LOG = /x", Severity.WARNING, "FROB is not a daemon of Roost or HTCondor"),
        ("FROB_DEBUG = D_ALL", Severity.WARNING, "FROB is not a daemon of Roost or HTCondor"),
        ("MAX_FROB_LOG = 1 Mb", Severity.WARNING, "FROB is not a daemon of Roost or HTCondor"),
        ("MAX_NUM_FROB_LOG = 3", Severity.WARNING, "FROB is not a daemon of Roost or HTCondor"),
        ("MAX_FROBS = 3", Severity.WARNING, "Roost has no knob of that name, and nothing else refers to it"),
        ("FROB_INTERVAL = 3", Severity.NOTE, "Roost has no knob of that name, and nothing else refers to it"),
        ("SCHEDD.FROB_INTERVAL = 3", Severity.NOTE, "Roost has no knob of that name, and nothing else refers to it"),
        ("ALLOW_USERS = x", Severity.NOTE, "Roost has no knob of that name, and nothing else refers to it"),
    ],
)
def test_a_name_that_nothing_reads_is_reported(line: str, severity: Severity, why: str) -> None:
    (found,) = check(load_text(line, MemoryHost()))
    name = line.partition(" ")[0]
    assert (found.severity, found.message) == (severity, f"{name} has no effect: {why}")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("GROUP_QUOTA_physics = 10", "GROUP_NAMES"),
        ("GROUP_QUOTA_DYNAMIC_physics = 0.5", "GROUP_NAMES"),
        ("SUBMIT_REQUIREMENT_A = true", "SUBMIT_REQUIREMENT_NAMES"),
        ('SUBMIT_REQUIREMENT_A_REASON = "x"', "SUBMIT_REQUIREMENT_NAMES"),
        ("SYSTEM_PERIODIC_HOLD_A = false", "SYSTEM_PERIODIC_HOLD_NAMES"),
        ("JOB_TRANSFORM_A = SET x 1", "JOB_TRANSFORM_NAMES"),
    ],
)
def test_a_member_of_a_family_that_its_list_does_not_name_is_warned_of(line: str, names: str) -> None:
    (found,) = check(load_text(line, MemoryHost()))
    name = line.partition(" ")[0]
    assert (found.severity, found.message) == (
        Severity.WARNING,
        f"{name} has no effect: {names} does not list it",
    )
    listed = "physics, physics.a" if names == "GROUP_NAMES" else "A, B"
    assert check(load_text(f"{names} = {listed}\n{line}", MemoryHost())) == []
