"""The submit language as a user meets it: queue statements, macros, commands, and what is said of mistakes."""

from __future__ import annotations

import re
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.config import MemoryHost, Severity, load_text
from roost.schedd.submit import CODES, MemorySubmitHost, SubmitCode, listing
from roost.schedd.submit.foreign import REFUSED, WITHOUT_EFFECT
from tests.schedd.submit.machine import arguments, machine, plan, sleep, submitted


def said(text: str, **options: object) -> list[tuple[str, int, int]]:
    """Code, line and column of everything that is said."""
    found = submitted(text, **options)  # type: ignore[arg-type]
    return [(one.code.removeprefix("submit-"), one.span.line, one.span.column) for one in found.findings]


# -- queue ---------------------------------------------------------------------------------------------------------

_ROW: Final = "arguments = $(Item)/$(Step)/$(ItemIndex)/$(Process)\n"


@pytest.mark.parametrize(
    ("queue", "wanted"),
    [
        ("queue", ["/0/0/0"]),
        ("QUEUE 2", ["/0/0/0", "/1/0/1"]),
        ("queue 1+1", ["/0/0/0", "/1/0/1"]),
        ("queue $(N)", ["/0/0/0", "/1/0/1"]),
        ("queue in (a, b)", ["a/0/0/0", "b/0/1/1"]),
        ("queue in a b", ["a/0/0/0", "b/0/1/1"]),
        ("queue 2 in (a\n, b\n)", ["a/0/0/0", "a/1/0/1", "b/0/1/2", "b/1/1/3"]),
        ("queue Item in (a\n b)", ["a/0/0/0", "b/0/1/1"]),
        ("queue in $(L)", ["x/0/0/0", "y/0/1/1"]),
        ("queue in [1:] a b c", ["b/0/1/0", "c/0/2/1"]),
        ("queue in [::2] a b c", ["a/0/0/0", "c/0/2/1"]),
        ("queue in [-1] a b c", ["c/0/2/0"]),
        ("queue in [:-1] a b c", ["a/0/0/0", "b/0/1/1"]),
        ("queue in [5:] a b", []),
        ("queue from (\n a b\n\n# no\n c\n)", ["a b/0/0/0", "c/0/1/1"]),
        ("queue from list |", ["a 1/0/0/0", "b 2/0/1/1"]),
        ("queue from items.txt", ["one/0/0/0", "two three/0/1/1"]),
        ("queue from [1:] items.txt", ["two three/0/1/0"]),
        ("queue matching *.dat", ["a.dat/0/0/0", "b.dat/0/1/1"]),
        ("queue matching files *", ["a.dat/0/0/0", "b.dat/0/1/1", "items.txt/0/2/2", "x.sh/0/3/3"]),
        ("queue matching dirs *", ["d//0/0/0"]),
        ("queue 0", []),
        ("queue in ()", []),
    ],
)
def test_queue_statements(queue: str, wanted: list[str]) -> None:
    host = machine()
    host.files["/home/me/items.txt"] = "one\n# none\n\ntwo three\n"
    found = submitted(f"executable = /bin/sleep\nN = 2\nL = x, y\n{_ROW}{queue}\n", host)
    assert not found.errors, [str(one) for one in found.errors]
    assert [ad["Args"] for cluster in found.clusters for ad in cluster.ads()] == wanted


def test_several_variables_take_the_words_of_a_line() -> None:
    text = "arguments = $(a)|$(b)|$(c)\nqueue a, b c from (\n 1, 2 3 4\n x y\n z\n)\n"
    assert arguments(text) == ["1|2|3 4", "x|y|", "z||"]


def test_a_table_names_its_own_variables() -> None:
    host = machine()
    host.files["/home/me/t.csv"] = "name, size\nx y, 1\n\nz,2\n"
    assert arguments("arguments = $(size):$(name)\nqueue from TABLE t.csv\n", host=host) == ["1:x y", "2:z"]
    assert arguments("arguments = $(b)$(a)\nqueue 1 from table (\n a b\n 1 2\n)\n") == ["21"]


def test_conditions_may_hold_queue_statements() -> None:
    text = "if defined X\nqueue 3\nelse\narguments = else\nqueue\nendif\n"
    assert arguments(text) == ["else"]
    assert len(arguments(text, arguments=("X = 1",))) == 3


def test_included_files_may_define_and_queue() -> None:
    host = machine()
    host.files["/home/me/more.sub"] = "arguments = included\nqueue 2\n"
    assert arguments("include : more.sub\n", host=host) == ["included", "included"]


def test_the_command_line_comes_before_the_file_and_appended_lines_after_it() -> None:
    text = "A = 2\narguments = $(A)$(B)\nqueue 1\narguments = z\nqueue 1\n"
    assert arguments(text, arguments=("A=1", "B=7")) == ["27", "z"]
    assert arguments(text, append=("arguments = last", "A = 9")) == ["last", "last"]
    assert arguments("arguments = $(Process)\n", queue="2") == ["0", "1"]


def test_appended_lines_count_where_nobody_wrote_a_queue_statement_and_may_have_one() -> None:
    text = "executable = /bin/sleep"
    assert arguments(text, append=("arguments = a",)) == ["a"]
    assert arguments(text, append=("queue n in (1 2)", "arguments = $(n)")) == ["1", "2"]
    wrong = submitted(text + "\nqueue\n", append=("Queue 2",))
    assert [error.message for error in wrong.errors] == [
        "both the command line and the description have a queue statement"
    ]


# -- macros --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A = 1\nB = $(A)\nA = 2\narguments = $(B)", "2"),
        ("A = 1\nA = $(A)2\narguments = $(A)", "12"),
        ("A = x\nA += y\narguments = $(A)", "x y"),
        ("arguments = $(nope)-$(nope:d)-$(DOLLAR)(x)", "--$(x)".replace("--", "-d-")),
        ("arguments = $$(Arch) $$([Memory / 2])", "$$(Arch) $$([Memory / 2])"),
        ("x = y/z.txt\narguments = $Ff(x) $Fn(x) $Fp(x)", "/home/me/y/z.txt z y/"),
        ("arguments = $(SUBMIT_FILE) $(YEAR) $(ARCH) $(OPSYS)", "test.sub 2023 X86_64 LINUX"),
        ("+A = 5\narguments = $(MY.A)", "5"),
        ("text @=end\n  two\n  words\n@end\narguments = $(text)", "two words"),
        ("arguments = $(Cluster).$(ProcId) $(JobId) $(Row)", "1.0 1.0 0"),
        ("arguments = \\\n  one \\\n  two", "one two"),
    ],
)
def test_macros(text: str, wanted: str) -> None:
    assert arguments(f"{text}\nqueue\n") == [wanted]


# -- what is said of mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("queue\n", "no-executable", 1, 1),
        ("executable = nope\nqueue\n", "executable-missing", 1, 14),
        ("executable = d\nqueue\n", "executable-missing", 1, 14),
        ("executable = /bin/sleep\ninitialdir = nope\nqueue\n", "no-such-directory", 2, 14),
        ("executable = /bin/sleep\nuniverse = grid\nqueue\n", "universe", 2, 12),
        ("executable = /bin/sleep\nuniverse = nope\nqueue\n", "universe", 2, 12),
        ('executable = /bin/sleep\narguments = "a \'b"\nqueue\n', "arguments", 2, 16),
        ('executable = /bin/sleep\narguments = a "b\nqueue\n', "arguments", 2, 15),
        ("executable = /bin/sleep\nenvironment = A\nqueue\n", "environment", 2, 15),
        ("executable = /bin/sleep\nperiodic_hold = a &&\nqueue\n", "expression", 2, 19),
        ("executable = /bin/sleep\nperiodic_hold = a && \\\n  b c\nqueue\n", "expression", 3, 5),
        ("executable = /bin/sleep\nrank = (\nqueue\n", "expression", 2, 8),
        ("executable = /bin/sleep\n+A = {\nqueue\n", "expression", 2, 6),
        ("executable = /bin/sleep\nrequirements = Memory >\nqueue\n", "expression", 2, 23),
        ("executable = /bin/sleep\npriority = high\nqueue\n", "integer", 2, 12),
        ("executable = /bin/sleep\nhold = maybe\nqueue\n", "boolean", 2, 8),
        ("executable = /bin/sleep\nrequest_memory = 5 x\nqueue\n", "size", 2, 18),
        ("executable = /bin/sleep\nnotification = often\nqueue\n", "word", 2, 16),
        ("executable = /bin/sleep\nkill_sig = SIGNOPE\nqueue\n", "signal", 2, 12),
        (
            "executable = /bin/sleep\nshould_transfer_files = NO\ntransfer_input_files = a.dat\nqueue\n",
            "transfer",
            3,
            24,
        ),
        ("executable = /bin/sleep\naccounting_group = a b\nqueue\n", "accounting", 2, 20),
        ("executable = /bin/sleep\nconcurrency_limits = a-b\nqueue\n", "limits", 2, 22),
        ("executable = /bin/sleep\n+1x = 3\nqueue\n", "name", 2, 7),
        ("executable = /bin/sleep\nqueue -1\n", "queue", 2, 1),
        ("executable = /bin/sleep\nqueue many\n", "queue", 2, 1),
        ("executable = /bin/sleep\nqueue Process in a\n", "queue", 2, 1),
        ("executable = /bin/sleep\nqueue x x in a\n", "queue", 2, 1),
        ("executable = /bin/sleep\nqueue in [::-1] a b\n", "queue", 2, 1),
        ("executable = /bin/sleep\nqueue from nope.txt\n", "items", 2, 1),
        ("executable = /bin/sleep\nqueue from fail |\n", "items", 2, 1),
        ("executable = /bin/sleep\nqueue 99999999999\n", "limit-reached", 2, 1),
        ("executable = /bin/sleep\nA = $(B)\nB = $(A)\narguments = $(A)\nqueue\n", "macro", 4, 1),
        ("executable = /bin/sleep\narguments = $INT(nope)\nqueue\n", "macro", 2, 1),
        ("executable = /bin/sleep\nretry_until = (\nqueue\n", "expression", 2, 15),
    ],
)
def test_an_error_says_where(text: str, code: str, line: int, column: int) -> None:
    found = submitted(text)
    assert not found.clusters
    assert (code, line, column) in [
        (one.code.removeprefix("submit-"), one.span.line, one.span.column) for one in found.errors
    ], [str(one) for one in found.findings]
    assert all(one.remedy for one in found.findings)


@pytest.mark.parametrize(
    ("text", "code", "suggestion"),
    [
        ("max_retires = 3", "unused", "max_retries"),
        ("requirments = true", "unused", "requirements"),
        ("requestmemory2 = 3", "unused", "request_memory"),
        ("out = x", "unused", "output"),
        ("zebra = 3", "unused", None),
        ("+NumHolds = -5", "unused", None),
        ('My.OsUser = "root"', "unused", None),
        ("+EnteredCurrentStatus = 1", "unused", None),
        ("request_mem = 3", "suspicious", "request_memory"),
        ("+Name = hello", "suspicious", None),
        ("requirements = Memory > 5", "obsolete", None),
        ("deferral_window = 3", "unused", None),
        ("on_exit_remove = ExitCode == 0", "suspicious", None),
        ("periodic_release = HoldReasonCode == 12", "suspicious", None),
        ("periodic_remove = RemoteWallClockTime > 60", "suspicious", None),
        ("leave_in_queue = true", "suspicious", None),
        ("nice_user = true\naccounting_group = a", "conflict", None),
        ("job_lease_duration = 3", "conflict", None),
        ("transfer_input_files = nope", "file-missing", None),
    ],
)
def test_a_warning_keeps_nobody_from_submitting(text: str, code: str, suggestion: str | None) -> None:
    found = submitted(f"executable = /bin/sleep\n{text}\nqueue\n")
    (warning,) = found.findings
    assert (warning.code, warning.severity) == (f"submit-{code}", Severity.WARNING)
    assert warning.suggestion == suggestion
    assert found.count == 1


@pytest.mark.parametrize(
    "text",
    [
        "on_exit_remove = (ExitBySignal == false) && (ExitCode == 0)",
        "on_exit_remove = ExitCode =?= 0",
        "periodic_release = HoldReasonCode == 12 && NumHolds < 3",
        "periodic_release = false",
        "leave_in_queue = JobStatus == 4 && time() - CompletionDate < 60",
        "max_retries = 3",
        '+Name = "hello"',
    ],
)
def test_what_is_right_is_not_warned_of(text: str) -> None:
    assert submitted(f"executable = /bin/sleep\n{text}\nqueue\n").findings == ()


def test_all_mistakes_are_told_at_once() -> None:
    text = 'executable = nope\narguments = "\nrequest_memory = x y\npriority = a\nperiodic_hold = (\nbogus = 1\nqueue\n'
    assert {code for code, _, _ in said(text)} == {
        "executable-missing",
        "arguments",
        "expression",
        "integer",
        "unused",
    }


def test_lines_that_are_no_statement_are_told_with_their_place() -> None:
    found = submitted("executable = /bin/sleep\nwhat is this\na b = 3\nif\nqueue\n")
    assert [(one.code, one.span.line) for one in found.errors] == [
        ("config-missing-operator", 2),
        ("config-junk-before-operator", 3),
        ("config-bad-condition", 4),
        ("config-unbalanced-if", 4),
    ]


def test_a_mistake_in_one_item_says_which_job() -> None:
    found = submitted("executable = /bin/sleep\nrequest_memory = $(m)\nqueue m in (1G, 2 x, 3)\n")
    assert not found.errors
    found = submitted("executable = /bin/sleep\nrequest_memory = $(m)\nqueue m from (\n1G\n2 x\n3\n)\n")
    (error,) = found.errors
    assert "(job 1 of the cluster)" in error.message
    assert error.span.line == 2
    found = submitted("executable = /bin/sleep\nrequest_memory = $(m)\nqueue m from (\n1G\n2 x\n3 y\n4 z\n)\n")
    (error,) = found.errors
    assert "(job 1 of the cluster, and 2 more)" in error.message


def test_a_description_without_queue_queues_one_job_and_says_so() -> None:
    found = submitted("executable = /bin/sleep\n")
    assert ([one.code for one in found.findings], found.count) == (["submit-no-queue"], 1)


def test_what_a_macro_refers_to_is_used() -> None:
    text = "A = 1\nB = $(A)\nC = 3\nD = x\narguments = $(B) $INT(C)\nif defined D\nendif\nE = a b\nqueue in $(E)\n"
    assert submitted(f"executable = /bin/sleep\n{text}").findings == ()
    text = "kind0 = a\nkind1 = b\narguments = $(kind$(Process))\nqueue 2\n"
    assert submitted(f"executable = /bin/sleep\n{text}").findings == ()


def test_every_code_has_a_remedy_and_is_told_by_the_catalogue() -> None:
    assert set(CODES) == set(SubmitCode)
    assert all(doc.meaning and doc.remedy for doc in CODES.values())


def test_the_listing_shows_whole_ads() -> None:
    texts = list(listing(submitted("executable = /bin/sleep\narguments = $(JobId)\nqueue 2\n"), cluster=9))
    assert [re.findall(r"^(?:Args|ProcId|ClusterId) = (.*)$", text, re.MULTILINE) for text in texts] == [
        ['"9.0"', "0", "9"],
        ['"9.1"', "1", "9"],
    ]


def test_site_policy_comes_from_the_configuration() -> None:
    config = load_text(
        """JOB_DEFAULT_REQUESTMEMORY = 512
        APPEND_REQUIREMENTS = TARGET.Good
        SUBMIT_ATTRS = Site
        Site = "here"
        DEFAULT_RANK = Mips
        ARCH = SPARC
        NICE_USER_ACCOUNTING_GROUP_NAME = leftovers
        """,
        MemoryHost(),
    )
    assert sleep("nice_user = true\nqueue\n", config=config).common["AccountingGroup"].startswith("leftovers.")
    common = sleep("queue\n", config=config).common
    assert (common["RequestMemory"], common["Site"], str(common["Rank"])) == (512, "here", "Mips")
    assert "(TARGET.Good)" in str(common["Requirements"])
    assert 'TARGET.Arch == "SPARC"' in str(common["Requirements"])


def test_a_site_may_have_missing_files_refused() -> None:
    text = "executable = /bin/sleep\ninput = nope\nqueue\n"
    assert submitted(text).count == 1
    strict = load_text("SUBMIT_SKIP_FILECHECKS = False\n", MemoryHost())
    assert [one.code for one in submitted(text, config=strict).errors] == ["submit-file-missing"]


def test_a_job_that_transfers_no_files_names_the_sites_shared_file_system() -> None:
    config = load_text("FILESYSTEM_DOMAIN = physics.example.edu\n", MemoryHost())
    text = "executable = /bin/sleep\nshould_transfer_files = no\nqueue\n"
    assert plan(text, config=config).common["FileSystemDomain"] == "physics.example.edu"
    assert plan(text).common["FileSystemDomain"] == "example.org"


def test_files_need_not_be_there_where_nobody_looks() -> None:
    assert plan("executable = nope\ninput = nope\nqueue\n", look_at_files=False).count == 1


_LINES = st.lists(
    st.sampled_from(
        [
            "executable = /bin/sleep",
            'arguments = $(Item) $(x:$(y)) "',
            "arguments = \"'$(x)'\"",
            "x = $(y)$(x)",
            "y = $(x)",
            "+A = $(x)",
            'MY.A = "$(Process)"',
            "if $(x)",
            "if defined x",
            "else",
            "endif",
            "queue",
            "queue 2 x in (",
            " a, b",
            ")",
            "queue x from (a",
            "queue from list |",
            "@=end",
            "y @=end",
            "@end",
            "request_memory = $(Process)$(x)",
            "requirements = $(x) && $$(a",
            "environment = A=$(x);B='$(y)'",
            "getenv = $(x)",
            "include : $(x)",
            "use feature : x",
            "periodic_hold = $INT(x) > $RANDOM_INTEGER(1,2)",
            "\\",
            "# comment \\",
            "log = $(Cluster)$Fn(x)",
            "queue $(x) y in [$(x):] $(y)",
            "max_retries = $(Step)",
        ]
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(_LINES)
def test_whatever_is_written_is_answered(lines: list[str]) -> None:
    found = submitted("\n".join(lines))
    assert not (found.errors and found.clusters)
    for cluster in found.clusters:
        for index in range(min(cluster.count, 3)):
            cluster.differences(index)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_answered(text: str) -> None:
    submitted(text, MemorySubmitHost(files={"/bin/sleep": ""}))


@pytest.mark.parametrize("command", ["deferral_time = 100", "cron_minute = 5"])
def test_a_job_of_the_scheduler_universe_waits_for_no_time(command: str) -> None:
    text = f"executable = /bin/sleep\nuniverse = scheduler\n{command}\nqueue\n"
    assert [code for code, line, _ in said(text) if line == 3] == ["universe"]
    assert not submitted(text.replace("scheduler", "local")).errors


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("notification = complete", True),
        ("notification = never", False),
        ("skip_if_dataflow = true", False),
        ("max_idle = 3", False),
        ('max_idle = 3\nMY.DAGManNodesLog = "/nodes"', True),
        ("manifest = false", False),
        ("stream_output = true", False),
        ("stream_output = true\nshould_transfer_files = YES", True),
    ],
)
def test_a_command_that_nothing_acts_on_says_so(line: str, told: bool) -> None:
    found = submitted(f"executable = /bin/sleep\n{line}\nqueue\n")
    assert not found.errors
    assert any(one.code == SubmitCode.NO_EFFECT for one in found.findings) is told


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("gpus_minimum_memory = 8000", "GlobalMemoryMb >= GPUsMinMemory"),
        ("require_gpus = A || B", "A || B"),
        ("require_gpus = A || B\ngpus_minimum_memory = 8000", "(A || B) && GlobalMemoryMb >= GPUsMinMemory"),
        ("require_gpus = A && B\ngpus_minimum_memory = 8000", "A && B && GlobalMemoryMb >= GPUsMinMemory"),
        ("require_gpus = A ? B : C\ngpus_minimum_memory = 8000", "(A ? B : C) && GlobalMemoryMb >= GPUsMinMemory"),
        ("require_gpus = Capability > 4\ngpus_maximum_capability = 9", "Capability > 4"),
        ("gpus_maximum_capability = 9", "Capability <= GPUsMaxCapability"),
    ],
)
def test_what_is_wanted_of_gpus_is_all_wanted(lines: str, wanted: str) -> None:
    (ad,) = submitted(f"executable = /bin/sleep\nrequest_gpus = 1\n{lines}\nqueue\n").clusters[0].ads()
    assert str(ad["RequireGPUs"]) == wanted


@pytest.mark.parametrize(("written", "number"), [("12.2", 12020), ("12", 12000), ("11.8", 11080), ("12020", 12020)])
def test_versions_of_the_runtime_of_gpus_are_numbers_of_thousands(written: str, number: int) -> None:
    text = f"executable = /bin/sleep\nrequest_gpus = 1\ngpus_minimum_runtime = {written}\nqueue\n"
    (ad,) = submitted(text).clusters[0].ads()
    assert (ad["GPUsMinRuntime"], str(ad["RequireGPUs"])) == (number, "MaxSupportedVersion >= GPUsMinRuntime")


# -- retries with more memory and disk ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("request_memory = 1GB, 2G, 8 gb", {"RequestMemory": "1024", "RetryRequestMemory": "{ 2048,8192 }"}),
        ("request_memory = 1GB, 2G\nretry_request_memory_max = 1.5 GB",
         {"RequestMemory": "1024", "RetryRequestMemory": "{ 2048 }", "MaxRequestMemory": "1536"}),
        ("retry_request_memory = 4GB", {"RetryRequestMemory": "4096"}),
        ("retry_request_memory = 2G, 8 gb", {"RetryRequestMemory": "{ 2048,8192 }"}),
        ("retry_request_memory = RequestMemory*2", {"RetryRequestMemory": "RequestMemory * 2"}),
        ("retry_request_memory_increase = 500 MB", {"NextRequestMemory": "RequestMemory + 500"}),
        ("retry_request_memory_increase = 500", {"NextRequestMemory": "RequestMemory + 500"}),
        ("retry_request_memory_increase = 250 * 2", {"NextRequestMemory": "RequestMemory + 500"}),
        ("retry_request_memory_increase = RequestMemory*2\nretry_request_memory_max = 10 G",
         {"NextRequestMemory": "RequestMemory * 2", "MaxRequestMemory": "10240"}),
        ("retry_request_memory_max = 2GB", {"MaxRequestMemory": "2048"}),
        ("request_disk = 1GB, 2G", {"RequestDisk": "1048576", "RetryRequestDisk": "{ 2097152 }"}),
        ("request_disk = 1GB\nretry_request_disk = 2G", {"RequestDisk": "1048576", "RetryRequestDisk": "2097152"}),
        ("retry_request_disk_increase = 1 MB", {"NextRequestDisk": "RequestDisk + 1024"}),
        ("request_memory = max({1, 2})", {"RequestMemory": "max({ 1,2 })"}),
    ],
)  # fmt: skip
def test_what_to_ask_for_when_it_was_too_little(text: str, wanted: dict[str, str]) -> None:
    found = submitted(f"executable = /bin/sleep\n{text}\nqueue\n")
    assert not found.findings
    (ad,) = found.clusters[0].ads()
    names = (f"{kind}Request{what}" for kind in ("Retry", "Next", "Max") for what in ("Memory", "Disk"))
    said = {name: str(ad[name]) for name in (*wanted, *names) if name in ad}
    assert said == wanted


def test_the_retries_of_each_job_are_its_own() -> None:
    cluster = sleep("retry_request_memory = $(m)G\nqueue m in (1 2 3)\n")
    assert [ad["RetryRequestMemory"] for ad in cluster.ads()] == [1024, 2048, 3072]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("request_memory = 2G, 1G", "size", "larger than the one before"),
        ("request_memory = 1G, 2Q", "size", "not a valid list of sizes"),
        ("request_memory = 1G,,2G", "size", "not a valid list of sizes"),
        ("request_memory = 1GB * 2", "size", "cannot be part of an expression"),
        ("retry_request_memory = 2G, 2G", "size", "larger than the one before"),
        ("retry_request_memory = 2G, *", "size", "cannot be part"),
        ("retry_request_memory_increase = *", "expression", ""),
        ("retry_request_memory_increase = -5", "size", "neither a size above 0"),
        ("retry_request_memory_increase = Foo", "size", "nor an expression of RequestMemory"),
        ("retry_request_memory_max = 64", "suspicious", "never retried with more"),
        ("request_memory = 1G\nretry_request_memory = 512 MB", "suspicious", "never retried with more"),
        ("retry_request_memory = 1G\nretry_request_memory_increase = 5", "conflict", "is ignored"),
        ("request_memory = 1G, 2G\nretry_request_memory = 4G", "conflict", "are ignored"),
    ],
)
def test_wrong_retries_are_reported(text: str, code: str, words: str) -> None:
    found = submitted(f"executable = /bin/sleep\n{text}\nqueue\n")
    assert [one.code.removeprefix("submit-") for one in found.findings] == [code]
    assert words in found.findings[0].message
    remedy = found.findings[0].remedy or ""
    assert "1024 * 1024" not in remedy + found.findings[0].message


def test_a_container_without_a_program_runs_what_its_image_says() -> None:
    found = submitted("universe = docker\ndocker_image = debian\nqueue\n")
    (ad,) = found.clusters[0].ads()
    assert (ad["Cmd"], ad["TransferExecutable"]) == ("", False)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_the_user_would_not_get_is_refused(name: str) -> None:
    value = "false" if name.startswith("erase_") else "yes"
    found = submitted(f"executable = /bin/sleep\n{name} = {value}\nqueue\n")
    assert [(one.code, one.severity, one.span.line) for one in found.findings] == [
        (SubmitCode.UNSUPPORTED, Severity.ERROR, 2)
    ]
    other = "true" if name.startswith("erase_") else "false"
    assert not submitted(f"executable = /bin/sleep\n{name} = {other}\nqueue\n").errors


@pytest.mark.parametrize("name", [*sorted(WITHOUT_EFFECT), "ec2_ami_id", "vm_memory", "batch_queue", "arc_rte"])
def test_commands_without_effect_are_named_and_not_called_typos(name: str) -> None:
    found = submitted(f"executable = /bin/sleep\n{name} = 1\nqueue\n")
    assert [one.code for one in found.findings] == [SubmitCode.NO_EFFECT]


def test_a_macro_may_have_the_name_of_a_command() -> None:
    assert not submitted(
        "executable = /bin/sleep\noutput_directory = o\noutput = $(output_directory)/x\nqueue\n"
    ).findings


@pytest.mark.parametrize(
    ("servers", "refused"), [("", False), ("tls://a:4222, tls://b:4222", False), ("tls://a:4222, nats://b:4222", True)]
)
def test_encryption_is_refused_where_messages_are_in_clear_text(servers: str, refused: bool) -> None:
    config = load_text(f"NATS_SERVERS = {servers}\n", MemoryHost())
    found = submitted("executable=/bin/sleep\nencrypt_input_files=a\ndont_encrypt_output_files=b\nqueue", config=config)
    assert [each.name for each in found.errors] == (["encrypt_input_files"] if refused else [])
