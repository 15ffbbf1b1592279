"""The program of a job in a replay: it does nothing, reports the signals that it gets, and ends when told.

It runs by itself, ``python -I -S stand_in.py SOCKET NAME``, and imports nothing of Roost. Lines on its socket: it sends
``begun PID NAME``, ``signal N``, ``here N``; it receives ``where N``, ``exit CODE``, ``die SIGNAL``.
"""

import os
import signal
import socket
import sys


def main() -> None:
    """Run until told to end."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(sys.argv[1])

    def tell(text: str) -> None:
        line.sendall(text.encode() + b"\n")

    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGCHLD):
            signal.signal(number, lambda got, frame: tell(f"signal {got}"))
    tell(f"begun {os.getpid()} {sys.argv[2]}")
    rest = b""
    while piece := line.recv(4096):
        *lines, rest = (rest + piece).split(b"\n")
        for each in lines:
            word, _, number_text = each.decode().partition(" ")
            if word == "where":
                tell(f"here {number_text}")
            elif word == "exit":
                os._exit(int(number_text))
            elif word == "die":
                signal.signal(int(number_text), signal.SIG_DFL)
                os.kill(os.getpid(), int(number_text))


if __name__ == "__main__":
    main()
