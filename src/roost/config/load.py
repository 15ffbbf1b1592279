"""Executing statements: the stage between the parser and a finished configuration.

A `Loader` runs the statements of one source after another, in order: conditions are decided and paths, names
and messages expanded with what is defined so far; values are stored unexpanded, except that a macro's
reference to itself is replaced by its earlier value. `include` and `use` run other statements in between.
Mistakes are logged and the statement is skipped; execution continues with the next one.

`roost.config.sources` determines the sources and their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from roost.base.diagnostics import Span
from roost.base.records import dataclass, field
from roost.config.arguments import argument_problem
from roost.config.conditions import ConditionProblem, Facts, Version, decide
from roost.config.diagnostics import Code, Diagnostics
from roost.config.expand import Expander
from roost.config.host import Host
from roost.config.knobs import DEFAULTS, PRESETS
from roost.config.limits import DEFAULT_LIMITS, Limits
from roost.config.parse import parse
from roost.config.references import NAME, replace_self, words_of
from roost.config.scope import NameScope
from roost.config.statements import Assign, Broken, Elif, Else, Endif, If, Include, Message, Operator, Statement, Use
from roost.config.suggest import near_among
from roost.config.table import Definition, MacroTable, Origin
from roost.config.template import OptionProblem, Template, fill, split_options
from roost.config.templates import ALL, BY_NAME, CATEGORIES, WITHOUT_EFFECT

#: version of the language that ``version`` conditions compare with: that of the HTCondor release whose behaviour is
#: followed
LANGUAGE_VERSION: Version = (25, 14, 1)


@dataclass(slots=True)
class _Branch:
    """One open ``if``."""

    span: Span
    #: whether the enclosing branch is executed
    outer: bool
    #: whether this branch is executed
    active: bool
    #: whether some branch of this ``if`` was executed
    taken: bool
    else_seen: bool = False


@dataclass(slots=True, kw_only=True)
class Loader:
    """The configuration while it is being read."""

    host: Host
    subsystem: str
    localname: str | None = None
    #: case-folded name to value found at start
    detected: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = DEFAULT_LIMITS
    version: Version = LANGUAGE_VERSION
    #: case-folded name to what it means when nothing defines it
    defaults: Mapping[str, str] = field(default_factory=lambda: DEFAULTS)
    table: MacroTable = field(default_factory=MacroTable)
    log: Diagnostics = field(init=False)
    scope: NameScope = field(init=False)
    #: names of the sources read, in order
    sources: list[str] = field(default_factory=list)
    #: case-folded words of statements other than assignments: names of macros may be among them
    mentioned: set[str] = field(default_factory=set)
    _facts: Facts = field(init=False)
    _statements: int = 0
    _full: bool = False

    def __post_init__(self) -> None:
        self.log = Diagnostics(self.limits.diagnostics_max)
        self.scope = NameScope(
            last=self.table.last,
            detected=self.detected,
            subsystem=self.subsystem,
            localname=self.localname,
            defaults=self.defaults,
        )
        self._facts = Facts(defined=self._defined, template=_template_exists, version=self.version)

    def expand(self, text: str, span: Span) -> str:
        """The text with references expanded with the current definitions."""
        self.mentioned.update(words_of(text))
        if "$" not in text:
            return text
        expander = Expander(scope=self.scope, host=self.host, limits=self.limits)
        result = expander.expand(text)
        for problem in expander.problems:
            self.log.report(problem.code, problem.message, span)
        return result

    def source(self, text: str, file: str, origin: Origin, via: Span | None = None, depth: int = 0) -> None:
        """Read and execute the text of one source."""
        if len(self.sources) >= self.limits.sources_max:
            self._limit(f"more than sources_max = {self.limits.sources_max} sources", via or Span(file))
            return
        self.sources.append(file)
        self.execute(parse(text, file, self.log, self.limits, via), origin, depth)

    def execute(self, statements: list[Statement], origin: Origin, depth: int) -> None:
        """Execute the statements of one source; its conditions must balance."""
        branches: list[_Branch] = []
        for statement in statements:
            self._statements += 1
            if self._statements > self.limits.statements_max:
                self._limit(f"more than statements_max = {self.limits.statements_max} statements", statement.span)
                return
            match statement:
                case If() | Elif() | Else() | Endif():
                    self._branch(statement, branches)
                case _ if branches and not branches[-1].active:
                    continue
                case Assign():
                    self.assign(statement, origin)
                case Include():
                    self._include(statement, depth)
                case Use():
                    self._use(statement, depth)
                case Message():
                    self._message(statement)
                case Broken():
                    self._broken(statement)
                case _ as never:
                    assert_never(never)
        for branch in branches:
            self.log.report(Code.UNBALANCED_IF, "no endif for the if that begins here", branch.span)

    def _limit(self, message: str, span: Span) -> None:
        if not self._full:
            self._full = True
            self.log.report(Code.LIMIT_REACHED, message, span)

    def _broken(self, statement: Broken) -> None:
        code = Code.INCLUDE_KEYWORD if statement.reason.endswith("after include") else Code.MISSING_OPERATOR
        self.log.report(code, statement.reason, statement.span, remedy=statement.remedy)

    def _message(self, statement: Message) -> None:
        code = Code.ERROR_STATEMENT if statement.fatal else Code.WARNING_STATEMENT
        self.log.report(code, self.expand(statement.text, statement.span), statement.span)

    # conditions

    def _branch(self, statement: If | Elif | Else | Endif, branches: list[_Branch]) -> None:
        match statement:
            case If():
                outer = not branches or branches[-1].active
                active = outer and self._decide(statement)
                if len(branches) >= self.limits.if_depth_max:
                    self._limit(f"if is nested deeper than if_depth_max = {self.limits.if_depth_max}", statement.span)
                    active = False
                branches.append(_Branch(statement.span, outer, active, active))
                return
            case Endif() if branches:
                branches.pop()
                return
            case _:
                pass
        word = type(statement).__name__.lower()
        if not branches:
            self.log.report(Code.UNBALANCED_IF, f"{word} without if", statement.span)
            return
        branch = branches[-1]
        if branch.else_seen:
            self.log.report(Code.UNBALANCED_IF, f"{word} after else", statement.span)
            branch.active = False
            return
        if isinstance(statement, Elif):
            branch.active = branch.outer and not branch.taken and self._decide(statement)
        else:
            branch.else_seen = True
            branch.active = branch.outer and not branch.taken
        branch.taken |= branch.active

    def _decide(self, statement: If | Elif) -> bool:
        try:
            if statement.condition in ("", "!"):
                raise ConditionProblem(Code.BAD_CONDITION, "the condition is missing")
            return decide(self.expand(statement.condition, statement.span), self._facts)
        except ConditionProblem as problem:
            self.log.report(problem.code, str(problem), statement.span)
            return False

    def _defined(self, name: str) -> bool:
        found = self.scope.find(name.lower())
        return found is not None and bool(found.text)

    # assignments

    def assign(self, statement: Assign, origin: Origin) -> None:
        """Put the definition that an assignment makes on top of the name's chain."""
        name = self.name_of(statement)
        if name.lower() in PRESETS:
            self.log.report(Code.PRESET_OVERRIDDEN, f"{name} is preset and keeps its value", statement.span, name=name)
        else:
            self.define(name, statement, origin)

    def name_of(self, statement: Assign) -> str:
        """The name that an assignment is about."""
        return self.expand(statement.name, statement.span) if "$" in statement.name else statement.name

    def define(self, name: str, statement: Assign, origin: Origin) -> None:
        """Put a definition on top of the name's chain, if the limits allow it."""
        if not NAME.match(name):
            self.log.report(Code.ILLEGAL_NAME, f"{name[:60]!r} is not a name", statement.span)
            return
        key = name.lower()
        if len(self.table) >= self.limits.macros_max and self.table.last(key) is None:
            self._limit(f"more than macros_max = {self.limits.macros_max} names", statement.span)
            return
        text = self._stored(key, statement)
        if len(text) > self.limits.value_chars_max:
            self.log.report(
                Code.EXPANSION_LIMIT,
                f"the value of {name} is longer than value_chars_max = {self.limits.value_chars_max} characters",
                statement.span,
                name=name,
            )
            return
        if self.table.chars + len(text) > self.limits.table_chars_max:
            self._limit(f"more than table_chars_max = {self.limits.table_chars_max} characters", statement.span)
            return
        self.table.add(
            Definition(
                name=name,
                text=text,
                written=statement.value.text,
                span=statement.span,
                origin=origin,
                appended=statement.operator is Operator.APPEND,
                segments=statement.value.segments,
            )
        )

    def _stored(self, key: str, statement: Assign) -> str:
        """The text to store: references to the name itself are replaced, and the old value is prepended to an appended
        one."""
        text = statement.value.text
        names = _selves(key)
        if "$(" in text and names[-1] in text.lower():
            text = replace_self(
                text,
                names.__contains__,
                lambda name: self._previous(names[:1] if name == key else names),
                self.limits.reference_depth_max,
            )
        previous = self._previous(names[:1]) if statement.operator is Operator.APPEND else ""
        return f"{previous} {text}" if previous else text

    def _previous(self, names: tuple[str, ...]) -> str:
        """The raw value in force of the first of the names that has one.

        A fully prefixed name means only itself; without the prefix it also means what it overrides.
        """
        for name in names:
            definition = self.table.last(name)
            if definition is not None:
                return definition.text
            found = self.scope.fallback(name)
            if found is not None:
                return found.text
        return ""

    # other sources

    def _include(self, statement: Include, depth: int) -> None:
        span = statement.span
        what = self.expand(statement.what, span).strip()
        if depth >= self.limits.include_depth_max:
            self.log.report(
                Code.INCLUDE_DEPTH,
                f"include is nested deeper than include_depth_max = {self.limits.include_depth_max}",
                span,
            )
        elif statement.command:
            self._command(statement, what, depth)
        else:
            path = beside(what, span.file)
            text = self.host.read_text(path)
            if text is not None:
                self.source(text, path, Origin.FILE, span, depth + 1)
            elif not statement.optional:
                self.log.report(Code.SOURCE_MISSING, f"cannot read {path!r}", span)

    def _command(self, statement: Include, command: str, depth: int) -> None:
        span = statement.span
        cache = None if statement.cache is None else beside(self.expand(statement.cache, span), span.file)
        text = None if cache is None else self.host.read_text(cache)
        if text is None:
            result = self.host.run_command(command)
            if result.status != 0:
                if not statement.optional:
                    self.log.report(Code.COMMAND_FAILED, f"{command!r} ended with status {result.status}", span)
                return
            text = result.output
            if cache is not None:
                self.host.write_cache(cache, text)
        self.source(text, cache or f"{command} |", Origin.COMMAND, span, depth + 1)

    def _use(self, statement: Use, depth: int) -> None:
        span = statement.span
        category = self.expand(statement.category, span).strip()
        if category.lower() not in CATEGORIES:
            known = ", ".join(sorted(CATEGORIES)).upper()
            self.log.report(Code.UNKNOWN_CATEGORY, f"there is no category {category!r}; there are {known}", span)
            return
        try:
            options = split_options(statement.options)
        except OptionProblem as problem:
            self.log.report(Code.TEMPLATE_ARGUMENTS, str(problem), span)
            return
        for name, arguments in options:
            key = category.lower(), self.expand(name, span).lower()
            template = BY_NAME.get(key)
            if template is None and key in WITHOUT_EFFECT:
                message = f"{category.upper()}:{name} is a template of HTCondor that has no effect in Roost"
                self.log.report(Code.TEMPLATE_WITHOUT_EFFECT, message, span, name=":".join(key))
            elif template is None:
                meant = near_among(name, (one.name for one in ALL if one.category.lower() == category.lower()))
                message = f"there is no template {category.upper()}:{name}"
                self.log.report(Code.UNKNOWN_TEMPLATE, message, span, suggestion=meant)
            elif depth >= self.limits.include_depth_max:
                self.log.report(
                    Code.INCLUDE_DEPTH,
                    f"use is nested deeper than include_depth_max = {self.limits.include_depth_max}",
                    span,
                )
            elif self._arguments_fit(template, arguments, span):
                body = fill(template.body, arguments, self.limits.reference_depth_max)
                self.source(body, f"{template.category}:{template.name}", Origin.TEMPLATE, span, depth + 1)

    def _arguments_fit(self, template: Template, arguments: str | None, span: Span) -> bool:
        def expand(text: str) -> str:
            return Expander(scope=self.scope, host=self.host, limits=self.limits).expand(text)

        problem = argument_problem(template, arguments, expand, self.host)
        if problem is not None:
            remedy = f"The form is `{template.usage()}`."
            self.log.report(Code.TEMPLATE_ARGUMENTS, problem, span, remedy=remedy)
        return problem is None


def _selves(key: str) -> tuple[str, ...]:
    """The names by which a macro refers to itself: its own, then without each leading prefix."""
    names = [key]
    while "." in key:
        key = key.partition(".")[2]
        if key:
            names.append(key)
    return tuple(names)


def _template_exists(category: str, option: str | None) -> bool:
    if option is None:
        return category.lower() in CATEGORIES
    key = category.lower(), option.lower()
    return key in BY_NAME or key in WITHOUT_EFFECT


def beside(path: str, file: str) -> str:
    """A path in a file: relative ones are relative to that file's directory."""
    if path.startswith("/") or "/" not in file:
        return path
    return file.rpartition("/")[0] + "/" + path
