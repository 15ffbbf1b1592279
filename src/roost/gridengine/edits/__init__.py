"""Edits of a cell as `qconf` makes them: an order and its user in, a new cell and the output out.

`edit` carries out one option. It never raises because of the contents of an order: refusals are among the lines, in
Grid Engine's words, and the cell is then unchanged, or has the accepted parts of the order. The command handles files
and editors; here a text is just text. Permissions are checked here, because they depend on the option and are reported
at the same point as in Grid Engine: after a text was read, before its references are checked.

`work` has the order and its result, `said` the messages about texts that cannot be read. The other modules have the
options: `objects`, `names`, `lists`, `attributes` (with `members`), `quotas`, `trees`, `tables`. `templates` has the
initial texts of an editor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roost.gridengine.cell import COMPLEXES_FILE, LISTS, SCHEDULER_FILE, SHARE_TREE_FILE, Cell, read_cell, write_cell
from roost.gridengine.edits import attributes, lists, names, objects, quotas, tables, trees
from roost.gridengine.edits.work import Asker, Edited, Line, QconfOption, Work
from roost.gridengine.objects.kinds import KINDS
from roost.gridengine.problems import Refused

__all__ = ["HANDLERS", "Asker", "Edited", "Line", "QconfOption", "edit", "malformed"]

Handler = Callable[[Work, QconfOption], None]
#: Option to its handler.
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


#: Minimum and maximum number of words, if not one; a maximum of None is any number.
_WORDS: Final[dict[str, tuple[int, int | None]]] = {
    **{f"{letter}{letters}": (0, 0) for letter in "AM" for letters in (*objects.SPOKEN, "c", "sconf", "stree", "rqs")},
    "Mrqs": (0, 1),
    "dstree": (0, 0),
    "au": (2, 2),
    "du": (2, 2),
    "purge": (3, None),
    **{f"{verb}attr": (4 if verb.islower() else 2, None) for verb in "admrADMR"},
}


def malformed(order: QconfOption) -> str:
    """Why an order is malformed; "" if it is not."""
    if order.option not in HANDLERS:
        return f"-{order.option} does not change a cell"
    least, most = _WORDS.get(order.option, (1, 1))
    if len(order.words) < least or (most is not None and len(order.words) > most):
        wanted = f"{least} words" if least == most else f"{least} or more words" if most is None else f"at most {most}"
        return f"-{order.option} takes {wanted}, and has {len(order.words)}"
    return ""


def edit(cell: Cell, order: QconfOption, asker: Asker) -> Edited:
    """Carry out an option that changes a cell.

    A change whose text would not be read back correctly, such as a name that begins with `#`, is refused.
    """
    work = Work(cell, asker)
    work.tried(lambda: HANDLERS[order.option](work, order))
    if work.cell is not cell and (problem := _unreadable(cell, work.cell)):
        refused = Work(cell, asker)
        refused.say(f"denied: the cell could not be read with this change: {problem}")
        refused.status = 1
        return refused.result()
    return work.result()


def _unreadable(before: Cell, after: Cell) -> str:
    """Why the text of a cell would not be read back as the cell; "" if it would. Only what changed is read."""
    present = write_cell(before)
    changed = {name: text for name, text in write_cell(after).items() if present.get(name) != text}
    try:
        again = read_cell(changed)
    except Refused as refused:
        return refused.problems[0].message
    for kind in KINDS:
        wanted = after.objects(kind)
        for name, one in again.objects(kind).items():
            if f"{kind.directory}/{name}" in changed and wanted.get(name) != one:
                return f"{kind.word} {name} would be another one"
    singles = {COMPLEXES_FILE: "complexes", SCHEDULER_FILE: "scheduler", SHARE_TREE_FILE: "share_tree", **LISTS}
    bad = (
        file for file, field in singles.items() if file in changed and getattr(again, field) != getattr(after, field)
    )
    return next((f"{file} would be another one" for file in bad), "")
