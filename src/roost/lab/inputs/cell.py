"""The Grid Engine cell of a scenario or a simulation: a directory of files, or texts of its objects, or both.

A text may be partial: omitted attributes are those of a new object, as in `qconf -a…`. Complexes are added to the
built-in ones. Each host of a queue or a host group is an execution host, whether or not it has a text. Problems of a
cell are reported as by `roost cell apply`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from roost.base.diagnostics import Diagnostic
from roost.base.records import replace
from roost.gridengine import changes
from roost.gridengine.cell import COMPLEXES_FILE, SCHEDULER_FILE, Cell, new_cell, read_cell, show_scheduler
from roost.gridengine.edits.objects import SPOKEN
from roost.gridengine.edits.templates import template
from roost.gridengine.instances import resolve
from roost.gridengine.objects.complex import show_complexes
from roost.gridengine.objects.configuration import GLOBAL, new_global, show_configuration
from roost.gridengine.objects.host import ExecutionHost
from roost.gridengine.objects.scheduler import SchedulerConfiguration
from roost.gridengine.problems import Refused
from roost.lab.inputs.tables import Table
from roost.lab.inputs.text_file import read_text
from roost.lab.machines import LabError
from roost.sim.cell import CellPlan, edited

CELL_KEYS: Final = ("directory", "objects", "qconf", "groups")
#: Most files of a cell.
FILES_MAX: Final = 10_000
_DIRECTORIES: Final = {spoken.kind.directory: letters for letters, spoken in SPOKEN.items()}


def read_cell_directory(path: Path) -> Cell:
    """The cell of a directory, as `save_sge_config.sh` or `roost cell export` wrote it. Raises LabError."""
    try:
        found = {file.relative_to(path): file for file in sorted(path.rglob("*")) if file.is_file()}
        files = {
            name.as_posix(): read_text(file)
            for name, file in found.items()
            if not any(part.startswith(".") for part in name.parts)
        }
    except OSError as error:
        raise LabError(f"cannot read the cell {path}: {error.strerror}") from None
    if not files:
        raise LabError(f"{path} contains no files of a cell")
    if len(files) > FILES_MAX:
        raise LabError(f"{path} has more than {FILES_MAX} files")
    return checked(files, f"{path}/")


def checked(files: Mapping[str, str], under: str = "") -> Cell:
    """The cell of these files, if a pool would take it. Raises LabError with all problems."""
    try:
        return changes.replace(Cell(), with_hosts(read_cell(files))).cell
    except Refused as refused:
        raise LabError("\n".join(f"{under}{_described(each)}" for each in refused.problems)) from None


def _described(problem: Diagnostic) -> str:
    return f"{problem.span.file}: {problem.message}. {problem.remedy or ''}".rstrip() if problem.span else str(problem)


def with_hosts(cell: Cell) -> Cell:
    """A cell in which each host of a queue or a host group is an execution host."""
    names = {one.host for one in resolve(cell)}
    missing = {name: ExecutionHost(name=name) for name in sorted(names - cell.hosts.keys())}
    return replace(cell, hosts=dict(sorted({**cell.hosts, **missing}.items()))) if missing else cell


def read_cell_tables(tables: Iterable[Table], folder: Path) -> CellPlan | None:
    """The cell that `[cell]` tables describe, where later tables override earlier ones; None without any. Raises
    LabError."""
    given = [table.child("cell", "cell") for table in tables if "cell" in table]
    if not given:
        return None
    cell, groups = new_cell(), dict[str, tuple[str, ...]]()
    for table in given:
        table.known(CELL_KEYS)
        if "directory" in table:
            cell = read_cell_directory(folder / table.text("directory", ""))
        cell = _with_objects(cell, table)
        for line in table.texts("qconf") if "qconf" in table else ():
            try:
                done = edited(cell, line, "root", manages=True, operates=True)
            except ValueError as error:
                table.fail(str(error), "qconf")
            if done.status:
                table.fail(f"qconf {line}: {'; '.join(each.text for each in done.lines)}", "qconf")
            cell = done.cell
        users = table.child("groups", "groups")
        groups |= {user: users.texts(user) for user in users.values}
    return CellPlan(cell=with_hosts(cell), groups=groups)


def _with_objects(cell: Cell, table: Table) -> Cell:
    objects = table.child("objects", "objects")
    if not objects.values:
        return cell
    from roost.gridengine.cell import write_cell

    files = dict(write_cell(cell))
    for name in objects.values:
        try:
            files[name] = whole(name, objects.text(name, ""), files.get(name))
        except Refused as refused:
            objects.fail("; ".join(f"{each.message}. {each.remedy or ''}".rstrip() for each in refused.problems), name)
    try:
        return checked(files)
    except LabError as error:
        table.fail(f"a pool would reject the cell: {error}", "objects")


def whole(file: str, text: str, before: str | None = None) -> str:
    """The completed text of an object; `before` is the object in the cell."""
    directory, _, name = file.rpartition("/")
    if file == COMPLEXES_FILE:
        return _complexes(text, before)
    usual = _usual(file, directory, name)
    if usual is None:
        # Lists, the share tree and quotas are always complete.
        return text
    usual = before or usual
    own, lines = _attributes(text), _attributes(usual)
    # The first line names the object.
    first = next(iter(lines))
    named = [line for key, line in own.items() if key != first]
    return "".join((lines[first], *named, *(line for key, line in lines.items() if key not in own and key != first)))


def _usual(file: str, directory: str, name: str) -> str | None:
    """The text of a new object; None if there is none."""
    if file == SCHEDULER_FILE:
        return show_scheduler(SchedulerConfiguration())
    if file == f"configurations/{GLOBAL}":
        return show_configuration(new_global())
    letters = _DIRECTORIES.get(directory)
    return None if letters is None or letters == "rqs" else template(letters, name)


def _complexes(text: str, before: str | None) -> str:
    usual = before or show_complexes(new_cell().complexes.values())
    return usual.rstrip("\n") + "\n" + text.strip("\n") + "\n"


def _attributes(text: str) -> dict[str, str]:
    """Attribute to its lines, continued ones together, each with its end."""
    found: dict[str, str] = {}
    key, going_on = "", False
    for line in text.splitlines():
        if not line.strip():
            continue
        if not going_on:
            key = line.split(None, 1)[0]
            found[key] = ""
        found[key] += f"{line.strip() if not going_on else line}\n"
        going_on = line.endswith("\\")
    return found
