"""``roost web``: an address that opens the pool's pages, logged in; ``roost token``: tokens for programs.

Both make requests to the web server over its Unix socket, where the kernel identifies the user.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import socket
import webbrowser
from typing import Any, Final

from roost.cli.colour import painted
from roost.cli.listing import print_json, table
from roost.cli.pool_connection import add_pool_options
from roost.cli.terminal import CommandError, Exit, say
from roost.runtime.home import Home, HomeError

#: Time limit of the web server's answer, s.
_ANSWER_S: Final = 20.0
_TIME: Final = re.compile(r"(\d{1,6})([smhd])")
_UNITS_S: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``web`` and ``token``."""
    web = subparsers.add_parser(
        "web",
        help="print an address that opens the pool's web pages",
        description="Print an address that opens the pool's web pages in a browser, logged in as you. The "
        "address works once, within two minutes.",
    )
    add_pool_options(web)
    web.add_argument("--open", action="store_true", help="open it in the browser of this machine")
    token = subparsers.add_parser(
        "token", help="create, list and revoke tokens for the HTTP API", description="Manage tokens for the HTTP API."
    )
    commands = token.add_subparsers(dest="token_command", metavar="COMMAND", title="commands", required=True)
    make = commands.add_parser(
        "create", help="make a token", description="Create a token and print it. It cannot be printed again."
    )
    add_pool_options(make)
    make.add_argument("--user", metavar="USER", default="", help="user of the token (default: you)")
    make.add_argument(
        "--role", choices=["reader", "user", "operator", "administrator"], default="user",
        help="role that limits what the token may do (default: user)",
    )  # fmt: skip
    make.add_argument(
        "--expires",
        metavar="DURATION",
        default="30d",
        help="validity, for example 12h or 30d, or never (default: 30d)",
    )
    make.add_argument("--note", metavar="TEXT", default="", help="note on what the token is for")
    listed = commands.add_parser(
        "list", help="list tokens", description="List your tokens; administrators see all tokens."
    )
    add_pool_options(listed)
    revoke = commands.add_parser("revoke", help="end a token", description="Revoke tokens at once.")
    add_pool_options(revoke, as_json=False)
    revoke.add_argument("token", metavar="ID", nargs="+", help="tokens, as `roost token list` names them")


def run(args: argparse.Namespace) -> int:
    """Run ``web`` or ``token``."""
    home = Home.find(args.home)
    if args.command == "web":
        return _web(home, args)
    return {"create": _create, "list": _list, "revoke": _revoke}[args.token_command](home, args)


def _web(home: Home, args: argparse.Namespace) -> int:
    reply = asked(home, "POST", "/logins")
    if args.json:
        print_json(reply)
    else:
        say(reply["url"])
    if args.open and not webbrowser.open(reply["url"]):
        raise CommandError("cannot open a browser here; open the address yourself")
    return Exit.OK


def _create(home: Home, args: argparse.Namespace) -> int:
    body = {"user": args.user, "role": args.role, "lifetime_s": lifetime_s(args.expires), "note": args.note}
    reply = asked(home, "POST", "/tokens", body)
    if args.json:
        print_json(reply)
    else:
        say(reply["token"])
    return Exit.OK


def lifetime_s(text: str) -> float | None:
    """The seconds of a duration such as 12h; None for never. Raises CommandError."""
    if text == "never":
        return None
    found = _TIME.fullmatch(text)
    if found is None or not int(found[1]):
        raise CommandError(f"--expires is {text!r}; write a time such as 12h or 30d, or never")
    return int(found[1]) * _UNITS_S[found[2]]


def _list(home: Home, args: argparse.Namespace) -> int:
    rows = asked(home, "GET", "/tokens")
    if args.json:
        print_json(rows)
        return Exit.OK
    if not rows:
        say("there are no tokens")
        return Exit.OK
    from roost.cli.happenings import clock

    lines = [
        [
            row["id"],
            row["user"],
            row["role"],
            clock(row["created_at"]),
            "never" if row["expires_at"] is None else clock(row["expires_at"]),
            "never" if row["used_at"] is None else clock(row["used_at"]),
            row["note"],
        ]
        for row in rows
    ]
    table(lines, ["ID", "USER", "ROLE", "CREATED", "EXPIRES", "LAST USED", "NOTE"])
    return Exit.OK


def _revoke(home: Home, args: argparse.Namespace) -> int:
    for each in args.token:
        asked(home, "DELETE", f"/tokens/{each}")
        say(f"token {painted(each, 'bold')} has been revoked")
    return Exit.OK


# -- asking the web server -------------------------------------------------------------------------------------


class _Connection(http.client.HTTPConnection):
    """HTTP over the Unix socket of a pool's web server."""

    def __init__(self, home: Home) -> None:
        super().__init__("localhost", timeout=_ANSWER_S)
        self._home = home

    def connect(self) -> None:
        """Connect."""
        from roost.runtime.files.long_paths import at_path

        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_ANSWER_S)
        with at_path(self._home.web / "socket") as address:
            self.sock.connect(address)


def asked(home: Home, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """The reply of a call of the API. Raises CommandError."""
    try:
        home.contact()
    except HomeError as error:
        raise CommandError(str(error)) from None
    connection = _Connection(home)
    try:
        content = None if body is None else json.dumps(body)
        headers = {} if body is None else {"content-type": "application/json"}
        connection.request(method, f"/api/v1{path}", content, headers)
        reply = connection.getresponse()
        raw = reply.read()
        data: Any = json.loads(raw) if raw else None
    except (OSError, http.client.HTTPException, ValueError) as error:
        hint = "`roost status --daemons` shows whether web is running; WEB_SERVER = false disables it"
        raise CommandError(f"the pool's web server does not answer: {error}\n    hint: {hint}") from None
    finally:
        connection.close()
    if reply.status >= 400:
        detail, remedy = str(data.get("detail", reply.reason)), data.get("remedy")
        raise CommandError(detail + (f"\n    hint: {remedy}" if remedy else ""))
    return data
