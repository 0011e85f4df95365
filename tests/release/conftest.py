"""The distributions, built once; and environments that only have what was installed into them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def ran(*words: str | Path, cwd: Path, **environment: str) -> str:
    """What a command prints; fails with it where its status is not 0."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        words,
        cwd=cwd,
        env=clean | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}"
    return done.stdout


@dataclass(frozen=True)
class Distributions:
    """The two files of a release."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Built as for a release: the source distribution of the tree, the wheel of the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Distributions(wheel, sdist)


def interpreters() -> dict[str, str]:
    """Version -> interpreter, of those that the package says it runs on and that are here."""
    found = {}
    for minor in range(11, 15):
        name = f"python3.{minor}"
        pyenv = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))
        candidates = [str(path) for path in pyenv] + [name]
        for candidate in candidates:
            try:
                subprocess.run([candidate, "-c", ""], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                continue
            found[name] = candidate
            break
    return found
