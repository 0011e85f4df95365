"""Scripts of the rig: the replies that a fake model gives, in order, and what a session remembers.

A reply has any of these, in this order on the wire::

    {"thinking": "hm", "text": "let me look",
     "server_calls": [{"name": "web_search", "args": {"query": "x"}, "result": […]}],   result: where the provider's tool has ended
     "calls": [{"name": "lookup", "args": {"key": "a"}, "id": "call_dup"},              id: else a counted one
               {"name": "lookup", "raw": "{\\"key"}]}                                    raw: the arguments' text as it is

or ``"content"``, a list of ``{"text": …}``, ``{"thinking": …}``, ``{"refusal": …}``, ``{"call": {…}}``, ``{"server_call": {…}}`` and
``{"server_result": {…}}`` in an order of its own, or ``"empty": true``: no content at all. ``"stop"`` is the stop reason in the Claude API's
words where it is not the usual one (``"max_tokens"``, ``"refusal"``, null …; ``{"raw": word}`` is that word on every wire), ``"broken"`` a stream
that breaks (`broken.py`). In a reply's place, ``{"http_error": {"status": 529, "type": "overloaded_error", "message": "sorry"}}``,
with ``retry_after`` where the provider says so. A case has a list of ``replies``; ``"then": "repeat"`` gives the last one for ever.
"""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]

CHUNK = 6

#: The plugin that Semantic Kernel's functions are put in; it stands in front of their names.
PLUGIN = "sim-"


def blocks_of(reply: Json) -> list[Json]:
    """Bring the short keys of a reply into one ordered list of blocks."""
    if reply.get("empty"):
        return []
    if "content" in reply:
        return [_block(entry) for entry in reply["content"]]
    blocks: list[Json] = []
    if "thinking" in reply:
        blocks.append({"t": "thinking", "thinking": reply["thinking"], "signature": "sig"})
    if "text" in reply:
        blocks.append({"t": "text", "text": reply["text"]})
    for call in reply.get("server_calls", []):
        blocks.append({"t": "server_call", **call})
        if "result" in call:
            blocks.append({"t": "server_result", "name": call["name"], "content": call["result"]})
    blocks += [{"t": "call", **call} for call in reply.get("calls", [])]
    return blocks


def _block(entry: Json) -> Json:
    """One entry of a reply's general ``content`` list."""
    if "call" in entry:
        return {"t": "call", **entry["call"]}
    if "server_call" in entry:
        return {"t": "server_call", **entry["server_call"]}
    if "server_result" in entry:
        return {"t": "server_result", **entry["server_result"]}
    if "thinking" in entry:
        thinking = entry["thinking"]
        return {"t": "thinking", "thinking": thinking, "signature": entry.get("signature", "sig")}
    if "refusal" in entry:
        return {"t": "refusal", "text": entry["refusal"]}
    return {"t": "text", "text": entry["text"]}


def with_offered_names(blocks: list[Json], body: Json) -> list[Json]:
    """Scripts say `lookup`; an MCP host offers it as `mcp__SERVER__lookup`, a kernel as `sim-lookup`, and wants that name."""
    offered = [str((tool.get("function") or tool).get("name", "")) for tool in body.get("tools") or []]
    named = []
    for block in blocks:
        full = [name for name in offered if short_name(name) == block.get("name")]
        known = block["t"] != "call" or block["name"] in offered or len(full) != 1
        named.append(block if known else {**block, "name": full[0]})
    return named


def with_output_names(blocks: list[Json], body: Json) -> list[Json]:
    """A call of `OUTPUT` is one of the tool by which structured output is asked for: the last one that the request offers."""
    offered = [tool.get("name") or tool.get("function", {}).get("name", "") for tool in body.get("tools") or []]
    if not offered:
        return blocks
    return [{**b, "name": offered[-1]} if b["t"] == "call" and b["name"] == "OUTPUT" else b for b in blocks]


def short_name(name: str) -> str:
    """A tool's name without the MCP server, or the kernel's plugin, that it comes from."""
    if name.startswith(PLUGIN):
        return name.removeprefix(PLUGIN)
    return name.split("__", 2)[2] if name.startswith("mcp__") and name.count("__") > 1 else name


def with_short_names(said: Any, tools: list[Json]) -> Any:
    """What a caller was told, with the tools' names as the script has them."""
    if not isinstance(said, str):
        return said
    for tool in tools:
        said = said.replace(PLUGIN + tool["name"], tool["name"])
    return said


def stop_of(reply: Json, blocks: list[Json]) -> str | None:
    """The stop reason in the names of the Claude API; ``{"raw": word}`` is that word."""
    if "stop" in reply:
        stop = reply["stop"]
        return stop["raw"] if isinstance(stop, dict) else stop
    if any(block["t"] == "refusal" for block in blocks):
        return "refusal"
    return "tool_use" if any(block["t"] == "call" for block in blocks) else "end_turn"


def raw_arguments(block: Json) -> str:
    """The argument string as the model wrote it."""
    return block["raw"] if "raw" in block else json.dumps(block.get("args", {}))


def object_arguments(block: Json) -> Json:
    """The arguments as an object, for places that can't hold a broken string."""
    try:
        value = json.loads(raw_arguments(block))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def pieces(text: str) -> list[str]:
    """Cut a text into the fragments of its deltas."""
    return [text[at : at + CHUNK] for at in range(0, len(text), CHUNK)]


class Session:
    """One script, what was asked of it, and the counters that keep its ids unique."""

    def __init__(self, script: Json) -> None:
        self.replies: list[Json] = script["replies"]
        self.repeat = script.get("then") == "repeat"
        self.caller = bool(script.get("caller"))
        self.max_requests = int(script.get("max_requests") or 40)
        self.requests: list[Json] = []
        self.served = 0
        self.unbounded = False
        self.out_of_script = False
        self.counters: dict[str, int] = {}
        self.memory: dict[str, list[Any]] = {}
        self.items: dict[str, Json] = {}

    def next_id(self, prefix: str) -> str:
        """Count ids, so that the same run gives the same bytes."""
        self.counters[prefix] = self.counters.get(prefix, 0) + 1
        return f"{prefix}_{self.counters[prefix]}"

    def next_reply(self) -> Json:
        """The reply that stands next, or one that ends a run that is longer than its script."""
        if len(self.requests) > self.max_requests:
            self.unbounded = True
            return {"text": "stopped by the rig"}
        index = self.served
        if index >= len(self.replies):
            if not self.repeat:
                self.out_of_script = True
                return {"text": "out of script"}
            index = len(self.replies) - 1
        self.served += 1
        return self.replies[index]

    def named(self, reply: Json) -> list[Json]:
        """The blocks of a reply with every id given."""
        blocks = [dict(block) for block in blocks_of(reply)]
        last_server_id = ""
        for block in blocks:
            if block["t"] == "call":
                block.setdefault("id", self.next_id("call"))
                block.setdefault("caller", self.caller)
            elif block["t"] == "server_call":
                block.setdefault("id", self.next_id("srvtoolu"))
                last_server_id = block["id"]
            elif block["t"] == "server_result":
                block.setdefault("for", last_server_id)
        return blocks

    def report(self) -> Json:
        """What ``GET /control/KEY`` answers."""
        return {
            "requests": self.requests,
            "served": self.served,
            "unbounded": self.unbounded,
            "out_of_script": self.out_of_script,
        }
