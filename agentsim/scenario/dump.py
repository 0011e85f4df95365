"""Writing scenarios: the YAML that reads back as the same scenario, in short forms where they say it all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentsim.core.events import Fault
from agentsim.core.messages import STOP_REASONS, Message, Part, Reply, Text, ToolResult, Usage
from agentsim.scenario import chaos
from agentsim.scenario.blocks import Item, default_stop
from agentsim.scenario.dumpblocks import Data, block, content, kept
from agentsim.scenario.model import (
    FOREVER,
    Agent,
    Decision,
    Entry,
    Expectation,
    Pace,
    Scenario,
    ScriptedReply,
    StyleSettings,
    TextMatch,
)
from agentsim.scenario.replies import ERRORS
from agentsim.scenario.tools import NO_INPUT, TYPES
from agentsim.scenario.yamlwriter import written


def dumps(scenario: Scenario) -> str:
    """The scenario as YAML: `loads(dumps(s)) == s` for every scenario that a file can say.

    Args:
        scenario: what is written. Half surrogate pairs in its texts, which no file can hold, become U+FFFD.
    Example:
        >>> print(
        ...     agentsim.dumps(agentsim.loads({"agentsim": 1, "prompt": "Hi", "replies": [{"text": "Hello."}]})), end=""
        ... )
        agentsim: 1
        name: scenario
        prompt: Hi
        replies:
          - {text: Hello.}
    """
    return written(to_data(scenario))


def to_data(scenario: Scenario) -> Data:
    """The scenario as the values that its file holds, keys in the order of the documentation; also to be written as JSON."""
    prompts = scenario.prompts
    styles = {name: _style(settings) for name, settings in scenario.styles.items()}
    return {
        "agentsim": 1,
        "name": scenario.name,
        **kept(
            system=scenario.system,
            prompt=None if not prompts else prompts[0] if len(prompts) == 1 else list(prompts),
            messages=list(_messages(scenario.messages)) or None,
            tools={name: _tool(spec) for name, spec in scenario.tools.items()} or None,
        ),
        "replies": _script(scenario.script),
        **kept(
            agent=scenario.agent,
            agents={name: _agent(agent) for name, agent in scenario.agents.items()} or None,
            handoffs=list(scenario.handoffs) or None,
            approvals=[[_decision(d) for d in resume] for resume in scenario.approvals] or None,
            output=None if scenario.output is None else {"schema": dict(scenario.output)},
            price=None if scenario.price is None else {"input": scenario.price.input, "output": scenario.price.output},
            abort=None
            if scenario.abort is None
            else kept(before_reply=scenario.abort.before_reply, during=scenario.abort.during),
            styles=styles or None,
            expect=None if scenario.expect is None else dict(scenario.expect),
            unused_replies="allow" if scenario.unused_replies_allowed else None,
        ),
    }


# -- tools, agents, settings ------------------------------------------------------------------------------------------------


def _tool(spec: Any) -> Data:
    return {
        **kept(description=spec.description or None),
        **_schema(spec.schema),
        **_outcomes(spec.outcomes),
        **kept(
            verbatim=spec.verbatim or None,
            seconds=None if spec.seconds == (0.0,) else _one_or_list(spec.seconds),
            execute="client" if spec.client else None,
            return_direct=spec.return_direct or None,
            read_only=spec.read_only or None,
            server=spec.server or None,
            agent=spec.agent,
        ),
        **_approval(spec.approval),
    }


def _schema(schema: Mapping[str, Any]) -> Data:
    if schema == NO_INPUT:
        return {}
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and properties:
        types = {name: spec.get("type") for name, spec in properties.items() if isinstance(spec, Mapping)}
        plain = {"type": "object", "properties": {n: {"type": t} for n, t in types.items()}, "required": list(types)}
        if plain == schema and all(isinstance(t, str) and t in TYPES for t in types.values()):
            return {"input": types}
    return {"schema": dict(schema)}


def _outcomes(outcomes: Sequence[Any]) -> Data:
    if len(outcomes) > 1:
        return {"returns_each": [_outcome(outcome) for outcome in outcomes]}
    (only,) = outcomes
    if only.kind != "returns":
        return {only.kind: only.value}
    return {} if only.value == "" else {"returns": only.value}


def _outcome(outcome: Any) -> Any:
    value = outcome.value
    looks_like_one = (
        isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in ("returns", "raises", "fails")
    )
    return {outcome.kind: value} if outcome.kind != "returns" or looks_like_one else value


def _approval(approval: Any) -> Data:
    if approval is None:
        return {}
    approved: dict[str, Data] = {
        "none": {},
        "approve": {"approved": True},
        "reject": {"approved": False if approval.message is None else {"reject": approval.message}},
        "edit": {"approved": {"edit": approval.input}},
    }
    return {"approval": "required", **approved[approval.kind]}


def _one_or_list(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _agent(agent: Agent) -> Data:
    return kept(
        system=agent.system,
        tools={name: _tool(spec) for name, spec in agent.tools.items()} or None,
        replies=_script(agent.script) or None,
        limit=agent.limit,
        background=None if agent.background else False,
        handoffs=list(agent.handoffs) or None,
    )


def _decision(decision: Decision) -> Any:
    if decision.call_id is None:
        return decision.kind
    return {decision.kind: decision.call_id, **kept(message=decision.message, input=decision.input)}


def _style(settings: StyleSettings) -> Data:
    limit = "none" if settings.limit is None else None if settings.limit == "default" else settings.limit
    return kept(limit=limit, options=dict(settings.options) or None, expect=settings.expect)


# -- scripts ------------------------------------------------------------------------------------------------------------------


def _script(script: Sequence[Entry]) -> list[Data]:
    return [_entry(entry) for entry in script]


def _entry(entry: Entry) -> Data:
    what = _reply(entry) if isinstance(entry, ScriptedReply) else _fault(entry.fault, entry.extras)
    when = entry.when
    return {
        **what,
        **kept(
            seconds=_pace(entry.pace),
            stream=None if entry.characters_per_chunk is None else {"characters_per_chunk": entry.characters_per_chunk},
            repeat={1: None, FOREVER: "forever"}.get(entry.repeat, entry.repeat),
            when=None if when is None else {when.where: {when.how: when.pattern}},
            request=None if entry.request is None else _expectation(entry.request),
            chaos=None if entry.chaos is None else chaos.data(entry.chaos),
        ),
    }


def _reply(entry: ScriptedReply) -> Data:
    handoff = _one_or_list(entry.handoff) if entry.handoff else None
    return {**_said(entry.reply, entry.extras, bool(handoff)), **kept(handoff=handoff)}


def _said(reply: Reply, extras: Sequence[tuple[int, Item]], handoff: bool = False) -> Data:
    """Content, stop reason and usage of a reply."""
    items: list[Item] = list(reply.blocks)
    for at, extra in extras:
        items.insert(at, extra)
    stop, said = reply.stop_reason, content(items)
    if not items:
        said = {"refusal": ""} if stop == "refusal" else {} if handoff else {"empty": True}
    default = default_stop(items, cut="cut_after" in said, refused="refusal" in said, handoff=handoff)
    shown = {} if stop == default else {"stop_reason": _stop(stop)}
    return {**said, **shown, **kept(usage=None if reply.usage is None else _usage(reply.usage))}


def _stop(stop: str | None) -> Any:
    return stop if stop is None or stop in STOP_REASONS else {"raw": stop}


def _usage(usage: Usage) -> Data:
    cached = kept(
        cache_read_input_tokens=usage.cache_read_input_tokens or None,
        cache_creation_input_tokens=usage.cache_creation_input_tokens or None,
    )
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, **cached}


def _pace(pace: Pace) -> Any:
    if pace == Pace():
        return None
    if not pace.per_chunk and not pace.tail:
        return pace.first
    return kept(first=pace.first or None, per_chunk=pace.per_chunk or None, tail=pace.tail or None)


def _match(match: TextMatch | None) -> Any:
    return None if match is None else {match.how: match.pattern}


def _expectation(expected: Expectation) -> Data:
    answers: Any = "none" if expected.no_answers else None
    if expected.answers is not None:
        answers = {call_id: _match(match) for call_id, match in expected.answers.items()}
    texts = {how: [match.pattern for match in expected.text if match.how == how] for how in ("contains", "matches")}
    return kept(
        offers=list(expected.offers) or None,
        answers=answers,
        resumes=expected.resumes or None,
        **{how: _one_or_list(patterns) if patterns else None for how, patterns in texts.items()},
    )


def _fault(fault: Fault, extras: Sequence[tuple[int, Item]]) -> Data:
    partial = fault.partial
    said = {} if partial is None else _said(partial, extras)
    after = kept(after_characters=fault.after_characters)
    if fault.disconnect is not None:
        how = {} if fault.disconnect == "end" else {"how": fault.disconnect}
        return {**said, "disconnect": {**(after or {"before": "headers"}), **how}}
    if not after and fault.retry_after is None and ERRORS.get(fault.status or 0) == (fault.type, fault.message):
        return {**said, "error": fault.status}
    status = None if after else fault.status
    error = kept(status=status, type=fault.type, message=fault.message, retry_after=fault.retry_after)
    return {**said, "error": {**error, **after}}


# -- history ----------------------------------------------------------------------------------------------------------------------


def _messages(messages: Sequence[Message]) -> Iterator[Data]:
    results = False
    for message in messages:
        parts = message.content
        apart = results  # adjacent tool_result entries become one message, so a second one is written as blocks
        results = message.role == "user" and all(isinstance(part, ToolResult) for part in parts) and not apart
        if message.role == "assistant":
            yield {"assistant": _assistant(parts)}
        elif results:
            yield from (_result(part) for part in parts if isinstance(part, ToolResult))
        elif len(parts) == 1 and isinstance(parts[0], Text):
            yield {"user": parts[0].text}
        else:
            yield {"user": [_result(part) if isinstance(part, ToolResult) else block(part) for part in parts]}


def _assistant(parts: Sequence[Part]) -> Any:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return content(list(parts)) if parts else {"empty": True}  # type: ignore[arg-type]


def _result(result: ToolResult) -> Data:
    shown = {} if result.output == "" else {"content": result.output}
    return {"tool_result": {"for": result.call_id, **shown, **kept(is_error=result.is_error or None)}}
