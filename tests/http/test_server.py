"""The wire server: any bytes get a provider-shaped answer, and it lives on."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentsim.errors import ScenarioError, UsageError
from agentsim.http.provider import Settings
from agentsim.http.serve import scenarios_at, serve
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from agentsim.limits import limit
from agentsim.scenario.load import loads

CLAUDE = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
HI = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    script = {"agentsim": 1, "prompt": "hi", "replies": [{"text": "hello", "repeat": "forever"}]}
    with Server(Sessions({"only": loads(script)})) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, headers=CLAUDE, trust_env=False) as made:
        yield made
        assert made.post("/v1/messages", json=HI).status_code == 200, "the server lives on"


def error_of(response: httpx2.Response) -> str:
    return str(response.json()["error"]["message"])


@pytest.mark.parametrize("path", ["/messages", "/v1/messages", "/v1/v1/messages", "/s/only/v1/messages"])
def test_every_spelling_of_the_base_url_is_served(client: httpx2.Client, path: str) -> None:
    answer = client.post(path, json=HI)
    assert answer.status_code == 200
    assert answer.json()["content"] == [{"type": "text", "text": "hello"}]


@pytest.mark.parametrize("content", [b'{"model": ', b"", b"\xff\xfe", b"[]", b"null", b'"x"', b"[" * 100_000])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/messages/count_tokens"])
def test_a_body_that_is_no_request_is_a_400_of_the_providers(client: httpx2.Client, path: str, content: bytes) -> None:
    answer = client.post(path, content=content, headers={"authorization": "Bearer k"})
    assert answer.status_code == 400
    assert error_of(answer)


@pytest.mark.parametrize(
    "body",
    [
        {"messages": 1},
        {"messages": [1]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": [1]}]},
        {"messages": [{"role": "user", "content": [{}]}]},
        {"messages": [{"role": "user", "content": 5}]},
        {"messages": [{"role": "nobody", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {"tools": 3},
        {"tools": [3]},
        {"tools": [{}]},
        {"model": 4},
        {"max_tokens": "9"},
        {"stream": "yes"},
        {"system": 4},
        {"thread": 4},
        {"input": 4},
        {"input": [4]},
        {"input": [{"role": "user", "content": 4}]},
        {"input": [{"type": 4}]},
        {"conversation": 4},
        {"stream_options": 4, "stream": True},
        {"messages": [{"role": "assistant", "tool_calls": 4}]},
        {"messages": [{"role": "assistant", "tool_calls": [4]}]},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize(
    "path", ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/g:generateContent"]
)
def test_fields_of_wrong_types_are_refused(client: httpx2.Client, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=HI | body, headers={"authorization": "Bearer k"})
    assert answer.status_code == 400
    assert error_of(answer)


def test_a_wrong_content_type_is_read_all_the_same(client: httpx2.Client) -> None:
    answer = client.post("/v1/messages", content=json.dumps(HI), headers={"content-type": "text/plain"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/messages"), ("POST", "/nowhere"), ("DELETE", "/"), ("PUT", "/v1")]
)
def test_an_unknown_request_is_told_what_is_known(client: httpx2.Client, method: str, path: str) -> None:
    answer = client.request(method, path, json=HI)
    assert answer.status_code == 404
    assert "POST /v1/messages" in error_of(answer)


def test_a_body_that_is_too_large_is_refused_before_it_has_arrived(server: Server, client: httpx2.Client) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as sock:
        head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
        sock.sendall(f"{head}content-length: {3 * limit('request_body_bytes')}\r\n\r\n".encode())
        block = b"x" * (1 << 20)
        for _ in range(limit("request_body_bytes") // len(block) + 1):
            sock.sendall(block)
        answer = sock.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"request_too_large" in answer


def test_a_slow_sender_is_waited_for(server: Server, client: httpx2.Client) -> None:
    body = json.dumps(HI).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as slow:
        head = f"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\nanthropic-version: 1\r\ncontent-length: {len(body)}"
        slow.sendall(head.encode() + b"\r\n\r\n" + body[:20])
        assert client.post("/v1/messages", json=HI).status_code == 200, "others are served meanwhile"
        for at in range(20, len(body), 10):
            slow.sendall(body[at : at + 10])
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_client_that_goes_away_in_the_middle_harms_nobody(server: Server, client: httpx2.Client) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as gone:
        gone.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{")
    with socket.create_connection(("127.0.0.1", server.port)) as wrong:
        wrong.sendall(b"this is no HTTP\r\n\r\n")
        assert wrong.recv(4096).startswith(b"HTTP/1.1 400")


def test_a_taken_port_is_the_callers_mistake(server: Server) -> None:
    with pytest.raises(UsageError, match="can't be had"):
        Server(Sessions({}), server.port)


# --- serve -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.yaml").write_text("{agentsim: 1, prompt: first, replies: [{text: I am one}]}")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "two.scenario.yaml").write_text("{agentsim: 1, prompt: second, replies: [{text: I am two}]}")
    return tmp_path


CHILD = """
import os, sys, json, urllib.request
base = os.environ["ANTHROPIC_BASE_URL"]
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "second"}]}
request = urllib.request.Request(base + "/v1/messages", json.dumps(body).encode(), headers)
said = json.load(urllib.request.urlopen(request))["content"][0]["text"]
assert os.environ["OPENAI_BASE_URL"] == base + "/v1"
sys.exit(7 if said == "I am two" else 1)
"""


def test_a_command_finds_the_server_and_gives_its_status(folder: Path) -> None:
    assert serve(folder, 0, [sys.executable, "-c", CHILD]) == 7


def test_a_command_that_does_not_exist_is_the_callers_mistake(folder: Path) -> None:
    with pytest.raises(UsageError, match="can't be run"):
        serve(folder, 0, ["no-such-command-anywhere"])


def test_scenarios_are_called_by_their_files_stems(folder: Path) -> None:
    assert sorted(scenarios_at(folder)) == ["one", "two"]
    assert sorted(scenarios_at(folder / "one.yaml")) == ["one"]


def test_all_bad_files_of_a_folder_are_told_together(folder: Path) -> None:
    (folder / "bad.yaml").write_text("{agentsim: 1, prompt: x}")
    (folder / "worse.yaml").write_text("[")
    with pytest.raises(ScenarioError) as told:
        scenarios_at(folder)
    assert {Path(problem.file).name for problem in told.value.problems} == {"bad.yaml", "worse.yaml"}


def test_two_files_of_one_stem_and_empty_folders_are_told(folder: Path) -> None:
    (folder / "deep" / "one.yaml").write_text("{agentsim: 1, prompt: x, replies: []}")
    with pytest.raises(UsageError, match="both called 'one'"):
        scenarios_at(folder)
    with pytest.raises(UsageError, match="does not exist"):
        scenarios_at(folder / "nowhere")
    (folder / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no scenario"):
        scenarios_at(folder / "empty")


def test_real_time_waits_where_the_script_says_so() -> None:
    script = {
        "agentsim": 1,
        "prompt": "hi",
        "replies": [{"text": "hello", "seconds": {"first": 0.001, "per_chunk": 0.001}}],
    }
    sessions = Sessions({"slow": loads(script)}, Settings(real_time=True, keep=False))
    with Server(sessions) as running:
        asked = {"json": HI | {"stream": True}, "headers": CLAUDE, "trust_env": False}
        with httpx2.stream("POST", f"{running.url}/v1/messages", **asked) as response:
            received = b"".join(response.iter_raw())
    assert b"message_stop" in received


def test_what_goes_wrong_while_a_command_runs_is_told(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wrong = """
import os, json, urllib.request, urllib.error
headers = {"x-api-key": "sim-one:1", "anthropic-version": "2023-06-01"}
for said in ("first", "", "first"):
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": said}]}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), headers)
    try:
        urllib.request.urlopen(request).close()
    except urllib.error.HTTPError as error:
        error.close()
"""
    assert serve(folder, 0, [sys.executable, "-c", wrong]) == 0
    told = capfd.readouterr().err.splitlines()
    assert told[0].startswith(
        "agentsim: one: request 2 was refused (no_empty_message): messages.0: all messages must have"
    )
    assert told[1] == "agentsim: one: model call 2, but scenario 'one' has 1 reply"
