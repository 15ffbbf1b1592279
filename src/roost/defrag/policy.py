"""The configuration of the daemon, as values."""

from __future__ import annotations

from typing import Final

from roost.base.records import dataclass, field
from roost.classad import Expr, parse_expression
from roost.classad.syntax import Literal
from roost.classad.world import World
from roost.config import Config
from roost.config.scope import DEFAULT_SPAN
from roost.defrag.rate import Rate
from roost.model.events import DrainSchedule
from roost.policy.explain.configured import configured_expression

#: The requester.
_DEFRAG: Final = "DEFRAG"

_SCHEDULES: Final = {
    "graceful": DrainSchedule.GRACEFUL,
    "quick": DrainSchedule.QUICK,
    "fast": DrainSchedule.FAST,
}


_WHOLE: Final = parse_expression("Cpus == TotalSlotCpus")
_RANK: Final = parse_expression("-ExpectedMachineGracefulDrainingBadput")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefragPolicy:
    """The policy of the daemon."""

    #: Name of the daemon, which is the reason of its drains.
    name: str = "defrag"
    interval_s: int = 600
    update_interval_s: int = 300
    machines_per_hour: float = 0.0
    #: None for no limit.
    max_whole: int | None = None
    max_draining: int | None = None
    whole: Expr = _WHOLE
    #: None for no condition.
    requirements: Expr | None = None
    cancel: Expr = _WHOLE
    rank: Expr = _RANK
    #: START of draining machines; None for no jobs.
    draining_start: Expr | None = None
    schedule: DrainSchedule = DrainSchedule.GRACEFUL
    #: Seconds east of UTC of the daemon's zone.
    zone_offset_s: int = 0
    #: Seed of random() in expressions.
    chance_seed: str = ""
    #: Home directories and user maps available to expressions; None for neither.
    lookups: World | None = field(default=None, repr=False)

    @property
    def rate(self) -> Rate:
        """How many drains it starts."""
        return Rate.of(self.machines_per_hour, self.interval_s)

    @property
    def reason(self) -> str:
        """DrainReason of its drains."""
        return f"Defrag {self.name}"


def is_wanted(config: Config) -> bool:
    """Whether DAEMON_LIST names it."""
    listed = (config.get("DAEMON_LIST") or "").replace(",", " ").upper().split()
    return "DEFRAG" in listed


def configured_policy(config: Config, *, host: str) -> DefragPolicy:
    """The policy of the daemon on a host. Raises ConfigError, and ParseError for an invalid expression."""
    start = _expression(config, "DEFRAG_DRAINING_START_EXPR")
    whole, cancel, rank = (
        _expression(config, f"DEFRAG_{name}") for name in ("WHOLE_MACHINE_EXPR", "CANCEL_REQUIREMENTS", "RANK")
    )
    assert whole is not None and cancel is not None and rank is not None, "they have defaults"
    name = config.get("DEFRAG_NAME", subsys=_DEFRAG)
    return DefragPolicy(
        name=host if name is None else f"{name}@{host}" if "@" not in name else name,
        interval_s=config.get_int("DEFRAG_INTERVAL", subsys=_DEFRAG),
        update_interval_s=config.get_int("DEFRAG_UPDATE_INTERVAL", subsys=_DEFRAG),
        machines_per_hour=config.get_float("DEFRAG_DRAINING_MACHINES_PER_HOUR", subsys=_DEFRAG),
        max_whole=_limit(config, "DEFRAG_MAX_WHOLE_MACHINES"),
        max_draining=_limit(config, "DEFRAG_MAX_CONCURRENT_DRAINING"),
        whole=whole,
        requirements=_expression(config, "DEFRAG_REQUIREMENTS"),
        cancel=cancel,
        rank=rank,
        draining_start=None if start is None or _is_false(start) else start,
        schedule=_schedule(config),
    )


def _expression(config: Config, knob: str) -> Expr | None:
    found = configured_expression(config, knob, subsys=_DEFRAG)
    return None if found is None else found.expression


def _is_false(expression: Expr) -> bool:
    return isinstance(expression.tree, Literal) and expression.tree.value is False


def _limit(config: Config, knob: str) -> int | None:
    limit = config.get_int(knob, subsys=_DEFRAG)
    return None if limit < 0 else limit


def _schedule(config: Config) -> DrainSchedule:
    knob = "DEFRAG_DRAINING_SCHEDULE"
    found = config.find(knob, subsys=_DEFRAG)
    if found is None or found.span == DEFAULT_SPAN:
        # The older name counts only if the newer one is not set.
        knob = "DEFRAG_SCHEDULE" if config.get("DEFRAG_SCHEDULE", subsys=_DEFRAG) else knob
    word = config.get(knob, subsys=_DEFRAG)
    assert word is not None, "it has a default"
    return _SCHEDULES[word.lower()]
