"""Completion in real shells on a terminal, and the man pages: a line is typed, Tab is pressed, the line is read.

Shells that are not installed are skipped.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.cli import shims
from roost.cli.__main__ import COMMANDS, main
from roost.cli.help import completion
from roost.cli.help.topics import TOPICS

ROOT = Path(__file__).resolve().parents[3]
#: Systems whose commands have man pages and completions.
KINDS = ("condor", "gridengine")
PAGES = [
    *sorted((ROOT / "share/man/man1").glob("*.1")),
    *(page for kind in KINDS for page in sorted(shims.shared(kind).glob("man/man1/*.1"))),
]
#: Long, for the machine may be loaded.
LIMIT_S = 60.0
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}


class Terminal:
    """An interactive shell that has read scripts."""

    def __init__(self, shell: str, directory: Path) -> None:
        self.directory = directory
        (directory / "script").write_text(completion.script(shell), encoding="utf-8")
        (directory / "shims").write_text("".join(f"{line}\n" for line in loaded(shell)), encoding="utf-8")
        environment = {
            "PATH": os.environ["PATH"],
            "TERM": "dumb",
            "HOME": str(directory),
            "PS1": "> ",
            "LC_ALL": "C.UTF-8",
        }
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe(SHELLS[shell][0], SHELLS[shell], environment)
        begin = "autoload -U compinit; compinit -u -D; unsetopt zle_bracketed_paste; " if shell == "zsh" else ""
        self.run(f"{begin}PS1='> '; source ./script; source ./shims")

    def run(self, command: str) -> str:
        """Type a line, press return, and wait until it is done."""
        mark = f"done{time.monotonic_ns()}"
        os.write(self.fd, f"{command}; echo {mark[:4]}''{mark[4:]}\n".encode())
        return self.until(rf"{mark}")

    def typed(self, line: str, expected: str) -> None:
        """Type a line, press Tab, and wait until the terminal shows what is expected."""
        os.write(self.fd, f"{line}\t".encode())
        self.until(expected)
        os.write(self.fd, b"\x15\n")
        self.run("true")

    def until(self, pattern: str) -> str:
        """What the terminal shows, up to a pattern."""
        shown, until = "", time.monotonic() + LIMIT_S
        while not re.search(pattern, shown):
            ready, _, _ = select.select([self.fd], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{pattern!r} is not in {shown!r}"
            shown += os.read(self.fd, 65536).decode(errors="replace").replace("\a", "")
        return shown

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def loaded(shell: str) -> list[str]:
    """What `roost shims` prints for man pages and completion, for both systems."""
    return [line for kind in KINDS for line in shims.help_words(shell, shims.shared(kind))]


@pytest.fixture(params=SHELLS)
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    (tmp_path / "sweep.sub").touch()
    (tmp_path / "place").mkdir()
    terminal = Terminal(request.param, tmp_path)
    yield terminal
    terminal.close()


#: What is typed, and what the terminal shows after Tab.
COMPLETED = {
    "roost subm": "roost submit ",
    "roost config expl": "roost config explain ",
    "roost queue --runn": "roost queue --running ",
    "roost drain --schedule gra": "--schedule graceful ",
    "roost drain --schedule graceful --the": "--then[ =]",
    "roost submit swe": "roost submit sweep.sub ",
    "roost status --home pl": "roost status --home place/",
    "roost help recon": "roost help reconfig ",
    "roost help MAX_JOBS_R": "roost help MAX_JOBS_RUNNING ",
    "roost help config-without-e": "roost help config-without-effect ",
    "roost help exit-s": "roost help exit-status ",
    "roost completion zs": "roost completion zsh ",
    "condor_q -better": "condor_q -better-analyze ",
    "condor_q -const": "condor_q -constraint ",
    "condor_submit swe": "condor_submit sweep.sub ",
    "condor_dagman -Dag swe": "condor_dagman -Dag sweep.sub ",
    "/usr/bin/condor_qsub -wd pl": "condor_qsub -wd place/",
    "condor_rm -forc": "condor_rm -forcex ",
    "qsub -hold_jid_": "qsub -hold_jid_ad ",
    "qsub -wd pl": "qsub -wd place/",
    "qsub swe": "qsub sweep.sub ",
    "qconf -Arq": "qconf -Arqs ",
}


def test_lines_are_completed_on_a_terminal(terminal: Terminal) -> None:
    for line, expected in COMPLETED.items():
        terminal.typed(line, expected)


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("roost ", set(COMMANDS)),
        ("roost config ", {"show", "get", "explain", "check", "diff", "dump"}),
        ("roost queue --he", {"--held", "--help"}),
        ("roost drain --then re", {"resume", "restart", "reconfig"}),
        ("roost submit swe", {"sweep.sub"}),
        ("roost status --home pl", {"place/"}),
        ("roost help recon", {"reconfig"}),
        ("roost help ", {*COMMANDS, *TOPICS}),
        (
            "roost help MAX_JOBS_",
            {"MAX_JOBS_RUNNING", "MAX_JOBS_PER_OWNER", "MAX_JOBS_PER_SUBMISSION", "MAX_JOBS_SUBMITTED"},
        ),
        ("roost help suspensio", {"suspension"}),
        ("roost help condor_q", {"condor_q", "condor_qedit", "condor_qsub"}),
        ("condor_q -bat", {"-batch"}),
        ("condor_q swe", set()),
        ("condor_submit swe", {"sweep.sub"}),
        ("condor_qsub -b ", {"y", "n"}),
        ("condor_qsub -wd pl", {"place/"}),
        ("qsub -hold", {"-hold_jid", "-hold_jid_ad"}),
        ("qstat -g ", {"c", "d", "t"}),
        ("qsub -now ", {"y", "n"}),
        ("qconf -Mattr swe", set()),
        ("qconf -Arqs swe", {"sweep.sub"}),
    ],
)
def test_fish_completes_a_line(line: str, words: set[str], tmp_path: Path) -> None:
    (tmp_path / "sweep.sub").touch()
    (tmp_path / "place").mkdir()
    scripts = [
        completion.script("fish"),
        *(shims.shared(kind).joinpath("completion.fish").read_text() for kind in KINDS),
    ]
    (tmp_path / "script").write_text("\n".join(scripts), encoding="utf-8")
    command = ["fish", "--no-config", "-c", f"source script; complete -C {line!r}"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert {row.partition("\t")[0] for row in done.stdout.splitlines()} == words


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_command_prints_the_script_of_a_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == completion.script(shell).rstrip("\n") + "\n"


def test_what_shims_print_is_read_by_plain_shells_and_twice(tmp_path: Path) -> None:
    """No completion where nobody types, each directory once, and the system's pages after those of the shims."""
    for shell in ("sh", "bash", "zsh", "dash"):
        if shutil.which(shell):
            lines = "".join(f"{line}\n" for line in loaded("sh") * 2)
            script = f'{lines}printf %s "$MANPATH"; command -v _roost_condor || true'
            for before in ("", "/of/mine"):
                environment = {"PATH": os.environ["PATH"], "MANPATH": before}
                done = subprocess.run(
                    [shell, "-c", script], env=environment, capture_output=True, text=True, check=True
                )
                pages = [str(shims.shared(kind) / "man") for kind in reversed(KINDS)]
                assert (done.stdout, done.stderr) == (":".join([*pages, before]), "")


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_man_finds_the_pages_by_the_words_of_shims_and_by_the_path(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path), "SHELL": "/bin/sh"}
    roost = f"{sys.executable} -m roost.cli"
    for words in (f'eval "$({roost} shims condor)"', f'PATH="$({roost} shims condor --path):$PATH"'):
        done = subprocess.run(
            ["sh", "-c", f"{words}; man -w condor_q"], env=environment, capture_output=True, text=True, check=True
        )
        assert Path(done.stdout.strip()).resolve() == shims.shared("condor").resolve() / "man/man1/condor_q.1"


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_man_page_is_read_without_a_warning(page: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "100", "MANPAGER": "cat"}
    done = subprocess.run(
        ["man", "--warnings", "-l", page], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    text = re.sub(r".\x08", "", done.stdout)
    assert [each for each in ("NAME", "SYNOPSIS", "DESCRIPTION") if f"\n{each}\n" not in text] == []
    assert f"       {page.stem} - " in text


@pytest.mark.slow
def test_a_wheel_has_the_man_pages_and_the_completions(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    for name in ("src", "share"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    build = "from setuptools.build_meta import build_wheel; build_wheel('wheels')"
    (tmp_path / "wheels").mkdir()
    done = subprocess.run([sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "bdist_wheel" in done.stderr and done.returncode:
        pytest.skip("this setuptools needs the package wheel")
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    held = {name.partition(".data/data/")[2] for name in names}
    wanted = {str(path.relative_to(ROOT)) for path in (ROOT / "share").rglob("*") if path.is_file()}
    assert len(wanted) > 30 and wanted <= held
    of_shims = {
        str(path.relative_to(ROOT / "src")) for path in ROOT.glob("src/roost/cli/*/share/**/*") if path.is_file()
    }
    assert len(of_shims) > 60 and of_shims <= names
