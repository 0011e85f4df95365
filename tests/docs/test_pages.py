"""Every page of the documentation is followed as a reader would: its files written, its commands run, its outputs held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, blocks_of, difference, environment_of, follow, followed_by, prepared

ALL = {path: path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "reference"}
PAGES = [path for path, text in ALL.items() if any(blocks_of(text)) and not followed_by(text)]
NAMES = {path: str(path.relative_to(DOCS)) for path in PAGES}
PLAIN = [path for path in PAGES if environment_of(path.read_text("utf-8")) == "plain"]
REAL = [path for path in PAGES if path not in PLAIN]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder of the reader's; its parent holds what the test needs."""
    made = tmp_path / "reader"
    made.mkdir()
    return made


@pytest.mark.parametrize("page", PLAIN, ids=NAMES.get)
def test_a_page_does_what_it_says(page: Path, folder: Path) -> None:
    follow(page, folder)


@pytest.mark.sdk
@pytest.mark.parametrize("page", REAL, ids=NAMES.get)
def test_a_page_about_an_sdk_does_what_it_says(page: Path, folder: Path) -> None:
    prepared(environment_of(page.read_text("utf-8")))
    follow(page, folder)


def test_pages_without_a_session_have_a_test_of_their_own() -> None:
    tests = [followed_by(text) for text in ALL.values() if followed_by(text)]
    assert [name for name in tests if not (ROOT / name).exists()] == []


def test_what_a_page_shows_has_to_be_printed_in_its_order() -> None:
    printed = "first  line\nsecond 0.12s\nthird\n"
    assert difference("first line\n…\nthird", printed) == ""
    assert difference("second …s", printed) == ""
    assert "'third' is not printed" in difference("third\nthird", printed)
    assert "'fourth' is not printed" in difference("fourth", printed)
