"""``python -m demo.language``: a desktop's policy, asked, explained and applied to a pool of 50,000 slots."""

from __future__ import annotations

import random
import shlex
import subprocess
import sys
import time
from pathlib import Path

from roost.classad import ClassAd

ADS = Path(__file__).parent / "ads"
SLOTS = 50_000


def main() -> int:
    """Show each act; 0 if all went as told."""
    act("An owner shares a desktop. May Ann's job start there?")
    roost("classad", "match", "job.ad", "desk.ad")
    act("No. Why not? Each value stands under its part of the expression:")
    roost("classad", "eval", "--my", "desk.ad", "--target", "job.ad", "--trace", "START")
    act("The owner goes to lunch: 17 minutes later the keyboard has been idle long enough.")
    after_lunch = ADS / "desk.ad"
    text = after_lunch.read_text(encoding="utf-8").replace("KeyboardIdle = 420", "KeyboardIdle = 1440")
    roost("classad", "match", "job.ad", "-", given=text)
    act("What does the machine's policy need to know of a job, and what is left of it once the machine is known?")
    roost("classad", "refs", "--my", "desk.ad", "START")
    roost("classad", "flatten", "--my", "desk.ad", "START")
    act("A typo is told where it stands, with the remedy:")
    roost("classad", "parse", "KeyboardIdle > 15 * 60 && (LoadAvg = 0.3")
    act(f"The same question put to a pool of {SLOTS:,} slots at once:")
    return pool()


def act(title: str) -> None:
    """Print a heading."""
    print(f"\n\N{BLACK RIGHT-POINTING TRIANGLE} {title}\n", flush=True)


def roost(*words: str, given: str | None = None) -> None:
    """Run a command as a user would, and show it."""
    print(f"  $ {'… | ' if given else ''}roost {shlex.join(words)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "roost.cli", *words], cwd=ADS, input=given, capture_output=True, text=True, check=False
    )
    for line in (done.stdout + done.stderr).splitlines():
        print(f"    {line}")


def pool() -> int:
    """Match one job with a whole pool, twice: with the table and slot by slot."""
    from roost.classad.vector import Table

    source = random.Random(1)
    desk = ClassAd((ADS / "desk.ad").read_text(encoding="utf-8"))
    job = ClassAd((ADS / "job.ad").read_text(encoding="utf-8"))
    ads = []
    for number in range(SLOTS):
        ad = desk.copy()
        ad.update(
            Name=f"slot1@desk{number}", KeyboardIdle=source.randrange(3600), Memory=source.choice([1000, 4000, 16000])
        )
        ads.append(ad)
    table = Table(enumerate(ads))
    table.match(job)
    job["RequestMemory"] = 3000
    start = time.perf_counter()
    mask = table.match(job)
    took = time.perf_counter() - start
    start = time.perf_counter()
    one_by_one = sum(job.symmetric_match(ad) for ad in ads)
    slowly = time.perf_counter() - start
    print(f"    {int(mask.sum()):,} of {SLOTS:,} slots match")
    print(f"    {took * 1e3:.1f} ms with the table, {slowly * 1e3:.0f} ms slot by slot")
    return 0 if int(mask.sum()) == one_by_one else 1


if __name__ == "__main__":
    sys.exit(main())
