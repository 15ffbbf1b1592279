"""From a node to its jobs: the lines that DAGMan adds to its submit description.

Macros for the description (JOB, RETRY, the node's VARS, …) are inserted before it; settings that it must not change are
inserted before its queue statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from roost.base.records import dataclass, field, replace
from roost.classad.unparse import quote_string_old
from roost.config import Config
from roost.config.not_text import joined
from roost.dag import Node, NodeKind
from roost.dag.run import Run
from roost.dag.states import NodeState, Progress
from roost.runtime.files.bounded_text import bounded_text
from roost.runtime.queue.submit_host import SystemSubmitHost
from roost.runtime.workflow.description import SubmitOptions, inner_description
from roost.schedd.submit import Submission, SubmitContext, read_submission


class BadNode(Exception):
    """The description of a node cannot be submitted; the text says what is wrong, with places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitter:
    """How nodes of a run are submitted."""

    #: The run's own job; None if the run is not a job.
    cluster: int | None
    nodes_log: Path
    owner: str
    uid_domain: str
    config: Config | None
    options: SubmitOptions
    #: VARS without a position are inserted before the queue statement.
    append_variables: bool = False
    #: JobBatchName and JobBatchId of the run's own job, which its nodes share. A blank name leaves the nodes their own.
    batch_name: str = ""
    batch_id: str = ""
    #: Added to the priority of every node's jobs.
    priority: int = 0
    #: Attributes of the run's own job that its nodes share: name to expression.
    inherited: Mapping[str, str] = field(default_factory=dict)

    def submission(self, run: Run, node: Node, retry: int, now: float) -> Submission:
        """The jobs of a node. Raises BadNode."""
        directory = Path(node.directory or ".").absolute()
        text, file = self._text(node, directory)
        found = read_submission(
            text,
            file,
            SubmitContext(
                host=SystemSubmitHost(str(directory)),
                now=now,
                owner=self.owner,
                uid_domain=self.uid_domain,
                config=self.config,
            ),
            arguments=tuple(self.lines_before(run, node, retry)),
            append=tuple(self.lines_after(run, node)),
        )
        if found.errors:
            raise BadNode(joined(found.errors, found.dropped))
        if len(found.clusters) != 1:
            raise BadNode(f"{file}: a node is one cluster, but the description produces {len(found.clusters)}")
        if self._is_set("DAGMAN_PROHIBIT_MULTI_JOBS") and (jobs := found.clusters[0].count) > 1:
            raise BadNode(f"{file}: it queues {jobs} jobs, and DAGMAN_PROHIBIT_MULTI_JOBS allows one")
        return found

    def _is_set(self, knob: str) -> bool:
        return self.config is not None and self.config.get_bool(knob, False)

    def _text(self, node: Node, directory: Path) -> tuple[str, str]:
        if node.kind is NodeKind.SUBDAG:
            options = replace(self.options, batch_name=self.batch_name)
            return inner_description(node.submit, options), f"{node.submit}.condor.sub"
        if node.text is not None:
            return node.text, f"the description of node {node.name} at {node.span}"
        path = directory / node.submit
        try:
            return bounded_text(path), node.submit
        except OSError as error:
            raise BadNode(f"{path}: {error.strerror}") from None

    def lines_before(self, run: Run, node: Node, retry: int) -> list[str]:
        """The lines inserted before the description of a node."""
        parents = ",".join(run.dag.parents[node.name])
        lines = [
            f"JOB={node.name}",
            f"NODE={node.name}",
            f"dag_node_name={node.name}",
            f"RETRY={retry}",
            f"DAG_STATUS={int(run.status)}",
            f"FAILED_COUNT={run.counts[NodeState.ERROR]}",
            f"DAG_PARENT_NAMES={parents}",
        ]
        if self.cluster is not None:
            lines.append(f"DAGManJobId={self.cluster}")
        return lines + [f"{each.name}={each.value}" for each in node.variables if self._is_before(each.prepended)]

    def lines_after(self, run: Run, node: Node) -> list[str]:
        """The lines inserted before its queue statement."""
        lines = [f"{each.name} = {each.value}" for each in node.variables if not self._is_before(each.prepended)]
        parents = ",".join(run.dag.parents[node.name])
        lines += [
            f'MY.DAGNodeName = "{node.name}"',
            f'MY.DAGParentNodeNames = "{parents}"',
            f'MY.DAGManNodesLog = "{self.nodes_log.absolute()}"',
            f"submit_event_notes = DAG Node: {node.name}",
        ]
        if self.cluster is not None:
            lines.append(f"MY.DAGManJobId = {self.cluster}")
        if self.batch_name.strip():
            lines.append(f"MY.JobBatchName = {quote_string_old(self.batch_name)}")
        if self.batch_id:
            lines.append(f"MY.JobBatchId = {quote_string_old(self.batch_id)}")
        if node.priority or self.priority:
            lines.append(f"priority = {node.priority + self.priority}")
        lines += (f"MY.{name} = {expression}" for name, expression in self.inherited.items())
        return [*lines, *self._configured_lines(run.nodes[node.name])]

    def _configured_lines(self, progress: Progress) -> Iterator[str]:
        """The settings of jobs in the run's configuration."""
        if self.config is not None and (self.config.get("DAGMAN_NODE_RECORD_INFO") or "").strip().upper() == "RETRY":
            yield f"MY.DAGManNodeRetry = {progress.retry}"
        if self._is_set("DAGMAN_SUPPRESS_JOB_LOGS"):
            yield "log ="
        if self._is_set("DAGMAN_SUPPRESS_NOTIFICATION"):
            yield "notification = never"
        if progress.is_for_release:
            yield "hold = true"

    def _is_before(self, prepended: bool | None) -> bool:
        return not self.append_variables if prepended is None else prepended


def tag_of(submission: Submission) -> str:
    """The tag of a description for the job state log: ``+pegasus_site``, or the attribute that ``+job_tag_name``
    names.
    """
    ad = next(submission.clusters[0].ads(), None)
    if ad is None:
        return ""
    name = ad.get("job_tag_name", "pegasus_site")
    tag = ad.get(str(name).lstrip("+"), "")
    return "_".join(tag.split()) if isinstance(tag, str) else ""
