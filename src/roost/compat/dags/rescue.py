"""Continuing from a rescue file: marks the nodes that it lists as done."""

from __future__ import annotations

import re
from pathlib import Path

from roost.compat.dags.dag import DAG
from roost.compat.dags.exceptions import NoRescueFileFound
from roost.compat.dags.formatter import NodeNameFormatter, SimpleFormatter
from roost.compat.dags.writer import DEFAULT_DAG_FILE_NAME

_RESCUE = re.compile(r"\.rescue(\d+)\Z")


def find_rescue_file(dag_dir: Path, dag_file_name: str = DEFAULT_DAG_FILE_NAME) -> Path:
    """The newest rescue file of a DAG. Raises NoRescueFileFound."""
    directory = Path(dag_dir)
    numbered = {
        int(found[1]): path
        for path in directory.glob("*.rescue*")
        if path.name.startswith(f"{dag_file_name}.rescue") and (found := _RESCUE.search(path.name))
    }
    if not numbered:
        raise NoRescueFileFound(f"No rescue file for dag {dag_file_name} found in {directory}")
    return numbered[max(numbered)]


def rescue(dag: DAG, rescue_file: Path, formatter: NodeNameFormatter | None = None) -> None:
    """Mark exactly the nodes that a rescue file lists as done."""
    names = formatter or SimpleFormatter()
    done: dict[str, dict[int, bool]] = {}
    for line in Path(rescue_file).read_text(encoding="utf-8").splitlines():
        words = line.split()
        if len(words) >= 2 and words[0].upper() == "DONE":
            layer, index = names.parse(words[1])
            done.setdefault(layer, {})[index] = True
    for node in dag.nodes:
        node.done = done.get(node.name, {})
