"""The linter of cells: reports what Grid Engine accepts although it does not do what it appears to do.

`check` reads the files of a cell and returns the findings of all rules. A rule is a module of `rules`, whose docstring
is its page in the form of the policy linter's (see `roost.policy.lint.registry`); its examples are lines ``FILE:
ATTRIBUTE VALUE``, which the tests insert into a sample cell.
"""

from roost.gridengine.lint.engine import Report, alone, check
from roost.gridengine.lint.registry import CellRule, all_rules

__all__ = ["CellRule", "Report", "all_rules", "alone", "check"]
