"""Bulk evaluation: any ClassAd expression over a table of ads, as NumPy operations on columns.

    table = Table((name, ad) for name, ad in slots)
    table.match(job)                       # bool, shape (rows,)
    table.rank(job)                        # float64, shape (rows,)
    table.evaluate("Memory * 2").to_list()

The results are exactly those of evaluating ad by ad.
"""

from roost.classad.vector.kinds import CellKind
from roost.classad.vector.result import Result
from roost.classad.vector.table import Table

__all__ = ["CellKind", "Result", "Table"]
