"""``-jsv`` of `qsub`, `qrsh` and the like: programs of the user that verify a job before it is submitted.

All named programs are run, that of the command line first, then those of scripts and request files. Each is started,
asked about this job, and ended.
"""

from __future__ import annotations

import grp
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from roost.gridengine.commands.errors import Failure, rejected
from roost.gridengine.jsv.parameters import JsvSubmitter, Misused, Submission, corrected, environment, parameters_of
from roost.gridengine.jsv.protocol import LINE_BYTES_MAX, Broken, Conversation, Result, Verdict
from roost.gridengine.jsv.url import TIMEOUT_S, BadUrl, read_url
from roost.runtime.identity import host_name, user_name
from roost.runtime.local_time import date_time, instant
from roost.runtime.queue.submit_host import SystemSubmitHost

if TYPE_CHECKING:
    from roost.gridengine.commands.qsub import Asked
    from roost.schedd.submit.plan import ClusterPlan

#: Exit status if a verifier cannot be started.
_NO_VERIFIER: Final = 3
#: Options that are not part of plans.
_OPTIONS: Final = ("hold_jid", "hold_jid_ad", "m", "w")
_QUIT_S: Final = 1.0


def verified(asked: Asked, plan: ClusterPlan, command: str = "qsub") -> ClusterPlan:
    """The plan as changed by the verifiers; options that are not in it are changed in `asked`. Raises Failure."""
    by = _submitter(command)
    options: dict[str, str] = {name: asked.texts[name] for name in _OPTIONS if name in asked.texts}
    submission = Submission(plan=plan, options=options)
    for text in asked.verifiers:
        verdict = _asked(_path(text), submission, by)
        for _, said in verdict.messages:
            sys.stdout.write(f"{said}\n")
        if not verdict.accepts:
            wait = verdict.result is Result.REJECT_WAIT
            raise rejected(verdict.text or ("JSV temporarily rejected job" if wait else "JSV rejected job"))
        try:
            submission, warnings = corrected(submission, verdict, by)
        except Misused as misused:
            raise rejected(str(misused)) from None
        for warning in warnings:
            sys.stderr.write(f"{command}: {warning}\n")
    for name in _OPTIONS:
        asked.texts.pop(name, None)
    asked.texts.update(submission.options)
    return submission.plan


def _path(text: str) -> Path:
    try:
        url = read_url(text)
    except BadUrl as problem:
        raise Failure(f"qsub: {problem}", _NO_VERIFIER) from None
    if url.user:
        raise Failure("qsub: specifying user is not allowed in client JSV URLs", _NO_VERIFIER)
    path = Path(url.path)
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise Failure(f'qsub: JSV "{url.path}" is either not a file or not executable', _NO_VERIFIER)
    return path.absolute()


def _submitter(command: str) -> JsvSubmitter:
    try:
        group = grp.getgrgid(os.getgid()).gr_name
    except KeyError:
        group = str(os.getgid())
    return JsvSubmitter(
        user=user_name(),
        group=group,
        home=str(Path("~").expanduser()),
        host=host_name(),
        submit_host=SystemSubmitHost(),
        now=time.time(),
        context="client",
        client=command,
        is_directory=lambda path: Path(path).is_dir(),
        date_time=date_time,
        instant=instant,
    )


def _timeout_s() -> float:
    text = os.environ.get("SGE_JSV_TIMEOUT", "")
    return float(text) if text.isdecimal() and int(text) else TIMEOUT_S


def _asked(path: Path, submission: Submission, by: JsvSubmitter) -> Verdict:
    """The verdict of a program. Raises Failure."""
    conversation = Conversation(parameters_of(submission, by), environment(submission))
    timeout_s = _timeout_s()
    try:
        with subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        ) as process:
            try:
                _talk(process, conversation, time.monotonic() + timeout_s)
            finally:
                _end(process)
    except TimeoutError:
        raise rejected(f'JSV "{path}" has not decided within {timeout_s:g} s') from None
    except Broken as broken:
        raise rejected(str(broken)) from None
    except (EOFError, OSError) as error:
        why = f": {error}" if isinstance(error, OSError) and error.strerror else ""
        raise rejected(f'got no response from JSV script "{path}"{why}') from None
    return conversation.verdict


def _talk(process: subprocess.Popen[bytes], conversation: Conversation, until: float) -> None:
    """Converse until the verdict. Raises Broken, TimeoutError, EOFError, OSError."""
    assert process.stdin is not None and process.stdout is not None
    out, into = process.stdout.fileno(), process.stdin.fileno()
    os.set_blocking(into, False)
    sending = _bytes(conversation.begin())
    buffer = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(out, selectors.EVENT_READ)
        while not conversation.is_over:
            if sending and into not in selector.get_map():
                selector.register(into, selectors.EVENT_WRITE)
            left_s = until - time.monotonic()
            ready = selector.select(left_s) if left_s > 0 else []
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                if key.fd == into:
                    sending = sending[os.write(into, sending) :]
                    if not sending:
                        selector.unregister(into)
                    continue
                piece = os.read(out, 1 << 16)
                if not piece:
                    raise EOFError
                buffer += piece
            while b"\n" in buffer and not conversation.is_over:
                line, _, rest = bytes(buffer).partition(b"\n")
                buffer[:] = rest
                sending += _bytes(conversation.heard(line.decode("utf-8", "replace")))
            if len(buffer) > LINE_BYTES_MAX:
                raise Broken(f"the JSV has sent a line of more than {LINE_BYTES_MAX} bytes")


def _bytes(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _end(process: subprocess.Popen[bytes]) -> None:
    import signal
    from contextlib import suppress

    assert process.stdin is not None
    with suppress(OSError):
        os.write(process.stdin.fileno(), b"QUIT\n")
    with suppress(OSError):
        process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_QUIT_S)
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
