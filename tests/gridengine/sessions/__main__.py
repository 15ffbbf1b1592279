"""``python -m tests.gridengine.sessions record FIRST LAST [EVENTS]``, ``... play [FILE...]``, ``... keep FILE...``.

`record` plays sessions with the seeds FIRST to LAST on the Grid Engine that ROOST_GRIDENGINE_CELL names, and writes
them to the directory ROOST_SESSIONS; `play` plays sessions on Roost and prints what differs; `keep` plays them too and
keeps what came before the first difference as recorded answers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tests.gridengine.sessions.drawing import Play
from tests.gridengine.sessions.playing import Difference, played, read, recorded, write
from tests.gridengine.sessions.systems import GridEngine, Roost
from tests.transcripts.world import world

KEPT = Path(__file__).parent / "kept"


def main() -> int:
    place = Path(os.environ.get("ROOST_SESSIONS", KEPT))
    place.mkdir(exist_ok=True)
    match sys.argv[1:]:
        case ["record", first, last, *events]:
            system = GridEngine(os.environ["ROOST_GRIDENGINE_CELL"])
            for seed in range(int(first), int(last) + 1):
                began = time.monotonic()
                write(place / f"{seed}.json", recorded(system, Play(seed)(int(*events) if events else 12)))
                print(f"{seed}: {time.monotonic() - began:.0f} s", flush=True)
        case ["play" | "keep" as verb, *given]:
            files = [Path(name) for name in given] or sorted(place.glob("*.json"))
            with (
                tempfile.TemporaryDirectory(prefix="roost-sessions-") as directory,
                world(Path(directory, "w")) as made,
            ):
                for path in files:
                    _play(Roost(made), path, keep=verb == "keep")
        case _:
            print(__doc__)
            return 2
    return 0


def _play(system: Roost, path: Path, *, keep: bool) -> None:
    began, session = time.monotonic(), read(path)
    wrong: list[Difference] = []
    for difference in played(system, session):
        wrong.append(difference)
        if keep:
            break
    print(f"== {path.stem}: {len(session)} events, {len(wrong)} differ, {time.monotonic() - began:.0f} s")
    print(*(each.text for each in wrong), sep="\n", flush=True)
    alike = session[: wrong[0].event] if wrong else session
    if keep and len(alike) > 1:
        write(KEPT / path.name, alike)


if __name__ == "__main__":
    sys.exit(main())
