"""A page of documentation is a shell session: its files are written, its commands run, and what it shows is what they print.

- A block with `title="path"` is a file, written where the reader would write it.
- A `console` block is run by bash in the page's folder; later blocks stay in the folder that it went to. It has to end with
  status 0, or with the one of a comment before it: `<!-- exit 1 -->`.
- A `text` (or `json`) block is the output of the command before it: its lines come in this order, `…` stands for anything, and other
  lines may stand between.
- A `python` block without a title is a program, and a `yaml` block without one a scenario that plays as it expects.
- A page with `<!-- folder: the repository -->` is read in this repository, with its `scenarios/`.
- A page with `<!-- followed by: test file -->` has a test of its own.
- `<!-- shown: why -->` is a block that nothing is done with, and the reason.

Lines that install something aren't run: what they name has to be there, at the version that they name. `Session(literally=True)` runs them.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import agentsim
from agentsim.judge.expect import unmet
from tests.sdk.environments import CACHE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(
    r"^(?:<!-- (?P<note>exit \d+|shown: .+?) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_INSTALLS = re.compile(r"^(python -m venv|\. \.venv/bin/activate|python -m pip install|npm (install|init))\b")
_IN_REPOSITORY = "<!-- folder: the repository -->"
_ENVIRONMENT = re.compile(r"^<!-- environment: (\S+) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block: where it is, what it is, and what a comment before it says of it."""

    language: str
    title: str
    text: str
    note: str
    line: int


def blocks_of(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in _FENCE.finditer(page):
        text = found["text"]
        if found["indent"]:
            text = re.sub(rf"^{found['indent']}", "", text, flags=re.MULTILINE)
        line = page.count("\n", 0, found.start("language")) + 1
        yield Block(found["language"], found["title"] or "", text, found["note"] or "", line)


def environment_of(page: str) -> str:
    """What the page needs: "plain", "python" (the SDKs' environment), or the name of a folder of Node packages."""
    found = _ENVIRONMENT.search(page)
    return found[1] if found else "plain"


def followed_by(page: str) -> str:
    """The test file that follows a page in place of a session; "" where there is none."""
    found = re.search(r"^<!-- followed by: (\S+) -->$", page, re.MULTILINE)
    return found[1] if found else ""


class Session:
    """A reader who follows a page."""

    def __init__(self, folder: Path, environment: str = "plain", *, literally: bool = False) -> None:
        self.folder, self.environment, self.literally = folder, environment, literally
        self.output = ""
        self._env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self._env |= {"NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"}
        self._env["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / ".hypothesis")
        self.home = folder.parent
        folder.mkdir(exist_ok=True)
        if not literally:
            self._enter()
        # The checkout is beside the folder that a page is about; the tutorial makes that folder.
        beside = folder if literally else self.home
        if not (beside / "agentsim").exists():
            (beside / "agentsim").symlink_to(ROOT)

    def _enter(self) -> None:
        """Commands of the environment: what an activated one would have on its path."""
        commands = self.home / "commands"
        commands.mkdir(exist_ok=True)
        python = sys.executable
        if self.environment == "python":
            python = str(CACHE / "docs_python" / "bin" / "python")
            self._env["PYTEST_PLUGINS"] = "agentsim.pytest_plugin"
            self._env["PYTHONPATH"] = str(ROOT)
        modules = {"python": "", "agentsim": " -m agentsim", "pytest": " -m pytest"}
        for name, module in modules.items():
            (commands / name).write_text(f'#!/bin/sh\nexec "{python}"{module} "$@"\n')
            (commands / name).chmod(0o755)
        if self.environment not in ("plain", "python"):
            packages = CACHE / self.environment / "node_modules"
            (self.folder / "node_modules").symlink_to(packages)
            node = next(path for path in sorted(packages.glob("node*/bin/node")) if path.is_file())
            (commands / "node").symlink_to(node)
        self._env["PATH"] = os.pathsep.join([str(commands), self._env["PATH"]])

    def play(self, block: Block) -> None:
        """Do what the reader does with a block."""
        if block.note.startswith("shown: "):
            return
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        elif block.language == "console":
            self.run(block.text, status=int(block.note.removeprefix("exit ") or 0))
        elif block.language in ("text", "json"):
            differs = difference(block.text, self.output)
            assert not differs, f"line {block.line}: {differs}\n--- printed:\n{self.output}"
        elif block.language == "python":
            self.run("python - <<'END-OF-PROGRAM'\n" + block.text + "END-OF-PROGRAM\n", status=0)
        elif block.language == "yaml":
            assert not unmet(agentsim.run(agentsim.loads(block.text))), f"line {block.line}"
        else:
            raise AssertionError(
                f"line {block.line}: nothing is done with a block of {block.language or 'no language'}"
            )

    def run(self, script: str, *, status: int) -> None:
        """Run shell commands, and stay where they end."""
        if not self.literally:
            script = "".join(self._checked(line) for line in _lines(script))
        where = self.home / "where"
        command = f"{script}\nstatus=$?; pwd > '{where}'; env -0 > '{where}.env'; exit $status"
        strict = "-eu" if status == 0 else "-u"
        done = subprocess.run(
            ["bash", strict, "-o", "pipefail", "-c", command], cwd=self.folder, env=self._env, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.output = done.stdout
        assert done.returncode == status, f"{script}ended with {done.returncode}, not {status}:\n{done.stdout}"
        self.folder = Path(where.read_text().strip())
        if self.literally:
            entries = Path(f"{where}.env").read_text().split("\0")
            self._env = dict(entry.split("=", 1) for entry in entries if "=" in entry)

    def _checked(self, line: str) -> str:
        """A line to run; "" in place of one that installs what is there."""
        if not _INSTALLS.match(line):
            return line
        words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)]
        wanted = [word for word in words[words.index("install") + 1 :] if word != "-q"] if "install" in words else []
        if "-r" in wanted:
            wanted.remove("-r")
            wanted += (self.folder / "requirements.txt").read_text().split()
        for each in wanted:
            if not each.endswith(".txt") and "agentsim" not in each and not each.startswith("../.."):
                self._has_package(each) if words[0] == "npm" else self._has_distribution(each)
        return ""

    def _has_package(self, wanted: str) -> None:
        """Fails where a package of npm isn't there at the version that is named."""
        name, _, version = wanted[1:].partition("@")
        found = json.loads((self.folder / "node_modules" / (wanted[0] + name) / "package.json").read_text())["version"]
        assert version in ("", found), f"the page installs {wanted}, but {found} is what it is tried with"

    def _has_distribution(self, wanted: str) -> None:
        """Fails where a distribution of Python isn't there at the version that is named."""
        name, _, version = wanted.partition("==")
        own = CACHE / "docs_python" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
        path = [str(own)] if self.environment == "python" else sys.path
        found = next(iter(importlib.metadata.distributions(name=name.partition("[")[0], path=path))).version
        assert version in ("", found), f"the page installs {wanted}, but {found} is what it is tried with"


def _lines(script: str) -> list[str]:
    """Lines of a script, continued ones as one."""
    return re.sub(r"\\\n\s*", " ", script).splitlines(keepends=True)


def difference(shown: str, printed: str) -> str:
    """The first line of what a page shows that is not printed; "" where all are, in this order."""
    rest = [" ".join(line.split()) for line in printed.splitlines()]
    for line in shown.splitlines():
        wanted = " ".join(line.split())
        if wanted in ("", "…"):
            continue
        pattern = re.compile(".*".join(map(re.escape, wanted.split("…"))))
        at = next((n for n, each in enumerate(rest) if pattern.fullmatch(each)), None)
        if at is None:
            return f"{line!r} is not printed (here)"
        rest = rest[at + 1 :]
    return ""


def follow(page: Path, folder: Path, *, literally: bool = False) -> Session:
    """Follow a page in a folder, from its first block to its last."""
    text = page.read_text("utf-8")
    session = Session(folder, environment_of(text), literally=literally)
    if _IN_REPOSITORY in text:
        (folder / "scenarios").symlink_to(ROOT / "scenarios")
    for block in blocks_of(text):
        try:
            session.play(block)
        except AssertionError as error:
            error.add_note(f"{page.relative_to(ROOT)}:{block.line}")
            raise
    return session


def copied(example: Path, folder: Path) -> None:
    """A copy of an example, without what running it leaves behind."""
    shutil.copytree(example, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))


def prepared(environment: str) -> None:
    """Make the environment of a page about an SDK, where it is missing."""
    if environment == "python":
        _prepared_python(CACHE / "docs_python", Path(__file__).with_name("sdk_python.txt"))
    elif environment != "plain":
        sys.path.insert(0, str(ROOT / "tests" / "sdk"))
        try:
            from environments import prepare  # type: ignore[import-not-found]
        finally:
            sys.path.remove(str(ROOT / "tests" / "sdk"))
        prepare(environment)


def _prepared_python(venv: Path, manifest: Path) -> None:
    done, wanted = venv / ".complete", manifest.read_text()
    if done.exists() and done.read_text() == wanted:
        return
    own = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needs = [*own["dependencies"], *own["optional-dependencies"]["pytest"], *own["optional-dependencies"]["serve"]]
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "python", "-m", "pip", "install", "-q", "-r", manifest, *needs], check=True)
    done.write_text(wanted)
