"""Addresses of daemons in HTCondor's form.

IP address and port are the message server's, because daemons do not listen; the name and kind that follow identify the
daemon.
"""

from __future__ import annotations


def daemon_address(place: str, name: str, daemon: str) -> str:
    """The address of a daemon of a kind, such as "schedd".

    `place` is the message server's IP address and port, ``127.0.0.1:4222``; "" if there is none, as in the lab.
    """
    host = name.rpartition("@")[2]
    if not place:
        return f"<{host}>"
    plain = place.replace("[", "").replace("]", "").replace(":", "-")
    return f"<{place}?addrs={plain}&alias={host}&sock={daemon}>"
