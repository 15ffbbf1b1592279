"""Lists of paths that depend on the host of a job, ``[host:]path,…``: options -o, -e, -i and -S of Grid Engine.

On a host the path that names it counts, else the one without a host. Where there is neither, files take the last path
of the list, as Grid Engine 8.1.9 does, and a shell is that of the queue. Names of hosts are compared without regard to
case; one without a domain means every host of that first label.
"""

from __future__ import annotations

from typing import NamedTuple


class HostPath(NamedTuple):
    """An entry of a list."""

    #: "" for any host.
    host: str
    path: str


def path_list(text: str) -> list[HostPath]:
    """The entries of a list. Raises ValueError, with Grid Engine's words, for a list that is none."""
    entries = []
    for word in filter(None, text.split(",")):
        host, colon, path = word.partition(":")
        entries.append(HostPath(host, path) if colon else HostPath("", word))
    if any(not entry.path for entry in entries):
        raise ValueError("paths may not be empty strings")
    if len({entry.host for entry in entries}) < len(entries):
        raise ValueError("ERROR! two files are specified for the same host")
    return entries


def is_host(named: str, host: str) -> bool:
    """Whether a name of a list means a host."""
    named, host = named.lower(), host.lower()
    return named == host or (("." in named) != ("." in host) and named.partition(".")[0] == host.partition(".")[0])


def path_for(text: str, host: str) -> str | None:
    """The path of a list that counts on a host; None if it has none for it. Raises ValueError."""
    entries = path_list(text)
    for entry in entries:
        if entry.host and is_host(entry.host, host):
            return entry.path
    return next((entry.path for entry in entries if not entry.host), None)
