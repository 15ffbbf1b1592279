"""LOG_FORMAT with real daemons."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.kit import eventually


def test_all_daemons_log_json_that_is_tied_by_the_submission(start: Any) -> None:
    pool = start("LOG_FORMAT = json\nWEB_SERVER = True\n")
    cluster = pool.submit("", "true")
    submission = pool.job(f"{cluster}.0")["SubmitRequestId"]
    pool.wait(cluster)

    def tied() -> bool:
        seen = set()
        for path in (pool.home / "log").glob("*.log"):
            rows = [json.loads(line) for line in path.read_text().splitlines() if path.name != "master.log"]
            seen |= {row["daemon"] for row in rows if row.get("submission") == submission}
        return seen == {"central", "schedd", "node"}

    eventually(tied)
    path = pool.home / "roost.config"
    path.write_text(path.read_text().replace("LOG_FORMAT = json", "LOG_FORMAT = text"))
    pool("reconfig")
    pool.wait(pool.submit("", "true"))
    assert " INFO roost.schedd: job" in (pool.home / "log" / "schedd.log").read_text().splitlines()[-1]
