"""How a scenario is written: the keys of the file, what each may hold, and what it then means."""

from __future__ import annotations

from typing import Any

from agentsim.scenario.blocks import NAME, WHOLE, noted
from agentsim.scenario.document import Node, Path, Report
from agentsim.scenario.history import MESSAGES
from agentsim.scenario.model import Abort, Agent, Decision, Price, Scenario, StyleSettings
from agentsim.scenario.records import Key, Part, Record
from agentsim.scenario.references import check_references
from agentsim.scenario.replies import SCRIPT
from agentsim.scenario.shapes import (
    Anything,
    Choice,
    Either,
    Flag,
    ListOf,
    Made,
    MapOf,
    Named,
    Null,
    Number,
    Object,
    Text,
    describe,
)
from agentsim.scenario.tools import SCHEMA, TOOLS

VERSION = 1

ENDINGS = (
    *(
        "answer",
        "cannot_express",
        "not_implemented",
        "out_of_script",
        "unbounded",
        "aborted",
        "limit",
        "cost",
        "timeout",
    ),
    *(
        "stop_condition",
        "guardrail",
        "approval",
        "handed_back",
        "tool_result",
        "max_tokens",
        "context_window",
        "refusal",
    ),
    *("pause", "bad_call", "dropped_calls", "tool_error", "broken_stream", "http_error", "empty"),
)
"""What stopped a run, in the words of a result."""

DEFAULT_PROMPT = "go"

_ANY_NUMBER = Number()
LIMIT = Either(
    "a number or none",
    {"number": _ANY_NUMBER, "text": Made(Choice(("none",), ("a number",)), lambda *_: None), "null": Null()},
)
_NUMBER_OR_NONE = Either("a number or null", {"number": _ANY_NUMBER, "null": Null()})
_TEXT_OR_NONE = Either("a text or null", {"text": Text(), "null": Null()})

# -- expectations of a run -------------------------------------------------------------------------------------------------

RUN = Either(
    "a tool's name, or {name: input}",
    {"text": NAME, "mapping": MapOf(Anything(), "a mapping of one tool to its input", least=1, most=1)},
)
ERROR = Either(
    "null, or {type, message}",
    {
        "null": Null(),
        "mapping": Record("an error", {"type": Key(NAME), "message": Key(Text())}, some=("type", "message")),
    },
)
REFUSED = Record(
    "a refused request",
    {
        "request": Key(WHOLE, "its number, from 1", required=True),
        "rule": Key(NAME, "the strictness rule that it broke", required=True),
    },
)
SENT = Record(
    "a request in short",
    {
        "kept": Key(WHOLE, "how many messages it kept of the request before", required=True),
        "new": Key(ListOf(Text(), "a list of messages in short"), "the others", required=True),
    },
)
EXPECT_KEYS = {
    "ended": Key(Choice(ENDINGS), "what stopped the run"),
    "returned": Key(Choice(("answer", "stopped", "error")), "what the SDK's caller sees"),
    "silent": Key(Flag(), "the caller is told that it is done, and it is not"),
    "handled": Key(Flag(), "a user's own handler supplied the output"),
    "finish_reason": Key(_TEXT_OR_NONE, "the SDK's own word"),
    "error": Key(ERROR, "what was thrown or emitted"),
    "final_text": Key(_TEXT_OR_NONE, "what the SDK returns or last streamed"),
    "model_calls": Key(WHOLE, "requests that got a reply"),
    "model_requests": Key(WHOLE, "requests, failed attempts too"),
    "tool_rounds": Key(WHOLE, "replies with at least one run"),
    "tool_runs": Key(ListOf(RUN, "a list of runs"), "names, or {name: input}, in order of start"),
    "count": Key(_NUMBER_OR_NONE, "units completed"),
    "reported_count": Key(_NUMBER_OR_NONE, "the number that the SDK itself shows"),
    "least_limit": Key(_NUMBER_OR_NONE, "the least limit that changes nothing"),
    "limit": Key(LIMIT, "the limit in force"),
    "unused_replies": Key(WHOLE, "replies never asked for"),
    "refused_requests": Key(ListOf(REFUSED, "a list"), "what the real API would have rejected"),
    "requests": Key(ListOf(SENT, "a list"), "the requests in short, as a result shows them"),
    "seconds": Key(Number(least=0), "virtual time"),
    "cost_usd": Key(_NUMBER_OR_NONE, "of all replies"),
}


def _as_written(value: Any, node: Node, path: Path, report: Report) -> Any:
    return node.plain()


EXPECT = Named("expect", Made(Record("what a run has to show", EXPECT_KEYS), _as_written))

# -- agents, approvals, styles ---------------------------------------------------------------------------------------------


def _agent(part: Part) -> Agent:
    return Agent(
        name=part.path[1],
        system=part.get("system"),
        tools=part.get("tools", {}),
        script=part.get("replies", ()),
        limit=part.get("limit"),
        background=part.get("background", True),
        handoffs=tuple(part.get("handoffs", ())),
    )


HANDOFFS = ListOf(noted("agent"), "a list of agents")
AGENT = Named(
    "agent",
    Record(
        "an agent",
        {
            "system": Key(Text(), "its system prompt"),
            "tools": Key(TOOLS, "tools of its own"),
            "replies": Key(SCRIPT, "its own script"),
            "limit": Key(LIMIT, "its own limit, in the style's unit"),
            "background": Key(Flag(), "whether it runs beside the main one where the SDK can; default: true"),
            "handoffs": Key(HANDOFFS, "agents that it may hand over to"),
        },
        _agent,
    ),
)


def _decision(part: Part) -> Decision:
    kind = next(kind for kind in ("approve", "reject", "edit") if part.has(kind))
    return Decision(kind, part.get(kind), part.get("message"), part.get("input"))  # type: ignore[arg-type]


def _decision_rules(part: Part) -> None:
    if part.has("message") and not part.has("reject"):
        part.complain("'message' goes with 'reject' only", "message")
    if part.has("input") != part.has("edit"):
        part.complain("'edit' and 'input' go together: which call, and the input that it gets")


DECISION = Either(
    "approve, reject, {approve: id}, {reject: id, message: text} or {edit: id, input: {…}}",
    {
        "text": Made(Choice(("approve", "reject")), lambda value, *_: Decision(value)),
        "mapping": Record(
            "a decision",
            {
                "approve": Key(NAME, "id of a call that may run"),
                "reject": Key(NAME, "id of a call that may not"),
                "message": Key(Text(), "why not"),
                "edit": Key(NAME, "id of a call that runs with another input"),
                "input": Key(Object(), "that input"),
            },
            _decision,
            some=("approve", "reject", "edit"),
            apart=(("approve", "reject", "edit"),),
            rules=(_decision_rules,),
        ),
    },
)
RESUME = ListOf(DECISION, "a list of decisions (each resume is a list of its own)")


def _style_settings(part: Part) -> StyleSettings:
    options = part.node.value.get("options")
    return StyleSettings(**part.values, line=part.node.key_line, options_line=options.key_line if options else 0)


STYLE = Record(
    "the settings of a style",
    {
        "limit": Key(LIMIT, "the knob's value; none: no limit"),
        "options": Key(Object(), "the style's options, as a tree"),
        "expect": Key(EXPECT, "what a run in this style has to show"),
    },
    _style_settings,
)
_USD = Number("USD per million tokens", least=0)
PRICE = Record(
    "a price",
    {
        "input": Key(_USD, "per million input tokens", required=True),
        "output": Key(_USD, "per million output tokens", required=True),
    },
    lambda part: Price(**part.values),
)
ABORT = Record(
    "the caller giving up",
    {
        "before_reply": Key(Number("a whole number, 1 or more", 1, whole=True), "this request is not sent"),
        "during": Key(noted("tool"), "while this tool runs"),
    },
    lambda part: Abort(**part.values),
    some=("before_reply", "during"),
    apart=(("before_reply", "during"),),
)
OUTPUT = Record(
    "structured output", {"schema": Key(SCHEMA, "its JSON Schema", required=True)}, lambda part: part.get("schema")
)

# -- the file --------------------------------------------------------------------------------------------------------------


def _version(value: int, node: Node, path: Path, report: Report) -> int:
    if value != VERSION:
        report.add(f"this agentsim reads format version {VERSION}; the file says {describe(node)}", node.line, path)
    return value


PROMPT = Either(
    "a text or a list of texts",
    {
        "text": Made(Text(), lambda value, *_: (value,)),
        "list": Made(ListOf(Text(), "a list of texts", least=1), lambda values, *_: tuple(values)),
    },
)
KEYS = {
    "agentsim": Key(Made(Number("the format version, 1", whole=True), _version), "format version: 1", required=True),
    "name": Key(NAME, "default: the file's name without its ending"),
    "system": Key(Text(), "the system prompt"),
    "prompt": Key(PROMPT, "the first user message, or a list: several runs on one thread"),
    "messages": Key(MESSAGES, "a history, to start in the middle"),
    "tools": Key(TOOLS, "the tools, by name"),
    "replies": Key(SCRIPT, "one per model call, in order", required=True),
    "agent": Key(NAME, "the main agent's name, so that it can be handed back to"),
    "agents": Key(MapOf(AGENT, "a mapping of names to agents"), "further agents, each with a script of its own"),
    "handoffs": Key(HANDOFFS, "agents that the main one may hand over to"),
    "approvals": Key(
        ListOf(RESUME, "a list of resumes, each a list of decisions"), "what people say, resume by resume"
    ),
    "output": Key(OUTPUT, "asks for structured output"),
    "price": Key(PRICE, "USD per million tokens"),
    "abort": Key(ABORT, "the caller gives up"),
    "styles": Key(MapOf(STYLE, "a mapping of style names to settings"), "settings for single styles"),
    "expect": Key(EXPECT, "what a run has to show"),
    "unused_replies": Key(Choice(("allow",)), "allow: replies never asked for are no failure"),
}


def _agent_names(part: Part) -> None:
    agents = part.node.value.get("agents")
    name = part.get("agent")
    if name is not None and agents is not None and type(agents.value) is dict and name in agents.value:
        part.complain(f"the main agent can't have the name of one in `agents`: {name!r}", "agent")


def _scenario(part: Part) -> Scenario:
    prompts = part.get("prompt", () if part.get("messages") else (DEFAULT_PROMPT,))
    return Scenario(
        name=part.get("name") or part.report.name,
        prompts=prompts,
        system=part.get("system"),
        messages=part.get("messages", ()),
        tools=part.get("tools", {}),
        script=part.get("replies"),
        handoffs=tuple(part.get("handoffs", ())),
        agent=part.get("agent"),
        agents=part.get("agents", {}),
        approvals=tuple(tuple(resume) for resume in part.get("approvals", ())),
        output=part.get("output"),
        price=part.get("price"),
        abort=part.get("abort"),
        styles=part.get("styles", {}),
        expect=part.get("expect"),
        unused_replies_allowed=part.has("unused_replies"),
        path=part.report.path,
    )


SCENARIO = Record("a scenario", KEYS, _scenario, rules=(_agent_names, check_references))
