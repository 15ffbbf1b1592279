"""Preparation of a DAG run: reading its files, and writing the submit description of the run."""

from __future__ import annotations

from pathlib import Path

from roost.dag import Dag, read_dag
from roost.runtime.files.whole_files import write_whole
from roost.runtime.workflow.description import SubmitOptions, dag_description
from roost.runtime.workflow.files import RunFiles, read_text


def in_the_way(names: RunFiles) -> list[Path]:
    """Files that show that a DAG ran before."""
    return [path for path in (names.description, names.debug, names.out, names.err) if path.exists()]


def save_file(names: RunFiles, given: str) -> str:
    """The path of a save file: a plain name refers to `save_files`, where runs put them."""
    kept = Path(names.primary).parent / "save_files" / given
    return given if "/" in given or not kept.exists() else str(kept)


def write_description(files: tuple[str, ...], options: SubmitOptions, dag: Dag | None = None) -> Path:
    """Write the submit description of a run; rename the rescue files of earlier runs if the options say so.

    Raises BadDag for bad DAG files, OSError for files that cannot be written or a rescue file that does not exist.
    """
    dag = dag or read_dag(files, read_text)
    names = RunFiles(primary=files[0], several=len(files) > 1)
    if options.force:
        names.retire_rescues(0)
        names.lock.unlink(missing_ok=True)
    elif options.rescue_file:
        if not Path(options.rescue_file).exists():
            raise FileNotFoundError(2, "there is no such file to go on from", options.rescue_file)
    elif options.rescue:
        if not names.rescue(options.rescue).exists():
            raise FileNotFoundError(2, "there is no such rescue file", str(names.rescue(options.rescue)))
        names.retire_rescues(options.rescue)
    write_whole(names.description, dag_description(files, dag, options))
    return names.description
