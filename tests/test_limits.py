"""Limits: each is stated, can be changed by its variable, and holds."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentsim.audit.command import play_to_command
from agentsim.errors import ScenarioError, TranscriptError, UsageError
from agentsim.http.provider import Provider
from agentsim.judge.fleet import files_in
from agentsim.limits import LIMITS, PREFIX, limit
from agentsim.scenario.load import load, loads
from agentsim.store.importers import read
from agentsim.wire.base import HttpRequest
from tests.cli.test_commands import agentsim
from tests.store.files import own, packed

ROOT = Path(__file__).parents[1]


@pytest.fixture
def set_limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, object], None]:
    return lambda name, value: monkeypatch.setenv(PREFIX + name.upper(), str(value))


def test_the_security_page_states_every_limit() -> None:
    stated = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE))
    assert {name: int(value.replace(",", "")) for name, value in stated.items()} == {
        name: each.default for name, each in LIMITS.items()
    }


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "1e6", "many", "9" * 30, "١"])
def test_a_value_that_is_no_size_is_the_callers_mistake(set_limit: Any, text: str) -> None:
    set_limit("request_body_bytes", text)
    with pytest.raises(UsageError, match="AGENTSIM_LIMIT_REQUEST_BODY_BYTES: expected a whole number from 1 on, but"):
        limit("request_body_bytes")


def test_a_depth_that_no_reader_survives_is_refused(set_limit: Any) -> None:
    set_limit("scenario_depth", 100_000)
    with pytest.raises(UsageError, match="from 1 up to 300"):
        limit("scenario_depth")


def test_a_command_ends_with_status_2(set_limit: Any) -> None:
    set_limit("scenario_yaml_bytes", "lots")
    assert "AGENTSIM_LIMIT_SCENARIO_YAML_BYTES" in agentsim(
        "validate", str(ROOT / "scenarios" / "refund.yaml"), status=2
    )


def test_a_scenario_file_has_a_size_and_a_depth(set_limit: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("{agentsim: 1, prompt: hello there, replies: [{text: hi}]}")
    for name in ("scenario_yaml_bytes", "scenario_json_bytes"):
        set_limit(name, 20)
    with pytest.raises(ScenarioError, match="MiB; a scenario in"):
        load(file)
    for name in ("scenario_yaml_bytes", "scenario_json_bytes"):
        set_limit(name, 2000)
    assert load(file).prompts == ("hello there",)
    deep = '{"agentsim": 1, "prompt": "x", "tools": {"a": {"returns": %s1%s}}, "replies": []}'
    set_limit("scenario_depth", 300)
    loads(deep % ("[" * 290, "]" * 290))
    set_limit("scenario_depth", 10)
    with pytest.raises(ScenarioError, match="nested deeper than 10 levels"):
        loads(deep % ("[" * 9, "]" * 9))


def test_a_request_body_has_a_size(set_limit: Any) -> None:
    provider = Provider(loads({"agentsim": 1, "prompt": "x", "replies": [{"text": "hi"}]}))
    set_limit("request_body_bytes", 10)
    body = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
    request = HttpRequest("POST", "/v1/chat/completions", {"authorization": "Bearer k"}, body)
    assert provider(request).status == 413


def test_a_recording_has_a_size_whole_and_by_the_line(set_limit: Any, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(own("chat/list.json"))
    set_limit("import_file_bytes", 10)
    with pytest.raises(TranscriptError, match="import_file_bytes"):
        read(file)
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(
        next(own(name) for name in ("claude-code/session.jsonl", "codex-rollout/rollout.jsonl") if _has(name))
    )
    with pytest.raises(TranscriptError, match="import_file_bytes"):
        read(lines)


def _has(name: str) -> bool:
    return (ROOT / "tests" / "store" / "fixtures" / name).exists()


def test_an_archive_has_bounds(set_limit: Any) -> None:
    data, _ = packed()["deflated eval"]
    assert read(data).conversations
    set_limit("import_unfolded_bytes", 100)
    with pytest.raises(TranscriptError, match="unfolds to more than is sensible"):
        read(data)
    set_limit("import_unfolded_bytes", 1 << 20)
    set_limit("import_members", 1)
    with pytest.raises(TranscriptError, match="more than 1 members"):
        read(data)


def test_a_folder_has_so_many_files(set_limit: Any, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text("{}")
    assert len(list(files_in(tmp_path))) == 3
    set_limit("import_files", 2)
    with pytest.raises(UsageError, match="more than 2 files"):
        list(files_in(tmp_path))


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    archive = tmp_path / "a.eval"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("header.json", '{"version": 2, "status": "success", "eval": {"model": "m"}}')
        out.writestr(
            "samples/../../../../../../tmp/agentsim-was-here_epoch_1.json", '{"id": 1, "epoch": 1, "messages": []}'
        )
    read(archive)
    assert not Path("/tmp/agentsim-was-here_epoch_1.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.eval"]


def test_what_an_audited_command_prints_has_a_size(set_limit: Any) -> None:
    from agentsim.audit.played import Options

    set_limit("audit_output_bytes", 1000)
    scenario = loads({"agentsim": 1, "prompt": "x", "replies": [{"text": "hi"}]})
    prints = ["python3", "-c", "while True: print('x' * 1000, flush=True)"]
    played = play_to_command(prints, scenario, Options(deadline=60))
    assert "output and no end" in str(played.data())
