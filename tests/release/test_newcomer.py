"""A newcomer follows the tutorial literally: an empty folder, a new environment, every command as it is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, follow

pytestmark = pytest.mark.release


def test_the_tutorial_is_followed_from_an_empty_folder(tmp_path: Path) -> None:
    session = follow(DOCS / "tutorial.md", tmp_path / "reader", literally=True)
    assert session.folder == tmp_path / "reader" / "refund-agent"
