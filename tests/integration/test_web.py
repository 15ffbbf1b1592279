"""The web server of a real pool: who may do what, live changes, pages, and what is left after a kill."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import time
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from roost.api.app import ROWS
from roost.api.calls import Row
from roost.api.people import WebRole
from roost.runtime.files.long_paths import at_path
from roost.runtime.identity import user_name
from tests.integration.kit import Pool, eventually, running

#: A name that would be a script if a page took it for HTML.
SCRIPT = "<script>alert(1)</script>"


class Reply(NamedTuple):
    """What the server said."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def data(self) -> Any:
        return json.loads(self.text)


class Web:
    """The web server of a pool, as a browser or a program sees it."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.login = pool("web").strip()
        self.netloc = urlsplit(self.login).netloc
        self.tokens = {role: pool("token", "create", "--role", role.word).strip() for role in WebRole}

    def __call__(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        role: WebRole | None = None,
        raw: bytes | None = None,
        **headers: str,
    ) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if role is not None:
            sent["authorization"] = f"Bearer {self.tokens[role]}"
        content = raw
        if body is not None:
            content = json.dumps(body).encode()
            sent.setdefault("content-type", "application/json")
        connection = http.client.HTTPConnection(self.netloc, timeout=30)
        try:
            connection.request(method, path, content, sent)
            found = connection.getresponse()
            return Reply(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read().decode())
        finally:
            connection.close()

    def session(self) -> str:
        """Log in as a browser does; the cookie."""
        found = self("GET", urlsplit(self.pool("web").strip()).path)
        assert found.status == 303
        cookie = found.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        return cookie.partition(";")[0]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with running(tmp_path_factory.mktemp("web"), "WEB_SERVER = True\nNUM_SLOTS = 2\n", cpus=2) as pool:
        yield Web(pool)


def _path(row: Row) -> str:
    return "/api/v1" + row.path.replace("{name}", "x").replace("{id}", "9").replace("{machine}", "nowhere")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_each_call_is_for_its_role_and_those_above(web: Web, row: Row) -> None:
    wrong = {"no such field": 1} if row.body is not None else None
    nobody = web(row.method, _path(row), wrong)
    assert (nobody.status, nobody.data["detail"]) == (401, "the request is not authenticated")
    for role in WebRole:
        found = web(row.method, _path(row), wrong, role=role)
        assert found.status < 500 or found.status == 503, found
        refused = found.status == 403 and f"role {role.word} does not permit this" in found.text
        assert refused == (role < row.role), (role, found)
        if wrong is not None and not refused:
            assert found.status == 422


def test_what_is_wrong_with_a_request_is_a_problem_document(web: Web) -> None:
    for found, status, said in (
        (web("GET", "/api/v1/jobs?limit=0", role=WebRole.READER), 422, "the query.limit"),
        (web("GET", "/api/v1/jobs?cursor=xyz", role=WebRole.READER), 422, "cursor"),
        (web("GET", "/api/v1/jobs?constraint=%28", role=WebRole.READER), 422, "constraint"),
        (web("GET", "/api/v1/jobs?constraint=true)||(true", role=WebRole.READER), 422, "constraint"),
        (web("GET", "/api/v1/jobs?nonsense=1", role=WebRole.READER), 422, "nonsense"),
        (web("GET", "/api/v1/pool?x=1", role=WebRole.READER), 422, "unknown parameter x"),
        (web("GET", "/api/v1/jobs/9999.0", role=WebRole.READER), 404, "9999.0"),
        (web("GET", "/api/v1/jobs/abc", role=WebRole.READER), 422, "abc"),
        (web("GET", "/api/v1/slots/none@x", role=WebRole.READER), 404, "none@x"),
        (web("GET", "/api/v1/nothing", role=WebRole.READER), 404, "/api/v1/nothing"),
        (web("DELETE", "/api/v1/jobs", role=WebRole.READER), 405, "DELETE"),
        (web("POST", "/api/v1/jobs/actions", raw=b"{", role=WebRole.USER), 400, "JSON"),
        (web("POST", "/api/v1/jobs/actions", raw=b"[" * 100_000, role=WebRole.USER), 400, "JSON"),
        (web("POST", "/api/v1/jobs/actions", raw=b"x", content_type="text/plain", role=WebRole.USER), 415, "json"),
        (web("POST", "/api/v1/jobs/actions", {"action": "hold"}, role=WebRole.USER), 422, "does not name any jobs"),
        (web("POST", "/api/v1/jobs/actions", {"action": "explode", "jobs": ["1"]}, role=WebRole.USER), 422, "explode"),
        (web("POST", "/api/v1/policy/lint", raw=b" " * 9_000_000, role=WebRole.USER), 413, "bytes"),
        (web("GET", "/api/v1/pool", authorization="Bearer roost_wrong"), 401, "token"),
        (web("GET", "/api/v1/pool", authorization="Basic cm9vdDpyb290"), 401, "token"),
    ):
        assert (found.status, found.headers["content-type"]) == (status, "application/problem+json"), found
        assert said in found.data["detail"]
        assert found.data["status"] == status
        assert set(found.data) >= {"type", "title", "instance"}


def _submit(web: Web, text: str, **more: Any) -> int:
    body = {"text": text, "directory": str(web.pool.work), **more}
    found = web("POST", "/api/v1/jobs", body, role=WebRole.USER)
    assert found.status == 201, found
    return int(found.data[0]["cluster"])


def test_a_job_is_submitted_watched_and_held_over_http_with_the_name_on_record(web: Web) -> None:
    script = web.pool.work / "job.sh"
    script.write_text("#!/bin/sh\necho over http > $1\n")
    script.chmod(0o755)
    text = "executable = job.sh\narguments = $(item)\nqueue item from items\n"
    cluster = _submit(web, text, files={"items": "one\ntwo\n"})
    web.pool.wait(cluster)
    assert [(web.pool.work / name).read_text() for name in ("one", "two")] == ["over http\n"] * 2
    none = web("GET", f"/api/v1/jobs/{cluster}.0/output", role=WebRole.READER).data
    assert (none["ended"], none["data"]) == (True, ""), none
    assert "keeps no standard output" in none["missing"]
    printed = _submit(web, "executable = /bin/echo\narguments = over http\noutput = said\nqueue\n")
    web.pool.wait(printed)
    said = web("GET", f"/api/v1/jobs/{printed}.0/output?offset=-5", role=WebRole.READER).data
    assert (b64decode(said["data"]), said["size"], said["offset"]) == (b"http\n", 10, 5)
    assert web("GET", f"/api/v1/jobs/{printed}.0/output?stream=both", role=WebRole.READER).status == 422
    assert web("GET", "/api/v1/jobs/99999.0/output", role=WebRole.READER).status in (404, 409, 503)
    held = _submit(web, "executable = /bin/sleep\narguments = 600\nqueue\n")
    body = {"action": "hold", "jobs": [str(held)], "reason": "over http"}
    assert web("POST", "/api/v1/jobs/actions", body, role=WebRole.READER).status == 403
    assert web("POST", "/api/v1/jobs/actions", body, role=WebRole.USER).data["counts"]
    ad = web.pool.seen(f"{held}.0", JobStatus=5)
    assert "over http" in ad["HoldReason"]
    rows = eventually(lambda: web("GET", f"/api/v1/audit?job={held}.0&kinds=hold", role=WebRole.READER).data["records"])
    assert (rows[0]["actor"].partition("@")[0], rows[0]["reason"]) == (user_name(), "hold: over http")
    explained = web("GET", f"/api/v1/jobs/{held}.0/explanation", role=WebRole.READER).data
    assert explained["job"] == f"{held}.0"
    story = web("GET", f"/api/v1/jobs/{held}.0/story", role=WebRole.READER).data
    assert any("held" in each["what"] or "hold" in each["what"] for each in story)
    web.pool("rm", str(held))


def test_the_server_reads_no_file_for_a_description(web: Web) -> None:
    secret = web.pool.work / "secret"
    secret.write_text("a\nb\nc\n")
    body = {"text": f"executable = /bin/true\nqueue x from {secret}\n", "directory": str(web.pool.work)}
    found = web("POST", "/api/v1/jobs", body, role=WebRole.USER)
    assert (found.status, "secret" in found.data["detail"]) == (422, True)
    body["text"] = f"include : {secret}\nexecutable = /bin/true\nqueue\n"
    assert web("POST", "/api/v1/jobs", body, role=WebRole.USER).status == 422
    body["text"] = "include command : touch /tmp/executed\nexecutable = /bin/true\nqueue\n"
    assert web("POST", "/api/v1/jobs", body, role=WebRole.USER).status == 422


def test_jobs_come_in_pages_that_together_are_all(web: Web) -> None:
    cluster = _submit(web, "executable = /bin/true\nrequirements = false\nqueue 25\n")
    seen: list[str] = []
    cursor = ""
    while True:
        path = f"/api/v1/jobs?{urlencode({'constraint': f'ClusterId == {cluster}', 'limit': 10, 'cursor': cursor})}"
        page = web("GET", path, role=WebRole.READER).data
        seen += [f"{row['ClusterId']}.{row['ProcId']}" for row in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"{cluster}.{proc}" for proc in range(25)]
    web.pool("rm", str(cluster))


def test_a_page_of_another_site_changes_nothing(web: Web) -> None:
    cookie = web.session()
    page = web("GET", "/", cookie=cookie)
    assert page.status == 200
    csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
    assert csrf is not None
    body = {"action": "hold", "constraint": "false"}
    where = f"http://{web.netloc}"
    assert web("POST", "/api/v1/jobs/actions", body, cookie=cookie).status == 403
    assert web("POST", "/api/v1/jobs/actions", body, cookie=cookie, x_csrf_token="0" * 64).status == 403
    good = {"cookie": cookie, "x_csrf_token": csrf[1]}
    assert web("POST", "/api/v1/jobs/actions", body, **good, origin="http://evil.example").status == 403
    assert web("POST", "/api/v1/jobs/actions", body, **good, origin="null").status == 403
    assert web("POST", "/api/v1/jobs/actions", body, **good, origin=where).status == 200
    form = urlencode({"action": "hold", "name": "1"}).encode()
    typed = {"cookie": cookie, "content_type": "application/x-www-form-urlencoded"}
    assert web("POST", "/act", raw=form, **typed).status == 403
    assert web("GET", "/", cookie=cookie, host="evil.example").status == 403
    assert web("POST", "/logout", raw=urlencode({"csrf": csrf[1]}).encode(), **typed).status == 303
    assert web("GET", "/", cookie=cookie).status == 401


def test_a_login_opens_the_pages_once(web: Web) -> None:
    path = urlsplit(web.pool("web").strip()).path
    assert web("GET", path).status == 303
    again = web("GET", path)
    assert again.status == 401
    assert "set-cookie" not in again.headers


def test_every_answer_forbids_foreign_scripts_and_frames(web: Web) -> None:
    for path in ("/", "/nothing", "/api/v1/pool", "/static/style.css", "/healthz", "/login/x"):
        headers = web("GET", path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_pages_show_jobs_slots_and_decisions_and_take_no_name_for_html(web: Web) -> None:
    cluster = _submit(web, f'executable = /bin/true\nbatch_name = "{SCRIPT}"\nrequirements = Memory < 1\nqueue\n')
    cookie = web.session()
    eventually(lambda: "occupied" in (text := web("GET", f"/jobs/{cluster}.0", cookie=cookie).text) or "Memory" in text)
    slot = web("GET", "/api/v1/slots?limit=1&projection=Name", role=WebRole.READER).data["items"][0]["Name"]
    for path, said in (
        ("/", slot),
        ("/jobs", f"{cluster}.0"),
        (f"/jobs?status=1&owner={user_name()}", f"{cluster}.0"),
        (f"/jobs/{cluster}.0", "submitted"),
        ("/machines", slot),
        (f"/slots/{slot}", "START"),
        ("/users", user_name()),
        ("/decisions", "configuration"),
        ("/workbench", "KeyboardIdle"),
    ):
        found = web("GET", path, cookie=cookie)
        assert (found.status, said in found.text) == (200, True), (path, found.text[-2000:])
        assert SCRIPT not in found.text
        assert web("GET", path, role=WebRole.READER).status == 200
        assert web("GET", path).status == 401
    form = urlencode({
        "action": "remove", "name": f"{cluster}.0", "reason": "by a button",
        "csrf": re.findall(r'name="csrf" value="([0-9a-f]+)"', found.text)[0],
    }).encode()  # fmt: skip
    typed = {"cookie": cookie, "content_type": "application/x-www-form-urlencoded"}
    assert web("POST", "/act", raw=form, **typed).status == 303
    eventually(lambda: not web.pool.try_("queue", f"{cluster}.0", "--json").stdout.strip("[] \n"))


def _events(web: Web, last: str = "") -> Iterator[tuple[str, str, Any]]:
    connection = http.client.HTTPConnection(web.netloc, timeout=60)
    headers = {"authorization": f"Bearer {web.tokens[WebRole.READER]}"} | ({"last-event-id": last} if last else {})
    connection.request("GET", "/api/v1/events", headers=headers)
    reply = connection.getresponse()
    number = kind = ""
    try:
        while line := reply.readline().decode().rstrip("\n") or " ":
            name, _, value = line.partition(": ")
            if name == "id":
                number = value
            elif name == "event":
                kind = value
            elif name == "data":
                yield number, kind, json.loads(value)
    finally:
        connection.close()


def test_an_owner_who_comes_back_is_seen_within_two_seconds_of_the_machine(web: Web) -> None:
    pool = web.pool
    events = _events(web)
    next(events)
    started = time.monotonic()
    pool.sense(keyboard_idle_s=0, console_idle_s=0)
    pool("reconfig")
    cluster = pool.submit("", "sleep 600")
    seen: dict[str, Any] = {}
    first = ""
    for number, kind, data in events:
        if kind == "slots":
            first = first or str(int(number) - len(data))
            seen |= data
        if any(slot and slot[1] == "Claimed" for slot in seen.values()):
            break
        assert time.monotonic() - started < 60
    # A reader that was away gets what it missed.
    missed = next(data for _, kind, data in _events(web, first) if kind == "slots")
    assert any(slot and slot[1] == "Claimed" for slot in missed.values())
    kinds = [kind for (_, kind, _), _ in zip(_events(web, "999999"), range(1), strict=False)]
    assert kinds == ["reset"]
    pool("rm", str(cluster))
    pool.sense(keyboard_idle_s=100_000, console_idle_s=100_000)


def test_metrics_are_what_the_queue_and_the_slots_are(web: Web) -> None:
    cluster = _submit(web, "executable = /bin/true\nrequirements = false\nqueue 3\n")
    assert web("GET", "/metrics").status == 401
    found = web("GET", "/metrics", role=WebRole.READER)
    assert found.headers["content-type"].startswith("application/openmetrics-text")
    idle = web.pool("queue", "--json", "--constraint", "JobStatus == 1").count("ProcId")
    assert f'roost_jobs{{status="idle"}} {idle}.0' in found.text
    assert 'roost_daemon_up{daemon="queue"} 1.0' in found.text
    assert found.text.endswith("# EOF\n")
    assert (web("GET", "/healthz").status, web("GET", "/readyz").status) == (200, 200)
    web.pool("rm", str(cluster))


def test_metrics_tell_how_long_jobs_wait_and_what_they_transfer(web: Web) -> None:
    def of(name: str) -> float:
        text = web("GET", "/metrics", role=WebRole.READER).text
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))

    (web.pool.work / "put").write_text("x" * 5_000)
    names = {
        "roost_job_wait_seconds_count": 3, "roost_job_start_seconds_count": 1,
        'roost_runs_ended_total{ending="exit"}': 3,
        'roost_transfer_bytes_total{direction="input"}': 15_000,
        'roost_transfer_seconds_count{direction="input"}': 3,
    }  # fmt: skip
    before = {name: of(name) for name in names}
    text = "executable = /bin/true\ntransfer_input_files = put\nshould_transfer_files = yes\nqueue 3\n"
    web.pool.wait(_submit(web, text))
    for name, more in names.items():
        assert of(name) - before[name] >= more, name
    assert of("roost_job_wait_seconds_sum") < 300
    assert of('roost_daemon_resident_memory_bytes{daemon="schedd"}') > 10_000_000
    assert time.time() - 3_600 < of('roost_daemon_start_time_seconds{daemon="web"}') <= time.time() + 2
    promtool = shutil.which("promtool")
    if promtool is not None:
        said = web("GET", "/metrics", role=WebRole.READER).text.replace("# EOF\n", "")
        done = subprocess.run([promtool, "check", "metrics"], input=said, capture_output=True, text=True, check=False)
        # OpenMetrics gives the help of a counter without the suffix, which this check does not know.
        complaints = [each for each in done.stderr.splitlines() if not each.endswith("_total no help text")]
        assert not complaints


def test_a_token_ends_when_it_is_revoked_and_gives_nobody_more_than_they_have(web: Web) -> None:
    made = web("POST", "/api/v1/tokens", {"role": "user", "note": "mine"}, role=WebRole.USER)
    assert made.status == 201
    bearer = f"Bearer {made.data['token']}"
    assert web("GET", "/api/v1/me", authorization=bearer).data == {"user": user_name(), "role": "user", "by": "token"}
    assert web("POST", "/api/v1/tokens", {"role": "administrator"}, authorization=bearer).status == 403
    assert web("POST", "/api/v1/tokens", {"user": "ann"}, authorization=bearer).status == 403
    listed = json.loads(web.pool("token", "list", "--json"))
    assert made.data["id"] in [each["id"] for each in listed]
    assert made.data["token"] not in json.dumps(listed)
    web.pool("token", "revoke", made.data["id"])
    assert web("GET", "/api/v1/me", authorization=bearer).status == 401
    assert web.pool.try_("token", "revoke", "none").returncode != 0
    assert "12h" in web.pool.try_("token", "create", "--expires", "soon").stderr
    # A user whom the pool does not know has a token that opens nothing.
    stranger = web("POST", "/api/v1/tokens", {"user": "stranger"}, role=WebRole.ADMINISTRATOR)
    assert web("GET", "/api/v1/me", authorization=f"Bearer {stranger.data['token']}").status == 401


def test_the_kernel_says_who_asks_over_the_socket(web: Web) -> None:
    with socket.socket(socket.AF_UNIX) as connection, at_path(web.pool.home / "web" / "socket") as address:
        connection.connect(address)
        # A header does not make another person of them.
        connection.sendall(b"GET /api/v1/me HTTP/1.0\r\nhost: evil\r\nx-forwarded-for: 1.2.3.4\r\n\r\n")
        found = b""
        while piece := connection.recv(65536):
            found += piece
    assert json.loads(found.partition(b"\r\n\r\n")[2])["user"] == user_name()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_an_outsider_gets_nothing_over_the_socket(web: Web) -> None:
    place = web.pool.home / "web" / "socket"
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        try:
            socket.socket(socket.AF_UNIX).connect(str(place))
        except PermissionError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_web_server_that_is_killed_comes_back_where_it_was(web: Web) -> None:
    cookie = web.session()
    old = web.pool.kill("web")

    def back() -> bool:
        try:
            return web("GET", "/", cookie=cookie).status == 200
        except OSError:
            return False

    eventually(back)
    assert web.pool.pid("web") != old
    assert web("GET", "/api/v1/pool", role=WebRole.READER).status == 200


def test_where_it_is_turned_off_nothing_of_it_runs(start: Any) -> None:
    pool = start()
    assert not (pool.home / "run" / "web.pid").exists()
    assert not (pool.home / "web").exists()
    refused = pool.try_("web")
    assert refused.returncode != 0
    assert "WEB_SERVER" in refused.stderr
    assert "web" not in json.loads(pool("status", "--daemons", "--json"))


def test_a_pool_that_goes_down_ends_its_web_server_in_order(start: Any) -> None:
    pool = start("WEB_SERVER = True\n")
    eventually(lambda: pool.try_("web").returncode == 0)
    pool.down("--fast")
    # The master forgets the process of a daemon whose end it has waited for.
    assert not (pool.home / "run" / "web.pid").exists()
    assert "Traceback" not in (pool.home / "log" / "web.log").read_text()


def test_tokens_that_are_tried_count_for_the_address(start: Any) -> None:
    pool = start("WEB_SERVER = True\nWEB_REQUESTS_PER_MINUTE = 20\n")
    netloc = urlsplit(eventually(lambda: pool.try_("web").stdout.strip())).netloc
    statuses = []
    for number in range(25):
        connection = http.client.HTTPConnection(netloc, timeout=30)
        connection.request("GET", "/api/v1/pool", headers={"authorization": f"Bearer roost_{number}"})
        statuses.append(connection.getresponse().status)
        connection.close()
    assert set(statuses[:20]) == {401}
    assert statuses[-1] == 429


def _lab(web: Web, text: str, **more: Any) -> Any:
    """What a simulation comes to."""
    body = {"text": text, "seeds": 1, "owners": "nobody", **more}
    made = web("POST", "/api/v1/lab/runs", body, role=WebRole.USER)
    assert made.status == 202, made
    assert (made.data["state"], made.data["result"]) == ("running", None)
    return eventually(lambda: it if (it := _run(web, made.data["id"]))["state"] != "running" else None)


def _run(web: Web, name: str) -> Any:
    return web("GET", f"/api/v1/lab/runs/{name}", role=WebRole.READER).data


def test_a_trial_policy_is_simulated_on_the_machines_and_jobs_of_the_pool(web: Web) -> None:
    cluster = _submit(web, "executable = /bin/true\nqueue 4\n")
    web.pool.wait(cluster)
    before = web("GET", "/api/v1/configuration/START", role=WebRole.READER).data
    run = _lab(web, "START = false\n")
    assert (run["state"], run["problem"], run["machines"], run["progress"]) == ("done", "", 1, 1.0)
    assert run["jobs"] >= 4
    completed = next(each for each in run["result"]["figures"] if each["name"] == "jobs_completed")
    assert (completed["old"], completed["new"]) == (run["jobs"], 0)
    assert sum(each["count"] for each in run["result"]["partings"]) == 2
    assert sum(run["result"]["courses"]["new"]["running"]) == 0
    assert web("GET", "/api/v1/configuration/START", role=WebRole.READER).data == before
    cookie = web.session()
    page = web("GET", f"/workbench/runs/{run['id']}", cookie=cookie).text
    assert "jobs completed" in page
    assert "START = false" in page
    assert 'class="course"' in page
    # The link is good after a restart of the server.
    old = web.pool.kill("web")

    def back() -> bool:
        try:
            return web.pool.pid("web") != old and web("GET", "/readyz").status == 200
        except OSError:
            return False

    eventually(back)
    assert _run(web, run["id"]) == run
    listed = web("GET", "/api/v1/lab/runs", role=WebRole.READER).data
    assert listed[0] == run | {"result": None}
    assert web("DELETE", f"/api/v1/lab/runs/{run['id']}", role=WebRole.READER).status == 403
    assert web("DELETE", f"/api/v1/lab/runs/{run['id']}", role=WebRole.USER).status == 204
    assert web("GET", f"/api/v1/lab/runs/{run['id']}", role=WebRole.READER).status == 404


def test_a_trial_policy_reads_no_file_and_runs_no_command(web: Web) -> None:
    secret, made = web.pool.work / "secret.config", web.pool.work / "made"
    secret.write_text("A_SECRET = 1\n")
    for text, said in (
        (f"include : {secret}\n", "secret.config"),
        (f"include command : touch {made}\n", "touch"),
        ("START = (\n", "trial"),
    ):
        run = _lab(web, text)
        assert run["state"] == "failed", run
        assert said in run["problem"]
        assert "A_SECRET" not in run["problem"]
    assert not made.exists()


def test_simulations_are_bounded_in_number_and_can_be_cancelled(web: Web) -> None:
    body = {"text": "START = true\n", "weeks": 4, "seeds": 10}
    made = web("POST", "/api/v1/lab/runs", body, role=WebRole.USER)
    again = web("POST", "/api/v1/lab/runs", body, role=WebRole.USER)
    assert (again.status, made.data["id"] in again.data["detail"]) == (409, True)
    assert web("POST", "/api/v1/lab/runs", {"text": "", "weeks": 1}, role=WebRole.USER).status == 422
    assert web("POST", "/api/v1/lab/runs", {"text": "x", "weeks": 9}, role=WebRole.USER).status == 422
    assert web("POST", "/api/v1/lab/runs", {"text": "x", "owners": "many"}, role=WebRole.USER).status == 422
    assert web("DELETE", f"/api/v1/lab/runs/{made.data['id']}", role=WebRole.USER).status == 204

    def free() -> bool:
        found = web("POST", "/api/v1/lab/runs", body, role=WebRole.USER)
        return (
            found.status == 202
            and web("DELETE", f"/api/v1/lab/runs/{found.data['id']}", role=WebRole.USER).status == 204
        )

    eventually(free)


def test_a_simulation_is_bounded_in_time_and_ends_with_its_server(start: Any) -> None:
    pool = start("WEB_SERVER = True\nWEB_LAB_TIME_MAX = 2\nWEB_LAB_RUNS_MAX = 1\n")
    eventually(lambda: pool.try_("web").returncode == 0)
    web = Web(pool)
    pool.wait(_submit(web, "executable = /bin/true\nqueue\n"))
    run = _lab(web, "START = true\n", weeks=4, seeds=10, owners="diurnal")
    assert (run["state"], "WEB_LAB_TIME_MAX" in run["problem"]) == ("failed", True), run
    web("POST", "/api/v1/lab/runs", {"text": "START = true\n"}, role=WebRole.USER)
    pool.down("--fast")
    eventually(lambda: not [each for each in pool.processes() if "lab_process" in str(each)])
