"""A scripted fake model server: three wires, streamed and not, in the standard library alone.

It exists to drive real SDKs, so it is lenient: it records what it is sent and never refuses a
request. What it answers is decided by a script that is posted to ``/control/KEY``.

A call with ``caller: true`` gets the optional ``caller`` field that newer Claude models send: some
SDKs write such a call back in another way.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import broken
from chat_wire import chat_completion, chat_events
from claude_wire import Event, claude_events, claude_message
from neutral import history, neutral
from responses_wire import responses_events, responses_object
from scripts import Json, Session, object_arguments, stop_of, with_offered_names, with_output_names

OPERATIONS = {
    "messages": "anthropic-messages",
    "responses": "openai-responses",
    "chat/completions": "openai-chat",
}


class Answer:
    """A response: either a JSON body or a list of server-sent events."""

    def __init__(
        self,
        body: Json | None = None,
        *,
        status: int = 200,
        events: list[Event] | None = None,
        done: bool = False,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.status = status
        self.body = body
        self.events = events
        self.done = done
        self.headers = headers or {}
        self.reset: str | None = None  # "before" the headers, or "after" what there is of the body

    def break_off(self, wire: str, how: Json) -> None:
        """Let a stream end early; a reply that is not streamed can only be missing."""
        if "after" not in how:
            self.reset = "before"
        if "after" not in how or self.events is None:
            return
        self.events = broken.cut(wire, self.events, how["after"])
        self.done = False
        if how["how"] == "error":
            kind, message = how.get("type", "overloaded_error"), how.get("message", "Overloaded")
            self.events.append(broken.error_event(wire, kind, message))
        if how["how"] == "reset":
            self.reset = "after"

    def encode(self) -> bytes:
        """The bytes of the whole response, length included, so connections stay open."""
        if self.events is None:
            payload = json.dumps(self.body or {}).encode()
            kind = "application/json"
        else:
            frames = [_frame(name, data) for name, data in self.events]
            payload = "".join([*frames, "data: [DONE]\n\n" if self.done else ""]).encode()
            kind = "text/event-stream; charset=utf-8"
        length = len(payload) + (1000 if self.reset else 0)
        headers = {"content-type": kind, "content-length": str(length), **self.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Scripted\r\n{lines}\r\n".encode() + payload


def _frame(name: str | None, data: Json) -> str:
    opening = f"event: {name}\n" if name else ""
    return f"{opening}data: {json.dumps(data)}\n\n"


def wire_of(path: str) -> str | None:
    """The wire that a path below ``/s/KEY`` speaks, with any number of ``/v1`` before it."""
    rest = path.strip("/")
    while rest.startswith("v1/"):
        rest = rest[3:]
    return OPERATIONS.get(rest)


class Rig:
    """All sessions of one server."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}

    def handle(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> Answer:
        """Answer one HTTP request."""
        path = urlsplit(target).path
        if path.startswith("/control/"):
            return self._control(method, path.removeprefix("/control/"), raw)
        key, rest = self._route(path, headers)
        session = self.sessions.get(key)
        if session is None:
            return _failure(None, 404, "not_found_error", f"no session for {path}")
        if rest.endswith("/count_tokens"):
            return Answer({"input_tokens": 10})
        wire = wire_of(rest)
        if wire is None or method != "POST":
            return _failure(None, 404, "not_found_error", f"no such operation: {method} {rest}")
        return self._model(session, wire, path, json.loads(raw))

    def _route(self, path: str, headers: dict[str, str]) -> tuple[str, str]:
        """Session key and the rest of the path: by prefix, else by API key."""
        if path.startswith("/s/"):
            key, _, rest = path[3:].partition("/")
            return key, f"/{rest}"
        secret = headers.get("x-api-key") or headers.get("authorization", "")
        return secret.removeprefix("Bearer ").removeprefix("sim-"), path

    def _control(self, method: str, key: str, raw: bytes) -> Answer:
        if method == "POST":
            self.sessions[key] = Session(json.loads(raw))
            return Answer({"ok": True})
        if key not in self.sessions:
            return Answer({"error": "no such session"}, status=404)
        return Answer(self.sessions[key].report())

    def _model(self, session: Session, wire: str, path: str, body: Json) -> Answer:
        items = history(session, wire, body)
        view = neutral(wire, items)
        record: Json = {"path": path, "body": body, "streamed": bool(body.get("stream"))}
        record |= {"faulted": False, "messages": [message["short"] for message in view]}
        record |= {"full": [message["full"] for message in view], "calls": []}
        session.requests.append(record)
        reply = session.next_reply()
        if "http_error" in reply:
            record["faulted"] = True
            error = reply["http_error"]
            failure = _failure(wire, error["status"], error.get("type", ""), error.get("message", ""))
            if "retry_after" in error:
                failure.headers["retry-after"] = str(error["retry_after"])
            return failure
        blocks = with_output_names(session.named(reply), body)
        record["calls"] = [
            {"id": block["id"], "name": block["name"], "args": object_arguments(block)}
            for block in blocks
            if block["t"] == "call"
        ]
        if wire == "anthropic-messages":
            blocks = with_offered_names(blocks, body)
        answer = _reply(session, wire, body, items, blocks, stop_of(reply, blocks))
        if "broken" in reply:
            answer.break_off(wire, reply["broken"])
            record["faulted"] = answer.reset == "before"
        return answer


def _failure(wire: str | None, status: int, kind: str, message: str) -> Answer:
    """A scripted HTTP error; it asks for a retry at once, so that back-off costs no time.

    Both headers: most clients read the first, LangChain JS only the second, and it retries no 429 without one.
    """
    body: Json = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    headers = {"retry-after-ms": "1", "retry-after": "0", "x-request-id": "req_1", "request-id": "req_1"}
    if wire in (None, "anthropic-messages"):
        error = {"type": kind, "message": message}
        body = {"type": "error", "error": error, "request_id": "req_1"}
    return Answer(body, status=status, headers=headers)


def _reply(
    session: Session,
    wire: str,
    body: Json,
    items: list[Any],
    blocks: list[Json],
    stop: str | None,
) -> Answer:
    """Write a reply on its wire and remember it for threads."""
    streamed = bool(body.get("stream"))
    headers = {"request-id": "req_1", "x-request-id": "req_1"}
    if wire == "anthropic-messages":
        message = claude_message(session, body, blocks, stop)
        said = {"role": "assistant", "content": message["content"]}
        session.memory[message["id"]] = [*items, said]
        events = list(claude_events(message, blocks)) if streamed else None
        return Answer(message, events=events, headers=headers)
    if wire == "openai-responses":
        response = responses_object(session, body, blocks, stop)
        session.memory[response["id"]] = [*items, *response["output"]]
        session.items |= {item["id"]: item for item in response["output"]}
        events = list(responses_events(response)) if streamed else None
        return Answer(response, events=events, headers=headers)
    completion = chat_completion(session, body, blocks, stop)
    events = list(chat_events(completion, body)) if streamed else None
    return Answer(completion, events=events, done=True, headers=headers)


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    parts: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


async def _reset(writer: asyncio.StreamWriter, payload: bytes) -> None:
    """Send what there is and break the connection, late enough for the client to have read it."""
    writer.write(payload)
    await writer.drain()
    await asyncio.sleep(0.05)
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


def connection(rig: Rig) -> Callable[..., Awaitable[None]]:
    """The handler of one keep-alive connection."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while request := await reader.readline():
                method, target, _ = request.decode("latin-1").split(" ", 2)
                headers: dict[str, str] = {}
                while (line := await reader.readline()).strip():
                    name, _, value = line.decode("latin-1").partition(":")
                    headers[name.strip().lower()] = value.strip()
                raw = await _body(reader, headers)
                try:
                    answer = rig.handle(method, target, headers, raw)
                except Exception as error:  # a rig that dies would hang the SDK under test
                    print(f"rig: {method} {target}: {error!r}", file=sys.stderr)
                    answer = _failure(None, 418, "rig_error", repr(error))
                payload = answer.encode()
                if method == "HEAD":
                    payload = payload.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
                if answer.reset:
                    await _reset(writer, payload if answer.reset == "after" else b"")
                    return
                writer.write(payload)
                await writer.drain()
        writer.close()

    return talk


def start(port: int = 0) -> int:
    """Serve from a daemon thread and give back the port."""
    ready: list[int] = []
    signal = threading.Event()

    async def serve() -> None:
        server = await asyncio.start_server(connection(Rig()), "127.0.0.1", port, limit=2**26, backlog=200)
        ready.append(server.sockets[0].getsockname()[1])
        signal.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    signal.wait()
    return ready[0]


if __name__ == "__main__":
    print(start(int(sys.argv[1]) if len(sys.argv) > 1 else 0), flush=True)
    threading.Event().wait()
