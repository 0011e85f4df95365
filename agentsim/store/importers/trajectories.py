"""Trajectories of evaluation harnesses: SWE-agent, mini-swe-agent, tau-bench, ATIF (Harbor). None records why a reply stopped."""

from __future__ import annotations

from typing import Any

from agentsim.core.messages import Block, Message, Part, Text, Thinking, ToolCall
from agentsim.store.building import ConversationBuilder, arguments_text
from agentsim.store.importers import Importer
from agentsim.store.importers.blocks import as_dict, as_list, text_of, usage
from agentsim.store.importers.chat_messages import add_message, output_of, parts_of
from agentsim.store.importers.source import Shape, Source
from agentsim.store.recording import REPLY_BOUNDARIES, STOP_REASONS, Recording


def _recording(
    name: str, builders: list[ConversationBuilder], notes: list[str], inferred: tuple[str, ...] = (STOP_REASONS,)
) -> Recording:
    return Recording(name, tuple(builder.conversation() for builder in builders), {}, tuple(notes), inferred)


# -- SWE-agent ----------------------------------------------------------------------------------------------------------


def _swe_agent(source: Source, shape: Shape) -> Recording:
    value = shape.value
    notes = [f"exit status {status!r}" for status in [as_dict(value.get("info")).get("exit_status")] if status]
    history = as_list(value.get("history"))
    if not history:
        return _recording(SWE_AGENT.name, [_swe_steps(value)], notes)
    builders: dict[str, ConversationBuilder] = {}
    for place, message in enumerate(history, 1):
        message = as_dict(message)
        if message.get("is_demo") is True:
            source.skip("message of a demonstration")
            continue
        agent = text_of(message.get("agent")) or "main"
        builder = builders.setdefault(agent, ConversationBuilder(agent))
        if not add_message(builder, message, place):
            source.skip(f"entry {place} that is no message")
    return _recording(SWE_AGENT.name, list(builders.values()), notes)


def _swe_steps(value: dict[str, Any]) -> ConversationBuilder:
    """Only the steps: each is a reply, and its observation is what the user says next."""
    builder = ConversationBuilder("main")
    for place, step in enumerate(as_list(value.get("trajectory")), 1):
        step = as_dict(step)
        words = text_of(step.get("response")) or text_of(step.get("thought")) or ""
        builder.reply([Text(words)] if words else [], None, place)
        if observation := text_of(step.get("observation")):
            builder.say(Text(observation))
    return builder


def _fits_swe_agent(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    history = [as_dict(message) for message in as_list(value.get("history"))]
    if any("role" in m and {"agent", "message_type", "is_demo"} & m.keys() for m in history):
        return True
    steps = [as_dict(step) for step in as_list(value.get("trajectory"))]
    return any({"action", "observation"} <= step.keys() for step in steps)


# -- mini-swe-agent -----------------------------------------------------------------------------------------------------


def _mini_swe_agent(source: Source, shape: Shape) -> Recording:
    value = shape.value
    messages = value if isinstance(value, list) else as_list(value.get("messages"))
    info = as_dict(value.get("info")) if isinstance(value, dict) else {}
    builder = ConversationBuilder()
    for place, message in enumerate(messages, 1):
        message = as_dict(message)
        if message.get("role") == "exit":
            continue
        choices = as_list(as_dict(as_dict(message.get("extra")).get("response")).get("choices"))
        raw = text_of(as_dict(choices[0]).get("finish_reason")) if choices else None
        if message.get("object") == "response":
            _response(builder, message, place)
        elif message.get("type") == "function_call_output":
            builder.result(text_of(message.get("call_id")) or "", output_of(message.get("output")))
        elif not add_message(builder, message, place, raw=raw):
            source.skip(f"entry {place} that is no message")
    notes = [f"exit status {info['exit_status']!r}"] if info.get("exit_status") else []
    missing = any(origin.raw is None for origin in builder.origins)
    return _recording(MINI_SWE_AGENT.name, [builder], notes, (STOP_REASONS,) if missing else ())


def _response(builder: ConversationBuilder, message: dict[str, Any], place: int) -> None:
    from agentsim.store.importers.said import RESPONSES, said

    answer = said(message, RESPONSES)
    builder.reply(answer.blocks, answer.raw, place, usage=answer.usage)


def _fits_mini_swe_agent(value: Any) -> bool:
    if isinstance(value, dict):
        return str(value.get("trajectory_format", "")).startswith("mini-swe-agent") and isinstance(
            value.get("messages"), list
        )
    first = "".join(str(as_dict(message).get("content")) for message in as_list(value)[:2])
    return "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in first and all("role" in as_dict(m) for m in as_list(value))


# -- tau-bench ----------------------------------------------------------------------------------------------------------


def _tau_bench(source: Source, shape: Shape) -> Recording:
    values = [v for _, v in source.records()] if shape.kind == "lines" else shape.value
    builders: list[ConversationBuilder] = []
    notes: list[str] = []
    place = 0
    for entry in values if isinstance(values, list) else [values]:
        entry = as_dict(entry)
        builder = ConversationBuilder(f"task {entry.get('task_id')}")
        for message in as_list(entry.get("traj")):
            place += 1
            if not add_message(builder, as_dict(message), place):
                source.skip(f"entry {place} that is no message")
        builders.append(builder)
        if len(notes) < 5:
            notes.append(f"task {entry.get('task_id')}: reward {entry.get('reward')}")
    return _recording(TAU_BENCH.name, builders, notes)


def _fits_tau_bench(value: Any) -> bool:
    entries = value if isinstance(value, list) else [value]
    return any({"task_id", "traj"} <= as_dict(entry).keys() and isinstance(entry["traj"], list) for entry in entries)


# -- ATIF ---------------------------------------------------------------------------------------------------------------


def _atif(source: Source, shape: Shape) -> Recording:
    values = [v for _, v in source.records()] if shape.kind == "lines" else [shape.value]
    builders, notes = [], []
    for value in values:
        value = as_dict(value)
        builder = ConversationBuilder(text_of(as_dict(value.get("agent")).get("name")) or "")
        builders.append(builder)
        steps = as_list(value.get("steps"))
        if steps and all("[REDACTED]" in str(as_dict(step).get("message")) for step in steps):
            raise source.error("its messages are redacted: there is nothing to read")
        for place, step in enumerate(steps, 1):
            _atif_step(builder, as_dict(step), place, source)
        if value.get("continued_trajectory_ref"):
            notes.append(f"it goes on in {value['continued_trajectory_ref']}")
    return _recording(ATIF.name, builders, notes, (STOP_REASONS, REPLY_BOUNDARIES))


def _atif_step(builder: ConversationBuilder, step: dict[str, Any], place: int, source: Source) -> None:
    who, words = step.get("source"), parts_of(step.get("message"))
    if who == "system":
        texts = [part.text for part in words if isinstance(part, Text)]
        builder.system = "\n\n".join(filter(None, [builder.system, *texts])) or None
    elif who == "user":
        builder.say(*words)
    elif who == "agent":
        _atif_reply(builder, step, words, place)
    else:
        source.skip(f"step of source {who if isinstance(who, str) else 'none'}")
        return
    _atif_results(builder, as_dict(step.get("observation")))


def _atif_reply(builder: ConversationBuilder, step: dict[str, Any], words: list[Block], place: int) -> None:
    blocks: list[Block] = [Thinking(thought)] if (thought := text_of(step.get("reasoning_content"))) else []
    blocks += words
    for call in as_list(step.get("tool_calls")):
        call = as_dict(call)
        name = text_of(call.get("function_name")) or ""
        blocks.append(ToolCall(text_of(call.get("tool_call_id")) or "", name, arguments_text(call.get("arguments"))))
    if step.get("is_copied_context") is True:
        builder.insert(Message("assistant", tuple(blocks)))
    else:
        builder.reply(blocks, None, place, usage=usage(step.get("metrics")))


def _atif_results(builder: ConversationBuilder, observation: dict[str, Any]) -> None:
    """Results name their call, or are what the environment says."""
    calls = [call.id for call in builder.last_calls]
    for result in as_list(observation.get("results")):
        result = as_dict(result)
        call_id = text_of(result.get("source_call_id"))
        if call_id is None and len(calls) == 1:
            call_id = calls[0]
        output = output_of(result.get("content"))
        if call_id is not None:
            builder.result(call_id, output, result.get("is_error") is True)
        else:
            parts: list[Part] = list(parts_of(output))
            builder.say(*parts, typed=False)


def _fits_atif(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(isinstance(as_dict(v).get("steps"), list) and _is_atif(v) for v in values)


def _is_atif(value: dict[str, Any]) -> bool:
    if str(value.get("schema_version", "")).startswith("ATIF"):
        return True
    return any(
        as_dict(step).get("source") in ("agent", "user") and "step_id" in step for step in as_list(value["steps"])
    )


_DOCUMENT = ("document", "lines")
SWE_AGENT = Importer("swe-agent", "SWE-agent trajectories", ("document",), _fits_swe_agent, _swe_agent)
MINI_SWE_AGENT = Importer(
    "mini-swe-agent", "mini-swe-agent trajectories", ("document",), _fits_mini_swe_agent, _mini_swe_agent
)
TAU_BENCH = Importer("tau-bench", "tau-bench results", _DOCUMENT, _fits_tau_bench, _tau_bench)
ATIF = Importer("atif", "ATIF trajectories", _DOCUMENT, _fits_atif, _atif)
