"""Every page of the documentation is followed as a reader would: its files written, its commands run, its outputs held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks_of, environment_of, follow, prepared

PAGES = sorted(
    path for path in DOCS.rglob("*.md") if path.parent.name != "reference" and any(blocks_of(path.read_text("utf-8")))
)
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
