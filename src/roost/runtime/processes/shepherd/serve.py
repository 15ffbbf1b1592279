"""The fork server: takes orders from the node daemon and forks a shepherd for each.

An order arrives in the form of `system.receive`: marshal data of the dictionary that `launch` describes, with its
``number``. The answer comes not from here but from the shepherd, over the same socket, together with a connection to
the shepherd for further orders. The fork server reports killed shepherds to the daemon, because they may not have
answered; for a shepherd that has, the daemon ignores the report.

The fork server lives as long as its daemon holds the other end. Orders in transit when the daemon died are not carried
out, because a restarted daemon would not know of them. For the same reason fork server and shepherds hold a lock until
a job's start is recorded: a daemon that gets the lock finds all jobs that were ever started in the records.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import gc
import marshal
import os

from roost.runtime.processes.shepherd.processes import boot_id, remove_group
from roost.runtime.processes.shepherd.system import forks_into, receive, set_name
from roost.runtime.processes.shepherd.tend import tend

#: The message of the fork server when it is ready.
READY = b"ready"


class Shepherds:
    """The fork server's children, and the order that each was forked for."""

    __slots__ = ("_channel", "_early", "_orders")

    def __init__(self, channel: _socket.socket) -> None:
        self._channel = channel
        self._orders: dict[int, int] = {}
        #: Wait statuses of children that had ended before the fork that created them returned.
        self._early: dict[int, int] = {}

    def born(self, child: int, number: int) -> None:
        """Note that a shepherd was forked for an order."""
        self._orders[child] = number
        status = self._early.pop(child, None)
        if status is not None:
            self._ended(child, status)

    def reap(self, *_: object) -> None:
        """Reap children that have ended; the handler of SIGCHLD."""
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            if child in self._orders:
                self._ended(child, status)
            else:
                self._early[child] = status

    def _ended(self, child: int, status: int) -> None:
        number = self._orders.pop(child, None)
        if number is None or not os.WIFSIGNALED(status):
            return
        try:
            # After anything the shepherd has reported itself.
            self._channel.send(marshal.dumps({"order": number, "killed": os.WTERMSIG(status)}))
        except OSError:
            # The daemon is gone.
            return


def serve(channel_file: int, lock_file: int, group: str | None) -> None:
    """Serve until the daemon is gone. `group` is the control group below which those of jobs are created."""
    os.chdir("/")
    os.umask(0o022)
    set_name(b"roost-nursery")
    for number in _signal.valid_signals() - {_signal.SIGKILL, _signal.SIGSTOP}:
        if _signal.getsignal(number) != _signal.SIG_DFL:
            _signal.signal(number, _signal.SIG_DFL)
    for file in (channel_file, lock_file):
        os.set_inheritable(file, False)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_IGN)
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, channel_file)
    boot, shepherds = boot_id(), Shepherds(channel)
    _signal.signal(_signal.SIGCHLD, shepherds.reap)
    # So that no shepherd has to determine it.
    forks_into()
    # Pages that the garbage collector would write to are shared with all shepherds.
    gc.disable()
    gc.freeze()
    channel.send(READY)
    while (order := receive(channel)) is not None:
        fields = marshal.loads(order)
        try:
            child = os.fork()
        except OSError as problem:
            failure = {
                "failed": "shepherd",
                "errno": problem.errno,
                "detail": "cannot create a process for the job's shepherd",
            }
            channel.send(marshal.dumps({"order": fields["number"], **failure}))
            continue
        if child == 0:
            tend(fields, boot, channel, lock_file)
        shepherds.born(child, fields["number"])
    if group is not None:
        # If there are jobs, the last shepherd does it.
        remove_group(os.fsencode(group))
