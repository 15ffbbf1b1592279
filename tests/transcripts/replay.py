"""Play a transcript again: ``python -m tests.transcripts.replay [NAME...]`` prints what differs from the recording."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.transcripts.comparing import Shown, loose, plain
from tests.transcripts.reading import Command, names, numbers, read, steps
from tests.transcripts.world import World, world

#: How long the scheduler of the recording took after a submission, s; that of a pool needs less.
PAUSE_S = 1.0
_SUBMITTED = re.compile(r"^Your job(?:-array)? (\d+)", re.MULTILINE)


def play(place: World, name: str) -> list[tuple[Shown, Shown]]:
    """Each command of a transcript as it was recorded, and as the world answers it now."""
    commands = read(name)
    automatic, hidden = steps(name)
    outputs: list[list[str]] = []
    #: Number of a job in the recording to that here.
    jobs: dict[str, str] = {}
    for at, command in enumerate(commands):
        for action in hidden.get(command.number, ()):
            _do(place, action)
        if automatic and command.begins_section:
            later = numbers([line for each in commands[at:] for line in (each.text, *each.output)])
            if gone := [here for there, here in jobs.items() if there not in later]:
                place.delete_jobs(gone)
                jobs = {there: here for there, here in jobs.items() if here not in gone}
        lines, status = place.run(command.host, command.user, command.text)
        if status:
            lines.append(f"[exit status {status}]")
        outputs.append(_trimmed(lines))
        recorded = _SUBMITTED.findall("\n".join(command.output))
        jobs.update(zip(recorded, _SUBMITTED.findall("\n".join(lines)), strict=False))
        if _ends_in_submission(command):
            time.sleep(PAUSE_S)
    was = plain(commands, [_trimmed(list(each.output)) for each in commands])
    return list(zip(was, plain(commands, outputs), strict=True))


def _do(place: World, action: str) -> None:
    word, _, rest = action.partition(" ")
    match word:
        case "clean":
            place.delete_jobs()
        case "sleep":
            time.sleep(float(rest))
        case "run":
            user, _, command = rest.partition(" ")
            place.run("sgehub", user, command)
        case _:
            raise AssertionError(f"unknown step: {action}")


def _ends_in_submission(command: Command) -> bool:
    """Whether a command submits or releases and does not wait afterwards."""
    last = max(command.text.rfind("qsub"), command.text.rfind("qrls"))
    return last >= 0 and re.search(r"\b(sleep|-sync|qstat|qdel|qacct)\b(?!\.sh)", command.text[last:]) is None


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def differs(was: Shown, now: Shown) -> bool:
    """Whether two outputs differ in more than what is left to chance."""
    return loose(was.lines) != loose(now.lines)


def shown(was: Shown, now: Shown) -> str:
    """How two outputs differ in more than what is left to chance."""
    before, after = Counter(loose(was.lines)), Counter(loose(now.lines))
    lines = [f"    - {line}" for line in (before - after).elements()]
    lines += [f"    + {line}" for line in (after - before).elements()]
    return "\n".join([f"{was.command.number}: {was.command.user}@{was.command.host} {was.command.text}", *lines])


def main() -> int:
    """Play the named transcripts, or all."""
    with tempfile.TemporaryDirectory(prefix="roost-transcripts-") as directory, world(Path(directory, "w")) as place:
        for name in sys.argv[1:] or names():
            started = time.monotonic()
            pairs = play(place, name)
            wrong = [pair for pair in pairs if differs(*pair)]
            print(f"== {name}: {len(pairs) - len(wrong)} of {len(pairs)} alike, {time.monotonic() - started:.0f} s")
            for pair in wrong:
                print(shown(*pair))
            sys.stdout.flush()
            place.reset()
    return 0


if __name__ == "__main__":
    sys.exit(main())
