"""HTTP/1.1 as clients of every kind speak it to the wire server."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import pytest

from agentsim.http.provider import Settings
from agentsim.http.server import Server
from agentsim.http.sessions import Sessions
from agentsim.scenario.load import loads
from agentsim.wire.base import HttpRequest, HttpResponse

HEADERS = "host: 127.0.0.1\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    script = {"agentsim": 1, "prompt": "hi", "replies": [{"text": "hello", "repeat": "forever"}]}
    with Server(Sessions({"only one": loads(script)})) as running:
        yield running


def body(**more: object) -> bytes:
    said = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    return json.dumps(said | more).encode()


def post(content: bytes, path: str = "/v1/messages", version: str = "1.1", more: str = "") -> bytes:
    head = f"POST {path} HTTP/{version}\r\n{HEADERS}{more}content-length: {len(content)}\r\n\r\n"
    return head.encode() + content


def all_of(port: int, *sent: bytes) -> bytes:
    """Everything that comes until the server closes the connection."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
        for part in sent:
            sock.sendall(part)
            time.sleep(0.02)
        while data := sock.recv(65536):
            received += data
    return received


LAST = post(body(), more="connection: close\r\n")


def test_requests_that_come_at_once_are_answered_in_order(server: Server) -> None:
    answers = all_of(server.port, post(body(stream=True)) + post(body()) + post(b"{") + LAST)
    kinds = [part.split(b"\r\n", 1)[0] for part in answers.split(b"HTTP/1.1 ")[1:]]
    assert kinds == [b"200 OK", b"200 OK", b"400 Bad Request", b"200 OK"]
    assert answers.count(b"transfer-encoding: chunked") == 1
    assert b"0\r\n\r\nHTTP/1.1 200 OK" in answers, "a stream ends with its last chunk"


@pytest.mark.parametrize("at", [1, 30, 100, 180, 200])
def test_a_request_may_come_in_pieces_cut_anywhere(server: Server, at: int) -> None:
    assert b'"text":"hello"' in all_of(server.port, LAST[:at], LAST[at:])


def test_a_chunked_request_is_read(server: Server) -> None:
    content = body()
    chunks = b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (5, content[:5], len(content) - 5, content[5:])
    head = f"POST /v1/messages HTTP/1.1\r\n{HEADERS}transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    assert b'"text":"hello"' in all_of(server.port, head.encode() + chunks)


def test_http_1_0_reads_a_stream_to_the_connections_end(server: Server) -> None:
    answer = all_of(server.port, post(body(stream=True), version="1.0"))
    assert b"chunked" not in answer
    assert answer.endswith(b'data: {"type":"message_stop"}\n\n')


def test_who_asks_whether_to_send_the_body_is_told_so(server: Server) -> None:
    head, _, content = post(body(), more="expect: 100-continue\r\nconnection: close\r\n").partition(b"\r\n\r\n")
    answer = all_of(server.port, head + b"\r\n\r\n", content)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


def test_a_head_request_gets_the_headers_alone(server: Server) -> None:
    answer = all_of(server.port, f"HEAD /v1/models HTTP/1.1\r\n{HEADERS}connection: close\r\n\r\n".encode())
    head, _, content = answer.partition(b"\r\n\r\n")
    assert b"content-length" in head
    assert content == b""


@pytest.mark.parametrize(
    "path", ["/s/only%20one/v1/messages", "http://proxy.example:80/v1/messages", "/v1/messages?beta=true"]
)
def test_targets_are_read_however_they_are_written(server: Server, path: str) -> None:
    assert b'"text":"hello"' in all_of(server.port, post(body(), path, more="connection: close\r\n"))


def test_an_upgrade_that_nobody_offers_is_answered_as_a_request(server: Server) -> None:
    upgrade = post(body(), more="connection: upgrade, close\r\nupgrade: h2c\r\n")
    assert b'"text":"hello"' in all_of(server.port, upgrade)


def test_a_mistake_of_the_endpoint_is_a_500_and_the_server_lives_on() -> None:
    def endpoint(request: HttpRequest) -> HttpResponse:
        if request.body == b"boom":
            raise ZeroDivisionError
        return HttpResponse(204)

    with Server(endpoint) as server:
        assert all_of(server.port, post(b"boom")).startswith(b"HTTP/1.1 500 Internal Server Error")
        assert all_of(server.port, post(b"", more="connection: close\r\n")).startswith(b"HTTP/1.1 204 No Content")


def test_what_comes_while_a_paced_answer_is_sent_is_answered_after_it() -> None:
    slow = {"text": "hello", "seconds": {"first": 0.01, "per_chunk": 0.001}, "repeat": "forever"}
    sessions = Sessions(
        {"slow": loads({"agentsim": 1, "prompt": "hi", "replies": [slow]})}, Settings(real_time=True, keep=False)
    )
    with Server(sessions) as server:
        answers = all_of(server.port, post(body(stream=True)) + post(body()) + LAST)
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert answers.index(b"message_stop") < answers.index(b'"text":"hello"}]')
