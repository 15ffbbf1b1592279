"""The machine that the tests submit from, and short ways to submit."""

from __future__ import annotations

from roost.config import CommandResult, Config
from roost.schedd.submit import ClusterPlan, MemorySubmitHost, Submission, SubmitContext, read_submission

NOW = 1_700_000_000


def machine() -> MemorySubmitHost:
    """A home directory with a few files, and a few programs."""
    return MemorySubmitHost(
        cwd="/home/me",
        files={
            "/bin/sleep": "x" * 43_888,
            "/bin/cat": "x" * 44_016,
            "/bin/sh": "x" * 125_640,
            "/etc/passwd": "x" * 1_500,
            "/home/me/a.dat": "",
            "/home/me/b.dat": "",
            "/home/me/x.sh": "",
        },
        directories={"/home/me/d", "/tmp"},
        variables={"HOME": "/home/me", "LANG": "C", "SECRET": "x y"},
        commands={
            "list": CommandResult(status=0, output="a 1\n\n# no\nb 2\n"),
            "fail": CommandResult(status=3, output=""),
        },
    )


def submitted(
    text: str,
    host: MemorySubmitHost | None = None,
    *,
    config: Config | None = None,
    look_at_files: bool = True,
    **options: object,
) -> Submission:
    """What a description comes to on that machine."""
    context = SubmitContext(
        host=host or machine(),
        now=NOW,
        owner="me",
        uid_domain="example.org",
        config=config,
        look_at_files=look_at_files,
    )
    return read_submission(text, "test.sub", context, **options)  # type: ignore[arg-type]


def plan(text: str, **options: object) -> ClusterPlan:
    """The one cluster of a description without errors."""
    found = submitted(text, **options)  # type: ignore[arg-type]
    assert not found.errors, [str(one) for one in found.errors]
    (cluster,) = found.clusters
    return cluster


def sleep(text: str, **options: object) -> ClusterPlan:
    """The same, of a description that lacks only the executable."""
    return plan(f"executable = /bin/sleep\n{text}", **options)


def with_items(text: str, *items: str) -> ClusterPlan:
    """The same, and ``queue x from`` a file with these lines."""
    host = machine()
    host.files["/home/me/items"] = "\n".join(items)
    return sleep(f"{text}\nqueue x from items\n", host=host)


def arguments(text: str, **options: object) -> list[object]:
    """Args of each job."""
    cluster = sleep(text, **options)
    return [ad.get("Args") for ad in cluster.ads()]
