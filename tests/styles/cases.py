"""The measured scripts as scenarios, and the rows that the real SDKs gave for them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from agentsim.core.events import Fault
from agentsim.core.messages import Block, Refusal, Reply, ServerCall, ServerResult, Text, Thinking, ToolCall
from agentsim.core.tools import Approval, Decision, ToolOutcome, ToolSpec
from agentsim.scenario.inputs import input_check
from agentsim.scenario.model import FOREVER, Abort, Agent, Entry, OutputBlock, Scenario, ScriptedFault, ScriptedReply

#: What SDKs ask for where an agent is a tool.
_AGENT_INPUT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}

HERE = Path(__file__).parent
SDK = HERE.parent / "sdk"
MEASURED = HERE / "measured"

#: SDKs that were measured on another one's further scripts.
SCRIPTS_OF = {
    "workflow": "ai_sdk",
    "openai_agents_js": "openai_agents",
    "openai": "openai",
    "anthropic_js": "anthropic",
    "hand_rolled": "anthropic",
    "claude_agent_sdk_js": "claude_agent_sdk",
}


def rows_of(name: str) -> Iterator[dict[str, Any]]:
    """The rows of one SDK, without the first line (the versions)."""
    for line in (MEASURED / f"{name}.jsonl").read_text("utf-8").split("\n")[1:]:
        if line:
            yield json.loads(line)


@lru_cache
def scripts(name: str) -> dict[str, dict[str, Any]]:
    """The scripts that an SDK's rows were measured on: the shared ones and its own."""
    shared = json.loads((SDK / "cases.json").read_text("utf-8"))
    found = {case["id"]: case for case in shared["cases"]}
    folder = SDK / SCRIPTS_OF.get(name, name)
    for own in (folder / "extra_cases.json", folder / "option_cases.json"):
        if own.is_file():
            found |= {case["id"]: case for case in json.loads(own.read_text("utf-8"))["cases"]}
    for case in found.values():
        case["all_tools"] = _tools_of(case, shared["tools"])
    return found


def _tools_of(case: Mapping[str, Any], shared: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The file's tools and the case's own; `only_tools` names those that are there."""
    tools = {tool["name"]: tool for tool in [*shared, *case.get("tools", [])]}
    return [tools[name] for name in case.get("only_tools", tools)]


def scenario_of(case: Mapping[str, Any]) -> Scenario:
    """A measured script as a scenario."""
    tools = {tool["name"]: _tool(tool) for tool in case["all_tools"]}
    several = "agents" in case
    return Scenario(
        case["id"],
        tuple(case.get("prompts", ["go"])),
        system=case.get("system"),
        tools={tool["name"]: tools[tool["name"]] for tool in case["all_tools"] if "of" not in tool},
        script=_script(case, None),
        handoffs=tuple(case.get("handoffs", ())),
        agent="A" if several else None,
        agents={name: _agent(case, name, spec, tools) for name, spec in case.get("agents", {}).items()},
        approvals=tuple(tuple(map(_decision, resume)) for resume in case.get("approvals", [])),
        output=case["output"]["schema"] if "output" in case else None,
        abort=Abort(**case["abort"]) if "abort" in case else None,
    )


def _agent(case: Mapping[str, Any], name: str, spec: Mapping[str, Any], tools: Mapping[str, ToolSpec]) -> Agent:
    """Another agent: its replies are those that say so (`by`)."""
    return Agent(
        name,
        tools={tool: tools[tool] for tool in spec.get("tools", ())},
        script=_script(case, name),
        limit=spec.get("limit"),
        handoffs=tuple(spec.get("handoffs", ())),
    )


def _script(case: Mapping[str, Any], agent: str | None) -> tuple[Entry, ...]:
    entries = [_entry(reply) for reply in _numbered(case) if reply.get("by") == agent]
    if case.get("then") == "repeat" and agent is None:
        last = entries[-1]
        entries[-1] = (
            replace(last, repeat=FOREVER)
            if isinstance(last, ScriptedReply)
            else ScriptedFault(last.fault, repeat=FOREVER)
        )
    return tuple(entries)


def _decision(said: Mapping[str, Any]) -> Decision:
    """One answer of a resume: `{approve: id}`, `{reject: id, message: text}` or `{edit: id, input: {…}}`."""
    kinds: tuple[Literal["approve", "reject", "edit"], ...] = ("approve", "reject", "edit")
    kind = next(kind for kind in kinds if kind in said)
    return Decision(kind, said[kind], said.get("message"), said.get("input"))


def _numbered(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The replies; where some calls have an id of their own, the rig counted on over them."""
    replies: list[dict[str, Any]] = case["replies"]
    calls = [
        call
        for reply in replies
        for call in [*reply.get("calls", []), *(b["call"] for b in reply.get("content", []) if "call" in b)]
    ]
    if not any("id" in call for call in calls) or case.get("then") == "repeat":
        return replies
    replies, count = copy.deepcopy(replies), 0
    for reply in replies:
        for call in [*reply.get("calls", []), *(b["call"] for b in reply.get("content", []) if "call" in b)]:
            count += 1
            call.setdefault("id", f"call_{count}")
    return replies


def functions_of(case: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """The tools that compute: `{"$add": ["a", "b"]}`."""
    computed = [t for t in case["all_tools"] if isinstance(t.get("returns"), dict) and "$add" in t["returns"]]
    return {tool["name"]: _adder(tool["returns"]["$add"]) for tool in computed}


def _adder(keys: list[str]) -> Callable[..., Any]:
    def add(**given: Any) -> Any:
        """JavaScript adds whatever comes ("1" + 2 is "12"); where Python's SDKs let this run, it has got numbers."""
        values = [given.get(key) for key in keys]
        return sum(values) if all(isinstance(v, int | float) for v in values) else "".join(map(str, values))

    return add


def _tool(tool: Mapping[str, Any]) -> ToolSpec:
    schema = tool.get("schema", _AGENT_INPUT if "agent" in tool else {"type": "object", "properties": {}})
    if "returns_each" in tool:
        outcomes = tuple(map(_outcome, tool["returns_each"]))
    elif "raises" in tool:
        outcomes = (ToolOutcome("raises", tool["raises"]),)
    elif "fails" in tool:
        outcomes = (ToolOutcome("fails", tool["fails"]),)
    else:
        outcomes = (ToolOutcome("returns", tool.get("returns", "")),)
    return ToolSpec(
        tool["name"],
        tool.get("description", ""),
        schema,
        outcomes,
        (float(tool.get("seconds", 0.0)),),
        approval=_approval(tool),
        client=tool.get("execute") == "client",
        return_direct=bool(tool.get("return_direct")),
        server=bool(tool.get("server")),
        agent=tool.get("agent"),
        problem=input_check(schema),
    )


def _outcome(value: Any) -> ToolOutcome:
    """One entry of `returns_each`: a value, `{raises: text}` or `{fails: text}`."""
    if isinstance(value, dict) and len(value) == 1:
        kind, text = next(iter(value.items()))
        if kind in ("raises", "fails"):
            return ToolOutcome(kind, text)
    return ToolOutcome("returns", value)


def _approval(tool: Mapping[str, Any]) -> Approval | None:
    """`approval: required`, and what the person says: `approved` true, false, {reject: text} or {edit: input}."""
    if tool.get("approval") != "required":
        return None
    said = tool.get("approved")
    if said is None:
        return Approval()
    if isinstance(said, dict):
        return Approval("edit", input=said["edit"]) if "edit" in said else Approval("reject", said["reject"])
    return Approval("approve" if said else "reject")


def _entry(reply: Mapping[str, Any]) -> Entry:
    if "http_error" in reply:
        error = reply["http_error"]
        return ScriptedFault(
            Fault(error["status"], error.get("type", ""), error.get("message", ""), error.get("retry_after"))
        )
    told = tuple(_blocks(reply))
    blocks = tuple(block for block in told if not _is_output(block))
    whole = Reply(blocks, _stop(reply, told))
    if len(blocks) < len(told):
        outputs = [
            (at, OutputBlock(json.loads(b.arguments)))
            for at, b in enumerate(told)
            if isinstance(b, ToolCall) and _is_output(b)
        ]
        return ScriptedReply(whole, extras=tuple(outputs))
    return ScriptedFault(_broken(reply["broken"], whole)) if "broken" in reply else ScriptedReply(whole)


def _broken(how: Mapping[str, Any], whole: Reply) -> Fault:
    """A reply that breaks off: see tests/sdk/broken.py."""
    if "after" not in how:
        return Fault(disconnect=how["how"])
    if how["how"] == "error":
        words = how.get("type", "overloaded_error"), how.get("message", "Overloaded")
        return Fault(200, *words, after_characters=how["after"], partial=whole)
    return Fault(200, after_characters=how["after"], disconnect=how["how"], partial=whole)


def _is_output(block: Block) -> bool:
    """A call of the tool by which the SDK asks for structured output, whatever its name."""
    return isinstance(block, ToolCall) and block.name == "OUTPUT"


def _stop(reply: Mapping[str, Any], blocks: tuple[Block, ...]) -> str | None:
    if "stop" in reply:
        stop: str | dict[str, str] | None = reply["stop"]
        return stop["raw"] if isinstance(stop, dict) else stop
    if any(isinstance(b, Refusal) for b in blocks):
        return "refusal"
    return "tool_use" if any(isinstance(b, ToolCall) for b in blocks) else "end_turn"


def _blocks(reply: Mapping[str, Any]) -> Iterator[Block]:
    if reply.get("empty"):
        return
    if "content" in reply:
        for entry in reply["content"]:
            yield from _block(entry)
        return
    if "thinking" in reply:
        yield Thinking(reply["thinking"], "sig")
    if "text" in reply:
        yield Text(reply["text"])
    for call in reply.get("server_calls", []):
        yield from _block({"server_call": call})
        if "result" in call:
            yield ServerResult("", call["result"], call["name"])
    for call in reply.get("calls", []):
        yield from _block({"call": call})


def _block(entry: Mapping[str, Any]) -> Iterator[Block]:
    if "call" in entry:
        call = entry["call"]
        yield ToolCall(
            call.get("id", ""), call["name"], call["raw"] if "raw" in call else json.dumps(call.get("args", {}))
        )
    elif "server_call" in entry:
        call = entry["server_call"]
        yield ServerCall(call.get("id", ""), call["name"], json.dumps(call.get("args", {})))
    elif "server_result" in entry:
        result = entry["server_result"]
        yield ServerResult(result.get("for", ""), result.get("content"), result.get("name", ""))
    elif "thinking" in entry:
        yield Thinking(entry["thinking"], entry.get("signature", "sig"))
    elif "refusal" in entry:
        yield Refusal(entry["refusal"])
    else:
        yield Text(entry["text"])
