"""Addresses of daemons in the form of HTCondor's.

IP address and port are the message server's, for daemons listen nowhere; name and kind behind them are what programs
tell daemons apart by.
"""

from __future__ import annotations


def daemon_address(place: str, name: str, daemon: str) -> str:
    """The address of a daemon of a kind, such as "schedd".

    `place` is the message server's IP address and port, ``127.0.0.1:4222``; "" where there is none, as in the lab.
    """
    host = name.rpartition("@")[2]
    if not place:
        return f"<{host}>"
    plain = place.replace("[", "").replace("]", "").replace(":", "-")
    return f"<{place}?addrs={plain}&alias={host}&sock={daemon}>"
