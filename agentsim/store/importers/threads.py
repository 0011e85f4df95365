"""Which requests of a file continue which conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentsim.core.history import join
from agentsim.core.messages import Message, Part, RedactedThinking, Refusal, Reply, Text, Thinking, ToolCall, ToolResult
from agentsim.store.building import ConversationBuilder
from agentsim.store.importers.said import Said
from agentsim.store.recording import Conversation

if TYPE_CHECKING:
    from agentsim.store.importers.exchanges import Asked


#: What many clients do not send back.
_UNSAID = (Thinking, RedactedThinking)


class _Thread:
    """A conversation with what its last request carried."""

    def __init__(self, builder: ConversationBuilder) -> None:
        self.builder = builder
        self.sent: list[Message] = []
        #: what `sent` is compared by
        self.essence: list[Essence] = []
        self.reply: Reply | None = None
        self.failed = False
        self.open: set[str] = set()

    @property
    def silent(self) -> bool:
        """Whether the last answer had nothing in it to come back: what the user says next stands behind his last words."""
        return self.failed or (self.reply is not None and all(isinstance(b, _UNSAID) for b in self.reply.blocks))

    def took(self, said: Said, place: int) -> None:
        """The answer to the request that went out."""
        self.failed = said.fault is not None
        if said.fault is not None:
            self.builder.fail(said.fault)
            return
        self.reply = said.reply
        self.builder.reply(said.blocks, said.raw, place, usage=said.usage, key=said.id)
        self.open |= {call.id for call in self.reply.calls}


class Threads:
    """All conversations of a file."""

    def __init__(self) -> None:
        self._threads: list[_Thread] = []
        #: thread and length of its history behind each reply, by the reply's id.
        self._replies: dict[str, tuple[_Thread, int]] = {}
        self._stored: dict[str, _Thread] = {}
        self._answered: set[str] = set()

    def conversations(self) -> tuple[Conversation, ...]:
        """What was found."""
        return tuple(thread.builder.conversation() for thread in self._threads)

    def knows(self, reply_id: str) -> bool:
        """Whether a reply of that id was taken."""
        return reply_id in self._replies

    def update(self, reply_id: str, said: Said) -> None:
        """A reply that was not done yet, asked for again: the last state counts."""
        thread, _ = self._replies[reply_id]
        thread.builder.amend(reply_id, said.blocks, said.raw)
        thread.open |= {call.id for call in said.reply.calls}
        self._replies[reply_id] = thread, len(thread.builder.history)

    def take(self, asked: Asked, said: Said, place: int) -> None:
        """Take a request and its answer."""
        messages = join(asked.messages)
        essence = list(map(_essence, messages))
        thread = self._by_id(asked) or self._continued(messages, essence) or self._answers(messages, essence)
        if thread is None:
            thread = self._begin(messages)
        builder = thread.builder
        builder.system = builder.system or asked.system
        for name, tool in asked.declared.items():
            builder.declared.setdefault(name, tool)
        builder.request()
        thread.sent, thread.essence = messages, essence
        thread.took(said, place)
        if said.id is not None and said.fault is None:
            self._replies[said.id] = thread, len(builder.history)
        if asked.conversation is not None:
            self._stored[asked.conversation] = thread

    # -- finding ------------------------------------------------------------------------------------------------

    def _by_id(self, asked: Asked) -> _Thread | None:
        """A provider that keeps the history is only told what is new."""
        if asked.parent is not None and asked.parent in self._replies:
            thread, length = self._replies[asked.parent]
            if length < len(thread.builder.history) or thread.builder.waiting:
                thread = self._fork(thread, length)
        elif asked.conversation is not None and asked.conversation in self._stored:
            thread = self._stored[asked.conversation]
        else:
            return None
        self._add(thread, join(asked.messages), {})
        return thread

    def _fork(self, thread: _Thread, length: int) -> _Thread:
        fork = _Thread(ConversationBuilder(thread.builder.name, messages=thread.builder.history[:length], shared=True))
        self._threads.append(fork)
        return fork

    def _continued(self, messages: list[Message], essence: list[Essence]) -> _Thread | None:
        """The conversation whose last request, and the reply to it, this one begins with; the longest of several."""
        found = [thread for thread in self._threads if _continues(thread, messages, essence)]
        if not found:
            return None
        thread = max(reversed(found), key=lambda t: len(t.sent))
        rest = messages[len(thread.sent) :]
        if len(messages[len(thread.sent) - 1].content) > len(thread.sent[-1].content):
            grown = messages[len(thread.sent) - 1]
            rest = [Message(grown.role, grown.content[len(thread.sent[-1].content) :]), *rest]
        if rest and rest[0].role == "assistant" and thread.reply is not None and not thread.failed:
            names = _names(rest[0], thread.reply)
            if thread.reply.blocks:
                thread.builder.sent_back(rest[0], names)
            rest = rest[1:]
        else:
            names = {}
        self._add(thread, rest, names)
        return thread

    def _answers(self, messages: list[Message], essence: list[Essence]) -> _Thread | None:
        """The history was rewritten, but a call of a conversation is answered in it."""
        results = {part.call_id for m in messages for part in m.content if isinstance(part, ToolResult)}
        for thread in reversed(self._threads):
            if thread.open & results - self._answered and thread.reply is not None:
                fresh = _tail(messages)
                kept = 0
                while kept < min(len(thread.sent), len(messages)) and _alike(thread.essence[kept], essence[kept]):
                    kept += 1
                thread.builder.rewrite(
                    min(kept, len(thread.builder.history)), messages[kept : len(messages) - len(fresh)]
                )
                self._add(thread, fresh, {})
                return thread
        return None

    def _begin(self, messages: list[Message]) -> _Thread:
        fresh = _tail(messages)
        if not all(isinstance(part, Text) for message in fresh for part in message.content):
            fresh = [] if len(messages) > 1 else fresh
        history = messages[: len(messages) - len(fresh)]
        results = {p.call_id for m in history for p in m.content if isinstance(p, ToolResult)}
        thread = _Thread(ConversationBuilder(messages=history, shared=bool(results & self._answered)))
        self._threads.append(thread)
        self._add(thread, fresh, {})
        return thread

    def _add(self, thread: _Thread, messages: Sequence[Message], names: dict[str, str]) -> None:
        """What is new in a request: the user's side is said, what nobody recorded the model saying is history."""
        for message in messages:
            if message.role == "assistant":
                thread.builder.insert(message)
                continue
            for part in message.content:
                self._add_part(thread, part, names)

    def _add_part(self, thread: _Thread, part: Part, names: dict[str, str]) -> None:
        if not isinstance(part, ToolResult):
            thread.builder.say(part)
            return
        call_id = names.get(part.call_id, part.call_id)
        thread.builder.result(call_id, part.output, part.is_error)
        thread.open.discard(call_id)
        self._answered.add(call_id)


def _tail(messages: list[Message]) -> list[Message]:
    """The user's messages behind the last assistant message."""
    at = len(messages)
    while at and messages[at - 1].role == "user":
        at -= 1
    return messages[at:]


def _continues(thread: _Thread, messages: list[Message], essence: list[Essence]) -> bool:
    sent = thread.sent
    if not sent or len(messages) < len(sent):
        return False
    if thread.silent and sent[-1].role == "user":
        last = messages[len(sent) - 1]
        begins = last.role == "user" and last.content[: len(sent[-1].content)] == sent[-1].content
        if begins and all(map(_alike, thread.essence[:-1], essence)):
            return True
    if not all(map(_alike, thread.essence, essence)):
        return False
    if len(messages) == len(sent):
        grown = sent[-1].role == "assistant" and len(messages[-1].content) > len(sent[-1].content)
        return thread.failed or grown
    if sent[-1].role == "assistant" or thread.failed:
        return True
    return messages[len(sent)].role == "assistant" and thread.reply is not None


#: Role, text, and the calls' names, or a mark for each result: what clients send back as it was.
Essence = tuple[str, str, tuple[str, ...]]


def _alike(one: Essence, other: Essence) -> bool:
    """Whether two messages are the same, as far as clients send back what they got: ids, thoughts and layout may differ."""
    if one == other or one[0] != other[0] or one[0] == "user":
        return one == other
    shorter, longer = sorted((one[2], other[2]), key=len)
    if longer[: len(shorter)] != shorter:
        return False
    return one[1] in other[1] or other[1] in one[1] or bool(shorter)


def _essence(message: Message) -> Essence:
    text = "".join(part.text.strip() for part in message.content if isinstance(part, Text | Refusal))
    if message.role == "user":
        return "user", text, tuple("result" for part in message.content if isinstance(part, ToolResult))
    return "assistant", text, tuple(part.name for part in message.content if isinstance(part, ToolCall))


def _names(message: Message, reply: Reply) -> dict[str, str]:
    """Ids that the client gave a reply's calls -> those that the reply has: clients rewrite them, and make up missing ones."""
    sent = [part.id for part in message.content if isinstance(part, ToolCall)]
    had = [call.id for call in reply.calls]
    return dict(zip(sent[-len(had) :] if had else (), had, strict=False))
