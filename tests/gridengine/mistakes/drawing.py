"""Commands that are wrong in some way, most of them: a grammar of what may stand somewhere, and mutations of it.

`cases(seed, number)` is a function of its arguments. Each case stands by itself but for what cases before it have
changed, which few do.
"""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable
from typing import Final, NamedTuple

from tests.gridengine.questions import BASES, QUESTIONS

#: Before the name of a file: it has the table of complexes as it is, and then its text.
TABLE: Final = "+"


class Case(NamedTuple):
    """A command, and the files next to it."""

    words: str
    files: dict[str, str] = {}  # noqa: RUF012


#: Objects of each kind that are there from the start, by the letters of their options and their file.
START: Final = (
    ("Ahgrp", "group_name @g1\nhostlist node1 node2\n"),
    ("Ahgrp", "group_name @g2\nhostlist node2 node3\n"),
    ("Au", BASES["userset"]),
    ("Aprj", BASES["project"]),
    ("Auser", BASES["user"]),
    ("Acal", BASES["calendar"]),
    ("Ackpt", BASES["ckpt"]),
    ("Ap", BASES["pe"]),
    ("Aq", BASES["queue"]),
    ("Arqs", "{\n   name r1\n   description NONE\n   enabled TRUE\n   limit users alice to slots=2\n}\n"),
)
#: Kinds of objects: what they are called in -mattr, the letters of -A and -M, names that are there.
_KINDS: Final = {
    "queue": ("queue", "q", ("t.q", "all.q")),
    "pe": ("pe", "p", ("tp", "make")),
    "host": ("exechost", "e", ("node1", "global")),
    "calendar": ("calendar", "cal", ("c",)),
    "ckpt": ("ckpt", "ckpt", ("c",)),
    "userset": ("userset", "u", ("u1", "arusers")),
    "project": ("project", "prj", ("p1",)),
    "user": ("user", "user", ("x1", "alice")),
    "hostgroup": ("hostgroup", "hgrp", ("@g1", "@g2", "@allhosts")),
    "quota": ("resource_quota", "rqs", ("r1",)),
}
_NAMES: Final = (
    *("nosuch", "NONE", "none", "template", "global", "@nosuch", "@", "", " ", "a b", "a,b", "a/b", "a:b", "a=b", "*"),
    *(
        "node1",
        "NODE1",
        "node9",
        "node1.",
        "all.q",
        "all.q@node1",
        "t.q",
        "@g1",
        "x" * 600,
        "-1",
        "0",
        "é",
        "a#b",
        "$x",
    ),
)
_NUMBERS: Final = (
    *("0", "-0", "1", "-1", "+1", "1.5", "-1.5", "1e3", "0x10", "010", "4294967296", "2147483648"),
    *(
        "1k",
        "1K",
        "2G",
        "1t",
        "infinity",
        "INFINITY",
        "nan",
        "inf",
        "x",
        "",
        " 1",
        "1 ",
        "1x",
        "--1",
        "9999999",
        "10000000",
    ),
)
_TIMES: Final = (
    *("0:0:0", "1:0:0", "1:2", "::", ":30", "1:60:70", "-1:0:0", "1:-1:0", "1:x:0", "1:0:0:0", "25:61:61", "infinity"),
)
_DATES: Final = (
    *(
        "202701010000",
        "202713010000",
        "202702300000",
        "2027010100",
        "01010000",
        "01012500",
        "x",
        "",
        "20270101000000.00",
    ),
    *("202701010000.30", "202701010000.61", "197001010000", "210001010000", "0", "now"),
)
_RANGES: Final = (
    *(
        "1",
        "0",
        "1-3",
        "3-1",
        "1-",
        "-3",
        "1-10:2",
        "1-10:0",
        "1-10:20",
        "1-10:-1",
        "1:2",
        "1-x",
        "x",
        "",
        "1,3",
        "1-2,4-6",
    ),
    *(
        "1-10:2:3",
        "1-75001",
        "1-75000",
        "01-03",
        "1-3-5",
        "undefined",
        "1-4294967296",
        "0-3",
        " 1-3",
        "1 -3",
        "1-3,2",
        "8-",
    ),
)
_RESOURCES: Final = (
    *(
        "h_rt",
        "mem_free",
        "mf",
        "arch",
        "hostname",
        "h",
        "qname",
        "q",
        "slots",
        "s",
        "np_load_avg",
        "lic",
        "nosuch",
        "cpu",
    ),
    *(
        "calendar",
        "display_win_gui",
        "num_proc",
        "seq_no",
        "rerun",
        "tmpdir",
        "h_vmem",
        "s_rt",
        "load_avg",
        "m_topology",
    ),
)
_CUTS: Final = (
    *(
        "",
        " ",
        ",",
        "=",
        "[",
        "]",
        "@",
        "{",
        "}",
        "\n",
        "\\\n",
        "#",
        ":",
        "-",
        "!",
        "*",
        "|",
        "&",
        "(",
        ")",
        "/",
        "\\",
        '"',
    ),
    *(
        "NONE",
        "none",
        "=1",
        "[node1=3]",
        "[@g1=",
        ",,",
        "  ",
        "\t",
        "$",
        "$num_proc",
        "TRUE",
        "x",
        "1",
        "to",
        "users",
        "hosts",
    ),
)


def cases(seed: int, number: int, which: str) -> list[Case]:
    """So many cases: `which` is ``cell`` for changes of a cell, ``jobs`` for requests of users."""
    chance = random.Random(f"{seed} {which}")
    draw = _of_cell if which == "cell" else _of_jobs
    return [draw(chance) for _ in range(number)]


# -- changes of a cell -------------------------------------------------------------------------------------------------


def _of_cell(chance: random.Random) -> Case:
    ways: tuple[Callable[[random.Random], Case], ...] = (
        _file,
        _file,
        _attribute,
        _attribute,
        _attribute,
        _words,
        _table,
    )
    return chance.choice(ways)(chance)


def _values(kind: str, attribute: str = "") -> list[tuple[str, str]]:
    """Attributes of a kind with values that Grid Engine was asked for before."""
    found = [(each.attribute, each.value) for each in QUESTIONS if each.kind == kind and each.attribute]
    return [each for each in found if attribute in ("", each[0])]


def _value(chance: random.Random, kind: str) -> tuple[str, str]:
    """An attribute and a value, maybe of another attribute, maybe bent."""
    lines = [line.split(None, 1) for line in BASES[kind].splitlines() if len(line.split(None, 1)) == 2]
    known = [(line[0], line[1]) for line in lines]
    attribute, value = chance.choice(_values(kind) or known) if chance.random() < 0.6 else chance.choice(known)
    draw = chance.random()
    if draw < 0.2:
        value = chance.choice(_values(kind) or known)[1]
    elif draw < 0.35:
        value = chance.choice((*_NAMES, *_NUMBERS, *_TIMES))
    elif draw < 0.7:
        value = _bent(value, chance)
    return attribute, value


def _bent(text: str, chance: random.Random) -> str:
    """A text with something else at one place or two."""
    for _ in range(chance.choice((1, 1, 2))):
        begin = chance.randint(0, len(text))
        text = text[:begin] + chance.choice(_CUTS) + text[begin + chance.choice((0, 0, 1, 3)) :]
    return text


def _quota(chance: random.Random) -> str:
    """A quota set of the name r1."""
    names = {"users": ("alice", "@arusers", "@nosuch"), "hosts": ("node1", "@g1", "@nosuch"), "queues": ("t.q", "x*"),
             "pes": ("tp",), "projects": ("p1",), "jobs": ("a",)}  # fmt: skip
    rules = ""
    for _ in range(chance.choice((1, 1, 2))):
        words = []
        for name in chance.sample(list(names), chance.choice((0, 1, 1, 2))):
            members = ",".join(chance.choice(("", "", "!")) + chance.choice((*names[name], "*")) for _ in range(2))
            words.append(f"{name} " + chance.choice((members, f"{{{members}}}", members, "*", "{*}")))
        limit = f"{chance.choice(('slots', 'slots', *_RESOURCES))}={chance.choice(('1', '$num_proc*2', *_NUMBERS))}"
        rules += f"   limit {chance.choice(('', 'name a '))}{' '.join(words)} to {limit}\n"
    return f"{{\n   name r1\n   description NONE\n   enabled {chance.choice(('TRUE', 'FALSE', 'x'))}\n{rules}}}\n"


def _file(chance: random.Random) -> Case:
    """A file for -A or -M."""
    kind = chance.choice(list(_KINDS))
    _, letters, names = _KINDS[kind]
    text = _quota(chance) if kind == "quota" else _with_name(BASES[kind], chance.choice((*names, *names, "n1", "@n1")))
    for _ in range(chance.choice((1, 1, 2)) if kind != "quota" else 0):
        attribute, value = _value(chance, kind)
        lines = text.splitlines()
        text = "".join(f"{attribute} {value}\n" if line.split()[:1] == [attribute] else f"{line}\n" for line in lines)
    draw = chance.random()
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    if draw < 0.1:
        del lines[at]
    elif draw < 0.2:
        lines.insert(at, chance.choice((*lines, "nosuch 1\n", "\n", "# comment\n", "slots\n")))
    elif draw < 0.25:
        lines = lines[:at]
    elif draw < 0.35:
        lines[at] = _bent(lines[at], chance)
    verb = chance.choice("AMM")
    words = f"qconf -{verb}{letters} t"
    if kind == "quota" and chance.random() < 0.3:
        words += chance.choice((" r1", " nosuch"))
    return Case(words, {"t": "".join(lines)})


def _with_name(text: str, name: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first.split()[0]} {name}\n{rest}"


def _attribute(chance: random.Random) -> Case:
    """-mattr and its kin."""
    kind = chance.choice([one for one in _KINDS if one != "quota"])
    word, _, names = _KINDS[kind]
    attribute, value = _value(chance, kind)
    name = chance.choice((*names, *names, *names, chance.choice(_NAMES)))
    word = chance.choice((*[word] * 12, "nosuch"))
    attribute = chance.choice((*[attribute] * 12, "nosuch", attribute.upper(), ""))
    parts = [f"-{chance.choice('mmard')}attr", word, attribute, value, name]
    if chance.random() < 0.05:
        parts.pop()
    return Case(shlex.join(["qconf", *parts]))


def _words(chance: random.Random) -> Case:
    """Other options, with names that may not be there."""
    option = chance.choice(
        (
            *(
                "sq",
                "shgrp",
                "shgrp_tree",
                "shgrp_resolved",
                "sp",
                "sckpt",
                "scal",
                "su",
                "sprj",
                "suser",
                "srqs",
                "se",
            ),
            *("sconf", "dq", "dhgrp", "dp", "dckpt", "dcal", "dul", "dprj", "duser", "drqs", "de", "dconf", "am", "ao"),
            *("dm", "do", "ah", "dh", "as", "ds", "sstnode", "purge queue slots", "au", "du", "mattr", "dattr queue"),
            *(
                "sobjl queue",
                "sobjl exechost",
                "aattr pe user_lists",
                "purge queue '*'",
                "rattr",
                "nosuch",
                "Aq",
                "Mq",
                "Mc",
            ),
        )
    )
    names = [chance.choice((*_NAMES, *(name for _, _, some in _KINDS.values() for name in some)))]
    if chance.random() < 0.25:
        names.append(chance.choice(_NAMES))
    if chance.random() < 0.05:
        names.clear()
    return Case(f"qconf -{option} {shlex.join(names)}".rstrip())


def _table(chance: random.Random) -> Case:
    """One line more in the table of complexes, the scheduler's or a host's configuration."""
    if chance.random() < 0.5:
        given = [each.value for each in QUESTIONS if each.kind == "complex"]
        line = chance.choice(given).strip("\n")
        words = line.split()
        at = chance.randrange(len(words))
        words[at] = chance.choice((*chance.choice(given).split(), *_NUMBERS, _bent(words[at], chance)))
        return Case("qconf -Mc t", {f"{TABLE}t": " ".join(words) + "\n"})
    attribute, value = _value(chance, "scheduler")
    base = BASES["scheduler"]
    lines = [f"{attribute} {value}" if line.split()[:1] == [attribute] else line for line in base.splitlines()]
    return Case("qconf -Msconf t", {"t": "\n".join(lines) + "\n"})


# -- requests of users -------------------------------------------------------------------------------------------------


def _of_jobs(chance: random.Random) -> Case:
    draw = chance.random()
    if draw < 0.55:
        return Case(shlex.join(["qsub", "-h", *_options(chance), "-b", "y", "/bin/true"]))
    if draw < 0.75:
        return Case(
            f"qalter {shlex.join(_options(chance))} {chance.choice(('{J1}', '{J1}', '{J2}', '{J2}.1', '987654'))}"
        )
    return _other(chance)


def _options(chance: random.Random) -> list[str]:
    found: list[str] = []
    for _ in range(chance.choice((1, 1, 2))):
        found += chance.choice(_OPTIONS)(chance)
    return found


def _request(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.choice((1, 1, 2))):
        name = chance.choice(_RESOURCES)
        value = chance.choice((*_NUMBERS, *_TIMES, *_NAMES, "TRUE", "lx-amd64"))
        parts.append(name + chance.choice(("=", "=", "=", "=", "", "==", "<=", " = ")) + value)
    return ",".join(parts)


def _queues(chance: random.Random) -> str:
    one = (
        "all.q",
        "t.q",
        "all.q@node1",
        "t.q@@g1",
        "*",
        "*@node1",
        "@g1",
        "all.q@",
        "all.q@nosuch",
        "x*",
        "all.q@@nosuch",
    )
    return ",".join(chance.choice((*one, *_NAMES)) for _ in range(chance.choice((1, 1, 2))))


def _maybe_bent(make: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda chance: _bent(make(chance), chance) if chance.random() < 0.2 else make(chance)


def _one_of(*values: str) -> Callable[[random.Random], str]:
    return lambda chance: chance.choice(values)


def _with(option: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], list[str]]:
    make = _maybe_bent(make)
    return lambda chance: [*option.split(), make(chance)]


def _parallel(chance: random.Random) -> list[str]:
    return ["-pe", chance.choice(("tp", "make", "t*", "nosuch", "*", "", "NONE")), chance.choice(_RANGES)]


#: Options without what they take, and with what they do not.
_MISPLACED: Final = ("-nosuch", "-", "--", "-notify", "-l", "-cwd", "-pe tp", "-t", "-hard", "-terse x", "-h -h", "-q")
_OPTIONS: Final[tuple[Callable[[random.Random], list[str]], ...]] = (
    *[_with("-l", _request)] * 5,
    _with("-soft -l", _request),
    *[_with("-q", _queues)] * 3,
    _with("-soft -q", _queues),
    _with("-masterq", _queues),
    *[_parallel] * 3,
    *[_with("-t", _one_of(*_RANGES))] * 2,
    _with("-tc", _one_of(*_NUMBERS)),
    _with("-p", _one_of(*_NUMBERS, "1024", "1025", "-1023", "-1024", "5")),
    _with("-a", _one_of(*_DATES)),
    _with("-dl", _one_of(*_DATES)),
    _with("-N", _one_of(*_NAMES, "good", "1st", "a@b", "a\tb", "a'b", "x" * 128)),
    _with("-P", _one_of("p1", *_NAMES)),
    _with("-hold_jid", _one_of("{J1}", "{J2}", "987654", *_NAMES)),
    _with("-hold_jid_ad", _one_of("{J2}", "987654", "held")),
    _with("-ckpt", _one_of("c", *_NAMES)),
    _with("-c", _one_of("n", "s", "m", "x", "sx", "nsm", "1:0:0", *_TIMES)),
    _with("-m", _one_of("b", "e", "a", "s", "n", "beas", "x", "bn", "", "bb")),
    _with("-w", _one_of("e", "w", "n", "v", "p", "x", "", "ee")),
    _with("-h", _one_of("u", "o", "s", "n", "U", "x", "uos", "")),
    _with("-r", _one_of("y", "n", "yes", "no", "x", "", "Y", "TRUE")),
    _with("-R", _one_of("y", "n", "x", "")),
    _with("-j", _one_of("y", "n", "x", "yes")),
    _with("-js", _one_of(*_NUMBERS)),
    _with("-ar", _one_of("1", "0", "x", "-1", "99")),
    _with("-S", _one_of("/bin/sh", "/nosuch", "sh", "@x", "node1:/bin/sh", "node1:/a,node1:/b", "", ",")),
    _with("-o", _one_of("/tmp", "node1:/tmp", ":", "", "/a,/b", "x:", ":/tmp")),
    _with("-M", _one_of("a@b", "a", "", "a@b,c", "@", ",", "a b")),
    _with("-v", _one_of("A", "A=1", "A=1,B=2", "=1", "", "A=1,", ",A", "1A=2", "A B=1")),
    _with("-shell", _one_of("y", "n", "x")),
    _with("-now", _one_of("n", "x")),
    _with("-binding", _one_of("linear:1", "linear", "striding:1:1", "explicit:0,0", "x", "set linear:1", "linear:0")),
    _with("-A", _one_of("a", "a b", "a:b", "", "a/b")),
    _with("-wd", _one_of("/tmp", "tmp", "", "/no such")),
    _with("-ac", _one_of("A=1", "A", "=", "")),
    lambda chance: chance.choice(_MISPLACED).split(),
)


def _other(chance: random.Random) -> Case:
    job = chance.choice(
        ("987654", "987654.1", "{J1}.1", "{J1}.7", "{J2}.99", "{J2}.1-9:x", "0", "-1", "x", "nosuch*", "", "1e3")
    )
    queue = _queues(chance)
    line = chance.choice(
        (
            f"qdel {shlex.quote(job)}", f"qdel -u {shlex.quote(chance.choice(('nosuch', '', 'a b', 'bob')))}",
            f"qhold {shlex.quote(job)}", f"qrls {shlex.quote(job)}", f"qhold -h {chance.choice('uosxn')} {{J1}}",
            f"qrls -h {chance.choice(('x', 'uo', 's', 'o'))} {{J1}}", f"qmod -d {shlex.quote(queue)}",
            f"qmod -e {shlex.quote(queue)}", f"qmod -cj {shlex.quote(job)}", f"qmod -rj {shlex.quote(job)}",
            f"qmod -sj {shlex.quote(job)}", f"qmod -c {shlex.quote(queue)}", f"qmod -usj {shlex.quote(job)}",
            f"qselect -q {shlex.quote(queue)}", f"qselect -l {shlex.quote(_request(chance))}",
            f"qselect -pe {shlex.quote(chance.choice(_NAMES))}", f"qselect -qs {chance.choice(('x', 'a', 'ud', 'dE'))}",
            f"qstat -j {shlex.quote(job)}", f"qstat -q {shlex.quote(queue)} -f",
            f"qstat -s {chance.choice(('x', 'rx', 'hq', 'z'))}",
            f"qstat -l {shlex.quote(_request(chance))} -f", f"qstat -U {shlex.quote(chance.choice(_NAMES))}",
            f"qstat -g {chance.choice(('x', 'ct', 'y'))}", f"qstat -pe {shlex.quote(chance.choice(_NAMES))} -f",
            f"qhost -h {shlex.quote(chance.choice(_NAMES))}", f"qhost -l {shlex.quote(_request(chance))}",
            f"qhost -F {shlex.quote(chance.choice(_RESOURCES))}x", f"qquota -h {shlex.quote(chance.choice(_NAMES))}",
            f"qquota -l {shlex.quote(_request(chance))}", f"qacct -j {shlex.quote(job)}",
            f"qacct -b {shlex.quote(chance.choice(_DATES))}", f"qacct -d {shlex.quote(chance.choice(_NUMBERS))}",
            f"qacct -t {shlex.quote(chance.choice(_RANGES))} -j 987654", f"qacct -l {shlex.quote(_request(chance))}",
            f"qresub {shlex.quote(job)}", f"qrdel {chance.choice(('1', 'x', '0', '99', '-u nosuch'))}",
            f"qrstat -ar {chance.choice(('1', 'x', '0', '99'))}", f"qstat -u {shlex.quote(chance.choice(_NAMES))}",
        )
    )  # fmt: skip
    return Case(line)
