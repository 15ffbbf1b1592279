"""The administrator's programs that a daemon runs periodically and whose output it publishes in its ads.

STARTD_CRON_JOBLIST and SCHEDD_CRON_JOBLIST name the programs; STARTD_CRON_<NAME>_EXECUTABLE and similar knobs describe
them. `cron_plan` reads and checks the knobs of a daemon. `CronOutput` splits what a program prints into ads: a line ``-
tag update:true`` ends one. `published_on` says which attributes a slot gets from all ads.

`roost.runtime.processes.cron` runs the programs. The lab runs none: its scenarios set the attributes.

Source: HTCondor's manual, Daemon ClassAd Hooks, and the knobs of release 25.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, TypeVar

from roost.base.records import dataclass, field
from roost.classad import ClassAd, Expr, ParseError, Syntax, World, parse_expression
from roost.config import Code, Config, ConfigError, Diagnostic, Severity
from roost.config.diagnostics import diagnostic
from roost.config.knobs import find
from roost.model.command_line import (
    CommandLineError,
    environment_from_old,
    environment_from_raw,
    is_quoted,
    split_old,
    split_raw,
    unquote,
)

#: Prefixes of the knobs: for the programs of a machine, and for those of a queue.
STARTD_CRON: Final = "STARTD_CRON"
SCHEDD_CRON: Final = "SCHEDD_CRON"
#: The largest ad that a program may print, bytes.
AD_BYTES_MAX: Final = 256 * 1024
#: Most ads of one program, by their tags.
ADS_MAX: Final = 1000
#: Defaults of STARTD_CRON_MAX_JOB_LOAD, and of the load of one program.
MAX_LOAD: Final = 0.1
JOB_LOAD: Final = 0.01

_PERIOD = re.compile(r"(\d{1,9})\s*([smh]?)\Z", re.IGNORECASE)
_UNIT_S: Final = {"": 1, "s": 1, "m": 60, "h": 3600}
_PREFIX = re.compile(r"\w*\Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_DASH = re.compile(r"-\s*(?!update:)(?P<tag>\S*)\s*(?:update:\s*(?P<update>\w+))?\s*\Z", re.IGNORECASE)
#: Attributes that select slots are not published on them.
_SELECTORS: Final = frozenset({"slotmergeconstraint", "slotname", "name", "slottypeid", "slotid"})


class Mode(StrEnum):
    """When a program is run."""

    PERIODIC = "Periodic"
    WAIT_FOR_EXIT = "WaitForExit"
    ONE_SHOT = "OneShot"


class Autopublish(StrEnum):
    """STARTD_CRON_AUTOPUBLISH: when output is advertised to the pool at once."""

    NEVER = "Never"
    ALWAYS = "Always"
    IF_CHANGED = "If_Changed"


_Choice = TypeVar("_Choice", Mode, Autopublish)


@dataclass(frozen=True, slots=True, kw_only=True)
class CronJob:
    """One program."""

    name: str
    executable: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    #: None for the daemon's log directory.
    directory: str | None = None
    mode: Mode = Mode.PERIODIC
    #: Between two starts, or, in mode WaitForExit, between an end and the next start; 0 in mode OneShot, s.
    period_s: int = 0
    #: Prefix of the name of each attribute that it prints.
    prefix: str = ""
    #: Whether a run that is not over when the next is due is killed; otherwise the next is skipped.
    kill: bool = False
    #: Whether a running program gets SIGHUP when the daemon is reconfigured.
    reconfig: bool = False
    #: Whether its run starts over when the daemon is reconfigured.
    rerun: bool = False
    #: Numbers of the slots that may publish its output; None for all.
    slots: frozenset[int] | None = None
    #: The load that it is assumed to cause.
    load: float = JOB_LOAD
    #: It starts only while this is TRUE of the machine.
    condition: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CronPlan:
    """The programs of a daemon."""

    #: STARTD_CRON or SCHEDD_CRON.
    manager: str
    jobs: tuple[CronJob, ...] = ()
    #: A program starts only if its load plus that of the running ones does not exceed this, or if none runs.
    load_max: float = MAX_LOAD
    autopublish: Autopublish = Autopublish.NEVER
    #: <MANAGER>_CONFIG_VAL, which programs find in their environment.
    config_val: str | None = None
    #: The output of a program that ends with a status other than 0 is logged.
    logs_failures: bool = False


# -- configuration -------------------------------------------------------------------------------------------------


def cron_plan(config: Config, manager: str) -> CronPlan:
    """Read the programs of a daemon, `manager` being STARTD_CRON or SCHEDD_CRON. Raises `ConfigError`."""
    names = {name.lower(): name for name in config.get_list(f"{manager}_JOBLIST")}
    reader = _Reader(config, manager)
    return CronPlan(
        manager=manager,
        jobs=tuple(reader.job(name) for name in names.values()),
        load_max=config.get_float(f"{manager}_MAX_JOB_LOAD", MAX_LOAD),
        autopublish=reader.choice(f"{manager}_AUTOPUBLISH", Autopublish, Autopublish.NEVER),
        config_val=config.get(f"{manager}_CONFIG_VAL"),
        logs_failures=config.get_bool(f"{manager}_LOG_NON_ZERO_EXIT", False),
    )


def cron_problems(config: Config, manager: str) -> Iterator[Diagnostic]:
    """Yield problems with the programs of a daemon, and knobs of programs that are not listed. Raises ConfigError for
    problems that concern all programs."""
    reader = _Reader(config, manager)
    listed = {name.lower(): name for name in config.get_list(f"{manager}_JOBLIST")}
    for name, read in itertools.product(listed.values(), reader.parts):
        try:
            read(name)
        except ConfigError as error:
            yield error.diagnostic
    for name in config.names():
        family = find(name)
        if family is None or not family.name.startswith(f"{manager}_<NAME>_"):
            continue
        suffix = family.name.removeprefix(f"{manager}_<NAME>")
        program = name.rpartition(".")[2][len(manager) + 1 : -len(suffix)]
        if program.lower() not in listed:
            message = f"{name} has no effect: {manager}_JOBLIST does not list {program}"
            remedy = f"Add {program} to {manager}_JOBLIST, or remove the line."
            yield diagnostic(Code.WITHOUT_EFFECT, message, config.definitions(name)[-1].span, name=name, remedy=remedy)
    cron_plan(config, manager)


def slot_problems(config: Config, present: Collection[int]) -> Iterator[Diagnostic]:
    """Yield a warning for each STARTD_CRON_<NAME>_SLOTS that names slots other than those `present` on a machine."""
    for job in cron_plan(config, STARTD_CRON).jobs:
        missing = sorted((job.slots or frozenset()) - frozenset(present))
        if missing:
            knob = f"{STARTD_CRON}_{job.name}_SLOTS"
            message = f"this machine has no slot {_listed(missing)}; it has {_listed(sorted(present))}"
            remedy = (
                f"Name slots that the machine has, or remove the line, so that all slots get what {job.name} prints."
            )
            yield config.problem(Code.BAD_MEMBER, knob, message, remedy=remedy, severity=Severity.WARNING)


def _listed(numbers: Sequence[int]) -> str:
    """Numbers in words; consecutive ones as a range."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers)) if numbers else "no slots"


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads knobs of one manager."""

    config: Config
    manager: str

    @property
    def parts(self) -> tuple[Callable[[str], object], ...]:
        """The readers of the parts of a program, each independent."""
        return (
            self._executable,
            self._arguments,
            self._environment,
            self._timing,
            self._prefix,
            self._slots,
            self._condition,
            self.job,
        )

    def job(self, name: str) -> CronJob:
        mode, period_s = self._timing(name)
        return CronJob(
            name=name,
            executable=self._executable(name),
            arguments=self._arguments(name),
            environment=self._environment(name),
            directory=self.config.get(f"{self.manager}_{name}_CWD"),
            mode=mode,
            period_s=period_s,
            prefix=self._prefix(name),
            kill=self.config.get_bool(f"{self.manager}_{name}_KILL", False),
            reconfig=self.config.get_bool(f"{self.manager}_{name}_RECONFIG", False),
            rerun=self.config.get_bool(f"{self.manager}_{name}_RECONFIG_RERUN", False),
            slots=self._slots(name),
            load=self.config.get_float(f"{self.manager}_{name}_JOB_LOAD", JOB_LOAD),
            condition=self._condition(name),
        )

    def choice(self, knob: str, kind: type[_Choice], default: _Choice) -> _Choice:
        text = self.config.get(knob)
        if text is None:
            return default
        found = next((each for each in kind if each.lower() == text.lower()), None)
        if found is None:
            allowed = ", ".join(kind)
            raise self._error(Code.BAD_CHOICE, knob, f"{text!r} is not a valid value; write one of {allowed}")
        return found

    def _mode(self, name: str) -> Mode:
        text = self.config.get(f"{self.manager}_{name}_MODE")
        if text is not None and text.lower() == "ondemand":
            message = "programs in mode OnDemand never run: the benchmarks of Roost are built in"
            raise self._error(Code.BAD_CHOICE, f"{self.manager}_{name}_MODE", message)
        return self.choice(f"{self.manager}_{name}_MODE", Mode, Mode.PERIODIC)

    def _executable(self, name: str) -> str:
        knob = f"{self.manager}_{name}_EXECUTABLE"
        executable = self.config.get(knob)
        if executable is None:
            raise self._error(Code.MISSING_VALUE, knob, f"the program {name} has no executable")
        return executable

    def _timing(self, name: str) -> tuple[Mode, int]:
        mode = self._mode(name)
        return mode, 0 if mode is Mode.ONE_SHOT else self._period(name)

    def _period(self, name: str) -> int:
        text = self.config.get(f"{self.manager}_{name}_PERIOD")
        if text is None:
            raise self._error(Code.MISSING_VALUE, f"{self.manager}_{name}_PERIOD", f"the program {name} has no period")
        found = _PERIOD.match(text)
        if found is None or int(found[1]) < 1:
            message = f"{text!r} is not a period; write a number of at least 1, followed by s, m or h, such as 5m"
            raise self._error(Code.OUT_OF_RANGE, f"{self.manager}_{name}_PERIOD", message)
        return int(found[1]) * _UNIT_S[found[2].lower()]

    def _prefix(self, name: str) -> str:
        text = self.config.get(f"{self.manager}_{name}_PREFIX") or ""
        if _PREFIX.match(text) is None or text[:1].isdigit():
            message = f"{text!r} cannot start an attribute name; use letters, digits and _"
            raise self._error(Code.BAD_CHOICE, f"{self.manager}_{name}_PREFIX", message)
        return text

    def _slots(self, name: str) -> frozenset[int] | None:
        listed = self.config.get_list(f"{self.manager}_{name}_SLOTS")
        wrong = [each for each in listed if not each.isdecimal()]
        if wrong:
            raise self._error(
                Code.BAD_INTEGER, f"{self.manager}_{name}_SLOTS", f"{wrong[0]!r} is not the number of a slot"
            )
        return frozenset(int(each) for each in listed) or None

    def _condition(self, name: str) -> Expr | None:
        text = self.config.get_expr(f"{self.manager}_{name}_CONDITION")
        return None if text is None else parse_expression(text, Syntax.OLD)

    def _arguments(self, name: str) -> tuple[str, ...]:
        text = self.config.get(f"{self.manager}_{name}_ARGS") or ""
        try:
            return tuple(split_raw(unquote(text)) if is_quoted(text) else split_old(text))
        except CommandLineError as error:
            raise self._error(Code.BAD_CHOICE, f"{self.manager}_{name}_ARGS", str(error)) from None

    def _environment(self, name: str) -> dict[str, str]:
        text = self.config.get(f"{self.manager}_{name}_ENV") or ""
        try:
            return environment_from_raw(unquote(text)) if is_quoted(text) else environment_from_old(text)
        except CommandLineError as error:
            raise self._error(Code.BAD_CHOICE, f"{self.manager}_{name}_ENV", str(error)) from None

    def _error(self, code: Code, knob: str, message: str) -> ConfigError:
        return ConfigError(self.config.problem(code, knob, message, listed_in=f"{self.manager}_JOBLIST"))


# -- output --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CronAd:
    """One ad that a program printed."""

    job: str
    #: Identifies an ad among those of one program: a new one replaces the one with the same tag.
    tag: str
    attributes: ClassAd
    #: The attribute that selects its slots, and its value: SlotMergeConstraint, SlotName, SlotTypeId or SlotId; None
    #: for all.
    selector: tuple[str, object] | None = None
    #: `CronJob.slots`.
    slots: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """An ad is complete."""

    ad: CronAd
    #: Whether its last line requests an immediate update; None if it does not say.
    update: bool | None
    #: Lines that are not attributes.
    unread: tuple[str, ...]


class CronOutput:
    """Splits the output of a program into ads incrementally."""

    def __init__(self, job: CronJob) -> None:
        self._job = job
        self._rest = b""
        self._size = 0
        self._attributes = ClassAd()
        self._unread: list[str] = []

    def fed(self, data: bytes) -> Iterator[Ended]:
        """Yield the ads that end in the next bytes. Raises ValueError if one is too large."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._size += len(data)
        for line in lines:
            text = line.decode("utf-8", "replace").strip()
            dash = _DASH.match(text) if text.startswith("-") else None
            if text.startswith("-"):
                update = None if dash is None or dash["update"] is None else dash["update"].lower() in ("true", "1")
                yield from self._end("" if dash is None else dash["tag"], update)
            elif text and not text.startswith("#"):
                self._take(text)
        if self._size > AD_BYTES_MAX:
            raise ValueError(f"it printed more than {AD_BYTES_MAX} bytes without a line that starts with -")

    def closed(self) -> Iterator[Ended]:
        """Yield the last ad: the program has ended."""
        if self._rest:
            yield from self.fed(b"\n")
        if len(self._attributes) or self._unread:
            yield from self._end("", None)

    def _take(self, text: str) -> None:
        name, equals, value = text.partition("=")
        name = name.strip()
        try:
            if not equals or _NAME.match(name) is None:
                raise ValueError(text)
            self._attributes[name] = parse_expression(value.strip(), Syntax.OLD)
        except (ParseError, ValueError):
            self._unread.append(text[:200])

    def _end(self, tag: str, update: bool | None) -> Iterator[Ended]:
        selector = next(
            (
                (name, self._attributes[spelled] if name == "slotmergeconstraint" else self._attributes.eval(spelled))
                for name in ("slotmergeconstraint", "slotname", "name", "slottypeid", "slotid")
                for spelled in self._attributes
                if spelled.lower() == name
            ),
            None,
        )
        published = ClassAd()
        for spelled in self._attributes:
            if spelled.lower() not in _SELECTORS:
                published[self._job.prefix + spelled] = self._attributes[spelled]
        ad = CronAd(job=self._job.name, tag=tag, attributes=published, selector=selector, slots=self._job.slots)
        yield Ended(ad, update, tuple(self._unread))
        self._attributes, self._unread, self._size = ClassAd(), [], 0


def published_on(slot_ad: ClassAd, slot: int, ads: Iterable[CronAd], world: World) -> Iterator[tuple[str, object]]:
    """Yield the attributes that a slot gets: those for all slots first, then those for this one in particular."""
    chosen = [ad for ad in ads if (ad.slots is None or slot in ad.slots) and _selects(ad, slot_ad, world)]
    for ad in sorted(chosen, key=lambda each: each.selector is not None):
        for name in ad.attributes:
            yield name, ad.attributes[name]


def _selects(ad: CronAd, slot_ad: ClassAd, world: World) -> bool:
    if ad.selector is None:
        return True
    kind, wanted = ad.selector
    if kind == "slotmergeconstraint":
        return isinstance(wanted, Expr) and ad.attributes.eval_expr(wanted, slot_ad, world) is True
    if kind in ("slotname", "name"):
        return isinstance(wanted, str) and str(slot_ad.eval("Name")).lower().startswith(wanted.lower())
    return slot_ad.eval("SlotTypeID" if kind == "slottypeid" else "SlotID") == wanted
