"""Writing a DAG: its file, the descriptions of its layers, its configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.compat.dags.dag import DAG
from roost.compat.dags.edges import JoinFactory, JoinNode, Side
from roost.compat.dags.formatter import NodeNameFormatter, SimpleFormatter
from roost.compat.dags.node import BaseNode, NodeLayer, Script, SubDAG
from roost.compat.dags.walk_order import WalkOrder
from roost.compat.htcondor2.submit import Submit

DEFAULT_DAG_FILE_NAME: Final = "dagfile.dag"
CONFIG_FILE_NAME: Final = "dagman.config"
_JOIN: Final = "__JOIN__"


def write_dag(
    dag: DAG,
    dag_dir: Path,
    dag_file_name: str | None = DEFAULT_DAG_FILE_NAME,
    node_name_formatter: NodeNameFormatter | None = None,
) -> Path:
    """Write a DAG into a directory, creating it, and return the path of its file. Errors are raised before anything is
    written."""
    directory = Path(dag_dir).absolute()
    lines = list(_Writer(dag, node_name_formatter or SimpleFormatter()).lines())
    directory.mkdir(parents=True, exist_ok=True)
    nodes = [*dag.nodes, *([dag._final_node] if dag._final_node else [])]
    for node in nodes:
        description = getattr(node, "submit_description", None)
        if isinstance(description, Submit):
            (directory / f"{node.name}.sub").write_text(str(description), encoding="utf-8")
    if any(f"{_JOIN}.sub" in line for line in lines):
        (directory / f"{_JOIN}.sub").write_text("", encoding="utf-8")
    if dag.dagman_config:
        text = "\n".join(f"{name} = {value}" for name, value in dag.dagman_config.items())
        (directory / CONFIG_FILE_NAME).write_text(text, encoding="utf-8")
    path = directory / (dag_file_name or DEFAULT_DAG_FILE_NAME)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class _Writer:
    def __init__(self, dag: DAG, formatter: NodeNameFormatter) -> None:
        self._dag = dag
        self._formatter = formatter
        self._joins = JoinFactory()

    def lines(self) -> Iterator[str]:
        """The lines of the DAG file."""
        yield from ("# BEGIN META", *self._meta(), "# END META", "# BEGIN NODES AND EDGES")
        for node in self._dag.walk(WalkOrder.BREADTH_FIRST):
            yield from self._node(node)
            yield from self._edges(node)
        for join in self._joins.joins:
            yield f"JOB {self._join_name(join)} {_JOIN}.sub NOOP"
        yield "# END NODES AND EDGES"
        final = self._dag._final_node
        if final is not None:
            yield "# FINAL NODE"
            yield f"FINAL {final.name} {_file(final)}{self._marks(final, 0)}"
            yield from self._about(final, final.name)
            yield "# END FINAL NODE"

    def _meta(self) -> Iterator[str]:
        dag = self._dag
        if dag.dagman_config:
            yield f"CONFIG {CONFIG_FILE_NAME}"
        if dag.jobstate_log is not None:
            yield f"JOBSTATE_LOG {dag.jobstate_log}"
        status = dag.node_status_file
        if status is not None:
            words = ["NODE_STATUS_FILE", str(status.path)]
            words += [] if status.update_time is None else [str(status.update_time)]
            yield " ".join([*words, *(["ALWAYS-UPDATE"] if status.always_update else [])])
        dot = dag.dot_config
        if dot is not None:
            words = ["DOT", str(dot.path), "UPDATE" if dot.update else "DONT-UPDATE"]
            words.append("OVERWRITE" if dot.overwrite else "DONT-OVERWRITE")
            yield " ".join([*words, *(["INCLUDE", str(dot.include_file)] if dot.include_file else [])])
        for name, value in dag.dagman_job_attributes.items():
            yield f"SET_JOB_ATTR {name} = {value}"
        for category, number in dag.max_jobs_per_category.items():
            yield f"MAXJOBS {category} {number}"

    def _node(self, node: BaseNode) -> Iterator[str]:
        for index in range(len(node)):
            name = self._formatter.generate(node.name, index)
            if isinstance(node, SubDAG):
                yield f"SUBDAG EXTERNAL {name} {node.dag_file}{self._marks(node, index)}"
            else:
                yield f"JOB {name} {_file(node)}{self._marks(node, index)}"
            if isinstance(node, NodeLayer) and node.vars[index]:
                words = (f'{key}="{_escaped(str(value))}"' for key, value in node.vars[index].items())
                yield f"VARS {name} {' '.join(words)}"
            yield from self._about(node, name)

    def _marks(self, node: BaseNode, index: int) -> str:
        words = [] if node.dir is None else ["DIR", str(node.dir)]
        words += ["NOOP"] if node.noop.get(index) else []
        words += ["DONE"] if node.done.get(index) else []
        return "".join(f" {word}" for word in words)

    def _about(self, node: BaseNode, name: str) -> Iterator[str]:
        if node.retries is not None:
            unless = "" if node.retry_unless_exit is None else f" UNLESS-EXIT {node.retry_unless_exit}"
            yield f"RETRY {name} {node.retries}{unless}"
        for word, script in (("PRE", node.pre), ("POST", node.post)):
            if script is not None:
                yield _script(word, name, script)
        if node.pre_skip_exit_code is not None:
            yield f"PRE_SKIP {name} {node.pre_skip_exit_code}"
        if node.priority:
            yield f"PRIORITY {name} {node.priority}"
        if node.category is not None:
            yield f"CATEGORY {name} {node.category}"
        if node.abort is not None:
            value = node.abort.dag_return_value
            returned = "" if value is None else f" RETURN {value}"
            yield f"ABORT-DAG-ON {name} {node.abort.node_exit_value}{returned}"

    def _edges(self, node: BaseNode) -> Iterator[str]:
        for child in node.children:
            for parents, children in self._dag._edges[node, child].get_edges(node, child, self._joins):
                if parents and children:
                    yield f"PARENT {self._names(node, parents)} CHILD {self._names(child, children)}"

    def _names(self, node: BaseNode, side: Side) -> str:
        if isinstance(side, JoinNode):
            return self._join_name(side)
        return " ".join(self._formatter.generate(node.name, index) for index in side)

    def _join_name(self, join: JoinNode) -> str:
        return self._formatter.generate(_JOIN, join.id)


def _file(node: BaseNode) -> str:
    description = getattr(node, "submit_description", None)
    return str(Path(description).absolute()) if isinstance(description, Path) else f"{node.name}.sub"


def _script(word: str, name: str, script: Script) -> str:
    defer = f" DEFER {script.retry_status} {script.retry_delay}" if script.retry else ""
    return " ".join([f"SCRIPT{defer}", word, name, str(script.executable), *map(str, script.arguments)])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
