"""DAG files, read."""

from __future__ import annotations

from typing import Any

import pytest

from roost.dag import BadDag, NodeKind, apply_rescue, read_dag
from roost.dag.plan import Abort, Variable
from roost.dag.problems import DagCode
from tests.dag.files import DIAMOND, dag_of


def problems_of(text: str, **others: str) -> list[tuple[DagCode, int, int]]:
    with pytest.raises(BadDag) as caught:
        dag_of(text, **others)
    return [(each.code, each.span.line, each.span.column) for each in caught.value.problems]


def test_a_diamond() -> None:
    dag = dag_of(DIAMOND)
    assert dag.children == {"A": ("B", "C"), "B": ("D",), "C": ("D",), "D": ()}
    assert dag.parents == {"A": (), "B": ("A",), "C": ("A",), "D": ("B", "C")}


def test_a_node_may_be_spoken_of_before_it_is_defined() -> None:
    assert dag_of("RETRY A 3\nPARENT A CHILD B\nJOB A a\nJOB B b").nodes["A"].retries == 3


def test_keywords_have_no_case_and_names_have() -> None:
    dag = dag_of("job A a.sub\nJob a b.sub\nparent A child a")
    assert dag.children == {"A": ("a",), "a": ()}


def test_what_may_be_said_of_a_node() -> None:
    node = dag_of(
        "JOB A a.sub DIR d NOOP\nSCRIPT DEFER 4 60 DEBUG x.log STDERR PRE A p.sh $JOB -x\nSCRIPT POST A q.sh\n"
        "PRE_SKIP A 2\nRETRY A 3 UNLESS-EXIT 9\nABORT-DAG-ON A 5 RETURN 1\nPRIORITY A -3\nCATEGORY A big\n"
        "SAVE_POINT_FILE A here.save"
    ).nodes["A"]
    assert (node.submit, node.directory, node.noop, node.done) == ("a.sub", "d", True, False)
    assert node.pre is not None
    assert node.post is not None
    assert (node.pre.words, node.pre.defer_status, node.pre.defer_s) == (("p.sh", "$JOB", "-x"), 4, 60)
    assert (node.pre.debug_file, node.pre.debug_streams) == ("x.log", "STDERR")
    assert (node.pre_skip, node.retries, node.unless_exit) == (2, 3, 9)
    assert node.abort == Abort(status=5, exit_code=1)
    assert (node.priority, node.category, node.save_point) == (-3, "big", "here.save")


def test_variables_with_quotes_and_backslashes() -> None:
    node = dag_of(r"JOB A a" "\n" r'VARS A x="1" y = "a \"b\" \\n c"  +Z="\"s\""' "\n" 'VARS A PREPEND p="q"').nodes[
        "A"
    ]
    assert node.variables == (
        Variable(name="x", value="1"),
        Variable(name="y", value='a "b" \\n c'),
        Variable(name="+Z", value='"s"'),
        Variable(name="p", value="q", prepended=True),
    )


def test_all_nodes_are_the_ordinary_ones() -> None:
    dag = dag_of('JOB A a\nFINAL F f\nRETRY ALL_NODES 2\nVARS ALL_NODES x="1"')
    assert (dag.nodes["A"].retries, dag.nodes["F"].retries) == (2, 0)
    assert (len(dag.nodes["A"].variables), len(dag.nodes["F"].variables)) == (1, 0)


def test_descriptions_within_the_file() -> None:
    dag = dag_of(
        "SUBMIT-DESCRIPTION common {\n executable = /bin/true\n queue\n}\nJOB A common\n"
        "JOB B {\n  executable = x\n} DIR d\nJOB C @=end\n executable = y\n}\n@end"
    )
    assert dag.nodes["A"].text == "executable = /bin/true\nqueue"
    assert (dag.nodes["B"].text, dag.nodes["B"].directory) == ("executable = x", "d")
    assert dag.nodes["C"].text == "executable = y\n}"


def test_splices_bring_their_nodes_and_stand_for_their_ends() -> None:
    inner = "JOB X x\nJOB Y y\nJOB Z z\nPARENT X CHILD Y Z\nCATEGORY X k\nCATEGORY Y +all\nMAXJOBS k 1"
    dag = dag_of(
        "JOB A a\nJOB B b\nSPLICE S inner.dag DIR d\nPARENT A CHILD S\nPARENT S CHILD B", **{"d/inner_dag": inner}
    )
    assert dag.children == {
        "A": ("S+X",), "B": (), "S+X": ("S+Y", "S+Z"), "S+Y": ("B",), "S+Z": ("B",),
    }  # fmt: skip
    assert dag.nodes["S+X"].directory == "d"
    assert (dag.nodes["S+X"].category, dag.nodes["S+Y"].category) == ("S+k", "+all")
    assert dag.category_limits == {"S+k": 1}


def test_splices_are_joined_at_their_pins() -> None:
    first = "JOB A a\nJOB B b\nPIN_OUT A 1\nPIN_OUT B 2"
    second = "JOB C c\nJOB D d\nPIN_IN D 1\nPIN_IN C 2"
    dag = dag_of("SPLICE P p.dag\nSPLICE Q q.dag\nCONNECT P Q", p_dag=first, q_dag=second)
    assert dag.children == {"P+A": ("Q+D",), "P+B": ("Q+C",), "Q+C": (), "Q+D": ()}
    assert problems_of("SPLICE P p.dag\nSPLICE Q q.dag\nCONNECT P Q", p_dag=first, q_dag="JOB C c\nPIN_IN C 1") == [
        (DagCode.PINS, 3, 11)
    ]


def test_included_lines_are_as_if_they_stood_there() -> None:
    assert list(dag_of("INCLUDE more.dag\nPARENT A CHILD B\nJOB B b", more_dag="JOB A a").nodes) == ["A", "B"]


def test_several_files_are_one_run_whose_nodes_have_numbers() -> None:
    files = {"a.dag": "JOB A x\nJOB B y\nPARENT A CHILD B", "sub/b.dag": "JOB A z"}
    dag = read_dag(["a.dag", "sub/b.dag"], files.get, in_their_directories=True)
    assert dag.children == {"0.A": ("0.B",), "0.B": (), "1.A": ()}
    assert dag.nodes["1.A"].directory == "sub"


def test_what_holds_for_the_whole() -> None:
    dag = dag_of(
        "JOB A a\nCONFIG c.conf\nSET_JOB_ATTR Foo = 1 + 2\nENV GET X, Y\nENV SET A=1;B=2\nDOT d.dot UPDATE INCLUDE h\n"
        "NODE_STATUS_FILE s 30 ALWAYS-UPDATE\nJOBSTATE_LOG j\nMAXJOBS c 2\nFINAL F f\nSUBDAG EXTERNAL U u.dag\n"
    )
    assert (dag.config, dag.attributes, dag.environment_kept) == ("c.conf", {"Foo": "1 + 2"}, ("X", "Y"))
    assert (dag.environment_set, dag.job_state_log) == ("A=1;B=2", "j")
    assert dag.dot is not None
    assert dag.status_file is not None
    assert (dag.dot.path, dag.dot.update, dag.dot.include) == ("d.dot", True, "h")
    assert (dag.status_file.path, dag.status_file.interval_s, dag.status_file.always) == ("s", 30, True)
    assert dag.final is dag.nodes["F"]
    assert dag.nodes["U"].kind is NodeKind.SUBDAG


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("JOBB A a\nJOB A a", [(DagCode.KEYWORD, 1, 1)]),
        ("JOB A", [(DagCode.ARGUMENTS, 1, 6)]),
        ("JOB A a b", [(DagCode.ARGUMENTS, 1, 9)]),
        ("JOB PARENT a", [(DagCode.NODE_NAME, 1, 5)]),
        ("JOB A+B a", [(DagCode.NODE_NAME, 1, 5)]),
        ("JOB A a\nJOB A b", [(DagCode.TWICE, 2, 5)]),
        ("JOB A a\nPARENT A CHILD B", [(DagCode.NO_SUCH_NODE, 2, 16)]),
        ("JOB A a\nPARENT A", [(DagCode.ARGUMENTS, 2, 8)]),
        ("JOB A a\nRETRY A many", [(DagCode.NUMBER, 2, 9)]),
        ("JOB A a\nRETRY A -1", [(DagCode.NUMBER, 2, 9)]),
        ("JOB A a\nABORT-DAG-ON A 1 RETURN 256", [(DagCode.NUMBER, 2, 25)]),
        ("JOB A a\nVARS A x", [(DagCode.VARIABLE, 2, 8)]),
        ("JOB A a\nVARS A x=", [(DagCode.VARIABLE, 2, 8)]),
        ("JOB A a\nVARS A x==1", [(DagCode.VARIABLE, 2, 8)]),
        ("JOB A a\nVARS A x=it's", [(DagCode.VARIABLE, 2, 8)]),
        ('JOB A a\nVARS A x="1"y', [(DagCode.VARIABLE, 2, 8)]),
        ("JOB A a\nWEAK A CHILD A", [(DagCode.ARGUMENTS, 2, 1)]),
        ("JOB A a\nTOLERANCE A 101%", [(DagCode.NUMBER, 2, 13)]),
        ("JOB A a\nTOLERANCE A -1", [(DagCode.NUMBER, 2, 13)]),
        ("JOB A a\nTOLERANCE A 1 NEVER", [(DagCode.ARGUMENTS, 2, 15)]),
        ("JOB A a\nSAVE_POINT_FILE ALL_NODES", [(DagCode.ARGUMENTS, 2, 17)]),
        ("JOB A a\nFINAL F f\nSAVE_POINT_FILE F", [(DagCode.ARGUMENTS, 3, 17)]),
        ("JOB A a\nDONE ALL_NODES", [(DagCode.ARGUMENTS, 2, 6)]),
        ("JOB A a\nCONFIG c.conf garbage", [(DagCode.ARGUMENTS, 2, 15)]),
        ("JOB A a\nINCLUDE x garbage", [(DagCode.ARGUMENTS, 2, 11)]),
        ("JOB A 'a", [(DagCode.ARGUMENTS, 1, 7)]),
        ("JOB A { DIR d", [(DagCode.BLOCK, 1, 7)]),
        ("SUBMIT-DESCRIPTION s {\n} NOOP\nJOB A a", [(DagCode.ARGUMENTS, 1, 22)]),
        ('JOB A a\nVARS A x="1', [(DagCode.VARIABLE, 2, 8)]),
        ('JOB A a\nVARS A x="\\n"', [(DagCode.VARIABLE, 2, 8)]),
        ('JOB A a\nVARS A queue="1"', [(DagCode.VARIABLE, 2, 8)]),
        ("JOB A a\nSCRIPT DURING A x", [(DagCode.ARGUMENTS, 2, 8)]),
        ("JOB A a\nJOB B b\nPARENT A CHILD B\nPARENT B CHILD A", [(DagCode.CYCLE, 1, 5)]),
        ("JOB A a\nPARENT A CHILD A", [(DagCode.CYCLE, 1, 5)]),
        ("JOB A {\nqueue", [(DagCode.BLOCK, 1, 1)]),
        ("SPLICE S none.dag\nJOB A a", [(DagCode.FILE_MISSING, 1, 8), (DagCode.SPLICE, 1, 10)]),
        ("JOB A a\nREJECT", [(DagCode.REJECTED, 2, 1)]),
        ("JOB A a\nFINAL F f\nPARENT A CHILD F", [(DagCode.FINAL, 3, 16)]),
        ("JOB A a\nFINAL F f\nFINAL G g", [(DagCode.TWICE, 3, 9)]),
    ],
)  # fmt: skip
def test_mistakes_have_a_place(text: str, found: list[Any]) -> None:
    assert problems_of(text) == found


def test_a_dag_without_nodes_is_odd_but_not_wrong() -> None:
    dag = dag_of("# nothing\n  // at all")
    assert (dag.nodes, [each.code for each in dag.warnings]) == ({}, [DagCode.EMPTY])


def test_the_words_of_commands_have_hyphens_or_underscores() -> None:
    dag = dag_of(
        "Submit_Description s {\n executable = x\n}\njob A s\npre-skip A 2\nRetry A 3 unless_exit 9\n"
        "abort_dag_on A 5\nset-job-attr Foo = 1\nsave-point-file A p\njobstate-log j\n"
        "node-status-file n 5 always_update\nDOT d DONT_OVERWRITE"
    )
    node = dag.nodes["A"]
    assert (node.text, node.pre_skip, node.unless_exit, node.save_point) == ("executable = x", 2, 9, "p")
    assert (node.abort, dag.attributes, dag.job_state_log) == (Abort(status=5), {"Foo": "1"}, "j")
    assert dag.status_file is not None
    assert dag.dot is not None
    assert (dag.status_file.always, dag.dot.overwrite) == (True, False)


def test_lines_that_begin_with_slashes_are_comments() -> None:
    dag = dag_of("// JOB X x\nJOB A {\n  // queue 7\n executable = //host/x\n}\n  //\nJOB B http://b")
    assert (dag.nodes["A"].text, dag.nodes["B"].submit) == ("executable = //host/x", "http://b")


def test_variables_without_quotes_and_with_single_ones() -> None:
    node = dag_of('JOB A a\nVARS A x=1 foo = Bar  y=\'it\\\'s "so"\' z=a=b My.Q="it\'s" e=""').nodes["A"]
    found = {each.name: each.value for each in node.variables}
    assert found == {"x": "1", "foo": "Bar", "y": 'it\'s "so"', "z": "a=b", "My.Q": "it's", "e": ""}


def test_paths_may_stand_in_quotes() -> None:
    dag = dag_of("JOB A \"a b.sub\" DIR 'my dir'\nCONFIG \"c d.conf\"\nINCLUDE 'i.dag'", i_dag="JOB B b")
    assert tuple(dag.nodes) == ("A", "B")
    assert (dag.nodes["A"].submit, dag.nodes["A"].directory, dag.config) == ("a b.sub", "my dir", "c d.conf")


def test_a_description_may_stand_behind_what_names_it() -> None:
    later = "JOB A s\nJOB B t\nSUBDAG EXTERNAL C s\nINCLUDE more.dag\nSUBMIT-DESCRIPTION s {\n executable = x\n}"
    dag = dag_of(later, more_dag="SUBMIT-DESCRIPTION t @=end\n executable = y\n@end\n")
    assert [(each.submit, each.text) for each in dag.nodes.values()] == [
        ("", "executable = x"), ("", "executable = y"), ("s", None),
    ]  # fmt: skip
    assert dag.warnings == ()


def test_of_descriptions_with_one_name_the_first_and_outer_holds() -> None:
    one, two = (f"SUBMIT-DESCRIPTION s {{\n executable = {name}\n}}\n" for name in ("x", "y"))
    dag = dag_of(f"{one}{two}JOB A s")
    assert dag.nodes["A"].text == "executable = x"
    assert [(each.code, each.span.line) for each in dag.warnings] == [(DagCode.DESCRIPTION_TWICE, 4)]
    dag = dag_of(f"SPLICE S s.dag\nJOB A s\nJOB B t\n{one}", s_dag=f"JOB C s\n{two}{two.replace(' s ', ' t ')}")
    assert [node.text for node in dag.nodes.values()] == ["executable = x", "executable = x", "executable = y"]
    assert [(each.code, each.span.file) for each in dag.warnings] == [(DagCode.DESCRIPTION_TWICE, "s.dag")]
    # Files that include the same one do not define anything twice.
    both = "INCLUDE c.dag\nJOB A s\n"
    assert dag_of(f"{both}SPLICE S s.dag", s_dag=both, c_dag=one).warnings == ()


def test_words_behind_the_end_of_a_block_belong_to_its_node() -> None:
    node = dag_of("JOB B @=End\n executable = x\n@Ending\n@End DONE NOOP\tDIR d").nodes["B"]
    assert (node.text, node.done, node.noop, node.directory) == ("executable = x\n@Ending", True, True, "d")


def test_an_edge_that_is_weak_and_strong_is_strong() -> None:
    inner = "JOB X x\nJOB Y y\nJOB Z z\nweak parent X CHILD Y Z\nPARENT X CHILD Z"
    dag = dag_of("JOB A a\nSPLICE S s.dag\nPARENT A CHILD S\nWEAK PARENT A CHILD S", s_dag=inner)
    assert dag.weak == {("S+X", "S+Y")}
    assert dag_of("JOB A a\nSPLICE S s.dag\nWEAK PARENT S CHILD A", s_dag=inner).weak == {
        ("S+X", "S+Y"), ("S+Y", "A"), ("S+Z", "A"),
    }  # fmt: skip


def test_a_word_of_a_script_that_is_no_macro_is_odd() -> None:
    dag = dag_of("JOB A a\nSCRIPT POST A p.sh $job $DAGID $HOME")
    assert [(each.code, each.span.line, each.span.column) for each in dag.warnings] == [(DagCode.SCRIPT_MACRO, 2, 32)]


def test_all_mistakes_are_told_at_once() -> None:
    assert [code for code, _, _ in problems_of("JOB A\nFOO\nRETRY B 1\nJOB C c")] == [
        DagCode.KEYWORD, DagCode.ARGUMENTS, DagCode.NO_SUCH_NODE,
    ]  # fmt: skip


def test_a_file_that_reads_itself_is_refused() -> None:
    assert (DagCode.LIMIT) in [code for code, _, _ in problems_of("JOB A a\nINCLUDE main.dag")]


def test_a_rescue_file_says_what_is_done() -> None:
    dag = apply_rescue(dag_of(DIAMOND), "r", {"r": "# x\nDONE A\nDONE C\nRETRY B 1\n"}.get)
    assert [name for name, node in dag.nodes.items() if node.done] == ["A", "C"]
    assert dag.nodes["B"].retries == 1
    with pytest.raises(BadDag, match="not allowed in a rescue file"):
        apply_rescue(dag, "r", {"r": "JOB X x\n"}.get)
