"""Settings that hold for every test of the repository."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = ["pytester"]

# A shared machine may be slow at any moment, so no example has a deadline; in CI the examples are the same each time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
