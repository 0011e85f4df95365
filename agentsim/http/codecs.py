"""Which codec a request belongs to."""

from __future__ import annotations

from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES
from agentsim.wire.anthropic import AnthropicCodec
from agentsim.wire.base import Codec, HttpRequest, Route
from agentsim.wire.chat import ChatCodec
from agentsim.wire.gemini import GEMINI, GeminiCodec
from agentsim.wire.responses import ResponsesCodec

#: In the order in which they are asked.
CODECS: dict[str, Codec] = {
    ANTHROPIC: AnthropicCodec(),
    RESPONSES: ResponsesCodec(),
    CHAT: ChatCodec(),
    GEMINI: GeminiCodec(),
}

#: Hosts whose requests are a provider's, known path or not.
HOSTS = frozenset(host for codec in CODECS.values() for host in codec.hosts)

KNOWN_PATHS = (
    "POST /v1/messages",
    "POST /v1/messages/count_tokens",
    "POST /v1/responses",
    "POST /v1/conversations",
    "POST /v1/chat/completions",
    "POST /v1beta/models/{model}:generateContent",
    "GET /v1/models",
)


def codec_of(request: HttpRequest) -> tuple[Codec, Route] | None:
    """The codec that speaks this request's URL, and what the URL asks for; None where none does."""
    for codec in CODECS.values():
        route = codec.matches(request)
        if route is not None:
            return codec, route
    return None


def likely_codec(request: HttpRequest) -> Codec:
    """The codec in whose shape an error about an unknown URL is told."""
    headers = request.headers
    if "anthropic-version" in headers or "x-api-key" in headers or "/messages" in request.path:
        return CODECS[ANTHROPIC]
    if "x-goog-api-key" in headers or ":generateContent" in request.path:
        return CODECS[GEMINI]
    return CODECS[RESPONSES] if "/responses" in request.path else CODECS[CHAT]
