"""Edits of a cell as `qconf` makes them: an order and its asker in, a new cell and what is printed out.

`edit` carries out one option. It never raises because of what an order says: what is refused is among the lines, in
Grid Engine's words, and the cell is then as it was, or has those parts of the order that were taken. Files and editors
are the command's; a text comes in as text. Rights are looked at here, for they depend on the option and are told where
Grid Engine tells them: after a text was read, before its references are looked at.

`work` has the order and its result, `said` the words about texts that cannot be read. The other modules have the
options: `objects`, `names`, `lists`, `attributes`, `quotas`, `trees`, `tables`. `templates` has the texts with which an
editor begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.gridengine.cell import Cell
from roost.gridengine.edits import attributes, lists, names, objects, quotas, tables, trees
from roost.gridengine.edits.work import Asker, Edited, Line, Order, Work

__all__ = ["HANDLERS", "Asker", "Edited", "Line", "Order", "edit", "malformed"]

Handler = Callable[[Work, Order], None]
#: Option to what carries it out.
HANDLERS: Final[dict[str, Handler]] = {
    **{f"A{letters}": objects.add for letters in objects.SPOKEN},
    **{f"M{letters}": objects.modify for letters in objects.SPOKEN},
    **{f"d{objects.DELETED_BY.get(letters, letters).removeprefix('d')}": objects.delete for letters in objects.SPOKEN},
    **{f"{verb}{which}": names.users for verb in "ad" for which in "mo"},
    **{f"{verb}{which}": names.hosts for verb in "ad" for which in "hs"},
    **attributes.HANDLERS,
    "au": lists.add_users,
    "du": lists.delete_users,
    "Arqs": quotas.add,
    "Mrqs": quotas.modify,
    "drqs": quotas.delete,
    "Mc": tables.complexes,
    "Msconf": tables.scheduler,
    "Aconf": tables.add_configuration,
    "Mconf": tables.modify_configuration,
    "dconf": tables.drop_configurations,
    "Astree": trees.put,
    "Mstree": trees.put,
    "dstree": trees.drop,
    "astnode": trees.nodes,
    "mstnode": trees.nodes,
    "dstnode": trees.nodes,
}


#: Least number of words, where it is not one.
_WORDS: Final = {
    **{f"{letter}{letters}": 0 for letter in "AM" for letters in (*objects.SPOKEN, "rqs", "c", "sconf", "stree")},
    "dstree": 0,
    "au": 2,
    "du": 2,
    "purge": 3,
    **{f"{verb}attr": 4 if verb.islower() else 2 for verb in "admrADMR"},
}


def malformed(order: Order) -> str:
    """Why an order is none that can be carried out; "" if it is one."""
    if order.option not in HANDLERS:
        return f"-{order.option} does not change a cell"
    least = _WORDS.get(order.option, 1)
    return (
        f"-{order.option} takes {least} or more words, and has {len(order.words)}" if len(order.words) < least else ""
    )


def edit(cell: Cell, order: Order, asker: Asker) -> Edited:
    """Carry out an option that changes a cell."""
    work = Work(cell, asker)
    work.tried(lambda: HANDLERS[order.option](work, order))
    return work.result()
