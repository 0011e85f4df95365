"""The pages in a real Chromium: with and without JavaScript, with a keyboard, in dark and light, on paper.

    python -m pytest -m browser tests/html

needs `pip install -e '.[browser]'` and a Chromium (Debian: `apt-get install chromium`; another one: AGENTSIM_CHROMIUM=/path).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentsim.styles import all_styles
from tests.html.pages import PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

#: Without these Chromium looks for hosts of its own at every start.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
WIDTHS = {"narrow": 360, "wide": 1600}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("AGENTSIM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "there is no Chromium; name one in AGENTSIM_CHROMIUM"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    for name, make in PAGES.items():
        (made / f"{name}.html").write_text(make(), "utf-8")
    return made


@pytest.fixture(scope="module")
def expect() -> Any:
    """Playwright's own assertions: what a page does after a key or a click it may do a moment later, so they wait for it."""
    from playwright.sync_api import expect

    return expect


@pytest.fixture
def show(browser: Browser, folder: Path) -> Iterator[Any]:
    """Opens a page; at the end nothing may have been asked of a network, and nothing may have gone wrong on it."""
    contexts, asked, wrong = [], [], []

    def opened(name: str, *, scheme: Any = "light", width: int = 1280, javascript: bool = True) -> Page:
        context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 800}, java_script_enabled=javascript
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((folder / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_that_keeps_somebody_out(show, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = show(name, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no-script"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_sticks_out_of_the_page(show, name, width, javascript):
    page = show(name, width=WIDTHS[width], javascript=javascript)
    wide, visible = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= visible


def test_the_first_tab_stop_skips_to_the_content(show, expect):
    page = show("comparison")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.wait_for_url("**#main")
    page.keyboard.press("Tab")
    assert page.evaluate("document.getElementById('main').contains(document.activeElement)")


def test_tab_stops_come_in_the_order_of_the_page(show):
    page = show("comparison")
    tops = []
    for _ in range(40):
        page.keyboard.press("Tab")
        tops.append(
            page.evaluate(
                "[...document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]')]"
                ".indexOf(document.activeElement)"
            )
        )
    assert tops == sorted(tops)


def test_a_table_is_sorted_with_the_keyboard_and_says_so(show, expect):
    page = show("comparison")
    before = page.eval_on_selector_all("#s1 tbody th", "all => all.map(e => e.textContent)")
    head = page.locator("#s1 thead th").filter(has_text="calls").first
    head.locator("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    calls = page.eval_on_selector_all("#s1 tbody tr td:nth-child(6)", "all => all.map(e => Number(e.textContent))")
    assert calls == sorted(calls)
    head.locator("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    assert sorted(before) == sorted(page.eval_on_selector_all("#s1 tbody th", "all => all.map(e => e.textContent)"))


def test_a_table_shows_the_rows_that_are_looked_for_and_says_how_many(show, expect):
    page = show("comparison")
    # Other versions and settings of a style are shown where they are asked for.
    rows = sum("@" not in name for name in all_styles())
    field = page.get_by_label("Show rows that contain").first
    field.fill("mastra")
    shown = page.locator("#s1 tbody tr:visible")
    expect(shown).to_have_count(2)
    expect(page.locator("[role=status]").first).to_have_text(f"2 of {rows} rows")
    field.fill("")
    expect(shown).to_have_count(rows)


def test_without_javascript_nothing_is_missing_but_sorting(show, expect):
    page = show("comparison", javascript=False)
    assert page.locator("table tbody tr").count() > len(all_styles())
    assert page.locator("button").count() == 0
    page.locator("details.course summary").first.click()
    expect(page.locator("details.course .timeline").first).to_be_visible()


def test_a_link_to_what_is_folded_opens_it(show, expect):
    page = show("comparison")
    page.locator("#s1 tbody tr a").first.click()
    expect(page.locator("details.course[open]")).to_have_count(1)
    expect(page.locator("details.course[open] > summary")).to_be_focused()


def test_the_colours_follow_the_reader(show):
    ground = "getComputedStyle(document.body).backgroundColor"
    assert show("run", scheme="light").evaluate(ground) == "rgb(255, 255, 255)"
    assert show("run", scheme="dark").evaluate(ground) == "rgb(20, 22, 27)"


def test_on_paper_everything_is_open_and_dark_on_light(show, expect):
    page = show("comparison", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("details.course .timeline").first.bounding_box()["height"] > 50
    expect(page.locator(".tools").first).to_be_hidden()


def test_on_paper_nothing_is_cut_off(show):
    page = show("run")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 900})
    wide = page.evaluate(
        "[...document.querySelectorAll('.timeline')].map(e => e.scrollWidth - e.parentElement.clientWidth)"
    )
    assert all(each <= 0 for each in wide)
