"""Each file that jobs leave has what its own job wrote, however many of them end at once: contents, not statuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.integration.kit import Pool

Start = Callable[..., Pool]

_MOVED = "should_transfer_files = YES\nwhen_to_transfer_output = ON_EXIT\n"


def wrong(directory: Path, names: str, count: int) -> list[str]:
    """Files, by a pattern of their names, that do not hold the number of their job."""
    found = []
    for number in range(count):
        path = directory / names.format(number)
        content = path.read_text() if path.exists() else "no file"
        if content != f"{number:05}":
            found.append(f"{path.name}: {content}")
    return found


def _none_is_half(pool: Pool) -> None:
    """Nothing is left of files that were not whole."""
    assert not list(pool.work.rglob(".roost-*"))


def test_a_sweep_of_jobs_that_end_together_leaves_each_its_own_results(start: Start) -> None:
    pool = start(cpus=8)
    for name in ("out", "same", "remapped"):
        (pool.work / name).mkdir()
    many, few = 240, 80
    plain = pool.submit(
        f"output = out/$(Process).out\nerror = out/$(Process).err\narguments = $(Process)\n{_MOVED}queue {many}\n",
        "printf %05d $1; printf %05d $1 >&2; printf %05d $1 > file.$1",
    )
    same = pool.submit(
        f"output = same/out\narguments = $(Process)\n{_MOVED}transfer_output_files = result, also\n"
        f'transfer_output_remaps = "result = same/result; also = remapped/$(Process)"\nqueue {few}\n',
        "printf %05d $1; printf %05d $1 > result; printf %05d $1 > also",
    )
    pool.wait(plain, same)
    for names in ("out/{}.out", "out/{}.err", "file.{}"):
        assert wrong(pool.work, names, many) == []
    assert wrong(pool.work, "remapped/{}", few) == []
    numbers = {f"{number:05}" for number in range(few)}
    assert (pool.work / "same" / "out").read_text() in numbers
    assert (pool.work / "same" / "result").read_text() in numbers
    assert set(pool.ends().values()) == {1} and len(pool.ends()) == many + few
    _none_is_half(pool)
