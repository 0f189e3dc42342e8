"""The pages in a real browser, on a join that runs on Spark and whose hot key moves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.ui.hot_stream import HotStream, hot_stream, wait_for
from tests.ui.states import HOSTILE
from weft.ui import Watcher, frozen_page, serve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (Debian: apt install chromium)")


@pytest.fixture
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


def opened(browser: Any, url: str, complaints: list[str], *, width: int = 1200, scheme: str = "light") -> Page:
    page: Page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"a key was run as a script: {dialog.message}"))
    page.goto(url)
    page.wait_for_selector("main[data-version]")
    return page


def everybody_can_read(page: Page) -> None:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.timeout(600)
def test_a_hot_key_moves_and_the_pages_show_it(spark: SparkSession, tmp_path: Path, browser: Any) -> None:
    complaints: list[str] = []
    with hot_stream(spark, tmp_path) as stream:
        running = serve([stream.state], port=0, every=0.2)
        try:
            stream.feed(hot=False)
            page = opened(browser, running.url, complaints)
            expect(page.locator("h1")).to_contain_text("l.sym = r.sym", timeout=30_000)
            moved_in = _heat_up(stream, running.watcher)
            # The page shows the migration within two batches of it.
            page.goto(f"{running.url}#/{running.watcher.lines()['queries'][0]['key']}/plan")
            mark = page.locator(".line-of-plans li", has_text=f"Batch {moved_in}").first
            for _ in range(2):
                if mark.count():
                    break
                stream.feed(hot=True)
            expect(mark).to_contain_text("rows moved in", timeout=30_000)
            _look_at_every_view(page)
            everybody_can_read(page)
            dark = opened(browser, page.url, complaints, width=390, scheme="dark")
            for view in ("", "/balance", "/plan", "/join"):
                _go(dark, view)
                everybody_can_read(dark)
                assert dark.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} is too wide"
        finally:
            running.stop()
        watcher = Watcher([stream.state])
        watcher.look_at_all()
        file = tmp_path / "life.html"
        file.write_text(frozen_page(watcher), encoding="utf-8")
    alone = opened(browser, file.as_uri(), complaints)
    _go(alone, "/balance")
    expect(alone.locator(".keys")).to_contain_text(HOSTILE)
    # The server was stopped before its pages were closed.
    assert not [one for one in complaints if "ERR_CONNECTION_REFUSED" not in one and "ERR_INCOMPLETE" not in one], (
        complaints
    )


def _heat_up(stream: HotStream, watcher: Watcher) -> int:
    """Feed batches until one begins with a plan that moves rows; return its number."""
    for _ in range(12):
        stream.feed(hot=True, late=3 if stream.batch == 4 else 0)
        wait_for(lambda: (watcher.lines()["queries"][0]["batch"] or 0) >= stream.batch - 1, "the watcher")
        with watcher.asked(watcher.lines()["queries"][0]["key"]) as model:
            assert model is not None
            moved = [plan["batch"] for plan in model.plans() if plan["rows"]]
        if moved and stream.batch > 5:
            return int(moved[-1])
    raise AssertionError("no key ever moved")


def _go(page: Page, view: str) -> None:
    key = page.evaluate("store.list.queries[0].key")
    page.evaluate("hash => { location.hash = hash }", f"#/{key}{view}")
    page.wait_for_function("view => (location.hash.split('/')[2] || '') === view && !busy", arg=view.removeprefix("/"))


def _look_at_every_view(page: Page) -> None:
    _go(page, "")
    for title in ("Rows in", "Pairs out", "Time of a batch", "Rows held", "Late rows dropped"):
        expect(page.locator("figure", has_text=title).first).to_be_visible()
    expect(page.locator(".chip.late")).to_contain_text("6 late rows dropped")
    expect(page.locator("figure", has_text="Time of a batch")).to_contain_text("Spark")
    chart = page.locator("figure svg").first
    chart.focus()
    page.keyboard.press("Home")
    expect(page.locator("figure .legend").first).to_contain_text("batch 0")
    _go(page, "/balance")
    expect(page.locator(".heat .read")).to_contain_text("has most")
    page.locator(".heat canvas").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".heat .read")).to_contain_text("of the batch")
    page.get_by_label("Pairs", exact=True).check()
    expect(page.locator(".ramp")).to_be_visible()
    expect(page.locator(".keys tbody tr").first).to_contain_text(HOSTILE)
    _go(page, "/plan")
    expect(page.get_by_role("slider")).to_be_visible()
    expect(page.locator(".drawn svg").first).to_be_visible()
    _go(page, "/join")
    expect(page.locator(".explain").first).to_contain_text("fastjoin over 4 tasks")
    expect(page.locator(".drawn svg")).to_be_visible()
    assert not page.locator("img").count(), "a key became an element"
