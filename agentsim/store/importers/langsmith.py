"""LangSmith runs: a list of runs, batches of `post` and `patch`, one a line or in one object.

Runs of type `llm` are model requests, in the order of `dotted_order`; `tool` runs are seen in the next request's messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentsim.store.importers import Importer
from agentsim.store.importers.any_message import messages_of, said_blocks, spoken
from agentsim.store.importers.blocks import as_dict, as_list, text_of, usage
from agentsim.store.importers.chat_messages import declared_tools
from agentsim.store.importers.exchanges import Asked
from agentsim.store.importers.langchain_messages import is_message, read
from agentsim.store.importers.said import CHAT, Said, failed, said, wire_of_body
from agentsim.store.importers.source import Shape, Source
from agentsim.store.importers.threads import Threads
from agentsim.store.recording import STOP_REASONS, Recording


def _runs(value: Any) -> Iterator[dict[str, Any]]:
    """Runs and patches, in order; a batch's posts come before its patches."""
    if isinstance(value, list):
        for inner in value:
            yield from _runs(inner)
    elif isinstance(value, dict):
        if _is_run(value) or _is_patch(value):
            yield value
        elif {"post", "patch"} & value.keys():
            yield from _runs(as_list(value.get("post")))
            yield from _runs(as_list(value.get("patch")))
        else:
            for key in ("runs", "child_runs", "body", "request"):
                inner = value.get(key)
                yield from _runs(_loaded(inner))


def _loaded(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value


def _is_run(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("run_type"), str)
        and bool({"inputs", "outputs"} & value.keys())
    )


def _is_patch(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("dotted_order"), str) and "outputs" in value


def _merged(values: Any) -> list[dict[str, Any]]:
    """Runs with their patches; a patch of JavaScript's client has no id, its place in the tree tells whose it is."""
    runs: dict[str, dict[str, Any]] = {}
    for run in _runs(values):
        key = text_of(run.get("dotted_order")) or text_of(run.get("id")) or f"run {len(runs)}"
        known = runs.setdefault(key, {})
        known.update({name: value for name, value in run.items() if value is not None})
        for child in _runs(as_list(run.get("child_runs"))):
            runs.setdefault(
                text_of(child.get("dotted_order")) or text_of(child.get("id")) or f"run {len(runs)}", {}
            ).update(child)
    return sorted(runs.values(), key=lambda run: str(run.get("dotted_order") or run.get("start_time") or ""))


def _read(source: Source, shape: Shape) -> Recording:
    values = [v for _, v in source.records()] if shape.kind == "lines" else shape.value
    threads: dict[str, Threads] = {}
    place = 0
    for run in _merged(values):
        if run.get("run_type") not in ("llm", "chat_model"):
            continue
        place += 1
        trace = text_of(run.get("trace_id")) or str(run.get("dotted_order") or "").partition(".")[0]
        threads.setdefault(trace, Threads()).take(_asked(run), _answer(run), place)
    conversations = tuple(c for group in threads.values() for c in group.conversations())
    missing = any(origin.raw is None for c in conversations for origin in c.origins)
    return Recording(IMPORTER.name, conversations, inferred=(STOP_REASONS,) if missing else ())


def _asked(run: dict[str, Any]) -> Asked:
    inputs = as_dict(_loaded(run.get("inputs")))
    given = inputs.get("messages", inputs.get("input", inputs.get("prompts", inputs.get("prompt"))))
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    messages, system = messages_of(given)
    extra = as_dict(as_dict(run.get("extra")).get("invocation_params"))
    tools = declared_tools(inputs.get("tools") or extra.get("tools"))
    return Asked(CHAT, messages, system or text_of(inputs.get("system")) or text_of(inputs.get("instructions")), tools)


def _answer(run: dict[str, Any]) -> Said:
    outputs = _loaded(run.get("outputs"))
    if run.get("error") and not outputs:
        return failed(str(run["error"]))
    body = as_dict(outputs)
    generations = as_list(body.get("generations"))
    if generations:
        first = generations[0][0] if isinstance(generations[0], list) and generations[0] else generations[0]
        return _generation(as_dict(first))
    wire = wire_of_body(body)
    if wire is not None:
        answer = said(_plain_reasons(body), wire)
        answer.waiting = False
        return answer
    for key in ("message", "output", "response"):
        if isinstance(body.get(key), dict):
            body = body[key]
            break
    return _message(body)


def _generation(generation: dict[str, Any]) -> Said:
    message = as_dict(generation.get("message"))
    if is_message(message) and (found := read(message)) is not None:
        return Said(said_blocks(found.parts), found.raw, found.usage)
    return _message({"role": "assistant", "content": generation.get("text")})


def _message(body: dict[str, Any]) -> Said:
    found = spoken({"role": "assistant", **body} if "role" not in body and "type" not in body else body)
    raw = text_of(body.get("finish_reason")) or text_of(body.get("stop_reason"))
    tokens = usage(body.get("usage") or body.get("usage_metadata"))
    return Said(said_blocks(found.parts) if found else [], raw, tokens)


def _plain_reasons(body: dict[str, Any]) -> dict[str, Any]:
    """The merged stream output of JavaScript's wrapper has an object as finish_reason."""
    choices = []
    for choice in as_list(body.get("choices")):
        choice = dict(as_dict(choice))
        reason = choice.get("finish_reason")
        if isinstance(reason, dict):
            choice["finish_reason"] = next((v for v in reason.values() if isinstance(v, str)), None)
        if isinstance(choice.get("delta"), dict) and "message" not in choice:
            choice["message"] = choice["delta"]
        choices.append(choice)
    return {**body, "choices": choices} if choices else body


def _fits(value: Any) -> bool:
    runs = list(_runs(value if isinstance(value, list | dict) else None))
    return any(map(_is_run, runs))


IMPORTER = Importer("langsmith", "LangSmith runs", ("document", "lines"), _fits, _read)
