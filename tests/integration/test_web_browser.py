"""The web pages in a real browser: live changes, the workbench, and nothing that the page's own policy forbids."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.kit import Pool, running

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed, so that no browser is driven"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed to look at the web pages with")


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with running(tmp_path_factory.mktemp("browser"), "WEB_SERVER = True\nNUM_SLOTS = 2\n", cpus=2) as pool:
        yield pool


@pytest.fixture
def page(pool: Pool) -> Iterator[Any]:
    """A page of a browser that is logged in; what it complains of fails the test."""
    complaints: list[str] = []
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = browser.new_page()
        found.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        found.on("pageerror", lambda error: complaints.append(str(error)))
        found.goto(pool("web").strip())
        yield found
        browser.close()
    assert not complaints


def test_a_slot_changes_its_colour_when_a_job_starts_and_ends(pool: Pool, page: Any) -> None:
    page.wait_for_selector(".cell.unclaimed[data-name]")
    cluster = pool.submit("", "sleep 600")
    page.wait_for_selector(".cell.claimed[data-name]", timeout=60_000)
    page.locator("[data-count=running]", has_text="1").wait_for()
    assert page.locator("[data-state=Claimed]").inner_text() == "1"
    pool("rm", str(cluster))
    page.wait_for_selector(".cell.claimed[data-name]", state="detached", timeout=60_000)


def test_the_workbench_marks_a_mistake_where_it_is_and_says_when_it_is_gone(page: Any) -> None:
    page.click("text=Policy workbench")
    page.fill("#policy", "START = KeyboradIdle > 60\n")
    page.locator(".finding", has_text="KeyboradIdle").first.wait_for()
    assert "KeyboradIdle" in page.locator("#marks mark").first.inner_text()
    page.fill("#policy", "START = TRUE\n")
    page.wait_for_selector(".finding.warning, .finding.error", state="detached")


def test_a_trial_policy_is_simulated_from_mistake_to_comparison(pool: Pool, page: Any) -> None:
    pool.wait(pool.submit("", "true"))
    page.click("text=Policy workbench")
    page.fill("#policy", "START = KeyboradIdle > 60\n")
    page.locator(".finding", has_text="KeyboradIdle").first.wait_for()
    page.fill("#policy", "START = false\n")
    page.locator("#findings", has_text="Nothing is wrong").wait_for()
    page.fill("input[name=seeds]", "2")
    page.select_option("select[name=owners]", "nobody")
    page.click("button.main")
    page.wait_for_selector("h1 .status.lab-done", timeout=120_000)
    row = page.locator("tr", has_text="jobs completed").inner_text().split("\t")
    assert float(row[1]) > 0
    assert float(row[2]) == 0
    assert page.locator("svg polyline").count() == 4
    assert page.locator("section.expression").count() > 0
    shared = page.url
    # It reads the same without a script, and leads back to the editor.
    bare = page.context.browser.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = bare.new_page()
    plain.goto(shared)
    assert plain.locator("tr", has_text="jobs completed").inner_text().split("\t") == row
    plain.click("text=Edit this policy")
    assert plain.input_value("#policy") == "START = false\n"
    plain.set_viewport_size({"width": 360, "height": 740})
    plain.goto(shared)
    assert plain.evaluate("document.documentElement.scrollWidth") <= 360
    plain.click("button:has-text('Delete')")
    assert plain.locator("text=Simulations").count() == 0
    bare.close()


def test_what_a_job_prints_appears_while_it_runs(pool: Pool, page: Any) -> None:
    go = pool.work / "go"
    script = f"echo first; echo trouble >&2; while ! test -e {go}; do sleep 0.1; done; echo '<b>last</b>'"
    cluster = pool.submit("output = p.out\nerror = p.err\nshould_transfer_files = yes\n", script)
    pool.seen(f"{cluster}.0", JobStatus=2)
    page.goto(page.url.rstrip("/") + f"/jobs/{cluster}.0")
    box = page.locator("pre.output[data-stream=out]")
    box.filter(has_text="first").wait_for()
    page.locator("pre.output[data-stream=err]").filter(has_text="trouble").wait_for()
    go.touch()
    box.filter(has_text="<b>last</b>").wait_for(timeout=60_000)
    pool.wait(cluster)
    page.reload()
    assert box.inner_text() == "first\n<b>last</b>\n"


def test_a_job_is_held_by_its_button(pool: Pool, page: Any) -> None:
    cluster = pool.submit("requirements = false\n", "true")
    page.goto(page.url.rstrip("/") + f"/jobs/{cluster}.0")
    page.fill("input[name=reason]", "by a button")
    page.click("button[value=hold]")
    page.wait_for_selector("h1 .status.s5")
    assert "by a button" in pool.job(f"{cluster}.0")["HoldReason"]
    assert "by a button" in page.locator("main").inner_text()
    pool("rm", str(cluster))
