"""`--html` of the commands: where the page goes, and what is said where it can't."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REFUND = "scenarios/refund.yaml"

COMMANDS = {
    "compare": ("compare", REFUND, "--style", "reference"),
    "run": ("run", REFUND),
    "budget": ("budget", "--rounds", "3", "--style", "reference"),
    "show": ("show", REFUND),
    "audit": ("audit", "tests.zoo.careful:claude", "--rule", "refusal_is_no_answer"),
}

#: Runs the command as if Jinja2 were not installed.
WITHOUT_JINJA = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "jinja2" else find(name, *rest)
sys.modules["jinja2"] = None
from agentsim.cli import main
main()
"""


def agentsim(
    *arguments: str, code: str = "from agentsim.cli import main; main()"
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=False, cwd=ROOT)
    assert b"Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_is_a_file_beside_the_usual_output(command, tmp_path):
    plain = agentsim(*COMMANDS[command])
    done = agentsim(*COMMANDS[command], "--html", str(tmp_path / "page.html"))
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert (tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")


def test_a_dash_is_the_page_alone_on_standard_output():
    done = agentsim(*COMMANDS["run"], "--html", "-")
    assert done.stdout.startswith(b"<!doctype html>")
    assert done.stdout.endswith(b"</html>\n")


def test_audit_still_takes_it_as_a_format():
    assert agentsim(*COMMANDS["audit"], "--format", "html").stdout.startswith(b"<!doctype html>")


def test_json_and_a_page_go_together_but_not_to_the_same_place(tmp_path):
    page = tmp_path / "page.html"
    assert agentsim(*COMMANDS["run"], "--format", "json", "--html", str(page)).stdout.startswith(b"{")
    assert page.exists()
    done = agentsim(*COMMANDS["run"], "--format", "json", "--html", "-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"both write to standard output" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_without_jinja2_each_says_what_to_install(command, tmp_path):
    done = agentsim(*COMMANDS[command], "--html", str(tmp_path / "page.html"), code=WITHOUT_JINJA)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"an HTML report needs Jinja2, which is not installed: install agentsim with its extra 'html'" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_without_jinja2_everything_else_works(command):
    assert agentsim(*COMMANDS[command], code=WITHOUT_JINJA).returncode == 0


def test_what_can_not_be_written_is_told_before_the_work_is_done(tmp_path):
    missing = agentsim(*COMMANDS["compare"], "--html", str(tmp_path / "no" / "page.html"))
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert b"there is no folder" in missing.stderr
    folder = agentsim(*COMMANDS["compare"], "--html", str(tmp_path))
    assert (folder.returncode, folder.stdout) == (2, b"")
    assert b"is a folder; name a file" in folder.stderr


def test_the_page_is_utf_8_whatever_the_locale(tmp_path):
    (tmp_path / "a.yaml").write_text("agentsim: 1\nprompt: größe 👍\nreplies: [{text: 한국어}]\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-m", "agentsim", "show", str(tmp_path / "a.yaml"), "--html", "-"],
        capture_output=True, check=False, env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, cwd=ROOT,
    )  # fmt: skip
    assert "größe 👍" in done.stdout.decode("utf-8")
