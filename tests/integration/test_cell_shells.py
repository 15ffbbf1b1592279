"""Jobs of qsub in a queue instance: shell, start mode, login shells, starter method, exit statuses 99 and 100."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cli.gridengine.kit import Desk
from tests.integration.kit import Pool, eventually
from tests.integration.test_cell_jobs import cell, node

#: Tells how it was begun, as the questions to Grid Engine 8.1.9 did.
TELL = "echo \"$0 args=$# $* opts=$- argv=$(tr '\\0' '|' < /proc/$$/cmdline)\""
METHOD = """\
#!/bin/sh
echo "STARTER $# args: $* shell=$SGE_STARTER_SHELL_PATH mode=$SGE_STARTER_SHELL_START_MODE \
login=$SGE_STARTER_USE_LOGIN_SHELL"
"""


def with_login_shells(place: Path, pool: Pool, shells: str) -> None:
    path = place / "configurations/global"
    lines = [f"login_shells {shells}" if line.startswith("login_shells") else line for line in
             path.read_text().splitlines()]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    pool("cell", "apply", str(place))


def test_scripts_are_started_as_grid_engine_starts_them(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool, place = start(), tmp_path / "cell"
    cell(pool, place, shell="/bin/bash", shell_start_mode="posix_compliant")
    with_login_shells(place, pool, "none")
    grid = Desk(pool)
    named, bare = pool.work / "m.sh", pool.work / "n.sh"
    named.write_text(f"#!/bin/bash -u\n{TELL}\n")
    bare.write_text(f"{TELL}\n")

    out = pool.work / "told"

    def argv(*words: str) -> list[str]:
        out.unlink(missing_ok=True)
        pool.wait(grid.qsub("-j", "y", "-o", str(out), *words))
        found = out.read_text().strip().partition("argv=")[2].strip("|").split("|")
        return [word.rpartition("/")[2] if word.endswith(".job_script") else word for word in found]

    assert argv(str(named), "a", "bc") == ["bash", ".job_script", "a", "bc"]
    assert argv("-S", "/bin/sh", str(named), "a") == ["sh", ".job_script", "a"]
    with_login_shells(place, pool, "sh,bash")
    assert argv(str(named), "a") == ["-bash", ".job_script", "a"]
    assert argv("-S", "/bin/sh", str(named)) == ["-sh", ".job_script"]

    mode(place, pool, "unix_behavior")
    assert argv("-S", "/bin/sh", str(named), "a") == ["/bin/bash", "-u", ".job_script", "a"]
    assert argv(str(bare), "a") == ["/bin/sh", ".job_script", "a"]

    mode(place, pool, "script_from_stdin")
    assert argv("-S", "/bin/sh", str(named), "a", "b") == ["-sh", "-s", "a", "b"]


def mode(place: Path, pool: Pool, word: str, **values: str) -> None:
    values["shell_start_mode"] = word
    path = place / "cqueues/all.q"
    found = [f"{key} {values[key]}" if (key := line.split()[0]) in values else line for line in
             path.read_text().splitlines()]  # fmt: skip
    path.write_text("\n".join(found) + "\n")
    pool("cell", "apply", str(place))


def test_a_starter_method_is_executed_in_place_of_the_shell(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool, place = start(), tmp_path / "cell"
    method = tmp_path / "method"
    method.write_text(METHOD)
    method.chmod(0o755)
    cell(pool, place, starter_method=str(method), shell_start_mode="posix_compliant")
    grid = Desk(pool)
    script, out = grid.script("m.sh", TELL), pool.work / "out"

    def printed(*words: str) -> str:
        out.unlink(missing_ok=True)
        pool.wait(grid.qsub("-j", "y", "-o", str(out), *words))
        return out.read_text()

    text = printed(str(script), "a", "b")
    assert text.startswith("STARTER 3 args: /") and ".job_script a b shell=/bin/sh mode=posix_compliant" in text
    assert printed("-b", "y", "/bin/echo", "x") == (
        "STARTER 2 args: /bin/echo x shell=/bin/sh mode=posix_compliant login=true\n"
    )
    mode(place, pool, "script_from_stdin")
    assert printed(str(script), "a").startswith("STARTER 2 args: -s a shell=")
    # One that is not there closes the instance, not the job.
    method.unlink()
    job = grid.qsub(str(script))
    ad = pool.seen(f"{job}.0", CellFailed=11, JobStatus=1)
    assert ad["CellErrorReason"] == f'cannot execute the starter_method "{method}" of the queue'
    row = f"queue all.q marked QERROR as result of job {job}'s failure at host {node(pool)}"
    eventually(lambda: row in pool("cell", "queues"), lambda: pool("cell", "queues"))


def test_a_command_without_a_shell_is_found_by_the_path_of_its_job(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    cell(pool, tmp_path / "cell")
    grid, tools, out = Desk(pool), tmp_path / "tools", pool.work / "out"
    tools.mkdir()
    for place in (tools, pool.work):
        (place / "mine").write_text(f"#!/bin/sh\necho {place.name} $*\n")
        (place / "mine").chmod(0o755)
    direct = ("-b", "y", "-shell", "n", "-j", "y", "-cwd", "-o", str(out))
    pool.wait(grid.qsub("-v", f"PATH={tools}:/usr/bin:/bin", *direct, "mine", "1", "2"))
    assert out.read_text() == "tools 1 2\n"
    # Without a directory in its name it is not looked for in the directory of the job.
    lost = grid.qsub(*direct, "mine")
    eventually(lambda: " Eqw " in grid("qstat").out, lambda: grid("qstat").out)
    assert "mine': No such file or directory" in grid("qstat", "-j", str(lost)).out
    pool("rm", str(lost))


def test_a_script_says_by_its_status_that_it_is_tried_again_or_held(start: Callable[..., Pool], tmp_path: Path) -> None:
    pool = start()
    cell(pool, tmp_path / "cell", report_s=1)
    grid, once = Desk(pool), tmp_path / "once"
    again = grid.qsub(str(grid.script("again.sh", f"[ -e {once} ] && exit 0", f"touch {once}", "exit 99")))
    # Where it has run it does not run again before two reports of the host.
    why = f'cannot run on host "{node(pool)}" until clean up of a previous run has finished'
    eventually(lambda: why in grid("qstat", "-j", str(again)).out, lambda: grid("qstat", "-j", str(again)).out)
    held = grid.qsub(str(grid.script("held.sh", "exit 100")))
    # Jobs of `roost submit` end with any status.
    plain = pool.submit("", "exit 100")
    pool.wait(again)
    assert pool.job(f"{again}.0")["NumJobStarts"] == 2 and pool.job(f"{again}.0")["CellFailed"] == 0
    ad = pool.seen(f"{held}.0", JobStatus=5)
    assert (ad["HoldReasonCode"], ad["HoldReasonSubCode"], ad["CellFailed"]) == (3, 100, 30)
    pool.wait(plain, status=1)
    assert pool.job(f"{plain}.0")["ExitCode"] == 100
