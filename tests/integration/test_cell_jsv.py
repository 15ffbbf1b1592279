"""Verifiers of submissions on a real pool: of the queue and of `qsub`, in three languages, good ones and bad ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.cli.gridengine.entry import main
from tests.integration.kit import PATIENCE_S, CommandFailed, Pool, eventually, running
from tests.integration.test_cell_jobs import cell

SHELL = r"""#!/bin/sh
params=
while read -r word name value; do
    case $word in
        QUIT) exit 0 ;;
        START) params=; echo STARTED ;;
        PARAM) params="$params $name=$value" ;;
        BEGIN)
            case $params in
                *" l_hard="*) echo RESULT STATE ACCEPT ;;
                *" N=fix"*) echo PARAM l_hard lic=1; echo LOG INFO "$$ $params"; echo RESULT STATE CORRECT ;;
                *) echo RESULT STATE REJECT ask for a licence, please ;;
            esac ;;
    esac
done
"""
PERL = r"""#!/usr/bin/perl
$| = 1;
my %env;
while (<STDIN>) {
    chomp;
    if (/^START/) { %env = (); print "SEND ENV\nSTARTED\n"; }
    elsif (/^ENV ADD (\S+) ?(.*)/) { $env{$1} = $2; }
    elsif (/^BEGIN/) {
        print "ENV MOD COLOUR $env{COLOUR}!\n" if $env{COLOUR};
        print "ENV ADD ADDED two\\nlines\nENV DEL GONE\nPARAM N perl\nPARAM p -7\nRESULT STATE CORRECT\n";
    }
    elsif (/^QUIT/) { exit 0; }
}
"""
PYTHON = r"""#!/usr/bin/env python3
import sys
for line in sys.stdin:
    word = line.split()[0]
    if word == "START":
        print("STARTED", flush=True)
    elif word == "BEGIN":
        for name, value in (("N", "py"), ("cwd", "%(place)s"), ("o", "out.$TASK_ID"), ("j", "y"), ("t_min", "2"),
                            ("t_max", "6"), ("t_step", "2"), ("CMDARGS", "1"), ("CMDARG0", "a  'b'")):
            print("PARAM", name, value)
        print("RESULT STATE CORRECT", flush=True)
    elif word == "QUIT":
        break
"""
ANSWERS = r"""#!/bin/sh
while read -r word rest; do
    case $word in
        START) echo STARTED ;;
        BEGIN) cat %(place)s/answer ;;
        QUIT) exit 0 ;;
    esac
done
"""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory that every user can look into."""
    import tempfile

    found = Path(tempfile.mkdtemp(prefix="roost-jsv-"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with running(tmp_path_factory.mktemp("jsv"), cpus=4) as found:
        cell(found, found.place / "cell", slots=4, complexes="licence lic INT <= YES YES 0 0", glob="licence=9")
        yield found


@pytest.fixture(autouse=True)
def user(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("ROOST_HOME", str(pool.home))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SGE_ROOT", raising=False)
    monkeypatch.chdir(home)
    yield home
    configure(pool, "none")


def configure(pool: Pool, url: str, allowed: str = "ac,h,i,e,o,j,M,N,p,w", **parameters: int) -> None:
    text = ",".join(f"jsv_{name}={value}" for name, value in parameters.items()) or "none"
    values = {"jsv_url": url, "jsv_allowed_mod": allowed, "qmaster_params": text}
    path = pool.place / "cell/configurations/global"
    kept = [line for line in path.read_text().splitlines() if line.partition(" ")[0] not in values]
    path.write_text("\n".join([*kept, *(f"{name} {value}" for name, value in values.items())]) + "\n")
    pool("cell", "apply", str(pool.place / "cell"))


def program(place: Path, text: str, name: str = "jsv") -> Path:
    path = place / name
    new = place / f".{name}"
    new.write_text(text % {"place": place} if "%(place)s" in text else text)
    new.chmod(0o755)
    new.rename(path)
    return path


def qsub(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main("qsub", list(words))
    found = capsys.readouterr()
    return status, found.out + found.err


def test_a_verifier_of_the_queue_corrects_and_refuses_and_is_kept(
    pool: Pool, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(pool, f"script:{program(place, SHELL)}")
    words = ("-b", "y", "-h", "true")
    assert qsub(capsys, *words) == (1, "Unable to run job: ask for a licence, please\nExiting.\n")
    assert qsub(capsys, "-N", "has", "-l", "lic=2", *words)[0] == 0
    numbers = []
    for _ in range(2):
        status, said = qsub(capsys, "-N", "fix", "-terse", *words)
        assert status == 0, said
        numbers.append(said.strip())
    assert [pool.job(f"{number}.0")["CellResources"] for number in numbers] == ["lic=1"] * 2
    log = [line for line in (pool.home / "log/schedd.log").read_text().splitlines() if "JSV: " in line][-2:]
    first, second = (line.split("JSV: ")[1].split()[0] for line in log)
    assert first == second, "one process serves all"
    told = log[-1].split("JSV: ")[1]
    for word in ("VERSION=1.0", "CONTEXT=server", "CLIENT=qmaster", "CMDNAME=true", "b=y", "h=u", "N=fix"):
        assert f" {word}" in told


def test_jobs_of_other_commands_are_verified_too(pool: Pool, place: Path) -> None:
    configure(pool, f"script:{program(place, SHELL)}")
    with pytest.raises(CommandFailed, match="ask for a licence, please"):
        pool.submit("", "true")
    cluster = pool.submit("batch_name = fix\nhold = true", "true")
    assert pool.job(f"{cluster}.0")["CellResources"] == "lic=1"
    configure(pool, f"script:{program(place, PYTHON)}")
    with pytest.raises(CommandFailed, match="of a job that qsub did not submit: its description decides that"):
        pool.submit("", "true")


@pytest.mark.skipif(not shutil.which("perl"), reason="there is no perl")
def test_a_verifier_in_perl_changes_the_environment(
    pool: Pool, place: Path, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(pool, str(program(place, PERL)))
    script = user / "script.sh"
    script.write_text('echo "$COLOUR|$ADDED|${GONE-none}|$KEPT" > result\n')
    status, said = qsub(capsys, "-v", "COLOUR=a\tred,GONE=1,KEPT=x y", "-cwd", str(script))
    assert (status, said.partition("(")[2]) == (0, '"perl") has been submitted\n')
    number = said.split()[2]
    pool.wait(number)
    assert (user / "result").read_text() == "a\tred!|two\nlines|none|x y\n"
    assert pool.job(f"{number}.0")["JobPrio"] == -7


def test_a_verifier_in_python_makes_another_job_of_it(
    pool: Pool, place: Path, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = place / "work"
    work.mkdir(exist_ok=True)
    work.chmod(0o777)
    configure(pool, str(program(place, PYTHON.replace("%(place)s", str(work)))))
    script = user / "script.sh"
    script.write_text('echo "$SGE_TASK_ID $1 $PWD"; echo bad >&2\n')
    status, said = qsub(capsys, str(script), "x")
    assert (status, said.partition(".")[2]) == (0, '2-6:2 ("py") has been submitted\n')
    pool.wait(said.split()[2].partition(".")[0])
    assert {path.name: path.read_text() for path in work.iterdir()} == {
        f"out.{number}": f"{number} a  'b' {work}\nbad\n" for number in (2, 4, 6)
    }


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("RESULT STATE REJECT", "JSV rejected job"),
        ("RESULT STATE REJECT_WAIT later, please", "later, please"),
        ("RESULT STATE MAYBE", 'JSV sent unknown result "MAYBE"'),
        ("NONSENSE", 'master got unknown command from JSV: "NONSENSE"'),
        ("ERROR I am broken", 'master got unknown command from JSV: "ERROR"'),
        ("PARAM l_hard nosuch=1\nRESULT STATE CORRECT", 'unknown resource "nosuch"'),
        ("PARAM p abc\nRESULT STATE CORRECT", 'invalid priority "abc".  Must be an integer from -1023 to 1024'),
        ("PARAM USER other\nRESULT STATE CORRECT", 'JSV tries to modify read-only parameter "USER"'),
        ("PARAM r\nRESULT STATE CORRECT", 'JSV tries to delete boolean parameter "r"'),
        ("PARAM ac 5\nRESULT STATE CORRECT", 'JSV sets "ac" to "5", which Roost does not act on'),
        ("PARAM w e\nRESULT STATE CORRECT", 'JSV sets "w", which is possible in a JSV of qsub only'),
        ("PARAM CMDARGS x\nRESULT STATE CORRECT", 'JSV sets "CMDARGS" to "x", which is not a number of arguments'),
    ],
)
def test_what_a_verifier_says_is_told_as_grid_engine_does(
    pool: Pool, place: Path, capsys: pytest.CaptureFixture[str], answer: str, words: str
) -> None:
    (place / "answer").write_text(f"{answer}\n")
    configure(pool, str(program(place, ANSWERS)))
    status, said = qsub(capsys, "-r", "y", "-b", "y", "-h", "true")
    assert (status, said) == (1, f"Unable to run job: {words}\nExiting.\n")


def test_bad_verifiers_block_nothing_and_lose_nothing(
    pool: Pool, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(text: str, words: str) -> None:
        configure(pool, str(program(place, text)), timeout=1)
        before, began = pool("queue", "--json"), time.monotonic()
        status, said = qsub(capsys, "-b", "y", "true")
        assert status == 1 and words in said, said
        assert pool("queue", "--json") == before
        assert time.monotonic() - began < PATIENCE_S / 2

    refused("#!/bin/sh\nexec sleep 1000\n", "has not decided within 1 s")
    refused("#!/bin/sh\necho STARTED\nsleep 1000 & wait\n", "has not decided within 1 s")
    refused("#!/bin/sh\nexit 3\n", "got no response from JSV")
    refused("#!/nonexistent\n", "got no response from JSV")
    refused("#!/bin/sh\nyes LOG INFO x\n", "more than 10000 lines")
    refused("#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' x\nsleep 1000\n", "a line of more than 131072 bytes")
    refused("#!/bin/sh\nyes >&2\n", "has not decided within 1 s")
    for url, words in (
        ("/nonexistent", 'JSV "/nonexistent" is either not a file or not executable'),
        ("perl:/x", 'type "perl" in JSV URL is invalid'),
        (f"somebody@{place}/jsv", "the JSV cannot run as somebody"),
    ):
        configure(pool, url)
        status, said = qsub(capsys, "-b", "y", "true")
        assert status == 1 and words in said
    configure(pool, "none")
    assert qsub(capsys, "-b", "y", "-h", "true")[0] == 0
    eventually(lambda: not [words for words in pool.processes().values() if str(place) in words or "sleep" in words])


def test_a_slow_verifier_delays_submissions_alone(pool: Pool, place: Path, user: Path) -> None:
    marks = place / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    slow = (
        "#!/bin/sh\nwhile read -r w r; do case $w in START) echo STARTED;; "
        f"BEGIN) touch {marks}/begun; while [ ! -e {marks}/go ]; do sleep 0.05; done; echo RESULT STATE ACCEPT;; "
        "esac; done\n"
    )
    configure(pool, str(program(place, slow)), timeout=60)
    command = [sys.executable, "-m", "roost.cli.gridengine", "qsub", "-b", "y", "-h", "true"]
    some = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    try:
        eventually(lambda: (marks / "begun").exists(), "the verifier has begun")
        before = len(json.loads(pool("queue", "--json")))
        assert [process.poll() for process in some] == [None] * 3
        # The queue answers and runs what it has meanwhile.
        main("qstat", [])
        (marks / "go").touch()
        assert [process.wait(PATIENCE_S) for process in some] == [0, 0, 0]
        assert len(json.loads(pool("queue", "--json"))) == before + 3
    finally:
        for process in some:
            process.kill()
            process.communicate()


def test_a_changed_verifier_is_started_anew_and_one_outlives_no_queue(
    pool: Pool, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ("-b", "y", "-h", "true")
    configure(pool, str(program(place, ANSWERS)))
    for answer in ("first", "second"):
        program(place, ANSWERS.replace("cat %(place)s/answer", f"echo RESULT STATE REJECT {answer}"))
        assert f"Unable to run job: {answer}\n" in qsub(capsys, *ask)[1]
    stubborn = "#!/bin/sh\ntrap '' HUP TERM\nwhile :; do read -r w r; case $w in START) echo STARTED;; "
    stubborn += "BEGIN) echo RESULT STATE ACCEPT;; '') sleep 0.1;; esac; done\n"
    program(place, stubborn)
    assert qsub(capsys, *ask)[0] == 0

    def verifiers() -> set[int]:
        return {pid for pid, words in pool.processes().items() if f"{place}/jsv" in words}

    (old,) = verifiers()
    before = pool.kill("schedd")
    eventually(lambda: pool.pid("schedd") not in (0, before))
    assert qsub(capsys, *ask)[0] == 0
    assert verifiers() and old not in verifiers()


def test_qalter_changes_what_the_configuration_allows(
    pool: Pool, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "answer").write_text("RESULT STATE ACCEPT\n")
    configure(pool, str(program(place, ANSWERS)))
    number = qsub(capsys, "-terse", "-b", "y", "-h", "true")[1].strip()

    def qalter(*words: str) -> str:
        main("qalter", [*words, number])
        return capsys.readouterr().out

    for words, name in ((("-l", "lic=1"), "l_hard"), (("-q", "all.q"), "q_hard"), (("-v", "A=1"), "v")):
        refused = f"rejected due to jsv_allowed_mod configuration which does not allow: {name}\n"
        assert qalter(*words) == refused
    assert qalter("-N", "other") == f"modified job name of job {number}\n"
    configure(pool, str(place / "jsv"), allowed="none")
    words = "No job modification allowed due to jsv_allowed_mod configuration\n"
    assert qalter("-N", "third") == words
    main("qrls", [number])
    assert capsys.readouterr().out == words
    assert pool.job(f"{number}.0")["CellJobName"] == "other"
    configure(pool, "none")
    assert qalter("-l", "lic=1") == f"modified hard resource list of job {number}\n"


def test_verifiers_of_qsub_run_one_after_another(
    pool: Pool, place: Path, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say = "#!/bin/sh\nwhile read -r w r; do case $w in START) echo STARTED;; BEGIN) echo LOG INFO {0}; {1};; "
    say += "esac; done\n"
    first = program(place, say.format("first", "echo PARAM N one; echo RESULT STATE CORRECT"), "first")
    second = program(place, say.format("second", "echo PARAM w v; echo RESULT STATE ACCEPT"), "second")
    (user / ".sge_request").write_text(f"-jsv {second}\n")
    status, said = qsub(capsys, "-jsv", str(first), "-b", "y", "true")
    # The second one asks to verify the job only.
    assert (status, said) == (0, "first\nsecond\nverification: found suitable queue(s)\n")
    (user / ".sge_request").unlink()
    status, said = qsub(capsys, "-jsv", f"script:{first}", "-b", "y", "-h", "true")
    assert (status, said.partition("(")[2]) == (0, '"one") has been submitted\n')
    no = program(place, say.format("no", "echo RESULT STATE REJECT not so"), "no")
    assert qsub(capsys, "-jsv", str(no), "-b", "y", "true") == (1, "no\nUnable to run job: not so\nExiting.\n")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("/nonexistent", 'qsub: JSV "/nonexistent" is either not a file or not executable\n'),
        ("script:bob@/bin/sh", "qsub: specifying user is not allowed in client JSV URLs\n"),
        ("foo:/bin/sh", 'qsub: type "foo" in JSV URL is invalid\n'),
    ],
)
def test_a_verifier_of_qsub_that_cannot_be_run_is_refused(
    capsys: pytest.CaptureFixture[str], url: str, words: str
) -> None:
    assert qsub(capsys, "-jsv", url, "-b", "y", "true") == (3, words)


def test_a_verifier_of_qsub_that_hangs_or_dies_or_babbles_is_ended(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGE_JSV_TIMEOUT", "1")
    for text, words in (
        ("exec sleep 1000", "has not decided within 1 s"),
        ("exit 1", "got no response from JSV script"),
        ("yes LOG INFO x", "more than 10000 lines"),
        ("head -c 300000 /dev/zero | tr '\\0' x; sleep 1000", "a line of more than 131072 bytes"),
    ):
        path = program(place, f"#!/bin/sh\n{text}\n", "bad")
        status, said = qsub(capsys, "-jsv", str(path), "-b", "y", "true")
        assert status == 1 and words in said


REAL = Path("/usr/share/gridengine/util/resources/jsv")


@pytest.mark.skipif(not (REAL / "jsv_include.sh").exists(), reason="Grid Engine's own scripts are not installed")
@pytest.mark.parametrize(
    ("first", "text"),
    [
        (
            "#!/bin/bash",
            """
            export SGE_ROOT=%(root)s
            jsv_on_start() { jsv_send_env; }
            jsv_on_verify() {
              jsv_sub_add_param l_hard lic 2; jsv_add_env ADDED ab; jsv_del_env GONE
              jsv_correct "changed"
            }
            . $SGE_ROOT/util/resources/jsv/jsv_include.sh
            jsv_main
            """,
        ),
        (
            "#!/usr/bin/perl",
            """
            use lib "%(root)s/util/resources/jsv"; use JSV qw(:DEFAULT jsv_send_env);
            jsv_on_start(sub { jsv_send_env(); });
            jsv_on_verify(sub {
                jsv_sub_add_param("l_hard", "lic", 2); jsv_add_env("ADDED", "ab"); jsv_del_env("GONE");
                jsv_correct("changed");
            });
            jsv_main();
            """,
        ),
    ],
)
def test_grid_engines_own_libraries_work(
    pool: Pool, place: Path, capsys: pytest.CaptureFixture[str], first: str, text: str
) -> None:
    root = place / "sge"
    (root / "util").mkdir(parents=True, exist_ok=True)
    if not (root / "util/resources").exists():
        (root / "util/resources").symlink_to(REAL.parent)
        arch = root / "util/arch"
        arch.write_text("#!/bin/sh\necho lx-amd64\n")
        arch.chmod(0o755)
    path = program(place, first + "\n" + textwrap.dedent(text).replace("%(root)s", str(root)).lstrip())
    configure(pool, str(path))
    status, said = qsub(capsys, "-terse", "-v", "GONE=1,KEPT=2", "-l", "h_rt=60", "-b", "y", "-h", "true")
    assert status == 0, said + pool.logs()
    ad: dict[str, Any] = pool.job(f"{said.strip()}.0")
    # Perl's library sends them in the order of a hash.
    assert sorted(ad["CellResources"].split(",")) == ["h_rt=60", "lic=2"]
    assert "ADDED=ab" in ad["Environment"] and "GONE" not in ad["Environment"]
    assert "KEPT=2" in ad["Environment"]
