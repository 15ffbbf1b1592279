"""``roost completion``: scripts that complete the command line of `roost` in bash, zsh and fish.

The scripts are generated from the parsers (commands, options and their fixed values) and from the names that `roost
help` explains. They contact no pool and start no program, so completion is as fast as the shell. The package installs
them where shells look for them below its prefix; ``roost completion SHELL`` prints one for every other case.

It does not complete job numbers or slot names, which only a running pool knows.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from roost.base.records import dataclass, replace
from roost.cli.help.names import names
from roost.cli.help.topics import TOPICS
from roost.cli.parsing import commands_of, subparsers_of
from roost.cli.terminal import Exit, say


class CompletionKind(Enum):
    """The kind of a value on a command line."""

    TEXT = "text"
    FILE = "file"
    DIRECTORY = "directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedValue:
    """A place for a value: after an option, or as a positional argument."""

    kind: CompletionKind = CompletionKind.TEXT
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedOption:
    """An option of a command."""

    names: tuple[str, ...]
    about: str
    #: None for one that takes no value.
    value: CompletedValue | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedCommand:
    """A command, with the data that a shell needs."""

    words: tuple[str, ...]
    about: str
    options: tuple[CompletedOption, ...]
    #: Subcommand to its description.
    commands: tuple[tuple[str, str], ...]
    values: CompletedValue
    #: Further words that are offered once part of one is typed: too many to list.
    more: tuple[str, ...] = ()


_FILES: Final = frozenset(("FILE", "PATH", "AD", "ADS", "OLD", "NEW"))
#: Names that no shell has to quote.
_PLAIN: Final = re.compile(r"[\w.-]+")
_DIRECTORIES: Final = frozenset(("DIR",))


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``completion``."""
    parser = subparsers.add_parser(
        "completion",
        help="print a script that completes commands in your shell",
        description="Print a script that completes commands, options and their values. To load it, run "
        'eval "$(roost completion bash)" (or zsh), or roost completion fish | source. An installation for the whole '
        "machine puts the scripts where shells look for them.",
    )
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell that is to load the script")


def run(args: argparse.Namespace) -> int:
    """Run ``completion``."""
    say(script(args.shell).rstrip("\n"))
    return Exit.OK


def script(shell: str) -> str:
    """The script for a shell."""
    return SHELLS[shell](tuple(lines()))


def lines() -> Iterator[CompletedCommand]:
    """Every command, `roost` itself first."""
    from roost.cli.__main__ import parser_of_all

    top = parser_of_all()
    yield _line((), top, top.description or "")
    for words, parser, about in commands_of(top):
        line = _line(words, parser, about)
        if words == ("help",):
            inner = subparsers_of(top)
            assert inner is not None
            known = tuple(dict.fromkeys((*inner.choices, *TOPICS)))
            more = tuple(each for each in names() if _PLAIN.fullmatch(each) and each not in known)
            line = replace(line, values=CompletedValue(words=known), more=more)
        yield line


def _line(words: tuple[str, ...], parser: argparse.ArgumentParser, about: str) -> CompletedCommand:
    inner = subparsers_of(parser)
    options = [_choice(action) for action in parser._actions if action.option_strings]
    places = [action for action in parser._actions if not action.option_strings and action is not inner]
    known = {choice.dest: choice.help or "" for choice in inner._choices_actions} if inner is not None else {}
    return CompletedCommand(
        words=words,
        about=about,
        options=tuple(options),
        commands=tuple((name, known.get(name, "")) for name in (inner.choices if inner is not None else ())),
        values=_slot(places[0]) if places else CompletedValue(),
    )


def _choice(action: argparse.Action) -> CompletedOption:
    takes = action.nargs != 0
    about = "show the help of this command" if isinstance(action, argparse._HelpAction) else action.help or ""
    return CompletedOption(names=tuple(action.option_strings), about=about, value=_slot(action) if takes else None)


def _slot(action: argparse.Action) -> CompletedValue:
    name = action.metavar if isinstance(action.metavar, str) else action.dest
    kind = (
        CompletionKind.DIRECTORY
        if name in _DIRECTORIES
        else CompletionKind.FILE
        if name in _FILES
        else CompletionKind.TEXT
    )
    return CompletedValue(kind=kind, words=tuple(map(str, action.choices or ())))


# -- bash ------------------------------------------------------------------------------------------------------

_BASH: Final = """\
# Completes the command line of roost in bash. Generated by `roost completion bash`.
_roost() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= each at
    COMPREPLY=()
    # The words up to here that are commands: options and values before them make no difference.
    for ((at = 1; at < COMP_CWORD; at++)); do
        each=${COMP_WORDS[at]}
        case "$path/$each" in
@PATHS@
        esac
    done
    local options= words= values= takes=
    case $path in
@LINES@
    esac
    case $takes in
    file) COMPREPLY=($(compgen -f -- "$word")); compopt -o filenames 2>/dev/null; return ;;
    directory) COMPREPLY=($(compgen -d -- "$word")); compopt -o filenames 2>/dev/null; return ;;
    text) return ;;
    words) COMPREPLY=($(compgen -W "$values" -- "$word")); return ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        return
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    if [[ $values == file ]]; then
        COMPREPLY+=($(compgen -f -- "$word"))
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _roost roost
"""


def _bash(lines: tuple[CompletedCommand, ...]) -> str:
    paths = [f"        {_path(line.words)}) path={_path(line.words)} ;;" for line in lines if line.words]
    body: list[str] = []
    for line in lines:
        options = " ".join(name for option in line.options for name in option.names)
        words = " ".join((*(name for name, _ in line.commands), *line.values.words))
        body += [f"    {_path(line.words) or repr('')})", f'        options="{options}" words="{words}"']
        if line.values.kind is not CompletionKind.TEXT:
            body.append("        values=file")
        if line.more:
            body.append(f'        [[ -n $word ]] && words+=" {" ".join(line.more)}"')
        cases = [bash_case(option) for option in line.options if option.value is not None]
        body += ["        case $before in", *cases, "        esac"] if cases else []
        body.append("        ;;")
    return _BASH.replace("@PATHS@", "\n".join(paths)).replace("@LINES@", "\n".join(body))


def bash_case(option: CompletedOption) -> str:
    """The line of bash that says what follows an option with a value."""
    assert option.value is not None
    names = "|".join(option.names)
    if option.value.words:
        return f'        {names}) takes=words values="{" ".join(option.value.words)}" ;;'
    return f"        {names}) takes={option.value.kind.value} ;;"


def _path(words: tuple[str, ...]) -> str:
    return "".join(f"/{word}" for word in words)


# -- zsh -------------------------------------------------------------------------------------------------------

_ZSH: Final = """\
#compdef roost
# Completes the command line of roost in zsh. Generated by `roost completion zsh`.

@FUNCTIONS@
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _roost "$@"
else
    compdef _roost roost
fi
"""

#: The function of a command that has subcommands.
_ZSH_COMMANDS: Final = """\
{name}() {{
    local context state state_descr line
    typeset -A opt_args
    local -a commands=(
{rows}
    )
    _arguments -C -S \\
        {arguments}
    case $state in
    command) _describe command commands ;;
    rest)
        case $words[1] in
{cases}
        esac ;;
    esac
}}
"""


def _zsh(lines: tuple[CompletedCommand, ...]) -> str:
    return _ZSH.replace("@FUNCTIONS@", "\n".join(_zsh_function(line) for line in lines))


def _zsh_function(line: CompletedCommand) -> str:
    name = "_".join(("_roost", *line.words))
    parts = [part for option in line.options for part in _zsh_option(option)]
    if not line.commands:
        action = f"{name}_values" if line.more else _zsh_action(line.values)
        parts.append(f"'*:{'file' if line.values.kind is CompletionKind.FILE else 'argument'}:{action}'")
        text = f"{name}() {{\n    _arguments -S \\\n        " + " \\\n        ".join(parts) + "\n}\n"
        return text + (_zsh_values(name, line) if line.more else "")
    rows = "\n".join(f"        {quoted(f'{each}:{about}')}" for each, about in line.commands)
    cases = "\n".join(f"        {each}) {name}_{each} ;;" for each, _ in line.commands)
    arguments = " \\\n        ".join((*parts, "'1: :->command'", "'*:: :->rest'"))
    return _ZSH_COMMANDS.format(name=name, rows=rows, arguments=arguments, cases=cases)


def _zsh_values(name: str, line: CompletedCommand) -> str:
    known, more = " ".join(line.values.words), " ".join(line.more)
    return f"{name}_values() {{\n    compadd -- {known}\n    [[ -n $PREFIX ]] && compadd -- {more}\n}}\n"


def _zsh_option(option: CompletedOption) -> Iterator[str]:
    about = option.about.replace("[", "(").replace("]", ")").replace(":", ",")
    value = "" if option.value is None else f":value:{_zsh_action(option.value)}"
    for name in option.names:
        sign = "=" if option.value is not None and name.startswith("--") else ""
        yield quoted(f"{name}{sign}[{about}]{value}")


def _zsh_action(slot: CompletedValue) -> str:
    if slot.words:
        return f"({' '.join(slot.words)})"
    return {CompletionKind.FILE: "_files", CompletionKind.DIRECTORY: "_files -/", CompletionKind.TEXT: "()"}[slot.kind]


def quoted(text: str) -> str:
    """Text between quotes that zsh and fish take as it is."""
    return "'" + text.replace("'", "'\\''") + "'"


# -- fish ------------------------------------------------------------------------------------------------------

_FISH: Final = """\
# Completes the command line of roost in fish. Generated by `roost completion fish`.

# Whether the commands that stand on the line are these, and no further command of theirs.
function __roost_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l path
    for each in $words
        string match -q -- '-*' $each; and continue
        contains -- (string join / $path $each) $__roost_paths; and set -a path $each
    end
    # Without a word, the list is empty: the quotes keep an argument in its place.
    set -l here (string join / $path)
    set -l wanted (string join / $argv)
    test "$here" = "$wanted"
end

set -g __roost_paths @PATHS@
complete -c roost -f
"""


def _fish(lines: tuple[CompletedCommand, ...]) -> str:
    paths = " ".join("/".join(line.words) for line in lines if line.words)
    text = [_FISH.replace("@PATHS@", paths)]
    for line in lines:
        start = f"complete -c roost -n {quoted(' '.join(('__roost_at', *line.words)))}"
        text += [f"{start} -a {name} -d {quoted(about)}" for name, about in line.commands]
        text += [f"{start} -a {quoted(' '.join(line.values.words))}"] if line.values.words else []
        if line.more:
            typed = quoted(" ".join(("__roost_at", *line.words)) + "; and string length -q -- (commandline -ct)")
            text.append(f"complete -c roost -n {typed} -a {quoted(' '.join(line.more))}")
        text += [f"{start} -F"] if line.values.kind is not CompletionKind.TEXT else []
        text += [f"{start} {_fish_option(option)}" for option in line.options]
    return "\n".join(text) + "\n"


def _fish_option(option: CompletedOption) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    takes = ""
    if option.value is not None:
        takes = " -x" if option.value.kind is CompletionKind.TEXT else " -r -F"
        if option.value.kind is CompletionKind.DIRECTORY:
            takes = " -x -a '(__fish_complete_directories)'"
        if option.value.words:
            takes = f" -x -a {quoted(' '.join(option.value.words))}"
    return f"{names}{takes} -d {quoted(option.about)}"


SHELLS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}
