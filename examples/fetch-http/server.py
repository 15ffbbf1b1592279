#!/usr/bin/env python3
"""A work queue behind HTTP. The queue is that of ../fetch-sqlite: what is here is only its front.

    server.py [PORT]        serve; the port is written to the file `url` for the hooks

    POST /lease?slot=NAME                       200 and the ad of a job, or 204: no work
    POST /items/ITEM/renew?token=TOKEN          200; 409: the lease is void
    POST /items/ITEM/done?token=TOKEN           200 with the result as body; 409: the lease is void, forget the result
    POST /items/ITEM/back?token=TOKEN&why=…     200: the item is not done; &failed=1: its job was at fault
    GET  /status

Every request may be sent again, and answers the same. The server may be killed at any time: all that it knows is in the
database when it answers.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fetch-sqlite"))

from workqueue import WorkQueue, job_ad, settings  # noqa: E402

#: A result, bytes.
BODY_BYTES_MAX = 1024 * 1024

QUEUE = WorkQueue()


class Front(BaseHTTPRequestHandler):
    """One request."""

    timeout = 20

    def do_GET(self) -> None:
        """Figures."""
        if urlsplit(self.path).path == "/status":
            self._say(200, json.dumps(QUEUE.status()))
        else:
            self._say(404)

    def do_POST(self) -> None:
        """A word of a hook."""
        parts = urlsplit(self.path)
        given = {name: values[0] for name, values in parse_qs(parts.query).items()}
        size = int(self.headers.get("Content-Length", 0))
        if size > BODY_BYTES_MAX:
            self._say(413)
            return
        body = self.rfile.read(size).decode("utf-8", "replace")
        match parts.path.strip("/").split("/"):
            case ["lease"]:
                found = QUEUE.lease(given.get("slot", ""))
                self._say(204) if found is None else self._say(200, job_ad(*found, given.get("owner", "")))
            case ["items", item, "renew"] if item.isdecimal():
                self._say(200 if QUEUE.renew(int(item), given.get("token", "")) else 409)
            case ["items", item, "done"] if item.isdecimal():
                self._say(200 if QUEUE.finish(int(item), given.get("token", ""), body) else 409)
            case ["items", item, "back"] if item.isdecimal():
                why, failed, final = given.get("why", ""), "failed" in given, "final" in given
                QUEUE.give_back(int(item), given.get("token", ""), why, failed=failed, final=final)
                self._say(200)
            case _:
                self._say(404)

    def _say(self, status: int, text: str = "") -> None:
        data = text.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, form: str, *values: object) -> None:
        """Nothing: the database tells."""


def main(words: list[str]) -> int:
    """Serve on loopback; put something with TLS and passwords before it for a network."""
    port = words[0] if words else settings().get("PORT", "0")
    if len(words) > 1 or not port.isdecimal():
        print(__doc__, file=sys.stderr)
        return 2
    QUEUE.path.parent.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Front)
    new = HERE / "url.new"
    new.write_text(f"http://127.0.0.1:{server.server_address[1]}\n")
    new.rename(HERE / "url")
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
