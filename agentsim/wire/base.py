"""The seam: neutral values that stand between a provider's bytes and everything else.

A codec turns requests into `ModelRequest` and replies into `HttpResponse`, purely; it opens nothing, waits for nothing and
remembers nothing. Whoever serves it keeps the conversations and passes them in.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import parse_qs

from agentsim.core.events import Fault
from agentsim.core.messages import Message, Reply
from agentsim.core.value import value

if TYPE_CHECKING:
    from agentsim.wire.memory import Memory

Json = dict[str, Any]

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_compact_ascii = json.JSONEncoder(separators=(",", ":")).encode
_quote = json.encoder.encode_basestring


def dumps(value: Any) -> str:
    """Compact JSON, as the providers send it; lone surrogates are escaped, since UTF-8 can't hold them."""
    text = _compact(value)
    return text if _encodable(text) else _compact_ascii(value)


def quote(text: str) -> str:
    """A JSON string literal."""
    literal = _quote(text)
    return literal if _encodable(literal) else json.dumps(text)


def _encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@value
class HttpRequest:
    """What a client sent.

    Args:
        method: in upper case.
        url: absolute, or from its path on.
        headers: names in lower case.
        body: as it came, already unchunked and decompressed.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def path(self) -> str:
        """The URL's path, without host and query."""
        url = self.url.partition("?")[0]
        if "://" in url:
            return "/" + url.partition("://")[2].partition("/")[2]
        return url

    @property
    def host(self) -> str:
        """The URL's host without port, in lower case; "" where the URL has none."""
        _, found, rest = self.url.partition("://")
        return rest.partition("/")[0].partition("?")[0].rpartition("@")[2].partition(":")[0].lower() if found else ""

    @property
    def query(self) -> dict[str, str]:
        """The query's parameters, the last of each."""
        return {name: values[-1] for name, values in parse_qs(self.url.partition("?")[2]).items()}


#: How a connection goes away: it ends, is reset, was never there, or stays while nothing more comes.
Broken = Literal["end", "reset", "refuse", "stall"]


@value
class Silence:
    """A pause in the middle of an answer.

    Args:
        before: index of the chunk that it comes before; -1: the headers.
        seconds: how long it is.
        real: whether an answer within this process waits for it; whoever has less patience than that gives up in any case.
    """

    before: int
    seconds: float
    real: bool = False


@value
class HttpResponse:
    """What goes back.

    Args:
        status: of HTTP.
        headers: in order.
        chunks: pieces of the body; of a stream, an event each.
        pieces: indices of the chunks that carry a piece of the reply, for whoever paces the stream.
        delays: seconds to wait before each chunk; empty: none.
        broken: how the connection goes away behind the chunks, if it does.
        headless: it goes away before even the headers are sent.
        length: what the headers say of the body's length, where that is not the truth.
        silence: a pause on the way.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[bytes, ...] = ()
    pieces: tuple[int, ...] = ()
    delays: tuple[float, ...] = ()
    broken: Broken | None = None
    headless: bool = False
    length: int | None = None
    silence: Silence | None = None

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.chunks)

    @property
    def streams(self) -> bool:
        """Whether the body is a stream of events."""
        return any(name == "content-type" and "event-stream" in value for name, value in self.headers)


@value
class Offer:
    """A tool that a request offers. `server`: it runs at the provider; `schema` is {} where the request shows none."""

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    server: bool = False


@value
class ModelRequest:
    """A request for a reply, in neutral words.

    Args:
        wire: the codec's.
        model: as asked for.
        stream: whether the reply is to come as events.
        messages: what the request itself carries; a thread's stored part is not in it.
        places: for each message its index in the body's list.
        items: the body's list itself.
        offers: None where the request says nothing of tools and a thread's stand.
        system: system prompt, instructions or developer messages, joined.
        parent: id of the stored reply that this request continues.
        conversation: id of the stored conversation that it belongs to.
        keeps: whether the reply is stored under its id.
        body, headers: as they came.
        fresh: index of the first item that a request before it did not hold, and so was not looked at before.
    """

    wire: str
    model: str
    stream: bool
    messages: tuple[Message, ...]
    places: tuple[int, ...]
    items: Sequence[Any]
    offers: tuple[Offer, ...] | None
    system: str | None
    parent: str | None
    conversation: str | None
    keeps: bool
    body: Json
    headers: Mapping[str, str]
    fresh: int = 0

    @property
    def offered(self) -> tuple[str, ...] | None:
        """Names of the tools that it offers."""
        return None if self.offers is None else tuple([offer.name for offer in self.offers])


@value
class Complaint:
    """Why a provider refuses a request.

    Args:
        rule: the rule's name; it can be switched off by it.
        message: the provider's words.
        status, type: of the error.
        param, code: OpenAI's; `code` is also Claude's `details.error_code`.
        details: more of Claude's `details`.
    """

    rule: str
    message: str
    status: int = 400
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Refused(Exception):
    """A request that can't even be read. Never leaves agentsim: it becomes an answer."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.message)
        self.complaint = complaint


@value
class Route:
    """What a URL asks a provider for: `operation` is "generate" for a reply, else the codec's own word; `id` names the thing."""

    operation: str
    id: str = ""


@value
class Context:
    """What a codec can't know by itself when it judges a request.

    Args:
        history: the whole conversation, stored messages first.
        new_from: how many of them were judged before.
        resumes: the provider's last reply paused.
        memory: what the provider keeps.
        off: names of rules that are switched off.
    """

    history: Sequence[Message]
    memory: Memory
    new_from: int = 0
    resumes: bool = False
    off: Collection[str] = ()


class Codec(Protocol):
    """One provider's wire format. Stateless; `tag` makes the ids of a reply, unique over whoever serves it."""

    @property
    def wire(self) -> str:
        """The format's name."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Where the provider lives."""

    def matches(self, request: HttpRequest) -> Route | None:
        """What the request asks for; None where the path (whatever its prefix) or method is none of this provider's."""

    def headers_complaint(self, request: HttpRequest, off: Collection[str]) -> Complaint | None:
        """What is wrong with the headers: no key, no version."""

    def decode_request(
        self, request: HttpRequest, body: Json, before: ModelRequest | None = None, memory: Memory | None = None
    ) -> ModelRequest:
        """The request in neutral words. `before`: a request that held much the same, to save work.

        Raises:
            Refused: it can't be read, in the provider's words.
        """

    def history(self, asked: ModelRequest, memory: Memory) -> tuple[Message, ...]:
        """The whole conversation: what is stored, then the request's own messages.

        Raises:
            Refused: what it continues is not there.
        """

    def body_complaint(self, asked: ModelRequest, off: Collection[str]) -> Complaint | None:
        """What is wrong with the request by itself."""

    def history_complaint(self, asked: ModelRequest, context: Context) -> Complaint | None:
        """What is wrong with it as part of its conversation."""

    def refuse(self, complaint: Complaint, tag: str) -> HttpResponse:
        """The answer to a request that is refused."""

    def encode_reply(self, reply: Reply, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """The reply, whole or streamed as `asked`; `size` is characters per piece.

        Raises:
            CannotExpress: this wire has no way to say it.
        """

    def variant(self, asked: ModelRequest) -> Hashable | None:
        """All of a request that the encoding of a reply depends on; None where that is much."""

    def encode_fault(self, fault: Fault, asked: ModelRequest, tag: str, size: int | None = None) -> HttpResponse:
        """A fault before or inside the reply."""

    def decode_reply(self, response: HttpResponse) -> Reply | Fault:
        """What a whole answer of this provider said; a Fault for an error, with the part that arrived.

        Whoever is not sure that it is the provider's asks `decoded`.
        """

    def reply_id(self, tag: str) -> str:
        """The id under which the reply of that tag is known."""

    def keep(self, asked: ModelRequest, history: tuple[Message, ...], reply: Reply, tag: str, memory: Memory) -> None:
        """Remember a reply that was sent, as this provider would."""

    def other(self, route: Route, request: HttpRequest, body: Json, memory: Memory, tag: str) -> HttpResponse:
        """The answer to a request that asks for no reply: token counts, models, stored things.

        Raises:
            Refused: there is no such thing.
        """


def decoded(codec: Codec, response: HttpResponse) -> Reply | Fault:
    """What an answer said that may come from anybody.

    Raises:
        ValueError: it is no answer of this codec's provider.
    """
    try:
        return codec.decode_reply(response)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"no answer of {codec.wire}: {type(error).__name__}: {error}") from None


def same_items(items: Any, before: ModelRequest | None) -> int:
    """How many items at the beginning of a body's list are those of a request before it."""
    if before is None or not isinstance(items, list):
        return 0
    old, most = before.items, min(len(items), len(before.items))
    if items[:most] == old[:most]:
        return most
    return next(index for index in range(most) if items[index] != old[index])


def decode_items(
    items: Sequence[Any], decode: Callable[[Any], Message | None], before: ModelRequest | None = None, fresh: int = 0
) -> tuple[tuple[Message, ...], tuple[int, ...]]:
    """Messages of a body's list and their places; what stands before `fresh` was decoded for the request before."""
    messages: list[Message] = []
    places: list[int] = []
    if before is not None and fresh:
        kept = bisect_left(before.places, fresh)
        messages, places = list(before.messages[:kept]), list(before.places[:kept])
    for index in range(fresh, len(items)):
        message = decode(items[index])
        if message is not None:
            messages.append(message)
            places.append(index)
    return tuple(messages), tuple(places)


def broken(fault: Fault) -> Broken | None:
    """How a fault takes the connection away, if it does."""
    return fault.disconnect  # type: ignore[return-value]  # the file's format and every importer write no other word


def first(complaints: Iterator[Complaint], off: Collection[str]) -> Complaint | None:
    """The first complaint whose rule is not switched off."""
    return next((complaint for complaint in complaints if complaint.rule not in off), None)


def read_json(body: bytes) -> Any:
    """A body as JSON.

    Raises:
        ValueError: it is none. Too deep a nesting counts as none.
    """
    try:
        return json.loads(body)
    except (RecursionError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error


class Cut(Exception):
    """A stream has reached the character at which a fault stands."""


class Pieces:
    """Cuts texts into the pieces of a stream, up to a number of characters over all of them."""

    def __init__(self, size: int | None, limit: int | None = None) -> None:
        self.size, self.left = size, limit

    def __call__(self, text: str) -> Iterator[str]:
        """The pieces of one text.

        Raises:
            Cut: the limit lies within it, or before it.
        """
        size = self.size or max(16, -(-len(text) // 4))
        cut = self.left is not None and self.left < len(text)
        if cut:
            text = text[: self.left]
        for at in range(0, len(text), size):
            yield text[at : at + size]
        if cut:
            self.left = 0
            raise Cut
        if self.left is not None:
            self.left -= len(text)
