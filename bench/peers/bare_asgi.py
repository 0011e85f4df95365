"""The limit of a Python server: Starlette under uvicorn, answering constant JSON and events. `uvicorn bare_asgi:app`"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

FOX = "The quick brown fox jumps over the lazy dog. " * 5
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Hi there"}],
    "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
}  # fmt: skip


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


async def _events() -> AsyncIterator[bytes]:
    yield _event("message_start", message={**MESSAGE, "content": [], "stop_reason": None})
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for at in range(0, len(FOX), 20):
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": FOX[at : at + 20]})
    yield _event("content_block_stop", index=0)
    yield _event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 50})
    yield _event("message_stop")


async def _messages(request: Request) -> Response:
    body = await request.json()
    if body.get("stream"):
        return StreamingResponse(_events(), media_type="text/event-stream")
    return JSONResponse(MESSAGE)


app = Starlette(routes=[Route("/v1/messages", _messages, methods=["POST"])])
