"""The administrator's policy for all jobs, read from the configuration.

SYSTEM_PERIODIC_HOLD, _RELEASE, _REMOVE and _VACATE each may have named companions: SYSTEM_PERIODIC_HOLD_NAMES lists
names, each of which has its own SYSTEM_PERIODIC_HOLD_<NAME>. Reason text and subcode come from the knob with _REASON
and _SUBCODE appended. A knob that is not an expression is reported and left out: no job may suffer from an
administrator's mistake.
"""

from __future__ import annotations

import re

from roost.base.records import dataclass, field
from roost.classad import Expr, ParseError, Syntax, parse_expression
from roost.config import Code, Config, ConfigError, Diagnostic
from roost.schedd.job_policy.expressions import SystemPolicy, SystemRule

_SUBSYSTEM = "SCHEDD"


def system_policy(config: Config) -> tuple[SystemPolicy, tuple[Diagnostic, ...]]:
    """The policy, and its problems."""
    reader = _Reader(config)
    policy = SystemPolicy(
        vacate=reader.rules("VACATE"),
        hold=reader.rules("HOLD"),
        release=reader.rules("RELEASE"),
        remove=reader.rules("REMOVE"),
        releases_max=reader.limit("SYSTEM_MAX_RELEASES"),
        removes_gracefully=reader.truth("GRACEFULLY_REMOVE_JOBS", default=True),
    )
    return policy, tuple(reader.problems)


@dataclass(slots=True)
class _Reader:
    config: Config
    problems: list[Diagnostic] = field(default_factory=list)

    def rules(self, word: str) -> tuple[SystemRule, ...]:
        knob = f"SYSTEM_PERIODIC_{word}"
        names = [name for name in re.split(r"[,\s]+", self._text(f"{knob}_NAMES") or "") if name]
        found = (self._rule(one) for one in (knob, *(f"{knob}_{name}" for name in names)))
        return tuple(rule for rule in found if rule is not None)

    def _rule(self, knob: str) -> SystemRule | None:
        condition = self._expression(knob)
        if condition is None:
            return None
        return SystemRule(
            knob=knob,
            condition=condition,
            reason=self._expression(f"{knob}_REASON"),
            subcode=self._expression(f"{knob}_SUBCODE"),
        )

    def _text(self, knob: str) -> str | None:
        try:
            return self.config.get(knob, subsys=_SUBSYSTEM)
        except ConfigError as problem:
            self.problems.append(problem.diagnostic)
            return None

    def _expression(self, knob: str) -> Expr | None:
        text = self._text(knob)
        if text is None:
            return None
        try:
            return parse_expression(text, Syntax.OLD)
        except ParseError as problem:
            self._report(Code.BAD_EXPRESSION, knob, problem.message)
            return None

    def _report(self, code: Code, knob: str, message: str) -> None:
        self.problems.append(self.config.problem(code, knob, message, subsys=_SUBSYSTEM))

    def limit(self, knob: str) -> int | None:
        """A number; None if it is not set, or is -1 or 0 for no limit."""
        text = self._text(knob)
        if text is None or text.strip() == "-1":
            return None
        if re.fullmatch(r"\d{1,9}", text.strip()):
            return int(text) or None
        self._report(Code.BAD_INTEGER, knob, f"{text!r} is not a whole number")
        return None

    def truth(self, knob: str, *, default: bool) -> bool:
        """TRUE or FALSE."""
        text = self._text(knob)
        if text is None:
            return default
        word = text.strip().lower()
        if word in ("true", "t", "yes", "1", "false", "f", "no", "0"):
            return word in ("true", "t", "yes", "1")
        self._report(Code.BAD_BOOLEAN, knob, f"{text!r} is neither true nor false")
        return default
