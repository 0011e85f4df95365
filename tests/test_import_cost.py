"""Having agentsim installed costs nothing: nothing heavy is imported before it is used."""

from __future__ import annotations

import json
import subprocess
import sys

HEAVY = (
    "yaml",
    "rich",
    "click",
    "jsonschema_rs",
    "pydantic",
    "hypothesis",
    "httpx",
    "httpx2",
    "syrupy",
    "uvicorn",
    "asyncio",
)


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has after running code."""
    script = f"import sys, json; before = set(sys.modules); exec({code!r}); print(json.dumps(sorted(set(sys.modules) - before)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return {name.partition(".")[0] for name in json.loads(out)}


def test_importing_agentsim_imports_nothing_heavy():
    assert not loaded_after("import agentsim") & set(HEAVY)


def test_importing_agentsim_imports_none_of_its_own_parts():
    out = loaded_after("import agentsim; import sys; assert not [m for m in sys.modules if m.startswith('agentsim.')]")
    assert "agentsim" in out


def test_the_core_and_the_styles_need_the_standard_library_only():
    assert not loaded_after("import agentsim.styles; agentsim.styles.all_styles()") & set(HEAVY)


def test_comparing_imports_nothing_that_only_folders_of_recordings_need():
    assert not loaded_after("import agentsim.api") & {"agentsim.judge.fleet", "concurrent.futures.process", "asyncio"}


def test_help_imports_neither_yaml_nor_rich():
    code = "from agentsim.cli import group; group(['--help'], standalone_mode=False)"
    script = f"import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()):\n    {code.replace('; ', chr(10) + '    ')}"
    assert not loaded_after(script) & {"yaml", "rich", "pydantic", "jsonschema_rs", "asyncio"}
