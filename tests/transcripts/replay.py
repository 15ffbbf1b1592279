"""Play a transcript again: ``python -m tests.transcripts.replay [NAME...]`` prints what differs from the recording."""

from __future__ import annotations

import re
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.transcripts.comparing import Shown, loose, plain
from tests.transcripts.reading import Command, names, numbers, read, steps
from tests.transcripts.world import World, world

#: How long the scheduler of the recording took after a submission, s; that of a pool needs less.
PAUSE_S = 1.0
#: How long a query is asked again while it does not show what was recorded, s, besides what the command slept before,
#: and how often at least: on a busy machine a command may take seconds.
PATIENCE_S = 6.0
ATTEMPTS_MIN = 4
#: Then the time of the jobs goes on by as much, s, in steps: between two commands some time had passed.
BETWEEN_S, STEP_S = 4.0, 0.25
_WAIT = re.compile(r"sleep [\d.]+")
_SLEPT = re.compile(r"(?:sleep [\d.]+ *; *)+")
#: Programs that change nothing.
_QUERIES = frozenset(
    ("qstat", "qhost", "qacct", "qquota", "qselect", "qrstat", "cat", "ls", "grep", "egrep", "awk", "sed", "cut",
     "tail", "head", "sort", "wc", "sleep", "echo", "true", "ps")
)  # fmt: skip
#: What shows something that may still change by itself.
_CHANGING = re.compile(r"\b(qstat|qhost|qacct|qquota|qrstat|cat|ls|ps)\b")
#: Transcript to the commands of which a pool prints something else, with the reason.
DIFFERENCES: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("differences.toml").read_text(encoding="utf-8")
)
#: Transcripts in which `sleep` means the machine's time: jobs and methods look at its clock.
REAL = frozenset(("11-suspend-resume-terminate-methods", "14-qacct"))
#: Those that watch what the pool does by its own clock: jobs sleep in their own time, and users as long as they say.
SLOW = frozenset(("07-load-thresholds-and-adjustments",))
_SUBMITTED = re.compile(r"^Your job(?:-array)? (\d+)", re.MULTILINE)


def play(place: World, name: str) -> list[tuple[Shown, Shown]]:
    """Each command of a transcript as it was recorded, and as the world answers it now."""
    excused = DIFFERENCES.get(name, {})
    commands = read(name)
    automatic, hidden = steps(name)
    place.pace(real=name in REAL, slow=name in SLOW)
    outputs: list[list[str]] = []
    #: Number of a job in the recording to that here.
    jobs: dict[str, str] = {}
    for at, command in enumerate(commands):
        actions = hidden.get(command.number, [])
        for action in actions:
            _do(place, action)
        if automatic and command.begins_section and "keep" not in actions:
            later = numbers([line for each in commands[at:] for line in (each.text, *each.output)])
            if gone := [here for there, here in jobs.items() if there not in later]:
                place.delete_jobs(gone)
                jobs = {there: here for there, here in jobs.items() if here not in gone}
        lines = _run(place, commands, outputs, 0.0 if str(command.number) in excused else PATIENCE_S)
        outputs.append(lines)
        recorded = _SUBMITTED.findall("\n".join(command.output))
        jobs.update(zip(recorded, _SUBMITTED.findall("\n".join(lines)), strict=False))
        if _ends_in_submission(command) and not (at + 1 < len(commands) and _asks(commands[at + 1].text)):
            # What follows may depend on where the jobs are; a query would wait for that.
            time.sleep(PAUSE_S)
    was = plain(commands, [_trimmed(list(each.output)) for each in commands])
    return list(zip(was, plain(commands, outputs), strict=True))


def _run(place: World, commands: Sequence[Command], before: Sequence[list[str]], patience_s: float) -> list[str]:
    """What the next command prints: its queries are asked again until they show what was recorded.

    How long a pool takes for what a command has begun depends on the machine; a recording has it done when it asks.
    """
    command = commands[len(before)]
    upto = commands[: len(before) + 1]
    was = plain(upto, [_trimmed(list(each.output)) for each in upto])[-1]
    printed: list[str] = []
    status = 0
    for at, piece in enumerate(split := pieces(command.text)):
        is_last = at == len(split) - 1
        slept_s = sum(float(each) for each in re.findall(r"\bsleep ([\d.]+)", piece))
        until = time.monotonic() + slept_s + patience_s
        later_s = BETWEEN_S if patience_s else 0.0
        attempts = 0
        while True:
            attempts += 1
            more, status = place.run(command.host, command.user, _with_time(piece))
            lines = [*printed, *more, *([f"[exit status {status}]"] if status and is_last else [])]
            now = plain(upto, [*before, _trimmed(lines)])[-1]
            agrees = not differs(was, now) if is_last else bool(more) and _begins(was, now)
            if agrees or not (patience_s and _asks(piece) and _CHANGING.search(piece)):
                break
            piece = _SLEPT.sub("", piece)
            if time.monotonic() < until or attempts < ATTEMPTS_MIN:
                time.sleep(0.2)
            elif later_s > 0:
                place.advance(STEP_S)
                later_s -= STEP_S
            else:
                break
        printed = lines
    return _trimmed(printed)


def _with_time(piece: str) -> str:
    """A command that waits for the end of a job, with the time of the jobs going on meanwhile."""
    if "-sync y" not in piece:
        return piece
    return f"(while sleep 0.5; do :; done) & T=$!; {piece}\nS=$?; kill $T; exit $S"


def _begins(was: Shown, now: Shown) -> bool:
    """Whether all that was printed so far was recorded."""
    return not Counter(loose(now.lines)) - Counter(loose(was.lines))


def pieces(text: str) -> list[str]:
    """A command as several, one after the other; those that ask for something are each by themselves."""
    if re.search(r"<<|&|\$\?|(^|; *)(cd|\w+=)", text):
        # What one piece leaves in the shell, another one needs.
        return [text]
    found: list[str] = []
    for piece in _commands(text):
        acts = found and not _asks(piece) and not _asks(found[-1]) and not found[-1].startswith("sleep")
        if acts or (found and _WAIT.fullmatch(found[-1])):
            found[-1] += f"; {piece}"
        else:
            found.append(piece)
    return found


def _commands(text: str) -> list[str]:
    """The commands of a line, loops whole."""
    words = [""]
    quote, depth = "", 0
    for sign in text:
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        if not quote:
            depth += {"(": 1, ")": -1}.get(sign, 0)
        inside = len(re.findall(r"\bdo\b", words[-1])) - len(re.findall(r"\bdone\b", words[-1]))
        if sign == ";" and not (
            quote or depth or inside > 0 or re.match(r" *(for|while|until)\b(?!.*\bdo\b)", words[-1])
        ):
            words.append("")
        else:
            words[-1] += sign
    return [word.strip() for word in words if word.strip()]


def _asks(text: str) -> bool:
    """Whether a command changes nothing."""
    if re.search(r"\b(for|while)\b", text) or re.search(r">(?!\s*/dev/null|&)", text):
        return False
    pieces = [piece.split() for piece in re.split(r"[;|\n]|&&|\$\(", text) if piece.strip()]
    return all(words[0] in _QUERIES or (words[:1] == ["qconf"] and words[1].startswith("-s")) for words in pieces)


def _do(place: World, action: str) -> None:
    word, _, rest = action.partition(" ")
    match word:
        case "keep":
            # The jobs of the section before go on.
            pass
        case "clean":
            place.delete_jobs()
        case "sleep":
            place.advance(float(rest))
        case "start":
            place.start(rest)
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
            place.reset()
            started = time.monotonic()
            pairs = play(place, name)
            excused = DIFFERENCES.get(name, {})
            wrong = [pair for pair in pairs if differs(*pair) and str(pair[0].command.number) not in excused]
            print(f"== {name}: {len(pairs) - len(wrong)} of {len(pairs)} alike, {time.monotonic() - started:.0f} s")
            for pair in wrong:
                print(shown(*pair))
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
