"""Output at eviction without file transfer.

What: ``when_to_transfer_output = ON_EXIT_OR_EVICT``, or a checkpoint exit code, while file transfer is switched off.

Why: The files that are to be kept at an eviction are moved by file transfer. Without it they are lost, and the job
begins from the start.

Example::

    executable = work
    request_memory = 1 GB
    should_transfer_files = NO
    when_to_transfer_output = ON_EXIT_OR_EVICT
    queue

Instead::

    executable = work
    request_memory = 1 GB
    should_transfer_files = YES
    when_to_transfer_output = ON_EXIT_OR_EVICT
    queue
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.base.diagnostics import Severity
from roost.policy.lint.mapping import whole
from roost.policy.lint.registry import Hit, submit_rule
from roost.policy.lint.submit import Submission


@submit_rule("RST709", Severity.WARNING, "F5")
def check(submission: Submission) -> Iterator[Hit]:
    when = submission.commands.get("when_to_transfer_output")
    code = submission.commands.get("checkpoint_exit_code")
    should = submission.commands.get("should_transfer_files")
    evicted = when if when is not None and when.text.strip().upper() == "ON_EXIT_OR_EVICT" else code
    word = "" if should is None else should.text.strip().upper()
    # IF_NEEDED is refused together with ON_EXIT_OR_EVICT.
    if evicted is not None and (word == "NO" or (word == "IF_NEEDED" and evicted is when)):
        yield Hit(
            message="what the job saved is not moved when it is evicted",
            remedy="Set should_transfer_files = YES.",
            place=whole(evicted),
            knob=evicted.name,
        )
