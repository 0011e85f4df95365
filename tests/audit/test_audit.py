"""`agentsim audit` as a command: report card, formats, exit status, and targets that misbehave."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from xml.etree import ElementTree

import pytest

from agentsim.cli import main

ROOT = Path(__file__).parents[2]


def agentsim(*arguments: str, cwd: Path = ROOT) -> SimpleNamespace:
    """The command, in this process: starting one and importing an SDK anew takes longer than most audits."""
    out, err, status = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), 0
    before = list(sys.path)
    sys.path[:0] = [str(ROOT), str(cwd)]
    try:
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "argv", ["agentsim", "audit", *arguments]),
        ):
            main()
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.path[:] = before
        gc.unfreeze()  # an audit freezes what its children share
    out.flush()
    return SimpleNamespace(returncode=status, stdout=out.buffer.getvalue().decode(), stderr=err.getvalue())


def process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    path = os.pathsep.join([str(ROOT), str(cwd)])
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", "audit", *arguments],
        capture_output=True, text=True, encoding="utf-8", check=False, cwd=cwd, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_the_report_card_names_the_rule_and_shows_the_run():
    done = agentsim("tests.zoo.broken:ReturnsOnPause", "--rule", "pause_is_resumed_unchanged")
    assert done.returncode == 1
    assert "failed         pause_is_resumed_unchanged" in done.stdout
    assert "pause: reply 2 paused and was never resumed: it was given as the answer" in done.stdout
    assert "reply: pause_turn: text + server_tool_use(web_search)" in done.stdout


def test_json_has_a_row_for_each_rule_and_scenario():
    done = agentsim("tests.zoo.careful:claude", "--rule", "truncated_text_is_no_answer", "--format", "json")
    assert done.returncode == 0
    data = json.loads(done.stdout)
    assert data == {
        "target": "tests.zoo.careful:claude",
        "rules": [{"rule": "truncated_text_is_no_answer", "result": "passed", "scenario": "cut_text", "detail": ""}],
        "failed": [],
    }


def test_junit_and_html_can_be_read_by_others():
    target = ("tests.zoo.broken:ReturnsOnPause", "--rule", "pause_is_resumed_unchanged", "--format")
    suite = ElementTree.fromstring(agentsim(*target, "junit").stdout).find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"
    assert agentsim(*target, "html").stdout.startswith("<!doctype html>")


def test_fail_on_says_which_rules_count():
    target = ("tests.zoo.broken:ReturnsOnPause", "--rule", "pause_is_resumed_unchanged", "--fail-on")
    assert agentsim(*target, "limit_is_kept").returncode == 0
    assert agentsim(*target, "none").returncode == 0
    assert agentsim(*target, "pause_is_resumed_unchanged").returncode == 1


def test_a_missing_server_library_is_told_as_such_and_not_blamed_on_the_command(tmp_path):
    (tmp_path / "httptools.py").write_text("raise ImportError")
    done = process("--", sys.executable, "-c", "pass", cwd=tmp_path)
    assert done.returncode == 2
    assert "install agentsim with its extra 'serve'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere:run"], "No module named 'nowhere'"),
        (["tests.zoo.careful:nobody"], "has no 'nobody'"),
        (["tests.zoo.careful:CAREFUL"], "can't be called"),
        (["tests.zoo.careful:claude", "--rule", "pause_is_resumed"], "did you mean 'pause_is_resumed_unchanged'?"),
        (["tests.zoo.careful:claude", "--rule", "x"], "there is no rule 'x'; there are every_call_is_answered, "),
        (["--", "no-such-command-anywhere"], "can't be run"),
        ([], "expected module:callable, as my_package:run_agent, or `-- COMMAND`, but nothing came"),
        (["--"], "expected a command behind `--`, but nothing came"),
        (
            ["bot"],
            "expected module:callable or `-- COMMAND`, but 'bot' came; for a callable of the module bot: bot:NAME",
        ),
        (["bot.py"], "but 'bot.py' came; for a callable of the module bot: bot:NAME"),
        (["./bot:ask"], "but './bot:ask' came; for a callable of the module bot: bot:ask"),
        (["python", "bot.py"], "but 'python bot.py' came; for a command: agentsim audit -- python bot.py"),
        (["bot:ask", "--", "python", "bot.py"], "but both came: 'bot:ask' and 'python bot.py'"),
        (["--result", "bot:kind", "--", "python", "bot.py"], "the target is a command"),
        (["bot:ask", "--allow-host", "http://x/y"], "--allow-host: expected a host name, as api.example.com or"),
        (["bot:ask", "--allow-host", "example.com:443"], "but 'example.com:443' came; did you mean 'example.com'?"),
        (
            ["--rule", "refusal_is_no_answer", "--", sys.executable, "-c", "print('hello')"],
            "sent no request to a model",
        ),
    ],
)
def test_bad_usage_is_a_message_and_exit_status_2(arguments, message):
    done = agentsim(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


MISBEHAVING = """
import os, subprocess, sys, time
import anthropic

client = anthropic.Anthropic(api_key="k")

TOOLS = [{"name": "lookup", "input_schema": {"type": "object", "properties": {}}}]

def ask(prompt):
    return client.messages.create(model="m", max_tokens=9, tools=TOOLS, messages=[{"role": "user", "content": prompt}])

def hangs(prompt):
    ask(prompt)
    while True:
        time.sleep(1)

def floods(prompt):
    while True:
        ask(prompt)

def crashes(prompt):
    return ask(prompt).content[7].text

def exits(prompt):
    ask(prompt)
    os._exit(3)

def leaks(prompt):
    reply = ask(prompt)
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # leaked-by-the-agent"])
    return reply.content[0].text
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with targets that misbehave."""
    path = tmp_path_factory.mktemp("misbehaving")
    (path / "bad_agent.py").write_text(MISBEHAVING, "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "deadline", "detail"),
    [
        ("hangs", "5", "the target hung: no end after 5 seconds"),
        ("floods", "30", "the run never ended: 20 model requests and no end"),
        ("crashes", "30", "the target crashed: IndexError"),
        ("exits", "30", "the target ended its own process"),
    ],
)
def test_a_target_that_misbehaves_is_stopped_and_reported_and_later_rules_still_run(folder, name, deadline, detail):
    rules = ("--rule", "stop_sequence_is_an_answer", "--rule", "refusal_is_not_retried", "--rule", "limit_is_kept")
    options = ("--deadline", deadline, "--max-calls", "20", "--format", "json", "--prompt", "Hi")
    done = agentsim(f"bad_agent:{name}", *rules, *options, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    data = json.loads(done.stdout)
    assert {row["scenario"] for row in data["rules"]} >= {
        "refusal",
        "refusal_for_ever",
        "stop_sequence",
        "endless_calls",
    }
    assert any(detail in row["detail"] for row in data["rules"]), data["rules"]


def test_what_a_target_leaves_behind_is_ended_with_it(folder):
    agentsim("bad_agent:leaks", "--rule", "refusal_is_not_retried", "--deadline", "3", cwd=folder)
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "leaked-by-the-agent" not in left


COMMAND = """
import anthropic, sys

client = anthropic.Anthropic()
reply = client.messages.create(
    model="m", max_tokens=9, messages=[{"role": "user", "content": sys.argv[-1]}],
    tools=[{"name": "lookup", "input_schema": {"type": "object", "properties": {}}}])
print("".join(block.text for block in reply.content if block.type == "text"))
"""


def test_a_command_is_judged_by_its_output_and_exit_status(tmp_path):
    script = tmp_path / "agent.py"
    script.write_text(COMMAND, "utf-8")
    rules = ("--rule", "refusal_is_not_retried", "--rule", "every_call_is_answered", "--format", "json")
    data = json.loads(agentsim(*rules, "--", sys.executable, str(script)).stdout)
    assert data["failed"] == ["every_call_is_answered"]
    details = {row["scenario"]: row["detail"] for row in data["rules"] if row["result"] == "failed"}
    assert details == {
        "calls_beside_end_turn": "the run gave an answer, though the calls of reply 1 were never answered",
        "refusal": "the run ended on the calls of reply 1, which were never answered",
    }


THREE_TOOLS = """
import anthropic

client = anthropic.Anthropic(api_key="k")
EMPTY = {"type": "object", "properties": {}}

def ask(prompt):
    offered, messages = ["book", "delete", "lookup"], [{"role": "user", "content": prompt}]
    while True:
        reply = client.messages.create(model="m", max_tokens=9, messages=messages,
                                       tools=[{"name": name, "input_schema": EMPTY} for name in offered])
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls or reply.stop_reason != "tool_use":
            return "".join(block.text for block in reply.content if block.type == "text")
        with open("called.txt", "a") as file:
            file.write("".join(call.name + " " for call in calls))
        messages.append({"role": "assistant", "content": reply.content})
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": call.id, "content": "done"} for call in calls]})

def one_after_the_other(prompt):
    for offered in ("delete", "book"):
        try:
            client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": prompt}],
                                   tools=[{"name": offered, "input_schema": EMPTY}])
        except anthropic.BadRequestError:
            pass
"""


@pytest.fixture(scope="module")
def three_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an agent that offers three tools."""
    path = tmp_path_factory.mktemp("three_tools")
    (path / "shop.py").write_text(THREE_TOOLS, "utf-8")
    return path


def test_tools_can_be_restricted(three_tools):
    done = agentsim("shop:ask", "--rule", "one_run_for_each_call", "--tool", "lookup", cwd=three_tools)
    assert done.returncode == 0, done.stderr
    assert set((three_tools / "called.txt").read_text().split()) == {"lookup"}


@pytest.mark.parametrize("tool", ["lokup", "foo"])
def test_a_tool_that_the_target_does_not_offer_is_bad_usage_and_not_a_passed_audit(three_tools, tool):
    done = agentsim("shop:ask", "--rule", "every_call_is_answered", "--tool", "book", "--tool", tool, cwd=three_tools)
    assert (done.returncode, done.stdout) == (2, "")
    hint = "; did you mean 'lookup'?" if tool == "lokup" else ""
    assert f"--tool {tool}: the target offers no such tool; it offers book, delete, lookup{hint}\n" in done.stderr


def test_a_tool_of_an_agent_that_offers_none_is_bad_usage(tmp_path):
    (tmp_path / "toolless.py").write_text(TALKS, "utf-8")
    done = agentsim("toolless:talks", "--rule", "stop_sequence_is_an_answer", "--tool", "foo", cwd=tmp_path)
    assert done.returncode == 2
    assert "--tool foo: the target offers no such tool; none of its requests offers any" in done.stderr


def test_where_a_request_offers_only_other_tools_the_reason_says_so(three_tools):
    options = ("--rule", "every_call_is_answered", "--tool", "book", "--format", "json")
    data = json.loads(agentsim("shop:one_after_the_other", *options, cwd=three_tools).stdout)
    details = {row["detail"] for row in data["rules"] if row["result"] == "not_applicable"}
    assert any("the request offers delete, none of which --tool allows" in detail for detail in details), details


def test_an_object_is_classified_by_the_users_function(tmp_path):
    source = "from tests.zoo.careful import claude\nclass R:\n    def __init__(s, t): s.t = t\n"
    source += "def run(prompt):\n    return R(claude(prompt))\ndef kind(r):\n    return bool(r.t)\n"
    (tmp_path / "wrapped_agent.py").write_text(source, "utf-8")
    rule = ("--rule", "stop_sequence_is_an_answer", "--format", "json")
    plain = json.loads(agentsim("wrapped_agent:run", *rule, cwd=tmp_path).stdout)
    told = json.loads(agentsim("wrapped_agent:run", *rule, "--result", "wrapped_agent:kind", cwd=tmp_path).stdout)
    assert [row["result"] for row in plain["rules"]] == ["not_applicable"]
    assert [row["result"] for row in told["rules"]] == ["passed"]


CLASSIFIES = """
from tests.zoo.careful import claude

def run(prompt):
    return {"text": claude(prompt)}

def raises(value):
    return value["txt"]

def leaves(value):
    raise SystemExit(0)

def says_a_text(value):
    return value["text"]

async def is_async(value):
    return True

def hangs(value):
    import time
    time.sleep(600)

word = "answer"
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere:kind", "--result 'nowhere:kind': No module named 'nowhere'"),
        ("foo", "--result: expected module:callable, but 'foo' came"),
        ("classifying_agent:nobody", "--result 'classifying_agent:nobody': classifying_agent has no 'nobody'"),
        ("classifying_agent:word", "--result 'classifying_agent:word' is a str and can't be called"),
        ("classifying_agent:raises", "--result classifying_agent:raises raised KeyError: 'txt' (it was given the dict"),
        ("classifying_agent:leaves", "--result classifying_agent:leaves raised SystemExit: 0"),
        ("classifying_agent:says_a_text", "expected True or 'answer', False or 'none', or None where it can't tell; '"),
        ("classifying_agent:is_async", "expected True or 'answer', False or 'none', or None"),
        ("classifying_agent:hangs", "--result classifying_agent:hangs did not end within 1 seconds"),
    ],
)
def test_what_is_wrong_with_a_result_function_is_bad_usage_and_no_verdict(tmp_path, name, message):
    (tmp_path / "classifying_agent.py").write_text(CLASSIFIES, "utf-8")
    options = ("--rule", "stop_sequence_is_an_answer", "--deadline", "1", "--result", name)
    done = agentsim("classifying_agent:run", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_missing_result_function_is_told_before_anything_is_played(three_tools):
    (three_tools / "called.txt").unlink(missing_ok=True)
    assert agentsim("shop:ask", "--result", "nowhere:kind", cwd=three_tools).returncode == 2
    assert not (three_tools / "called.txt").exists()


TALKS = """
import anthropic

def talks(prompt):
    reply = anthropic.Anthropic().messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": prompt}])
    return "".join(block.text for block in reply.content if block.type == "text")

def hangs_without_asking(prompt):
    import time
    time.sleep(600)

def fails_without_asking(prompt):
    raise OSError("no key file")
"""


def test_an_agent_without_tools_is_played_the_replies_that_call_none(tmp_path):
    (tmp_path / "talking_agent.py").write_text(TALKS, "utf-8")
    rules = (
        "refusal_is_no_answer",
        "stop_sequence_is_an_answer",
        "truncated_text_is_no_answer",
        "one_run_for_each_call",
    )
    options = [word for rule in rules for word in ("--rule", rule)]
    data = json.loads(agentsim("talking_agent:talks", *options, "--format", "json", cwd=tmp_path).stdout)
    assert data["failed"] == ["refusal_is_no_answer", "truncated_text_is_no_answer"]
    passed = {row["rule"] for row in data["rules"] if row["result"] == "passed"}
    assert passed == {"stop_sequence_is_an_answer"}


@pytest.mark.parametrize(("name", "why"), [("hangs", "no end after 1 seconds"), ("fails", "OSError: no key file")])
def test_an_agent_that_asks_no_model_is_told_so_before_every_scenario_was_waited_for(tmp_path, name, why):
    (tmp_path / "silent_agent.py").write_text(TALKS, "utf-8")
    done = agentsim(f"silent_agent:{name}_without_asking", "--deadline", "1", cwd=tmp_path)
    assert done.returncode == 2
    assert f"sent no request to a model ({why})" in done.stderr
