"""`python -m tests.fuzz NAME [SECONDS]`: fuzz a target with atheris, from its corpus on.

Needs `pip install atheris`. What is new goes to `.fuzz/NAME`, a finding to `.fuzz/NAME-crash-…`; neither is kept, but a finding that is
mended gets a file in the corpus.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import atheris

PARTS = ("agentsim.core", "agentsim.scenario", "agentsim.wire", "agentsim.store", "agentsim.http.sessions")
with atheris.instrument_imports(include=["agentsim"]):
    import agentsim

    for module in pkgutil.walk_packages(agentsim.__path__, "agentsim."):  # those that are imported on use, too
        if module.name.startswith(PARTS):
            importlib.import_module(module.name)
    from tests.fuzz.targets import CORPUS, TARGETS

ROOT = Path(__file__).parents[2]
#: Folders of files that begin where the corpus of a target has none.
MORE = {"scenario": ROOT / "scenarios", "recording": ROOT / "tests" / "store" / "fixtures"}

name, seconds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "600"
found = ROOT / ".fuzz" / name
found.mkdir(parents=True, exist_ok=True)
limits = [f"-max_total_time={seconds}", "-timeout=30", "-rss_limit_mb=2500", f"-artifact_prefix={found.parent}/{name}-"]
seeds = [str(CORPUS / name), *([str(MORE[name])] if name in MORE else [])]
atheris.Setup([sys.argv[0], *limits, str(found), *seeds], TARGETS[name])
atheris.Fuzz()
