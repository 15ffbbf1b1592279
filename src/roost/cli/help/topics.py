"""Short texts about all commands: the topics of `roost help`, and the introduction of the page of commands."""

from __future__ import annotations

from typing import Final, NamedTuple


class Topic(NamedTuple):
    """One text."""

    title: str
    #: Paragraphs in Markdown, readable as they are.
    text: str


TOPICS: Final = {
    "pools": Topic(
        "Which pool",
        """\
A pool has a state directory, by which commands find it. The directory is the value of `--home`, or else of the
environment variable `ROOST_HOME`, or else `~/.local/state/roost`.""",
    ),
    "jobs": Topic(
        "Job names",
        """\
A job is named `12.0` (cluster 12, job 0), a whole cluster `12`, and all jobs of a user by the user's name.""",
    ),
    "json": Topic(
        "JSON",
        """\
With `--json`, a command prints one JSON document and nothing else on standard output. Attribute values are JSON
values; an expression, a list or UNDEFINED is an object with one member, `expr`. Later versions may add fields, but
do not rename any.""",
    ),
    "exit-status": Topic(
        "Exit status",
        """\
| status | meaning |
|---|---|
| 0 | success; the answer is yes |
| 1 | the answer is no: no job matched, a job failed, the job would not run, nothing is recorded |
| 2 | failure: wrong usage, no pool, a refused request, a timeout; the message says what to do |
| 3 | an internal error; please report it |
| 130 | ended by Ctrl-C |""",
    ),
    "environment": Topic(
        "Environment",
        """\
| variable | effect |
|---|---|
| `ROOST_HOME` | state directory of the pool, if `--home` is not given |
| `NO_COLOR` | disables colours, which are used only on a terminal |
| `COLUMNS` | width of tables |
| `ROOST_TRACEBACK` | if set to anything, an internal error prints its traceback |
| `_CONDOR_NAME`, `_ROOST_NAME` | set the configuration value NAME |""",
    ),
    "waiting": Topic(
        "Waiting for daemons",
        """\
A daemon that has died is restarted within moments. Commands wait up to three seconds for a daemon before they give
up.""",
    ),
}
