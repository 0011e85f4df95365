"""Every script that a real SDK was measured on can be written in the format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from agentsim.core.messages import STOP_REASONS, Reply
from agentsim.scenario.dump import dumps
from agentsim.scenario.load import loads
from agentsim.scenario.model import ScriptedFault
from tests.styles.cases import SDK, scenario_of, scripts

FAMILIES = ["shared", *sorted(path.parent.name for path in SDK.glob("*/extra_cases.json"))]


def document_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """A measured script in the words of the format."""
    replies = list(map(_reply, case["replies"]))
    if case.get("then") == "repeat":
        replies[-1]["repeat"] = "forever"
    tools = {tool["name"]: _tool(tool) for tool in case["all_tools"]}
    system = {"system": case["system"]} if "system" in case else {}
    return {"agentsim": 1, "name": case["id"], "prompt": "go", **system, "tools": tools, "replies": replies}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("description", "schema", "returns", "returns_each", "raises", "fails", "execute", "return_direct", "server")
    words = {key: tool[key] for key in kept if key in tool}
    return words | {key: tool[key] for key in ("approval", "approved") if key in tool}


def _reply(reply: Mapping[str, Any]) -> dict[str, Any]:
    if "http_error" in reply:
        return {"error": reply["http_error"]}
    stop = {"stop_reason": _stop(reply["stop"])} if "stop" in reply else {}
    if "broken" in reply:
        beside = {"content": list(_blocks(reply)), **stop} if "after" in reply["broken"] else {}
        return {**beside, **_broken(reply["broken"])}
    return {"content": list(_blocks(reply)), **stop}


def _stop(stop: Any) -> Any:
    return {"raw": stop} if isinstance(stop, str) and stop not in STOP_REASONS else stop


def _broken(broken: Mapping[str, Any]) -> dict[str, Any]:
    if "after" not in broken:
        return {"disconnect": {"before": "headers", "how": broken["how"]}}
    if broken["how"] == "error":
        words = {"type": "overloaded_error", "message": "Overloaded"} | {
            k: broken[k] for k in ("type", "message") if k in broken
        }
        return {"error": {**words, "after_characters": broken["after"]}}
    return {"disconnect": {"after_characters": broken["after"], "how": broken["how"]}}


def _blocks(reply: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if "content" in reply:
        yield from map(_block, reply["content"])
        return
    if "thinking" in reply:
        yield {"thinking": reply["thinking"]}
    if "text" in reply:
        yield {"text": reply["text"]}
    for call in reply.get("server_calls", []):
        yield _block({"server_call": call})
        if "result" in call:
            yield {"server_tool_result": {"content": call["result"]}}
    yield from (_block({"call": call}) for call in reply.get("calls", []))


def _block(entry: Mapping[str, Any]) -> dict[str, Any]:
    for kind, key in (("call", "tool_use"), ("server_call", "server_tool_use")):
        if kind in entry:
            call = entry[kind]
            given = {"raw": call["raw"]} if "raw" in call else {"input": call.get("args", {})}
            return {key: {"name": call["name"], **given, **({"id": call["id"]} if "id" in call else {})}}
    if "server_result" in entry:
        result = entry["server_result"]
        target = result.get("for", result.get("id"))
        return {"server_tool_result": {**({"for": target} if target else {}), "content": result.get("content")}}
    return {key: entry[key] for key in ("thinking", "signature", "refusal", "text") if key in entry}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_measured_script_can_be_written(family: str) -> None:
    for case in scripts("" if family == "shared" else family).values():
        if _is_of_several(case):
            played = scenario_of(case)
            assert [_bare(e) for e in loads(dumps(played)).script] == [_bare(e) for e in played.script], case["id"]
            continue
        written = json.loads(json.dumps(document_of(case)))
        scenario = loads(written, case["id"])
        assert loads(dumps(scenario)) == scenario, case["id"]
        assert [_bare(e) for e in scenario.script] == [_bare(e) for e in scenario_of(case).script], case["id"]


def _is_of_several(case: Mapping[str, Any]) -> bool:
    """Whether it has several agents, or calls the SDK's own output tool: then it is written from the scenario."""
    calls = [call for reply in case["replies"] for call in reply.get("calls", [])]
    return "agents" in case or any(call["name"] == "OUTPUT" for call in calls)


def _bare(entry: Any) -> Any:
    """What an entry holds; which server call a result is for is told by ids here and by names there."""
    if isinstance(entry, ScriptedFault):
        fault = entry.fault
        partial = None if fault.partial is None else _content(fault.partial)
        return entry.repeat, fault.status, fault.after_characters, fault.disconnect, partial
    return entry.repeat, _content(entry.reply)


def _content(reply: Reply) -> Any:
    blocks = [(type(b).__name__, getattr(b, "arguments", ""), getattr(b, "text", "")) for b in reply.blocks]
    return blocks, reply.stop_reason
