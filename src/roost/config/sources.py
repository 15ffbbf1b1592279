"""The order of sources: root files, directories, local files, the user's file, the environment, runtime
settings.

Later ones win. LOCAL_CONFIG_DIR and LOCAL_CONFIG_FILE are themselves configuration: when reading a source
changes one of them, what the new value adds is read too. Each directory and each file is read once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from roost.base.diagnostics import Span
from roost.base.records import dataclass, field
from roost.config.conditions import Version
from roost.config.diagnostics import Code
from roost.config.host import Host
from roost.config.knobs import DEFAULTS, DEFAULTS_OF_HTCONDOR
from roost.config.limits import DEFAULT_LIMITS, Limits
from roost.config.load import LANGUAGE_VERSION, Loader
from roost.config.lookup import Config
from roost.config.patterns import compile_pattern
from roost.config.statements import Assign, Operator, Value
from roost.config.table import Origin

_ENVIRONMENT_NAME = re.compile(r"_(?:CONDOR|ROOST)_(.+)\Z", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,\s]+")


class Setting(NamedTuple):
    """A setting that is made after all sources are read."""

    name: str
    value: str
    #: where it is written
    place: Span = Span("<runtime>")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """What to read and for whom."""

    #: files, or directories of files, read first; the first one's directory is CONFIG_ROOT
    roots: tuple[str, ...] = ()
    #: daemon or command that reads
    subsystem: str = "TOOL"
    #: name of the daemon's instance; None for the only one
    localname: str | None = None
    #: values found at start, such as DETECTED_CPUS and HOSTNAME
    detected: Mapping[str, str] = field(default_factory=dict)
    #: whether variables such as _CONDOR_NAME count
    environment: bool = True
    #: whether the user's own file counts
    user_file: bool = False
    #: settings made last; those without a place as (name, value)
    runtime: tuple[Setting | tuple[str, str], ...] = ()
    limits: Limits = DEFAULT_LIMITS
    #: version of HTCondor as which it is read: for conditions, with HTCondor's defaults; None for Roost
    condor_version: Version | None = None


def load(host: Host, options: LoadOptions) -> Config:
    """Read a configuration. Never raises for its contents: see the diagnostics of the result."""
    detected = {name.lower(): value for name, value in options.detected.items()}
    if options.roots:
        detected.setdefault("config_root", options.roots[0].rpartition("/")[0] or "/")
    loader = Loader(
        host=host,
        subsystem=options.subsystem,
        localname=options.localname,
        detected=detected,
        limits=options.limits,
        version=options.condor_version or LANGUAGE_VERSION,
        defaults=DEFAULTS if options.condor_version is None else DEFAULTS_OF_HTCONDOR,
    )
    order = _SourceOrder(loader)
    for root in options.roots:
        order.root(root)
    order.directories()
    order.local_files()
    order.directories()
    if options.user_file:
        order.user_file()
    if options.environment:
        order.environment()
    for each in options.runtime:
        order.setting(*Setting(*each), Origin.RUNTIME)
    return Config(
        chains=loader.table.freeze(),
        log=tuple(loader.log.kept),
        dropped=loader.log.dropped,
        host=host,
        detected=detected,
        subsystem=options.subsystem,
        localname=options.localname,
        limits=options.limits,
        sources=tuple(loader.sources),
        mentioned=frozenset(loader.mentioned),
        defaults=loader.defaults,
        for_htcondor=options.condor_version is not None,
    )


def load_text(text: str, host: Host, *, file: str = "<text>", subsystem: str = "TOOL") -> Config:
    """Read a configuration given as text, and nothing else."""
    loader = Loader(host=host, subsystem=subsystem)
    loader.source(text, file, Origin.FILE)
    return Config(
        chains=loader.table.freeze(),
        log=tuple(loader.log.kept),
        dropped=loader.log.dropped,
        host=host,
        detected={},
        subsystem=subsystem,
        localname=None,
        limits=loader.limits,
        sources=tuple(loader.sources),
        mentioned=frozenset(loader.mentioned),
    )


class _SourceOrder:
    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.host = loader.host
        self.read: set[str] = set()

    def root(self, path: str) -> None:
        before = len(self.loader.sources)
        if not self._file(path) and not self._directory(path):
            remedy = "Name a file, or a directory of files, that can be read."
            self.loader.log.report(Code.SOURCE_MISSING, f"cannot read {path!r}", Span(path), remedy=remedy)
        elif len(self.loader.sources) == before:
            self.loader.log.report(Code.DIRECTORY_EMPTY, "no file of the directory is read", Span(path))

    def _file(self, path: str) -> bool:
        text = self.host.read_text(path)
        if text is None:
            return False
        self.loader.source(text, path, Origin.FILE)
        return True

    def _directory(self, path: str) -> bool:
        names = self.host.list_directory(path)
        if names is None:
            return False
        excluded = self._excluded()
        for name in sorted(names, key=lambda name: name.encode("utf-8", "surrogateescape")):
            if excluded is None or not excluded.match(name):
                self._file(f"{path.rstrip('/')}/{name}")
        return True

    def _excluded(self) -> re.Pattern[str] | None:
        text, span = self._value("local_config_dir_exclude_regexp")
        try:
            return compile_pattern(text) if text else None
        except re.error as problem:
            self.loader.log.report(Code.BAD_EXPRESSION, f"LOCAL_CONFIG_DIR_EXCLUDE_REGEXP: {problem}", span)
            return None

    def _value(self, name: str) -> tuple[str, Span]:
        found = self.loader.scope.find(name)
        if found is None:
            return "", Span("<default>")
        return self.loader.expand(found.text, found.span).strip(), found.span

    def _unread(self, name: str) -> list[tuple[str, Span]]:
        """The members of a list of sources that were not read yet."""
        text, span = self._value(name)
        members = [text] if text.endswith("|") else _SEPARATOR.split(text)
        return [(member, span) for member in members if member and member not in self.read]

    def directories(self) -> None:
        """Read the directories of LOCAL_CONFIG_DIR; a missing one is not an error."""
        while unread := self._unread("local_config_dir"):
            for path, _ in unread:
                self.read.add(path)
                self._directory(path)

    def local_files(self) -> None:
        """Read the files of LOCAL_CONFIG_FILE, checking after each whether the list has changed."""
        while unread := self._unread("local_config_file"):
            path, span = unread[0]
            self.read.add(path)
            if path.endswith("|"):
                self._local_command(path[:-1].strip(), span)
            elif not self._file(path) and self._value("require_local_config_file")[0].lower() not in (
                "false",
                "f",
                "no",
                "n",
                "0",
            ):
                self.loader.log.report(Code.SOURCE_MISSING, f"cannot read {path!r} of LOCAL_CONFIG_FILE", span)

    def _local_command(self, command: str, span: Span) -> None:
        result = self.host.run_command(command)
        if result.status != 0:
            self.loader.log.report(Code.COMMAND_FAILED, f"{command!r} ended with status {result.status}", span)
            return
        self.loader.source(result.output, f"{command} |", Origin.COMMAND, span)

    def user_file(self) -> None:
        path, _ = self._value("user_config_file")
        if path:
            self._file(path)

    def environment(self) -> None:
        for variable, value in sorted(self.host.environment().items()):
            match = _ENVIRONMENT_NAME.match(variable)
            if match:
                self.setting(match.group(1), value, Span(f"environment variable {variable}"), Origin.ENVIRONMENT)

    def setting(self, name: str, value: str, span: Span, origin: Origin) -> None:
        self.loader.assign(Assign(span=span, name=name, operator=Operator.ASSIGN, value=Value(value.strip())), origin)
