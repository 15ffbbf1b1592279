"""Man pages and completions of the commands that `roost shims` writes, made from their tables of options.

`make docs` writes them into the packages of the commands, in ``share``; `roost shims` links that directory next to the
scripts. The completions of a system's commands are one file per shell. They contact no pool and start no program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Final, NamedTuple, Protocol

from website.manual.troff import head, plain, prose

from roost.base.records import dataclass
from roost.cli.condor import names as condor_names
from roost.cli.condor import page as condor
from roost.cli.gridengine import names as gridengine_names
from roost.cli.gridengine import page as gridengine
from roost.cli.help.completion import CompletedOption, CompletedValue, CompletionKind, bash_case, quoted


class Option(Protocol):
    """One option of another system's command."""

    @property
    def name(self) -> str:
        """The name, without the dash."""
        ...

    @property
    def takes(self) -> str:
        """Its values, one word each."""
        ...

    @property
    def help(self) -> str:
        """Its meaning."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of another system."""

    name: str
    about: str
    operands: str
    #: Markdown.
    text: str
    #: Form and meaning of each option.
    described: Sequence[tuple[str, str]]
    options: Sequence[CompletedOption]

    @property
    def takes_files(self) -> bool:
        """Whether files may stand on the command line without an option."""
        return re.search(r"\b(FILE|script)\b", self.operands) is not None


class System(NamedTuple):
    """A system whose commands Roost has."""

    title: str
    #: The package of the commands.
    package: str
    commands: tuple[Command, ...]


_FILES: Final = frozenset(("FILE", "PATH", "file", "fname", "file_list", "path_list", "acctfile"))
_DIRECTORIES: Final = frozenset(("DIR", "DIRECTORY", "working_directory"))
#: A choice of short words, as in ``y[es]|n[o]`` and ``{c|d|t}``.
_WORDS: Final = re.compile(r"\{?\w{1,2}(?:\[\w+\])?(?:\|\w{1,2}(?:\[\w+\])?)+\}?")
#: Names that every shell takes as an option.
_NAME: Final = re.compile(r"[A-Za-z][\w-]*|@")


def systems() -> dict[str, System]:
    """Kind of shims to its system."""
    return {
        "condor": System("HTCondor", "roost.cli.condor", tuple(map(_of_condor, condor_names.COMMANDS))),
        "gridengine": System(
            "Grid Engine", "roost.cli.gridengine", tuple(map(_of_gridengine, gridengine_names.COMMANDS))
        ),
    }


def share() -> dict[str, str]:
    """Path below the directory of the commands' packages to text."""
    found: dict[str, str] = {}
    for kind, system in systems().items():
        for command in system.commands:
            found[f"{kind}/share/man/man1/{command.name}.1"] = "\n".join(_man_page(command, system))
        for shell, script in SHELLS.items():
            found[f"{kind}/share/completion.{shell}"] = script(kind, system)
    return found


def _of_condor(name: str) -> Command:
    return _command(name, condor_names.SYNOPSES[name], condor.described(name), condor.options_with(name))


def _of_gridengine(name: str) -> Command:
    return _command(name, gridengine_names.SYNOPSES[name], gridengine.described(name), gridengine.options_with(name))


def _command(
    name: str, synopsis: tuple[str, str], told: tuple[str, Sequence[tuple[str, str]]], options: Sequence[Option]
) -> Command:
    operands, about = synopsis
    text, described = told
    return Command(
        name=name,
        about=about,
        operands=operands,
        text=text,
        described=described,
        options=tuple(
            CompletedOption(names=(f"-{option.name}",), about=option.help, value=_value(option.takes))
            for option in options
            if _NAME.fullmatch(option.name)
        ),
    )


def _value(takes: str) -> CompletedValue | None:
    """The value of an option; None if it has none, or need not have one."""
    if not takes or takes.startswith("["):
        return None
    first = takes.split()[0]
    if _WORDS.fullmatch(first):
        return CompletedValue(words=tuple(re.sub(r"\[\w+\]", "", first.strip("{}")).split("|")))
    name = first.removesuffix("...")
    kind = CompletionKind.FILE if name in _FILES else CompletionKind.TEXT
    return CompletedValue(kind=CompletionKind.DIRECTORY if name in _DIRECTORIES else kind)


# -- man pages ---------------------------------------------------------------------------------------------------


def _introduction(package: str) -> str:
    """What the page of a system's commands says of all of them, after its heading."""
    text = resources.files(package).joinpath("page.md").read_text(encoding="utf-8")
    return text.partition("\n## ")[0].partition("\n")[2].strip()


def _man_page(command: Command, system: System) -> Iterator[str]:
    yield from head(command.name, command.about)
    options = ("[OPTIONS]",) if command.described else ()
    yield from (f".B {plain(command.name)}", plain(" ".join((*options, command.operands))))
    yield from (".SH DESCRIPTION", *prose(f"{command.about[:1].upper()}{command.about[1:]}."))
    if command.text:
        yield from (".PP", *prose(command.text))
    if command.described:
        yield ".SH OPTIONS"
    for shown, meaning in command.described:
        name, _, takes = shown.partition(" ")
        value = f" \\fI{plain(takes)}\\fR" if takes else ""
        yield from (".TP", f"\\fB{plain(name)}\\fR{value}", *prose(meaning))
    if any(shown.startswith("-autoformat") for shown, _ in command.described):
        yield from (".SH PRINTING ADS", *prose(condor.described("Printing ads")[0]))
    yield from (f".SH ALL COMMANDS OF {system.title.upper()}", *prose(_introduction(system.package)))
    yield from (".SH SEE ALSO", ".BR roost (1),", ".BR roost\\-shims (1)", "")


# -- completion --------------------------------------------------------------------------------------------------

_HEAD: Final = "# Completes the commands of {title} in {shell}. Generated by `make docs`; do not edit.\n"

_BASH: Final = """\
{head}_roost_{kind}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options= values= takes= operands=
    COMPREPLY=()
    case ${{1##*/}} in
{cases}
    esac
    case ${{takes:-$operands}} in
    file) COMPREPLY=($(compgen -f -- "$word")); compopt -o filenames 2>/dev/null ;;
    directory) COMPREPLY=($(compgen -d -- "$word")); compopt -o filenames 2>/dev/null ;;
    words) COMPREPLY=($(compgen -W "$values" -- "$word")) ;;
    esac
    if [[ -z $takes && $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    fi
}}
complete -F _roost_{kind} {names}
"""


def _names(system: System) -> str:
    return " ".join(command.name for command in system.commands)


def _bash(kind: str, system: System) -> str:
    rows: list[str] = []
    for command in system.commands:
        options = " ".join(name for option in command.options for name in option.names)
        operands = " operands=file" if command.takes_files else ""
        rows += [f"    {command.name})", f'        options="{options}"{operands}']
        cases = [bash_case(option) for option in command.options if option.value is not None]
        rows += ["        case $before in", *cases, "        esac"] if cases else []
        rows.append("        ;;")
    head = _HEAD.format(title=system.title, shell="bash")
    return _BASH.format(head=head, kind=kind, cases="\n".join(rows), names=_names(system))


_ZSH: Final = """\
#compdef {names}
{head}
_roost_{kind}() {{
    case $service in
{cases}
    esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _roost_{kind} "$@"
elif (( $+functions[compdef] )); then
    compdef _roost_{kind} {names}
fi
"""


def _zsh(kind: str, system: System) -> str:
    rows: list[str] = []
    for command in system.commands:
        specs = [*map(_zsh_option, command.options), f"'*:argument:{'_files' if command.takes_files else '()'}'"]
        rows += [f"    {command.name}) _arguments \\", "        " + " \\\n        ".join(specs), "        ;;"]
    head = _HEAD.format(title=system.title, shell="zsh")
    return _ZSH.format(names=_names(system), head=head, kind=kind, cases="\n".join(rows))


def _zsh_option(option: CompletedOption) -> str:
    about = option.about.replace("[", "(").replace("]", ")").replace(":", ",")
    value = ""
    if option.value is not None:
        words = f"({' '.join(option.value.words)})"
        kinds = {CompletionKind.FILE: "_files", CompletionKind.DIRECTORY: "_files -/", CompletionKind.TEXT: words}
        value = f":value:{kinds[option.value.kind]}"
    return quoted(f"*{option.names[0]}[{about}]{value}")


def _fish(kind: str, system: System) -> str:
    del kind
    rows = [_HEAD.format(title=system.title, shell="fish")]
    for command in system.commands:
        start = f"complete -c {command.name}"
        rows += [] if command.takes_files else [f"{start} -f"]
        rows += [f"{start} {_fish_option(option)}" for option in command.options]
    return "\n".join(rows) + "\n"


def _fish_option(option: CompletedOption) -> str:
    takes = ""
    if option.value is not None:
        kinds = {
            CompletionKind.FILE: " -r -F",
            CompletionKind.DIRECTORY: " -x -a '(__fish_complete_directories)'",
            CompletionKind.TEXT: f" -x -a {quoted(' '.join(option.value.words))}" if option.value.words else " -x",
        }
        takes = kinds[option.value.kind]
    return f"-o {option.names[0][1:]}{takes} -d {quoted(option.about)}"


SHELLS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}
