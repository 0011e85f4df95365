"""Whom the server answers: this machine, and nobody whom a web page has sent. Headers have a bound; no request names a file."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.errors import UsageError
from agentsim.http.doorkeeper import refusal
from agentsim.http.forward import Forward
from agentsim.http.record import Recorder
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from agentsim.limits import limit
from agentsim.scenario.load import loads

HI = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
CLAUDE = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
SCRIPT = {"agentsim": 1, "prompt": "hi", "replies": [{"text": "hello", "repeat": "forever"}]}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(Sessions({"only": loads(SCRIPT)}), allow_hosts=["agent.test", "*.docker.internal"]) as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, headers=CLAUDE, trust_env=False) as made:
        yield made


OURS = [
    "localhost",
    "127.0.0.1:8080",
    "[::1]:9",
    "LOCALHOST.",
    "app.localhost:3000",
    "192.168.1.7",
    "agent.test",
    "host.docker.internal:80",
]
FOREIGN = [
    "evil.example",
    "127.0.0.1.evil.example:80",
    "localhost.evil.example",
    "agent.test.evil.example",
    "docker.internal",
    "",
    ":80",
    "[",
    "a b",
]


@pytest.mark.parametrize("host", OURS)
def test_a_name_of_this_machine_is_answered(client: httpx2.Client, host: str) -> None:
    assert client.post("/v1/messages", json=HI, headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_name_that_leads_here_is_refused(host: str) -> None:
    complaint = refusal({"host": host}, ["agent.test", "*.docker.internal"])
    assert complaint is not None
    assert complaint.status == 403


def test_the_refusal_has_the_providers_shape_and_the_way_out(client: httpx2.Client) -> None:
    answer = client.post("/v1/messages", json=HI, headers={"host": "evil.example:80"})
    assert answer.status_code == 403
    assert answer.json()["error"]["type"] == "permission_error"
    assert "--allow-host evil.example" in answer.json()["error"]["message"]


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "https://agent.test"])
def test_a_page_of_this_machine_is_answered(client: httpx2.Client, origin: str) -> None:
    assert client.post("/v1/messages", json=HI, headers={"origin": origin}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://", "x"])
def test_a_page_of_a_foreign_site_is_refused(client: httpx2.Client, origin: str) -> None:
    answer = client.post("/v1/messages", json=HI, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_recorder_is_behind_the_same_door(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.yaml")
    try:
        with Server(None, app=Forward(recorder, {})) as server:
            answer = httpx2.post(
                f"{server.url}/v1/messages", json=HI, headers={"host": "evil.example"}, trust_env=False
            )
            assert answer.status_code == 403
    finally:
        recorder.abandon()


def test_it_listens_on_this_machine_only_unless_told_otherwise(server: Server) -> None:
    assert server._socket.getsockname()[0] == "127.0.0.1"
    with Server(Sessions({"only": loads(SCRIPT)}), host="0.0.0.0") as wide:
        assert wide._socket.getsockname()[0] == "0.0.0.0"
        assert wide.url.startswith("http://127.0.0.1:")
        assert httpx2.post(f"{wide.url}/v1/messages", json=HI, headers=CLAUDE, trust_env=False).status_code == 200


def test_an_address_of_another_machine_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match=r"port 0 of 192\.0\.2\.1 can't be had"):
        Server(Sessions({}), host="192.0.2.1")


# --- headers ---------------------------------------------------------------------------------------------------------


def test_headers_beyond_the_limit_are_refused(client: httpx2.Client) -> None:
    answer = client.post("/v1/messages", json=HI, headers={"x-long": "a" * limit("request_header_bytes")})
    assert answer.status_code == 431
    assert str(limit("request_header_bytes")) in json.dumps(answer.json())


def test_headers_that_never_end_are_hung_up_on_and_others_are_served(server: Server, client: httpx2.Client) -> None:
    def send_for_ever(to: socket.socket) -> None:
        for _ in range(1024):
            to.sendall(b"a" * 65536)

    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as endless:
        endless.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-long: ")
        with pytest.raises(OSError, match=r"[Rr]eset|[Bb]roken pipe"):
            send_for_ever(endless)
    assert client.post("/v1/messages", json=HI).status_code == 200


# --- paths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/../../etc/passwd",
        "/s/../../etc/passwd/v1/messages",
        "/s/%2e%2e%2f%2e%2e%2fetc%2fpasswd/v1/messages",
        "/s//etc/passwd",
        "/v1/models/../../../etc/passwd",
        "/v1/messages?file=/etc/passwd",
        "/s/only/v1/responses/..%2f..%2fetc%2fpasswd",
        "/%00/%ff",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_request_reads_a_file(server: Server, client: httpx2.Client, path: str, method: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        raw.sendall(head.encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 4") or b"root:" not in answer
    assert b"root:" not in answer
    assert client.post("/v1/messages", json=HI).status_code == 200


def test_a_non_ascii_path_is_answered(server: Server, client: httpx2.Client) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 4")
    assert client.post("/v1/messages", json=HI).status_code == 200


WHOLE = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: k\r\nanthropic-version: 1\r\ncontent-length: 2\r\n\r\n{}"


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_bytes_come_others_are_served(server: Server, data: st.DataObject) -> None:
    sent = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(sent)))
        sent[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=12))
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as raw:
        raw.sendall(bytes(sent))
        raw.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            answer = b"".join(iter(lambda: raw.recv(65536), b""))
            assert not answer or answer.startswith(b"HTTP/1.1 ")
            assert b" 500 " not in answer.partition(b"\r\n")[0]
    assert httpx2.post(f"{server.url}/v1/messages", json=HI, headers=CLAUDE, trust_env=False).status_code == 200
