"""Lists of paths that depend on the host of a job, ``[host:]path,…``: options -o, -e, -i and -S of Grid Engine.

The path for a host is the one that names it, else the one without a host. If there is neither, files take the last path
of the list, as in Grid Engine 8.1.9, and the shell is the queue's. Host names are compared ignoring case; one without a
domain matches every host with that first label.
"""

from __future__ import annotations

from typing import NamedTuple


class HostPath(NamedTuple):
    """An entry of a list."""

    #: "" for any host.
    host: str
    path: str


def path_list(text: str) -> list[HostPath]:
    """The entries of a list. Raises ValueError, with Grid Engine's message, for an invalid list."""
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
    """Whether a name in a list matches a host."""
    named, host = named.lower(), host.lower()
    return named == host or (("." in named) != ("." in host) and named.partition(".")[0] == host.partition(".")[0])


def path_for(text: str, host: str) -> str | None:
    """The path in a list for a host; None if there is none. Raises ValueError."""
    entries = path_list(text)
    for entry in entries:
        if entry.host and is_host(entry.host, host):
            return entry.path
    return next((entry.path for entry in entries if not entry.host), None)
