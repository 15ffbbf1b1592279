"""A run, event by event."""

from __future__ import annotations

from roost.dag import ScriptPoint
from roost.dag import orders as o
from roost.dag.reading import apply_rescue
from roost.dag.run import Run, Settings
from roost.dag.states import NodeState, RunStatus
from roost.dag.table import BY_STATE, ROWS
from roost.dag.texts import rescue_text
from tests.dag.files import DIAMOND, dag_of


class Told:
    """A run that is told things, at one time after another."""

    def __init__(self, text: str, **limits: object) -> None:
        self.run = Run(dag_of(text), Settings(**limits))  # type: ignore[arg-type]
        self.now = 0.0
        self.clusters = 0
        self.first = self.tell(o.Begun())

    def tell(self, event: o.Event) -> tuple[o.Order, ...]:
        self.now += 10
        return self.run.step(event, self.now).orders

    def submitted(self, node: str, jobs: int = 1) -> tuple[o.Order, ...]:
        self.clusters += 1
        return self.tell(o.NodeSubmitted(node=node, cluster=self.clusters, jobs=jobs))

    def ended(self, node: str, status: int = 0) -> tuple[o.Order, ...]:
        cluster = self.run.nodes[node].cluster
        assert cluster is not None
        return self.tell(o.JobEnded(cluster=cluster, proc=0, status=status))

    def script(self, node: str, point: ScriptPoint, status: int = 0) -> tuple[o.Order, ...]:
        return self.tell(o.ScriptEnded(node=node, point=point, status=status))

    def state(self, node: str) -> NodeState:
        return self.run.nodes[node].state


def submits(*nodes: str, retry: int = 0) -> tuple[o.Order, ...]:
    return tuple(o.SubmitNode(node=node, retry=retry) for node in nodes)


def test_a_diamond_goes_its_way() -> None:
    told = Told(DIAMOND)
    assert told.first == submits("A")
    told.submitted("A")
    assert told.ended("A") == submits("B", "C")
    told.submitted("B")
    told.submitted("C")
    assert told.ended("C") == ()
    assert told.ended("B") == submits("D")
    told.submitted("D")
    assert told.ended("D") == (o.Finish(exit_code=0, status=RunStatus.OK),)


def test_what_waits_for_a_failure_is_futile_and_the_rest_goes_on() -> None:
    told = Told(DIAMOND + "JOB E e\nPARENT C CHILD E")
    told.submitted("A")
    told.ended("A")
    told.submitted("B")
    told.submitted("C")
    told.ended("B", 1)
    assert (told.state("B"), told.state("D")) == (NodeState.ERROR, NodeState.FUTILE)
    assert told.ended("C") == submits("E")
    told.submitted("E")
    assert told.ended("E") == (o.KeepRescue(), o.Finish(exit_code=1, status=RunStatus.NODE_FAILED))


def test_scripts_see_how_many_jobs_ended_how() -> None:
    told = Told("JOB A a\nRETRY A 1\nSCRIPT POST A q $DAGID $EXIT_CODES $EXIT_CODE_COUNTS $JOB_ABORT_COUNT $JOB_COUNT")
    told.run.cluster = 77
    told.submitted("A", 5)
    for proc, status in enumerate((0, 3, 0, -9)):
        told.tell(o.JobEnded(cluster=1, proc=proc, status=status))
    assert told.tell(o.JobRemoved(cluster=1, proc=4)) == (
        o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "77", "-1,0,3", "-1:1,0:2,3:1", "1", "5")),
    )
    told.script("A", ScriptPoint.POST, 1)
    told.submitted("A")
    assert told.ended("A") == (o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "77", "0", "0:1", "0", "1")),)


def test_so_many_jobs_may_fail_as_the_node_tolerates() -> None:
    told = Told("JOB A a\nTOLERANCE ALL_NODES 20% fail_fast\nSCRIPT POST A q $RETURN $SUCCESS\nRETRY A 1")
    told.submitted("A", 9)
    assert told.tell(o.JobEnded(cluster=1, proc=0, status=3)) == ()
    assert told.tell(o.JobEnded(cluster=1, proc=1, status=4)) == (
        o.RemoveJobs(cluster=1, reason="job 1.1 ended with status 4, and 1 may fail"),
    )
    for proc in range(2, 9):
        orders = told.tell(o.JobRemoved(cluster=1, proc=proc))
    assert orders == (o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "3", "False")),)
    # Another try counts again.
    told.script("A", ScriptPoint.POST, 1)
    told.submitted("A", 5)
    for proc in range(5):
        orders = told.tell(o.JobEnded(cluster=2, proc=proc, status=int(proc == 2)))
    assert orders == (o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "0", "True")),)


def test_a_node_that_waits_lets_its_other_jobs_go_on() -> None:
    told = Told("JOB A a\nTOLERANCE A 1 WAIT")
    told.submitted("A", 4)
    for proc, status in enumerate((1, 2, 0)):
        assert told.tell(o.JobEnded(cluster=1, proc=proc, status=status)) == ()
    again = Run(told.run.dag, Settings())
    past = (o.NodeSubmitted(node="A", cluster=1, jobs=4), *(
        o.JobEnded(cluster=1, proc=proc, status=status) for proc, status in enumerate((1, 2, 0))))  # fmt: skip
    assert again.step(o.Begun(past=past), 1).orders == ()
    for run in (told.run, again):
        orders = run.step(o.JobEnded(cluster=1, proc=3, status=0), 99).orders
        assert orders == (o.KeepRescue(), o.Finish(exit_code=1, status=RunStatus.NODE_FAILED))


CHAIN = "JOB A a\nJOB B b\nJOB C c\n"


def test_a_weak_child_begins_when_its_parent_has_failed() -> None:
    told = Told(f"{CHAIN}WEAK PARENT A CHILD B\nPARENT B CHILD C")
    told.submitted("A")
    assert told.ended("A", 1) == submits("B")
    told.submitted("B")
    assert told.ended("B") == submits("C")
    told.submitted("C")
    assert told.ended("C") == (o.KeepRescue(), o.Finish(exit_code=1, status=RunStatus.NODE_FAILED))
    assert told.state("A") is NodeState.ERROR
    # What comes after the node does not want it to be good: it need not run again.
    assert rescue_text(told.run, 0).endswith("\nDONE A\nDONE B\nDONE C\n")


def test_a_weak_child_of_what_cannot_be_reached_cannot_be_reached() -> None:
    told = Told(f"{CHAIN}PARENT A CHILD B\nWEAK PARENT B CHILD C")
    told.submitted("A")
    assert told.ended("A", 1)[-1] == o.Finish(exit_code=1, status=RunStatus.NODE_FAILED)
    assert (told.state("B"), told.state("C")) == (NodeState.FUTILE, NodeState.FUTILE)
    assert "DONE" not in rescue_text(told.run, 0).replace("premarked DONE", "")


def test_of_a_weak_and_a_strong_parent_the_strong_one_decides() -> None:
    for bad, state in (("A", NodeState.READY), ("B", NodeState.FUTILE)):
        told = Told(f"{CHAIN}WEAK PARENT A CHILD C\nPARENT B CHILD C", jobs_max=2)
        told.submitted("A")
        told.submitted("B")
        told.ended(bad, 1)
        told.ended("AB".replace(bad, ""))
        assert told.state("C") is (NodeState.SUBMITTED if state is NodeState.READY else state)


def test_a_run_that_goes_on_knows_that_a_weak_parent_without_a_trace_failed() -> None:
    past = (
        o.NodeSubmitted(node="B", cluster=1, jobs=1),
        o.JobEnded(cluster=1, proc=0, status=0),
        o.NodeSubmitted(node="C", cluster=2, jobs=1),
    )
    # One that may be skipped has not failed for sure.
    for more, state in (("", NodeState.ERROR), ("PRE_SKIP A 1", NodeState.DONE)):
        run = Run(dag_of(f"{CHAIN}SCRIPT PRE A p\nWEAK PARENT A CHILD B\nPARENT B CHILD C\n{more}"), Settings())
        run.step(o.Begun(past=past), 1)
        assert (run.nodes["A"].state, run.nodes["C"].state) == (state, NodeState.SUBMITTED)


def test_a_run_without_nodes_ends_at_once_and_well() -> None:
    assert Told("# nothing").first == (o.Finish(exit_code=0, status=RunStatus.OK),)


def test_the_post_script_decides_and_sees_how_the_job_ended() -> None:
    told = Told("JOB A a\nSCRIPT PRE A p $JOB $RETURN\nSCRIPT POST A q $RETURN $PRE_SCRIPT_RETURN x=$RETURN $JOBID")
    assert told.first == (o.RunScript(node="A", point=ScriptPoint.PRE, words=("p", "A", "$RETURN")),)
    assert told.script("A", ScriptPoint.PRE) == submits("A")
    told.submitted("A")
    assert told.ended("A", -9) == (
        o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "-9", "0", "x=$RETURN", "1.0")),
    )
    assert told.script("A", ScriptPoint.POST)[-1] == o.Finish(exit_code=0, status=RunStatus.OK)


def test_a_failed_pre_script_ends_the_node_unless_post_runs_anyway() -> None:
    text = "JOB A a\nSCRIPT PRE A p\nSCRIPT POST A q $RETURN"
    told = Told(text)
    told.script("A", ScriptPoint.PRE, 1)
    assert told.state("A") is NodeState.ERROR
    told = Told(text, always_post=True)
    assert told.script("A", ScriptPoint.PRE, 1) == (
        o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "-1004")),
    )


def test_pre_skip_makes_a_node_done() -> None:
    told = Told("JOB A a\nSCRIPT PRE A p\nPRE_SKIP A 3\nSCRIPT POST A q")
    assert told.script("A", ScriptPoint.PRE, 3) == (o.Finish(exit_code=0, status=RunStatus.OK),)


def test_a_deferred_script_runs_again_later() -> None:
    told = Told("JOB A a\nSCRIPT DEFER 4 60 PRE A p")
    assert told.script("A", ScriptPoint.PRE, 4) == (o.Wait(node="A", at=told.now + 60),)
    assert told.tell(o.WaitOver(node="A")) == (o.RunScript(node="A", point=ScriptPoint.PRE, words=("p",)),)


def test_retries_count_and_stop_at_unless_exit() -> None:
    told = Told("JOB A a\nRETRY A 2 UNLESS-EXIT 7")
    told.submitted("A")
    assert told.ended("A", 1) == submits("A", retry=1)
    told.submitted("A")
    told.ended("A", 7)
    assert told.state("A") is NodeState.ERROR


def test_one_failure_of_a_cluster_removes_the_others_and_the_try_ends_when_they_are_gone() -> None:
    told = Told("JOB A a\nRETRY A 1")
    told.submitted("A", jobs=3)
    assert told.ended("A", 5) == (o.RemoveJobs(cluster=1, reason="job 1.0 ended with status 5"),)
    assert told.tell(o.JobRemoved(cluster=1, proc=1)) == ()
    assert told.tell(o.JobEnded(cluster=1, proc=2, status=0)) == submits("A", retry=1)


def test_a_job_that_somebody_removes_fails_its_node() -> None:
    told = Told("JOB A a\nSCRIPT POST A q $RETURN")
    told.submitted("A")
    assert told.tell(o.JobRemoved(cluster=1, proc=0)) == (
        o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "-1002")),
    )


def test_a_submission_that_is_refused_is_tried_again_with_growing_pauses_and_then_given_up() -> None:
    told = Told("JOB A a", submit_attempts=3)
    refused = o.SubmitRefused(node="A", text="no", final=False)
    assert told.tell(refused) == (o.Wait(node="A", at=told.now + 2),)
    assert told.tell(o.WaitOver(node="A")) == submits("A")
    assert told.tell(refused) == (o.Wait(node="A", at=told.now + 4),)
    told.tell(o.WaitOver(node="A"))
    assert told.tell(refused)[-1] == o.Finish(exit_code=1, status=RunStatus.NODE_FAILED)


def test_a_wrong_description_is_not_tried_again() -> None:
    told = Told("JOB A a")
    assert told.tell(o.SubmitRefused(node="A", text="no", final=True))[-1] == o.Finish(
        exit_code=1, status=RunStatus.NODE_FAILED
    )


def test_a_node_can_abort_the_run_with_a_value_of_its_own() -> None:
    told = Told("JOB A a\nJOB B b\nABORT-DAG-ON A 3 RETURN 42\nRETRY A 5")
    told.submitted("A")
    told.submitted("B", jobs=2)
    assert told.ended("A", 3) == (o.StopScripts(), o.RemoveJobs(cluster=2, reason="the run of its DAG ends"))
    told.tell(o.JobRemoved(cluster=2, proc=0))
    assert told.tell(o.JobRemoved(cluster=2, proc=1)) == (
        o.KeepRescue(), o.Finish(exit_code=42, status=RunStatus.ABORTED),
    )  # fmt: skip


def test_the_final_node_runs_whatever_became_of_the_others_and_decides() -> None:
    told = Told("JOB A a\nFINAL F f\nSCRIPT PRE F p $DAG_STATUS $FAILED_COUNT")
    told.submitted("A")
    assert told.ended("A", 1) == (o.RunScript(node="F", point=ScriptPoint.PRE, words=("p", "2", "1")),)
    assert told.script("F", ScriptPoint.PRE) == submits("F")
    told.submitted("F")
    # The run was good, so the next one starts over: there is no rescue file.
    assert told.ended("F") == (o.Finish(exit_code=0, status=RunStatus.NODE_FAILED),)


def test_a_removed_run_whose_final_node_was_good_keeps_a_rescue_file_in_which_that_node_is_not() -> None:
    told = Told("JOB A a\nJOB B b\nPROVISIONER P p\nFINAL F f\nPARENT A CHILD B")
    told.submitted("P")
    assert told.tell(o.JobRan(cluster=1, proc=0)) == submits("A")
    told.submitted("A")
    told.ended("A")
    told.submitted("B")
    told.tell(o.RemovalAsked())
    told.tell(o.JobRemoved(cluster=3, proc=0))
    told.tell(o.JobRemoved(cluster=1, proc=0))
    told.submitted("F")
    orders = told.ended("F")
    assert orders[-1] == o.Finish(exit_code=0, status=RunStatus.REMOVED) and o.KeepRescue() in orders
    text = rescue_text(told.run, 0)
    assert [line for line in text.splitlines() if line.startswith("DONE")] == ["DONE A"]
    assert "# Nodes premarked DONE: 1" in text


def test_a_rescue_file_that_calls_the_final_node_done_does_not_keep_it_from_running() -> None:
    dag = apply_rescue(dag_of("JOB A a\nFINAL F f"), "rescue", {"rescue": "DONE A\nDONE F\n"}.get)
    run = Run(dag, Settings())
    assert run.step(o.Begun(), 0).orders == submits("F")


def test_a_removed_run_waits_for_its_jobs_and_keeps_a_rescue_file() -> None:
    told = Told(DIAMOND)
    told.submitted("A")
    assert told.tell(o.RemovalAsked()) == (o.StopScripts(), o.RemoveJobs(cluster=1, reason="the run of its DAG ends"))
    assert told.tell(o.JobRemoved(cluster=1, proc=0)) == (
        o.KeepRescue(), o.Finish(exit_code=2, status=RunStatus.REMOVED),
    )  # fmt: skip


def test_a_halted_run_begins_nothing_and_ends_when_nothing_runs() -> None:
    told = Told(DIAMOND)
    told.submitted("A")
    told.tell(o.HaltSet(halted=True))
    assert told.ended("A") == (o.KeepRescue(), o.Finish(exit_code=1, status=RunStatus.HALTED))


def test_a_halt_that_ends_in_time_changes_nothing() -> None:
    told = Told(DIAMOND)
    told.submitted("A")
    told.tell(o.HaltSet(halted=True))
    told.tell(o.HaltSet(halted=False))
    assert told.ended("A") == submits("B", "C")


def test_limits_and_priorities() -> None:
    text = "\n".join(f"JOB N{n} x\nPRIORITY N{n} {n}" for n in range(4))
    assert Told(text, jobs_max=2).first == submits("N3", "N2")
    assert Told(text, idle_max=1).first == submits("N3", "N2", "N1", "N0")
    told = Told(text + "\nCATEGORY ALL_NODES c\nMAXJOBS c 1")
    assert told.first == submits("N3")
    told.submitted("N3")
    assert told.ended("N3") == submits("N2")


def test_jobs_that_wait_keep_others_from_being_submitted() -> None:
    told = Told("JOB A a\nJOB B b\nPARENT A CHILD B\nJOB C c\nPARENT A CHILD C", idle_max=1)
    told.submitted("A")
    told.ended("A")
    assert told.submitted("B", jobs=2) == ()
    told.submitted("C")
    assert told.run.idle == 3


def test_a_noop_node_runs_its_scripts_only() -> None:
    told = Told("JOB A a NOOP\nSCRIPT POST A q $JOBID")
    assert told.first == (o.RunScript(node="A", point=ScriptPoint.POST, words=("q", "-1.0")),)


def test_the_provisioner_runs_before_all_and_services_beside_them() -> None:
    told = Told("JOB A a\nPROVISIONER P p\nSERVICE S s")
    assert told.first == submits("P")
    told.submitted("P")
    assert told.tell(o.JobRan(cluster=1, proc=0)) == submits("A", "S")
    told.submitted("A")
    told.submitted("S")
    told.ended("P")
    assert told.ended("A") == (
        o.RemoveJobs(cluster=3, reason="the run of its DAG ends"), o.Finish(exit_code=0, status=RunStatus.OK),
    )  # fmt: skip


def test_a_hold_script_runs_and_changes_nothing() -> None:
    told = Told("JOB A a\nSCRIPT HOLD A h $JOB")
    told.submitted("A")
    assert told.tell(o.JobHeld(cluster=1, proc=0, reason="disk")) == (
        o.RunScript(node="A", point=ScriptPoint.HOLD, words=("h", "A")),
    )
    assert told.script("A", ScriptPoint.HOLD, 1) == ()


def test_save_points_are_kept_when_a_node_begins_first() -> None:
    told = Told("JOB A a\nSAVE_POINT_FILE A x.save\nRETRY A 1")
    assert told.first == (o.KeepSavePoint(node="A", path="x.save"), *submits("A"))
    told.submitted("A")
    assert told.ended("A", 1) == submits("A", retry=1)


def test_a_chain_of_many_nodes_can_fail_at_its_head() -> None:
    count = 5000
    chain = "\n".join(f"PARENT N{n} CHILD N{n + 1}" for n in range(count - 1))
    told = Told("\n".join(f"JOB N{n} x" for n in range(count)) + "\n" + chain)
    told.submitted("N0")
    told.ended("N0", 1)
    assert told.run.counts[NodeState.FUTILE] == count - 1


def test_what_comes_late_or_twice_changes_nothing() -> None:
    told = Told("JOB A a\nJOB B b")
    told.submitted("A")
    told.ended("A")
    assert told.tell(o.JobEnded(cluster=1, proc=0, status=1)) == ()
    assert told.tell(o.JobEnded(cluster=77, proc=0, status=1)) == ()
    assert told.tell(o.ScriptEnded(node="A", point=ScriptPoint.POST, status=1)) == ()
    assert told.tell(o.SubmitRefused(node="A", text="x", final=True)) == ()
    assert told.tell(o.NodeSubmitted(node="A", cluster=9, jobs=1)) == (
        o.RemoveJobs(cluster=9, reason="the node no longer needs it"),
    )


def test_the_rows_of_the_table_are_numbered_and_every_trigger_finds_one_without_conditions() -> None:
    assert [row.number for row in ROWS] == list(range(1, len(ROWS) + 1))
    for state, rows in BY_STATE.items():
        for on in {on for row in rows for on in row.on}:
            last = [row for row in rows if on in row.on][-1]
            assert not last.when, f"{state.name} has no way out when {on}"


def test_hold_scripts_have_a_limit_of_their_own() -> None:
    told = Told("JOB A a\nSCRIPT HOLD A h", held_max=1)
    told.submitted("A", jobs=2)
    script = o.RunScript(node="A", point=ScriptPoint.HOLD, words=("h",))
    assert told.tell(o.JobHeld(cluster=1, proc=0, reason="x")) == (script,)
    assert told.tell(o.JobHeld(cluster=1, proc=1, reason="x")) == ()
    assert told.script("A", ScriptPoint.HOLD) == (script,)


def test_a_final_node_that_had_begun_is_gone_on_with_though_a_node_before_it_left_no_trace() -> None:
    run = Run(dag_of("JOB A a.sub NOOP\nJOB B b.sub\nPARENT A CHILD B\nFINAL F f.sub"), Settings())
    past = (
        o.NodeSubmitted(node="B", cluster=1, jobs=1),
        o.JobEnded(cluster=1, proc=0, status=0),
        o.NodeSubmitted(node="F", cluster=2, jobs=1),
    )
    orders = run.step(o.Begun(past=past), 1.0).orders
    assert [type(each) for each in orders] == [], "nothing is submitted twice, nothing is removed"
    assert run.nodes["F"].cluster == 2
    assert run.step(o.JobEnded(cluster=2, proc=0, status=0), 2.0).orders == (
        o.Finish(exit_code=0, status=RunStatus.OK),
    )


def test_what_a_final_node_waited_for_and_what_the_log_says_nothing_of_has_failed() -> None:
    run = Run(dag_of("JOB A a.sub\nSCRIPT PRE A check.sh\nFINAL F f.sub"), Settings())
    run.step(o.Begun(past=(o.NodeSubmitted(node="F", cluster=1, jobs=1),)), 1.0)
    assert run.nodes["A"].state is NodeState.ERROR
    assert "does not show how it failed" in run.nodes["A"].details


def test_a_node_that_is_held_too_often_is_removed_and_fails() -> None:
    told = Told("JOB A a", holds_max=2)
    told.submitted("A")
    assert told.tell(o.JobHeld(cluster=1, proc=0, reason="no disk")) == ()
    told.tell(o.JobWaits(cluster=1, proc=0))
    (removal,) = told.tell(o.JobHeld(cluster=1, proc=0, reason="no disk"))
    assert isinstance(removal, o.RemoveJobs) and "DAGMAN_MAX_JOB_HOLDS" in removal.reason
    told.tell(o.JobRemoved(cluster=1, proc=0))
    assert told.state("A") is NodeState.ERROR


def test_settings_say_how_many_jobs_of_a_node_may_fail() -> None:
    told = Told("JOB A a\nJOB B b\nTOLERANCE B 0", failures_max=1)
    told.submitted("A", 2)
    told.submitted("B", 2)
    told.ended("A", 1)
    told.ended("B", 1)
    assert not told.run.nodes["A"].failed and told.run.nodes["B"].failed


def test_a_node_that_failed_is_tried_again_on_hold() -> None:
    told = Told("JOB A a\nJOB B b\nSCRIPT POST B q", hold_failed=True)
    told.submitted("A")
    told.submitted("B")
    assert told.ended("A", 1) == submits("A", retry=1)
    assert told.run.nodes["A"].is_for_release
    told.ended("B", 1)
    told.script("B", ScriptPoint.POST, 1)
    assert told.state("B") is NodeState.ERROR
