"""Work that hooks bring, on real slots with real programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.integration.kit import Pool, eventually

FETCH = """\
#!/bin/sh
# Hands out the lines of a file, one for each call, none of them twice.
cat > "$0.slot"
work={work}
line=$(head -n 1 "$work/todo")
[ -z "$line" ] && exit 0
sed -i 1d "$work/todo"
echo 'Cmd = "/bin/sh"'
echo "Arguments = \\"-c 'echo $line >> $work/done'\\""
echo 'JobUniverse = 5'
"""
REPLY = """\
#!/bin/sh
echo "$1" >> {work}/replies
cat > /dev/null
"""
EXIT = """\
#!/bin/sh
echo "$1" >> {work}/ends
cat > {work}/last
"""


def programs(place: Path) -> Path:
    """The hooks, where nobody else may write."""
    place.mkdir(mode=0o755)
    for name, text in (("fetch", FETCH), ("reply", REPLY), ("exit", EXIT)):
        path = place / name
        path.write_text(text.replace("{work}", str(place)))
        path.chmod(0o755)
    (place / "todo").write_text("one\ntwo\nthree\n")
    return place


def test_a_slot_runs_what_a_hook_brings_until_there_is_no_more(start: Callable[..., Pool], tmp_path: Path) -> None:
    place = programs(tmp_path / "hooks")
    pool = start(
        f"STARTD_JOB_HOOK_KEYWORD = DB\n"
        f"DB_HOOK_FETCH_WORK = {place}/fetch\n"
        f"DB_HOOK_REPLY_FETCH = {place}/reply\n"
        f"DB_HOOK_JOB_EXIT = {place}/exit\n"
        'FetchWorkDelay = ifThenElse(State == "Claimed" && Activity == "Idle", 0, 1)\n',
        cpus=1,
    )
    done, ends = place / "done", place / "ends"
    eventually(lambda: ends.exists() and len(ends.read_text().split()) == 3, "three ends of jobs")
    assert done.read_text().split() == ["one", "two", "three"]
    replies = place / "replies"
    eventually(lambda: replies.exists() and replies.read_text().split() == ["accept"] * 3, "three replies")
    assert ends.read_text().split() == ["exit"] * 3
    assert "ExitCode = 0" in (place / "last").read_text()
    eventually(lambda: "Unclaimed" in pool("status"), "the slot to be free again")
