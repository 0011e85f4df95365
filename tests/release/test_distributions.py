"""What is released holds what it has to, and works where nothing else is installed."""

from __future__ import annotations

import re
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.release.conftest import ROOT, Distributions, interpreters, ran

pytestmark = pytest.mark.release

SCENARIO = "agentsim: 1\nprompt: Hi\nreplies:\n  - text: Hello.\n"


def installed(python: str, folder: Path, what: str) -> Path:
    """A new environment with a distribution and what it needs, nothing else; its folder of commands."""
    ran(python, "-m", "venv", folder / "venv", cwd=folder)
    commands = folder / "venv" / "bin"
    ran(commands / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", what, cwd=folder)
    ran(commands / "python", "-m", "pip", "check", cwd=folder)
    return commands


@pytest.mark.parametrize("python", interpreters().values(), ids=interpreters())
def test_the_wheel_works_without_extras(python: str, distributions: Distributions, tmp_path: Path) -> None:
    commands = installed(python, tmp_path, str(distributions.wheel))
    (tmp_path / "hi.yaml").write_text(SCENARIO)
    assert ran(commands / "agentsim", "--version", cwd=tmp_path).startswith("agentsim, version ")
    assert "reference" in ran(commands / "agentsim", "compare", "hi.yaml", cwd=tmp_path)
    assert "Hello." in ran(commands / "agentsim", "run", "hi.yaml", cwd=tmp_path)
    assert "1 scenario file" in ran(commands / "agentsim", "validate", "hi.yaml", cwd=tmp_path)
    code = "import agentsim; assert agentsim.play; print(agentsim.run(agentsim.load('hi.yaml')).final_text)"
    assert ran(commands / "python", "-W", "error", "-c", code, cwd=tmp_path) == "Hello.\n"
    assert len(ran(commands / "python", "-m", "pip", "list", "--format=freeze", cwd=tmp_path).split()) <= 20


def test_the_source_distribution_works_with_every_extra_of_users(distributions: Distributions, tmp_path: Path) -> None:
    extras = "pytest,serve,record,html,respx"
    commands = installed(interpreters()["python3.11"], tmp_path, f"{distributions.sdist}[{extras}]")
    (tmp_path / "hi.yaml").write_text(SCENARIO)
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "test_it.py").write_text(
        "import agentsim, pytest\n"
        "@pytest.mark.agentsim({'agentsim': 1, 'prompt': 'Hi', 'replies': [{'text': 'Hello.'}], 'unused_replies': 'allow'})\n"
        "def test_it(sim, transcript_snapshot):\n"
        "    assert sim.prompt == 'Hi'\n"
        "    assert agentsim.strategies.scenarios()\n"
    )
    assert "1 passed" in ran(commands / "python", "-m", "pytest", "-q", cwd=tmp_path)
    assert ran(commands / "agentsim", "serve", "hi.yaml", "--", "sh", "-c", "echo $OPENAI_BASE_URL", cwd=tmp_path)


def test_the_wheel_holds_the_package_and_nothing_else(distributions: Distributions) -> None:
    names = zipfile.ZipFile(distributions.wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"agentsim"}
    assert "agentsim/py.typed" in names
    assert len([name for name in names if name.startswith("agentsim/catalogue/")]) >= 35
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_source_distribution_can_be_tested(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kept = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "conftest.py", "docs/index.md", "zensical.toml"}
    assert kept | {"schema/scenario.schema.json", "examples/openai/agent.py", "tools/reference/api.py"} <= names
    assert not [name for name in names if "node_modules" in name or ".sdk-cache" in name or name.startswith("site/")]


def test_the_metadata_say_what_the_package_is(distributions: Distributions) -> None:
    archive = zipfile.ZipFile(distributions.wheel)
    [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
    metadata = Parser().parsestr(archive.read(name).decode())
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# agentsim")
    classifiers = metadata.get_all("Classifier")
    assert {"Typing :: Typed", "Framework :: Pytest", "Programming Language :: Python :: 3.14"} <= set(classifiers)
    plain = [each for each in metadata.get_all("Requires-Dist") if "extra ==" not in each]
    assert 1 <= len(plain) <= 6


def test_the_builders_of_documentation_and_ci_agree() -> None:
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    [command] = re.findall(r"^python -m tools.reference && (.+)$", page, re.MULTILINE)
    assert f".venv/bin/{command}" in (ROOT / ".ci" / "run").read_text("utf-8")
