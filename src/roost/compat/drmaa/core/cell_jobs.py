"""From a job template to a job of `qsub`, in a pool with a Grid Engine cell.

In increasing order of precedence: `-p 0 -b y -shell n -w e`, the files of default requests, the options in a script
(`-b n`), those of the job category (a line of a qtask file), the native specification, and the other attributes of the
template.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.classad import parse_expression
from roost.cli.gridengine.description import Work, plan_of
from roost.cli.gridengine.option_lines import words_of
from roost.cli.gridengine.qsub import command_line, follow, options_of
from roost.cli.gridengine.request_files import request_files, words_of_file
from roost.cli.gridengine.script import PREFIX, read_script
from roost.cli.gridengine.verifying import verified
from roost.compat.drmaa.core import attributes as at
from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.compat.drmaa.core.times import instant, seconds
from roost.gridengine.commands.options import Given
from roost.gridengine.commands.qsub import Asked

if TYPE_CHECKING:
    from roost.compat.drmaa.core.pool import SessionPool
    from roost.schedd.submit.plan import ClusterPlan

#: Options of the command `qsub` only.
_OF_COMMANDS: Final = frozenset(("help", "verify", "sync", "t", "terse"))
_CWD: Final = "SGE_DRMAA_ALLOW_CWD"
_TASK: Final = "$TASK_ID"


def plan(
    template: at.Template, tasks: tuple[int, int, int] | None, pool: SessionPool, warn: Callable[[str], None]
) -> ClusterPlan:
    """The plan of a template's jobs; `tasks`: first, last and step of bulk jobs. Raises DrmaaError, Failure."""
    stronger = [
        *_options(_category(at.text_of(template, at.CATEGORY)), "the job category", warn),
        *_options(words_of(at.text_of(template, at.NATIVE), at.NATIVE), "the native specification", warn),
    ]
    asked = Asked()
    asked.yes |= {"b": True, "shell": False}
    if not any(each.name == "clear" for each in stronger):
        for path in request_files():
            asked.take(_effective(options_of(words_of_file(path), str(path)), str(path), warn))
    work = _work(template, asked, stronger)
    asked.take(stronger)
    _take_attributes(template, asked, tasks)
    asked.check()
    _, found = plan_of(asked, work)
    if asked.verifiers:
        from roost.cli.gridengine.jsv import verified as verified_by_programs

        found = verified_by_programs(asked, found)
    if deadline := at.text_of(template, at.DEADLINE):
        found.common.put("PeriodicRemove", parse_expression(f"time() >= {instant(deadline, at.DEADLINE, time.time())}"))
    follow(pool, found, asked)
    verified(pool, found, asked.texts.get("w", "e"))
    return found


def _category(name: str) -> list[str]:
    """The options of a job category: the last line of the qtask files that has its name. Raises DrmaaError."""
    if not name:
        return []
    found: list[str] | None = None
    for path in _category_files():
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = [] if line.lstrip().startswith("#") else words_of(line, str(path))
            # An exclamation mark before a name is for `qtcsh`.
            if words and words[0].removeprefix("!") == name:
                found = words[1:]
    if found is None:
        raise DrmaaError(Code.DENIED_BY_DRM, f"there is no job category {name!r} in {_said(_category_files())}")
    return found


def _said(paths: Iterator[Path]) -> str:
    return " or ".join(str(path) for path in paths)


def _category_files() -> Iterator[Path]:
    root = os.environ.get("SGE_ROOT")
    if root:
        yield Path(root, os.environ.get("SGE_CELL") or "default", "common", "qtask")
    yield Path("~").expanduser() / ".qtask"


def _options(words: list[str], place: str, warn: Callable[[str], None]) -> list[Given]:
    """The options of a text. Raises DrmaaError, Failure."""
    for word in ("-help", "-verify"):
        if word in words:
            warn(f"{place}: {word} has no effect through DRMAA")
    given, rest = command_line([word for word in words if word not in ("-help", "-verify")])
    if rest:
        raise DrmaaError(Code.DENIED_BY_DRM, f"{place}: {rest[0]!r} is not an option of qsub")
    return _effective(given, place, warn)


def _effective(given: list[Given], place: str, warn: Callable[[str], None]) -> list[Given]:
    """The options that take effect; warns about others."""
    found = []
    for each in given:
        is_verification = each.name == "w" and each.value in ("w", "v", "p")
        if each.name in _OF_COMMANDS or is_verification or (each.name == "cwd" and not os.environ.get(_CWD)):
            unless = f" unless {_CWD} is set" if each.name == "cwd" else ""
            warn(f"{place}: {' '.join((f'-{each.name}', *each.values))} has no effect through DRMAA{unless}")
        else:
            found.append(each)
    return found


def _work(template: at.Template, asked: Asked, stronger: list[Given]) -> Work:
    """The command or script to run; options in a script are recorded. Raises Failure."""
    command, arguments = at.text_of(template, at.COMMAND), tuple(at.list_of(template, at.ARGUMENTS))
    merged = Asked()
    merged.take(stronger)
    if merged.yes.get("b", asked.yes.get("b", True)):
        return Work(None, command, arguments)
    script = read_script(posixpath.join(directory(template, ""), command))
    prefix = merged.texts.get("C", asked.texts.get("C", PREFIX))
    asked.take(options_of(script.options(prefix), script.file))
    return Work(script, "", arguments)


def _take_attributes(template: at.Template, asked: Asked, tasks: tuple[int, int, int] | None) -> None:
    asked.tasks = tasks
    if place := at.text_of(template, at.DIRECTORY):
        asked.flags -= {"cwd"}
        asked.texts["wd"] = directory(template, _TASK) if place else ""
    for option, name in (("i", at.INPUT), ("o", at.OUTPUT), ("e", at.ERROR)):
        if value := at.text_of(template, name):
            asked.texts[option] = path(template, value, _TASK)
    if value := at.text_of(template, at.NAME):
        asked.texts["N"] = value
    if value := at.text_of(template, at.JOIN):
        asked.yes["j"] = value == "y"
    if at.text_of(template, at.STATE) == "drmaa_hold":
        asked.flags.add("h")
    if at.text_of(template, at.BLOCK_EMAIL) == "1":
        asked.texts["m"] = "n"
    asked.mail += [each for each in at.list_of(template, at.EMAIL) if each not in asked.mail]
    if value := at.text_of(template, at.START):
        when = time.localtime(instant(value, at.START, time.time()))
        asked.texts["a"] = time.strftime("%Y%m%d%H%M.%S", when)
    for resource, name in (("h_rt", at.HARD_LIMIT), ("s_rt", at.SOFT_LIMIT)):
        if value := at.text_of(template, name):
            asked.hard[resource] = str(seconds(value, name))
    asked.variables |= dict(each.split("=", 1) for each in at.list_of(template, at.ENVIRONMENT))


def directory(template: at.Template, index: str) -> str:
    """The directory of the job, with `index` replacing the number of a bulk job; relative to the home directory."""
    home = str(Path("~").expanduser())
    text = at.text_of(template, at.DIRECTORY).replace(at.HOME, home, 1).replace(at.INDEX, index)
    return posixpath.join(home, text)


def path(template: at.Template, value: str, index: str) -> str:
    """A path of a stream, ``[host]:path``, with its placeholders replaced."""
    host, colon, text = value.partition(":")
    host, text = (host, text) if colon else ("", value)
    text = text.replace(at.HOME, str(Path("~").expanduser()), 1) if text.startswith(at.HOME) else text
    if text.startswith(at.PLACE):
        text = directory(template, index) + text.removeprefix(at.PLACE)
    text = text.replace(at.INDEX, index)
    return f"{host}:{text}" if host else text
