"""``condor_config_val``: values of the configuration and their origins, or the whole configuration.

It reads the files of the pool on this machine, as a daemon would, and never asks a daemon. Remote settings of HTCondor
(``-set``, ``-rset``) are not supported: Roost is configured only by its files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.cli.condor.errors import ToolError
from roost.cli.condor.options import Given, Option, given

if TYPE_CHECKING:
    from roost.config import Config

_DAEMONS: Final = ("master", "schedd", "startd", "collector", "negotiator", "defrag", "credd", "shadow", "starter")
OPTIONS: Final = (
    Option("verbose", "show where each value is set, and its unexpanded text", least=1),
    Option("raw", "print the unexpanded text", least=2),
    Option("expand", "accepted; values are always expanded", least=3),
    Option("macro", "treat the arguments as text with macros instead of names", least=3, takes="TEXT..."),
    Option("dump", "print all names with their values, or those that match a pattern", least=1, colon="FORM"),
    Option("summary", "print what the files set, file by file", least=3),
    Option("unused", "print names that no daemon reads", least=3),
    Option("default", "print the default instead of the value", least=3),
    Option("write", "write the settings of all files to one file", takes="FILE", least=2, colon="up"),
    Option("config", "print the names of the files that are read", least=2),
    Option("subsystem", "evaluate as this daemon", takes="NAME", least=2),
    Option("local-name", "evaluate as this instance of the daemon", takes="NAME", least=2),
    Option("name", "evaluate as the daemon with this name, which must belong to this pool", takes="NAME", least=1),
    Option("pool", "this pool", takes="HOST", least=1),
    *(Option(daemon, f"evaluate as the {daemon}", least=len(daemon)) for daemon in _DAEMONS),
    Option("tilde", "print the home directory of the user condor", least=1),
    Option("owner", "its owner", least=1),
    Option("evaluate", "evaluate the value as an expression", least=2),
    Option("mixedcase", "accepted, has no effect", least=2),
    Option("diagnostic", "accepted, has no effect", least=4),
    Option("set", "not supported; edit the files", takes="ASSIGNMENT", least=3),
    Option("rset", "the same", takes="ASSIGNMENT", least=2),
    Option("unset", "the same", takes="NAME", least=4),
    Option("runset", "the same", takes="NAME", least=2),
)


class _CommandLine:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.names: list[str] = []
        self.texts: list[str] = []
        self.subsystem = "TOOL"
        self.local_name: str | None = None
        self.file = ""
        #: Names of a daemon and of a pool in options, to be checked.
        self.named: list[Given] = []
        self.flags: set[str] = set()
        self._is_macro = False
        for option in given(arguments, OPTIONS):
            self._take(option)

    def _take(self, option: Given) -> None:
        match option.name:
            case "":
                self.names.append(option.value)
            case "macro":
                self.texts += option.values
                self.flags.add("macro")
            case "subsystem":
                self.subsystem = option.value.upper()
            case "local-name":
                self.local_name = option.value
            case "write":
                self.file = option.value
            case "name" | "pool":
                self.named.append(option)
            case "set" | "rset" | "unset" | "runset":
                raise ToolError(
                    f"Error: {option.written}: a Roost pool is configured only by its files; change them, "
                    "then run condor_reconfig"
                )
            case _ if option.name in _DAEMONS:
                self.subsystem = option.name.upper()
            case _:
                self.flags.add(option.name)


def run(name: str, arguments: list[str]) -> int:
    """Run ``condor_config_val``."""
    order = _CommandLine(arguments)
    from roost.cli.condor.asking import DaemonLocation
    from roost.cli.condor.asking import config as read

    place = DaemonLocation()
    for option in order.named:
        place.take(option)
    place.check_files()

    config = read(order.subsystem)
    for error in config.errors[:5]:
        sys.stderr.write(f"Configuration Error: {error}\n")
    if "config" in order.flags:
        return _files(config)
    if order.file:
        return _write(config, order.file)
    if "dump" in order.flags or "summary" in order.flags or "unused" in order.flags:
        return _dump(config, order)
    if order.texts:
        return _macros(config, order)
    if "tilde" in order.flags:
        return _values(config, order, ["TILDE"])
    if not order.names:
        raise ToolError("Usage: condor_config_val [options] NAME ...\n`condor_config_val -help` lists the options")
    if order.names[0].lower() == "use":
        return _templates(order.names[1:])
    return _values(config, order, order.names)


# -- templates ---------------------------------------------------------------------------------------------------


def _templates(names: list[str]) -> int:
    """Print the names of a category, or the lines of a template before arguments are inserted."""
    from roost.config.templates import ALL, CATEGORIES
    from roost.config.templates.known import BY_CATEGORY

    if not names:
        raise ToolError(f"Error: use requires a category; the categories are {', '.join(sorted(CATEGORIES)).upper()}")
    for name in names:
        category, _, option = (part.strip().lower() for part in name.partition(":"))
        option = option.partition("(")[0]
        known = [each for each in ALL if each.category.lower() == category]
        without = [each for key, found in BY_CATEGORY.items() if key.lower() == category for each in found]
        if not option and category in CATEGORIES:
            lines = "".join(f"  {each}\n" for each in sorted([*(each.name for each in known), *without], key=str.lower))
            sys.stdout.write(f"use {category.upper()} accepts\n{lines}")
        elif text := next((each.body for each in known if each.name.lower() == option), ""):
            sys.stdout.write(f"use {name} is\n{text.strip()}\n\n")
        elif without_effect := next((each for each in without if each.lower() == option), ""):
            sys.stdout.write(f"use {category.upper()}:{without_effect} is\n# without effect in Roost\n\n")
        else:
            sys.stdout.write(f"Not defined: use {name.upper()}\n")
    return 0


# -- values ------------------------------------------------------------------------------------------------------


def _values(config: Config, order: _CommandLine, names: list[str]) -> int:
    missing = 0
    for name in names:
        lines = list(_lines(config, order, name))
        if not lines:
            sys.stdout.flush()
            sys.stderr.write(f"Not defined: {name}\n")
            missing = 1
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return missing


def _lines(config: Config, order: _CommandLine, name: str) -> Iterator[str]:
    """The output for a name; none if it is not defined."""
    from roost.config import ConfigError
    from roost.config.knobs import DEFAULTS

    found = config.find(name, localname=order.local_name)
    default = DEFAULTS.get(name.lower())
    if "default" in order.flags:
        if default:
            yield default
        return
    if found is None:
        return
    try:
        value = config.get(name, localname=order.local_name)
    except ConfigError as error:
        raise ToolError(f"Error: {name} cannot be expanded: {error}") from None
    if value is None:
        return
    if "evaluate" in order.flags:
        value = _evaluated(value)
    shown = found.text if "raw" in order.flags else value
    if "verbose" not in order.flags:
        yield shown
        return
    yield f"{name} = {shown}"
    yield f" # at: {found.span.chain()}"
    yield f" # raw: {found.name} = {found.text}"
    if default is not None:
        yield f" # default: {default}"


def _evaluated(text: str) -> str:
    from roost.cli.condor.printing.rows import AdRow
    from roost.cli.condor.printing.values import text_of

    return text_of(AdRow({}).value(text))


def _macros(config: Config, order: _CommandLine) -> int:
    from roost.config import ConfigError

    for text in order.texts:
        if re.fullmatch(r"[A-Za-z_][\w.]*", text):
            text = f"$({text})"
        try:
            sys.stdout.write(f"{config.expand(text)}\n")
        except ConfigError as error:
            raise ToolError(f"Error: {text}: {error}") from None
    return 0


# -- all of it ---------------------------------------------------------------------------------------------------


def _files(config: Config) -> int:
    files = [source for source in config.sources if Path(source).is_file()]
    if files:
        sys.stdout.write(f"Configuration source:\n\t{files[0]}\n")
    if files[1:]:
        sys.stdout.write("Local configuration sources:\n" + "".join(f"\t{each}\n" for each in files[1:]))
    return 0


def _dump(config: Config, order: _CommandLine) -> int:
    import socket

    from roost.config.knobs import DEFAULTS

    names = {key: chain[-1].name for key, chain in config.chains.items()}
    if "dump" in order.flags:
        names |= {key: names.get(key, key.upper()) for key in DEFAULTS}
    if "unused" in order.flags:
        names = {key: name for key, name in names.items() if key not in DEFAULTS}
    patterns = [_pattern(text) for text in order.names]
    wanted = [name for _, name in sorted(names.items()) if not patterns or any(p.search(name) for p in patterns)]
    sys.stdout.write(f"# Configuration from machine: {socket.gethostname()}\n\n")
    if patterns:
        sys.stdout.write(f"# Parameters with names that match {' or '.join(order.names)}:\n")
    for name in wanted:
        sys.stdout.writelines(f"{line}\n" for line in _assigned(config, order, name))
    return 0


def _pattern(text: str) -> re.Pattern[str]:
    from roost.config.patterns import compile_pattern

    try:
        return compile_pattern(text, re.IGNORECASE)
    except re.error as error:
        raise ToolError(f"Error: {text} is not a valid regular expression: {error}") from None


def _assigned(config: Config, order: _CommandLine, name: str) -> Iterator[str]:
    from roost.config import ConfigError

    found = config.find(name, localname=order.local_name)
    try:
        value = config.get(name, localname=order.local_name) or ""
    except ConfigError as error:
        value = f"# {error}"
    yield f"{name} = {found.text if found is not None and 'raw' in order.flags else value}"
    if found is not None and {"verbose", "summary"} & order.flags:
        yield f" # at: {found.span.chain()}"


def _write(config: Config, path: str) -> int:
    lines = [f"{chain[-1].name} = {chain[-1].text}\n" for _, chain in sorted(config.chains.items())]
    try:
        if path == "-":
            sys.stdout.writelines(lines)
        else:
            with Path(path).open("w", encoding="utf-8") as file:
                file.writelines(lines)
    except OSError as error:
        raise ToolError(f"Error: cannot write {path}: {error.strerror}") from None
    return 0
