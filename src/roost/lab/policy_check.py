"""A look at a configuration before machines live by it: what daemons refuse is refused here, each with its place."""

from __future__ import annotations

from roost.classad import ParseError, Syntax, parse_expression
from roost.config import Config, ConfigError
from roost.lab.machines import LabError
from roost.policy.catalogue.machine import STARTD, STARTER
from roost.runtime.start_checks import errors


def refuse_unreadable(config: Config) -> None:
    """Raise LabError for all that daemons would refuse, and for each policy expression that cannot be read."""
    problems = []
    for row in (*STARTD, *STARTER):
        subsystem = row.evaluated_by.upper()
        found = config.find(row.name, subsys=subsystem)
        if found is None:
            continue
        try:
            text = config.get(row.name, subsys=subsystem)
            if text is not None and text.strip():
                parse_expression(text, Syntax.OLD)
        except ParseError as error:
            problems.append(f"{found.span.chain()}: {row.name} is not an expression: {error}")
        except ConfigError as error:
            problems.append(str(error))
    # The expressions above are told with what is wrong inside of them.
    problems = problems or [str(one) for one in errors(config)]
    if problems:
        raise LabError("\n".join(problems))
