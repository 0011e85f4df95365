"""The option tree of create_agent as its users' code: middlewares, structured output, what a resume says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
    hook_config,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from py_common import TYPES, Json
from pydantic import create_model

#: Retries wait a second and more by default; that changes no decision.
QUICK: Json = {"initial_delay": 0, "jitter": False}
HOOKS = ("before_agent", "before_model", "after_model", "after_agent")


def scripted(tree: Json) -> Callable[[], Any]:
    """A function of an option tree: what it returns, call by call."""
    calls = 0

    def function() -> Any:
        nonlocal calls
        value = tree["scripted"][min(calls, len(tree["scripted"]) - 1)]
        calls += 1
        if isinstance(value, dict) and "raises" in value:
            raise Exception(value["raises"])
        return value

    return function


def custom(settings: Json) -> AgentMiddleware:
    """A subclass with just the hooks that the tree names: which there are decides which nodes there are."""
    members: Json = {"name": settings.get("name", "Probe")}
    for hook in HOOKS:
        if hook in settings:
            tree = settings[hook]
            jumping = "hook" in tree
            made = _hook(scripted(tree["hook"] if jumping else tree))
            members[hook] = hook_config(can_jump_to=tree["can_jump_to"])(made) if jumping else made
    if "wrap_model_call" in settings:
        members["wrap_model_call"] = _wrapper(scripted(settings["wrap_model_call"]), lambda text, _: AIMessage(text))
    if "wrap_tool_call" in settings:
        members["wrap_tool_call"] = _wrapper(scripted(settings["wrap_tool_call"]), _tool_message)
    return type("Probe", (AgentMiddleware,), members)()


def _hook(function: Callable[[], Any]) -> Callable[..., Any]:
    return lambda self, state, runtime: function()


def _wrapper(function: Callable[[], Any], otherwise: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def wrap(self: Any, request: Any, handler: Callable[[Any], Any]) -> Any:
        value = function()
        return handler(request) if value == "handler" else otherwise(value, request)

    return wrap


def _tool_message(text: str, request: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=request.tool_call["id"], name=request.tool_call["name"])


def _error(settings: Json) -> AgentMiddleware:
    function = scripted(settings["on_error"])
    return ToolErrorMiddleware(on_error=lambda error, request: function())


def _summary(settings: Json, model: Any) -> AgentMiddleware:
    return SummarizationMiddleware(
        model, trigger=tuple(settings["trigger"]), keep=tuple(settings.get("keep", ("messages", 20)))
    )


MAKERS: dict[str, Callable[[Json, Any], AgentMiddleware]] = {
    "ModelCallLimitMiddleware": lambda settings, _: ModelCallLimitMiddleware(**settings),
    "ToolCallLimitMiddleware": lambda settings, _: ToolCallLimitMiddleware(**settings),
    "HumanInTheLoopMiddleware": lambda settings, _: HumanInTheLoopMiddleware(**settings),
    "ToolRetryMiddleware": lambda settings, _: ToolRetryMiddleware(**settings, **QUICK),
    "ModelRetryMiddleware": lambda settings, _: ModelRetryMiddleware(**settings, **QUICK),
    "ToolErrorMiddleware": lambda settings, _: _error(settings),
    "SummarizationMiddleware": _summary,
    "AgentMiddleware": lambda settings, _: custom(settings),
}


def settings_of(case: Json, model: Any) -> Json:
    """What create_agent is given beside model and tools; `approval: required` is one more middleware, added last."""
    options = case.get("options") or {}
    middleware = []
    for entry in options.get("middleware", []):
        name, settings = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
        middleware.append(MAKERS[name](settings, model))
    gated = {spec["name"]: True for spec in case.get("tools") or [] if spec.get("approval")}
    if gated:
        middleware.append(HumanInTheLoopMiddleware(interrupt_on=gated))
    given: Json = {"middleware": middleware}
    if options.get("checkpointer") or gated or len(case.get("prompts") or []) > 1:
        given["checkpointer"] = InMemorySaver()
    if case.get("output"):
        given["response_format"] = _format(options.get("response_format"), case["output"]["schema"])
    return given


def _model(schema: Json) -> Any:
    """The output as a pydantic model, as users write it."""
    required = schema.get("required", [])
    fields: Any = {
        name: (TYPES[part["type"]], ...) if name in required else (TYPES[part["type"]] | None, None)
        for name, part in schema["properties"].items()
    }
    return create_model(schema.get("title", "response_format"), **fields)


def _format(tree: Any, described: Json) -> Any:
    schema = _model(described)
    if tree is None:
        return schema
    name, settings = (tree, {}) if isinstance(tree, str) else next(iter(tree.items()))
    return ProviderStrategy(schema) if name == "ProviderStrategy" else ToolStrategy(schema, **settings)


def decisions_of(case: Json, actions: list[Json], calls: list[Json], resume: int) -> list[Json] | None:
    """The decisions of one resume, in the order of the gated calls; None where nobody resumes."""
    approvals = case.get("approvals")
    if approvals is None:
        said = [_from_tool(case, action["name"]) for action in actions]
        return None if None in said else said  # type: ignore[return-value]
    if resume >= len(approvals):
        return None
    bare = [{"type": entry} for entry in approvals[resume] if isinstance(entry, str)]
    named = [entry for entry in approvals[resume] if not isinstance(entry, str)]
    gated = [call for call in calls if any(action["name"] == call["name"] for action in actions)]
    ordered = [_decision(entry, call) for call in gated for entry in named if _id(entry) == call["id"]]
    return [*ordered, *bare]


def _id(entry: Json) -> str:
    return str(next(entry[kind] for kind in ("approve", "reject", "edit") if kind in entry))


def _decision(entry: Json, call: Json) -> Json:
    if "approve" in entry:
        return {"type": "approve"}
    if "reject" in entry:
        return {"type": "reject"} | ({"message": entry["message"]} if "message" in entry else {})
    return {"type": "edit", "edited_action": {"name": call["name"], "args": entry["input"]}}


def _from_tool(case: Json, name: str) -> Json | None:
    said = next(spec for spec in case["tools"] if spec["name"] == name).get("approved")
    if said is None or isinstance(said, bool):
        return None if said is None else {"type": "approve" if said else "reject"}
    if "edit" in said:
        return {"type": "edit", "edited_action": {"name": name, "args": said["edit"]}}
    return {"type": "reject", "message": said["reject"]}
