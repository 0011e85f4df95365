"""AI SDK devtools: `.devtools/generations.json` with `{runs, steps}`; a step's input, output and usage are JSON in strings."""

from __future__ import annotations

import json
from typing import Any

from agentsim.core.messages import Block, Text, Thinking
from agentsim.store.importers import Importer
from agentsim.store.importers.ai_sdk import ai_sdk_usage, finish_reason
from agentsim.store.importers.any_message import ai_sdk_parts, messages_of, said_blocks
from agentsim.store.importers.blocks import as_dict, as_list, text_of
from agentsim.store.importers.chat_messages import declared_tools
from agentsim.store.importers.exchanges import Asked
from agentsim.store.importers.said import CHAT, Said, failed
from agentsim.store.importers.source import Shape, Source
from agentsim.store.importers.threads import Threads
from agentsim.store.recording import Recording


def _loaded(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return as_dict(value)


def _answer(step: dict[str, Any]) -> Said:
    output = _loaded(step.get("output"))
    if step.get("error") and not (output.get("content") or output.get("finishReason")):
        return failed(str(step["error"]))
    blocks: list[Block] = said_blocks(ai_sdk_parts(output.get("content")))
    blocks += [Thinking(text_of(as_dict(p).get("text")) or "") for p in as_list(output.get("reasoningParts"))]
    blocks += [Text(text_of(as_dict(p).get("text")) or "") for p in as_list(output.get("textParts"))]
    blocks += said_blocks(ai_sdk_parts(output.get("toolCalls")))
    usage = ai_sdk_usage(_loaded(step.get("usage")) or output.get("usage"))
    return Said(blocks, finish_reason(output.get("finishReason")), usage)


def _read(source: Source, shape: Shape) -> Recording:
    steps = [step for step in as_list(shape.value["steps"]) if isinstance(step, dict)]
    order = {text_of(as_dict(run).get("id")): number for number, run in enumerate(as_list(shape.value["runs"]))}
    steps.sort(key=lambda step: (order.get(text_of(step.get("run_id")), len(order)), _number(step)))
    runs: dict[Any, Threads] = {}
    for place, step in enumerate(steps, 1):
        if step.get("output") is None and not step.get("error"):
            source.skip("step that was not finished")
            continue
        given = _loaded(step.get("input"))
        messages, system = messages_of(given.get("prompt"))
        asked = Asked(CHAT, messages, system, declared_tools(given.get("tools")))
        runs.setdefault(text_of(step.get("run_id")), Threads()).take(asked, _answer(step), place)
    return Recording(IMPORTER.name, tuple(c for threads in runs.values() for c in threads.conversations()))


def _number(step: dict[str, Any]) -> float:
    number = step.get("step_number")
    return number if isinstance(number, int | float) else 0


def _fits(value: Any) -> bool:
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("runs"), list)
        or not isinstance(value.get("steps"), list)
    ):
        return False
    return not value["steps"] or any("step_number" in as_dict(step) for step in value["steps"])


IMPORTER = Importer("aisdk-devtools", "AI SDK devtools files", ("document",), _fits, _read)
