"""Where a command writes to and reads from: pipes that close, disks that are full, files that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import SCENARIOS, agentsim

PROGRAM = [sys.executable, "-m", "agentsim"]
REFUND, PAUSED = str(SCENARIOS / "refund.yaml"), str(SCENARIOS / "paused_search.yaml")
MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]}]

#: A client of one request, which prints the answer.
ASK = """
import json, os, urllib.request
body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01"}
print(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read().decode())
"""

posix = pytest.mark.skipif(os.name != "posix", reason="descriptors and FIFOs as POSIX has them")


def closed_pipe(*arguments: str) -> tuple[int, str]:
    """Status and complaints of a command whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([*PROGRAM, *arguments], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(write)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("compare", REFUND), 0),
        (("compare", PAUSED, "--fail-on", "silent"), 1),
        (("run", REFUND), 0),
        (("run", REFUND, "--format", "json"), 0),
        (("budget", REFUND), 0),
        (("styles",), 0),
        (("show", REFUND), 0),
        (("schema",), 0),
        (("validate", REFUND), 0),
        (("--help",), 0),
        (("run", "nothing.yaml"), 2),
    ],
    ids=lambda value: " ".join(Path(word).name for word in value) if isinstance(value, tuple) else "",
)
def test_a_reader_that_has_seen_enough_changes_no_status(arguments, status):
    code, said = closed_pipe(*arguments)
    assert code == status, said
    assert "Traceback" not in said
    assert "roken pipe" not in said
    assert bool(said) == (status == 2)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here that is always full")
@pytest.mark.parametrize(
    "arguments", [("compare", REFUND), ("run", REFUND, "--format", "json"), ("show", REFUND), ("--help",)]
)
def test_a_full_disk_is_one_line_and_status_2(arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["agentsim: standard output can't be written: No space left on device"]


@posix
def test_a_closed_standard_output_is_one_line_and_status_2():
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *PROGRAM, "run", REFUND], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, "agentsim: standard output is closed, so nothing can be printed\n")


@posix
def test_a_closed_standard_error_is_no_crash():
    done = subprocess.run(
        ["sh", "-c", '"$@" 2>&-', "sh", *PROGRAM, "run", "nothing.yaml"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")


def test_complaints_that_nobody_reads_change_no_status():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PROGRAM, "run", "nothing.yaml"], stderr=write, check=False)
    os.close(write)
    assert done.returncode == 2


# --- what can't be written ---------------------------------------------------------------------------------------------


@pytest.fixture
def recording(tmp_path: Path) -> str:
    file = tmp_path / "rec.jsonl"
    file.write_text(json.dumps(MESSAGES), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("place", ["", "a-file/below.yaml", "missing/x.yaml"])
def test_import_and_record_say_that_a_file_can_not_be_written(place, recording, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a-file").write_text("", encoding="utf-8")
    for command in (("import", recording, "-o", place), ("record", "-o", place, "--", sys.executable, "-c", "")):
        (line,) = agentsim(*command, status=2).splitlines()[-1:]
        assert repr(place) in line or "name is empty" in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-file", "rec.jsonl"]


def test_what_the_system_refuses_is_told_by_name(tmp_path, monkeypatch):
    from agentsim.cli.import_ import _replace
    from agentsim.errors import UsageError
    from agentsim.http.record import Recorder

    def refused(self, *arguments, **named):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(UsageError, match=r"x\.yaml' can't be written: Permission denied"):
        _replace(tmp_path / "x.yaml", "text", force=False)
    with pytest.raises(UsageError, match=r"x\.http\.jsonl\.part' can't be written: Permission denied"):
        Recorder(tmp_path / "x.yaml")


def test_an_unreadable_file_is_a_message(tmp_path, monkeypatch):
    import builtins

    from agentsim.errors import UsageError
    from agentsim.http.serve import serve

    file = tmp_path / "x.yaml"
    file.write_text("agentsim: 1", encoding="utf-8")

    def refused(*arguments, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(builtins, "open", refused)
    with pytest.raises(UsageError, match="can't be read: Permission denied"):
        serve(file)


# --- what is read ------------------------------------------------------------------------------------------------------


def piped(data: str, *arguments: str, status: int = 0) -> str:
    done = subprocess.run([*PROGRAM, *arguments], input=data, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@posix
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_a_file(name):
    text = Path(REFUND).read_text("utf-8")
    assert "ended: answer" in piped(text, "run", name)
    assert "reply 1" in piped(text, "show", name)
    assert "refund with a pause" in piped(text, "compare", name, "--style", "reference")
    assert "reference" in piped(text, "budget", name, "--style", "reference")
    assert "no problem" in piped(text, "validate", name)
    assert "agentsim: 1" in piped(json.dumps(MESSAGES), "import", name)
    assert "Hello." in piped(json.dumps(MESSAGES), "run", name)
    ask = [sys.executable, "-c", ASK]
    assert "Let me look" in piped(text, "serve", name, "--", *ask)
    assert "Hello." in piped(json.dumps(MESSAGES), "serve", name, "--off", "all", "--", *ask)


@posix
def test_several_workers_leave_standard_input_to_the_command_that_has_it():
    text = Path(REFUND).read_text("utf-8")
    assert "reference" in piped(text, "budget", "-", *[REFUND] * 20, "--style", "reference", "--jobs", "2")


def test_mistakes_in_standard_input_are_told_with_their_lines():
    for command in ("run", "validate"):
        assert "standard input:2: promt: unknown key" in piped("agentsim: 1\npromt: a\n", command, "-", status=2)
    assert "standard input" in piped("hello", "run", "-", status=2)


@posix
def test_a_fifo_is_read_once(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen([*PROGRAM, "show", str(fifo)], stdout=subprocess.PIPE, text=True) as reader:
        fifo.write_text(Path(REFUND).read_text("utf-8"), encoding="utf-8")
        text, _ = reader.communicate(timeout=60)
    assert "reply 1" in text


# --- what a file is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "show", "compare"])
@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("agentsim: 1\nreplies: []".encode("utf-16"), "the file is UTF-16"),
        (b"- a\n- b\n", "expected a scenario"),
        (b"just text\n", "expected a scenario"),
        (b"", "the file is empty"),
    ],
)
def test_a_yaml_file_that_is_no_scenario_is_told_as_one(command, data, says, tmp_path):
    file = tmp_path / "x.yaml"
    file.write_bytes(data)
    text = agentsim(command, str(file), status=2)
    assert says in text
    assert len(text) < 400


def test_a_scenario_is_not_imported_and_a_recording_not_validated(recording):
    assert "is a scenario already" in agentsim("import", REFUND, status=2)
    text = agentsim("validate", recording, status=2)
    assert (
        text
        == f"{recording}: this is a recording (claude-messages), not a scenario; `agentsim import` makes scenarios of it\n"
    )


def test_only_close_names_are_suggested(tmp_path):
    (tmp_path / "bin.yaml").write_text("", encoding="utf-8")
    for command in ("validate", "run"):
        assert "did you mean" not in agentsim(command, str(tmp_path / "missing.yaml"), status=2)
        assert "did you mean 'bin.yaml'" in agentsim(command, str(tmp_path / "bim.yaml"), status=2)


@posix
def test_a_link_to_nothing_is_told_as_one(tmp_path):
    (tmp_path / "link.yaml").symlink_to(tmp_path / "gone.yaml")
    for command in ("validate", "run"):
        text = agentsim(command, str(tmp_path / "link.yaml"), status=2)
        assert "it is a link to one that is gone" in text
        assert "did you mean" not in text


@pytest.mark.parametrize("command", ["validate", "import", "serve"])
def test_an_empty_name_is_told_as_one(command):
    assert "was expected, but its name is empty" in agentsim(command, "", status=2)


# --- what is asked for -------------------------------------------------------------------------------------------------


def test_files_that_are_named_are_read_or_an_error(tmp_path):
    wrong = tmp_path / "typo.yaml"
    wrong.write_text("agentsim: 1\npromt: a\nreplies: [{text: b}]\n", encoding="utf-8")
    text = agentsim("budget", REFUND, str(wrong), "missing.yaml", "--style", "reference", status=2)
    assert "did you mean 'prompt'" in text
    assert "there is no file 'missing.yaml'" in text
    (tmp_path / "good.yaml").write_text("agentsim: 1\nprompt: a\nreplies: [{text: b}]\n", encoding="utf-8")
    assert "reference" in agentsim("budget", str(tmp_path), "--style", "reference")


def test_compare_names_the_styles_that_can_not_do_what_is_asked():
    styles = ["--style", "ai-sdk/generateText", "--style", "ai-sdk/streamText", "--style", "anthropic/tool_runner"]
    text = agentsim("compare", REFUND, *styles, "--stream")
    assert "not as asked: 1 of 3 never call the model with streaming: ai-sdk/generateText" in text
    assert "1 of 3 always call the model with streaming: ai-sdk/streamText" in agentsim(
        "compare", REFUND, *styles, "--no-stream"
    )
    text = agentsim("compare", str(SCENARIOS / "three_rounds.yaml"), *styles, "--wire", "openai-chat")
    assert "don't speak openai-chat and are played on another: " in text
    assert "anthropic/tool_runner (anthropic-messages)" in text
    assert "not as asked" not in agentsim("compare", REFUND, *styles)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--off", "foo"], "there is no strictness rule 'foo' (known: all, "),
        (["--off", "no_prefil"], "did you mean 'no_prefill'"),
        (["--differing", "("], "'(' is no regular expression"),
    ],
)
def test_serve_takes_no_rule_and_no_expression_that_is_none(option, says):
    assert says in agentsim("serve", str(SCENARIOS), *option, status=2)


def test_serve_lists_its_rules():
    assert "every_call_is_answered" in agentsim("serve", "--help")


def test_messages_have_their_punctuation(recording):
    assert "unknown format 'foo' (known: " in agentsim("import", recording, "--from", "foo", status=2)
