"""Submit descriptions received over HTTP: read without access to files of the server."""

from __future__ import annotations

import posixpath
from typing import Any

from roost.api.calls import Call
from roost.api.problems import Problem
from roost.runtime.queue import descriptions
from roost.schedd.submit import MemorySubmitHost, SubmitContext, read_submission


def plans(call: Call, asked: Any) -> tuple[dict[str, Any], ...]:
    """The clusters of a description. Raises Problem, with all problems found."""
    from roost.config.not_text import shown

    directory = posixpath.normpath(asked.directory)
    files = {posixpath.join(directory, path): text for path, text in (asked.files or {}).items()}
    context = SubmitContext(
        host=MemorySubmitHost(cwd=directory, files=files),
        now=call.server.now(),
        owner=call.person.name,
        uid_domain=str(call.pool.contact.get("uid_domain", "")),
        config=descriptions.pool_config(call.server.home, call.pool.contact),
        look_at_files=False,
    )
    submission = read_submission(asked.text, "description", context, arguments=asked.assignments)
    if submission.errors:
        errors = list(shown(submission.errors, submission.dropped))
        raise Problem(422, errors[0], errors=errors)
    if not submission.count:
        raise Problem(422, "the description produces no jobs: nothing was submitted")
    call.pool.warnings += shown([each for each in submission.findings if each not in submission.errors], 0)
    return tuple(plan.to_data() for plan in submission.clusters)
