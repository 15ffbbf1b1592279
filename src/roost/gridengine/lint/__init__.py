"""The linter of cells: what Grid Engine accepts and what nevertheless does not do what it says.

`check` reads the files of a cell and gives the findings of all rules. A rule is a module of `rules`, with its page as
docstring in the form of the policy linter's (see `roost.policy.lint.registry`); its examples are lines
``FILE: ATTRIBUTE VALUE``, which the tests put into a sample cell.
"""

from roost.gridengine.lint.engine import Report, alone, check
from roost.gridengine.lint.registry import CellRule, all_rules

__all__ = ["CellRule", "Report", "all_rules", "alone", "check"]
