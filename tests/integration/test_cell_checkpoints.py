"""Jobs with a checkpointing interface on a real pool: saved, sent away, started again, as on Grid Engine 8.1.9."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kit import eventually, running
from tests.integration.test_cell_methods import Site, lines, queue_text

COMMANDS = """\
#!/bin/bash
echo "$1 $2 $3 $RESTARTED" >> {log}
case $1 in migr) kill -KILL -- -$2;; restart) touch {log}.restarted; sleep 0.1;; esac
"""
JOB = """\
for s in USR1 CONT TERM; do trap "echo SIG$s >> {out}" $s; done
echo "start$RESTARTED:$SGE_CKPT_ENV:$SGE_CKPT_DIR" >> {out}
while [ ! -e {out}.gate ]; do sleep 0.05; done
echo end >> {out}
"""


class CheckpointSite(Site):
    """A pool whose cell has an interface of each kind."""

    def prepare(self) -> None:
        self.commands = self.place / "commands"
        self.commands.write_text(COMMANDS.format(log=self.log))
        self.commands.chmod(0o755)
        (self.place / "cell/ckpt").mkdir(exist_ok=True)
        for name in ("userdefined", "application-level", "hibernator"):
            text = [f"ckpt_name {name}", f"interface {name}", "ckpt_dir /var/tmp", "signal usr1", "when xm"]
            kinds = {"ckpt": "ckpt", "migr": "migr", "restart": "restart", "clean": "clean"}
            text += [f"{key}_command {self.commands} {word} $job_pid $job_id" for key, word in kinds.items()]
            (self.place / f"cell/ckpt/{name}").write_text("\n".join(text) + "\n")
        values = {"ckpt_list": "userdefined application-level hibernator", "min_cpu_interval": "0:0:1"}
        (self.place / "cell/cqueues/all.q").write_text(queue_text(slots="4", **values))
        self.pool("cell", "apply", str(self.place / "cell"))

    def begin(self, *options: str) -> tuple[int, Path]:
        self.log.unlink(missing_ok=True)
        self.jobs += 1
        out = self.place / f"out{self.jobs}"
        script = self.grid.script(f"job{self.jobs}.sh", JOB.format(out=out))
        job = self.grid.qsub("-o", "/dev/null", "-j", "y", *options, str(script))
        eventually(out.exists, lambda: f"it runs: {self.pool.logs()}")
        return job, out

    def log_words(self) -> list[str]:
        return [line.split()[0] for line in self.methods()]

    def records(self, job: int) -> list[str]:
        found = [line for line in self.grid("qacct", "-j", str(job)).out.splitlines() if line.startswith("failed")]
        return [line.split()[1] for line in found]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckpointSite]:
    place = tmp_path_factory.mktemp("checkpoints")
    place.chmod(0o755)
    with running(place / "pool", "MachineMaxVacateTime = 10\n", cpus=4) as pool:
        made = CheckpointSite(pool, place)
        made.prepare()
        yield made


def test_a_job_that_saves_itself_is_signalled_and_migrates_when_it_is_suspended(site: CheckpointSite) -> None:
    job, out = site.begin("-ckpt", "userdefined")
    shown = site.grid("qstat", "-j", str(job)).out
    assert "checkpoint_object:          userdefined\ncheckpoint_attr:            mx    \n" in shown
    eventually(lambda: lines(out).count("SIGUSR1") >= 2, "it is asked each interval")
    site.grid("qmod", "-sj", str(job))
    eventually(lambda: "start1:userdefined:/var/tmp" in lines(out), lambda: f"it runs again: {lines(out)}")
    assert lines(out)[0] == "start0:userdefined:/var/tmp" and site.state(job) == "Rr"
    assert "is running in queue none where jobs are not rerunable" in site.grid("qmod", "-rj", str(job)).out
    Path(f"{out}.gate").touch()
    site.gone(job)
    assert site.records(job) == ["24", "0"] and site.methods() == []


def test_commands_save_and_move_a_job_over_kills_of_the_daemons(site: CheckpointSite) -> None:
    job, out = site.begin("-ckpt", "application-level", "-c", "0:0:1")
    assert "checkpoint_interval:        1 seconds" in site.grid("qstat", "-j", str(job)).out
    eventually(lambda: "ckpt" in site.log_words(), "it is saved")
    site.pool.kill("node")
    site.pool.kill("schedd")
    before = len(site.log_words())
    eventually(lambda: len(site.log_words()) > before, "it goes on being saved")
    # The daemons may still be restarting: one order that is taken is enough, and a second could move the next run.
    eventually(lambda: site.grid("qmod", "-sj", str(job), status=None).status == 0, "the order is taken")
    eventually(lambda: "migr" in site.log_words(), "it is moved")
    eventually(lambda: "start2:application-level:/var/tmp" in lines(out), lambda: f"it runs again: {lines(out)}")
    assert "clean" not in site.log_words()
    site.grid("qdel", str(job))
    site.gone(job)
    assert site.records(job) == ["24", "100"] and site.log_words().count("migr") == 1
    eventually(lambda: site.log_words()[-1] == "clean", lambda: str(site.log_words()))
    assert site.methods()[-1].split()[2:] == [str(job), "2"]


def test_a_saved_job_of_the_kernel_is_started_by_its_command(site: CheckpointSite) -> None:
    job, out = site.begin("-ckpt", "hibernator", "-c", "x")
    site.grid("qmod", "-sj", str(job))
    site.gone(job)
    words = [line.split() for line in site.methods()]
    assert [each[0] for each in words] == ["migr", "restart", "clean"]
    # The command is told of the process that was saved.
    assert words[0][1] == words[1][1] and words[1][3] == "2" and lines(out) == ["start0:hibernator:/var/tmp"]
    assert site.records(job) == ["24", "0"]


def test_bad_requests_have_grid_engines_words(site: CheckpointSite) -> None:
    def said(*options: str) -> str:
        done = site.grid("qsub", *options, "-b", "y", "true", status=None)
        assert done.status != 0
        return done.out + done.err

    assert 'job rejected: the requested checkpointing environment "nosuch" does not exist' in said("-ckpt", "nosuch")
    assert "checkpointing denied" in said("-c", "m")
    assert 'job rejected: checkpointing with "-c n" requested' in said("-c", "sn")
    assert 'job rejected: checkpointing with "-c n" requested' in said("-ckpt", "userdefined", "-c", "nsx")
    assert said("-c", "q") == "qsub: -c specifier invalid\n"
    job = site.grid.qsub("-h", "-ckpt", "userdefined", "-b", "y", "true")
    done = site.grid("qalter", "-ckpt", "none", str(job), status=None)
    assert done.out + done.err == 'Keyword ("NONE") not allowed as objectname\n'
    done = site.grid("qalter", "-ckpt", "nosuch", str(job), status=None)
    assert 'denied: checkpointing environment "nosuch" does not exist' in done.out + done.err
    out = site.grid("qalter", "-ckpt", "hibernator", "-c", "sm", "-notify", str(job)).out
    assert "modified checkpointing environment of job" in out and "modified notify behaviour of job" in out
    shown = site.grid("qstat", "-j", str(job)).out
    assert "checkpoint_object:          hibernator\ncheckpoint_attr:            sm    \n" in shown
    assert "notify:                     TRUE" in shown
    site.grid("qdel", str(job))
