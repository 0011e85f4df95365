"""The option tree of createAgent (JavaScript) and create_agent (Python)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.scripted import call_of, check_keys, function
from agentsim.core.tools import ToolSpec
from agentsim.styles._langchain_approval import HumanInTheLoop
from agentsim.styles._langchain_limits import ModelCallLimit, ToolCallLimit
from agentsim.styles._langchain_middleware import (
    POINTS,
    Custom,
    Middleware,
    ModelRetry,
    Summarization,
    ToolError,
    ToolRetry,
)

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """A middleware as the tree makes it: its class, its name, its settings (in Python's spelling)."""

    kind: type[Middleware]
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """What a tree says.

    Args:
        middleware: outermost first.
        checkpointer: the thread is kept.
        concurrency: `maxConcurrency`.
        version: "v1": the calls of a reply are one task; "v2": a task each.
        strategy: how structured output is asked for, "tool" or "provider"; None: as LangChain chooses for the model.
        handle_errors: whether the tool strategy asks again.
        own_default: `withConfig`'s recursion limit, in place of the SDK's default.
    """

    middleware: tuple[Made, ...] = ()
    checkpointer: bool = False
    concurrency: int | None = None
    version: str = "v2"
    strategy: str | None = None
    handle_errors: bool = True
    own_default: int | None = None


PREBUILT = {True: Options(), False: Options(version="v1")}

JAVASCRIPT = {
    "withConfig": "{recursionLimit: n}: the call's own limit wins",
    "checkpointer": "true: the thread is kept, and an interrupt can be resumed",
    "maxConcurrency": "tasks at once; 1 loses calls (v2)",
    "version": "v1: one tools task, v2: one per call",
    "responseFormat": "toolStrategy or providerStrategy, for the scenario's output",
    "middleware": "list, outermost first",
}
PYTHON = {
    "with_config": "{recursion_limit: n}: the call's own limit wins",
    "checkpointer": "true: the thread is kept, and an interrupt can be resumed",
    "max_concurrency": "tasks at once; 1 hangs where the model is streamed",
    "response_format": "ToolStrategy or ProviderStrategy, for the scenario's output",
    "middleware": "list, outermost first",
}


def reader(python: bool) -> Callable[[Mapping[str, Any]], Options]:
    """The `configure` of one language."""
    return lambda tree: read(tree, python)


def read(tree: Mapping[str, Any], python: bool) -> Options:
    """An option tree, checked.

    Raises:
        ValueError: a word that LangChain does not know, or a value that it refuses.
    """
    check_keys(tree, "", PYTHON if python else JAVASCRIPT)
    own = {_snake(key): (key, value) for key, value in tree.items()}
    strategy, handle = _strategy(*own.get("response_format", ("", None)), python)
    return Options(
        middleware=_middleware(*own.get("middleware", ("middleware", [])), python),
        checkpointer=_truth(*own.get("checkpointer", ("checkpointer", False))),
        concurrency=_count(*own["max_concurrency"], least=1) if "max_concurrency" in own else None,
        version=_word(*own.get("version", ("version", "v2")), ("v1", "v2")),
        strategy=strategy,
        handle_errors=handle,
        own_default=_own_limit(*own["with_config"], python) if "with_config" in own else None,
    )


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: "_" + found[1].lower(), name)


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _spelled(names: Iterable[str], python: bool) -> list[str]:
    return [name if python else _camel(name) for name in names]


# -- values ---------------------------------------------------------------------------------------------------------


def _truth(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{where}: expected true or false, but {value!r} came")
    return value


def _count(where: str, value: Any, *, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{where}: expected an integer, at least {least}, but {value!r} came")
    return value


def _word(where: str, value: Any, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"{where}: expected {' or '.join(words)}, but {value!r} came")
    return str(value)


def _own_limit(where: str, tree: Any, python: bool) -> int:
    key = "recursion_limit" if python else "recursionLimit"
    settings = check_keys(tree, where, [key])
    if key not in settings:
        raise ValueError(f"{where}: expected {{{key}: n}}, but {tree!r} came")
    return _count(f"{where}.{key}", settings[key], least=1)


def _strategy(where: str, tree: Any, python: bool) -> tuple[str | None, bool]:
    if tree is None:
        return None, True
    names = ("ToolStrategy", "ProviderStrategy") if python else ("toolStrategy", "providerStrategy")
    name, settings = call_of(tree, where, dict.fromkeys(names))
    if name == names[1]:
        check_keys(settings, f"{where}.{name}", [])
        return "provider", True
    key = "handle_errors" if python else "handleError"
    check_keys(settings, f"{where}.{name}", [key])
    return "tool", _truth(f"{where}.{name}.{key}", settings.get(key, True))


# -- middleware -----------------------------------------------------------------------------------------------------


def _middleware(where: str, tree: Any, python: bool) -> tuple[Made, ...]:
    if not isinstance(tree, list | tuple):
        raise ValueError(f"{where}: expected a list of middlewares, but {tree!r} came")
    known = {(name if python else name[0].lower() + name[1:]): kind for name, kind in _KINDS.items()}
    known["AgentMiddleware" if python else "createMiddleware"] = (Custom, _custom)
    made: list[Made] = []
    for at, entry in enumerate(tree):
        name, settings = call_of(entry, f"{where}[{at}]", known)
        kind, read_settings = known[name]
        own = read_settings(settings, f"{where}[{at}].{name}", python)
        own_name = own.pop("name", None) or (f"{name}[{own['tool_name']}]" if own.get("tool_name") else name)
        if kind is Custom and "name" not in settings:
            own_name = f"{name} {at + 1}"
        if any(other.name == own_name for other in made):
            text = (
                "Please remove duplicate middleware instances."
                if python
                else f"Middleware {own_name} is defined multiple times"
            )
            raise ValueError(f"{where}[{at}]: {text} ({own_name})")
        made.append(Made(kind, own_name, own))
    return tuple(made)


def _read(
    settings: Mapping[str, Any], where: str, python: bool, known: Mapping[str, Callable[[str, Any], Any]]
) -> Settings:
    """Settings, each read by the function of its name; the names come back in Python's spelling."""
    check_keys(settings, where, _spelled(known, python))
    return {_snake(key): known[_snake(key)](f"{where}.{key}", value) for key, value in settings.items()}


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where}: expected a name, but {value!r} came")
    return value


def _limits(settings: Mapping[str, Any], where: str, python: bool, known: Mapping[str, Any]) -> Settings:
    own = _read(settings, where, python, {"run_limit": _count, "thread_limit": _count, **known})
    of_run, of_thread = own.get("run_limit"), own.get("thread_limit")
    names = _spelled(("run_limit", "thread_limit"), python)
    if of_run is None and of_thread is None and (python or "tool_name" in known):
        raise ValueError(f"{where}: At least one limit must be specified ({names[1]} or {names[0]})")
    if of_run is not None and of_thread is not None and of_run > of_thread and "tool_name" in known:
        raise ValueError(f"{where}: {names[0]} ({of_run}) cannot exceed {names[1]} ({of_thread}).")
    return own


def _model_limit(settings: Mapping[str, Any], where: str, python: bool) -> Settings:
    return _limits(settings, where, python, {"exit_behavior": lambda w, v: _word(w, v, ("end", "error"))})


def _tool_limit(settings: Mapping[str, Any], where: str, python: bool) -> Settings:
    exits = ("continue", "end", "error")
    return _limits(settings, where, python, {"tool_name": _text, "exit_behavior": lambda w, v: _word(w, v, exits)})


def _retry(settings: Mapping[str, Any], where: str, python: bool) -> Settings:
    return _read(settings, where, python, {"max_retries": _count, "on_failure": _on_failure})


def _on_failure(where: str, value: Any) -> str:
    return _word(where, value, ("continue", "error"))


def _tool_error(settings: Mapping[str, Any], where: str, python: bool) -> Settings:
    own = _read(settings, where, python, {"on_error": lambda w, v: function(v, w)})
    if "on_error" not in own:
        raise ValueError(f"{where}: {_spelled(['on_error'], python)[0]} is missing, a function that returns the text")
    return own


def _approval(settings: Mapping[str, Any], where: str, python: bool) -> Settings:
    own = _read(settings, where, python, {"interrupt_on": lambda w, v: v})
    tree = own.get("interrupt_on")
    if not isinstance(tree, Mapping):
        key = _spelled(["interrupt_on"], python)[0]
        raise ValueError(f"{where}.{key}: expected {{TOOL: true or false}}, but {tree!r} came")
    return {"interrupt_on": {str(name): _truth(f"{where}.{name}", value) for name, value in tree.items()}}


def _summary(settings: Mapping[str, Any], where: str, python: bool) -> Settings:
    own = _read(
        settings, where, python, dict.fromkeys(("trigger", "keep"), _size_python if python else _size_javascript)
    )
    if "trigger" not in own:
        raise ValueError(f"{where}: trigger is missing, as {'[messages, n]' if python else '{messages: n}'}")
    return {"keep": 20, **own}


def _size_javascript(where: str, tree: Any) -> int:
    settings = check_keys(tree, where, ["messages"])
    return _count(f"{where}.messages", settings.get("messages"), least=1)


def _size_python(where: str, tree: Any) -> int:
    if not (isinstance(tree, list | tuple) and len(tree) == 2 and tree[0] == "messages"):
        raise ValueError(f"{where}: expected [messages, n], but {tree!r} came")
    return _count(where, tree[1], least=1)


_WRAPS = {"wrap_model": "wrap_model_call", "wrap_tool": "wrap_tool_call"}


def _custom(settings: Mapping[str, Any], where: str, python: bool) -> Settings:
    hooks = {**{point: point for point in POINTS}, **_WRAPS}
    check_keys(settings, where, ["name", *_spelled(hooks.values(), python)])
    functions, jumps = {}, {}
    for hook, name in hooks.items():
        key = name if python else _camel(name)
        if key not in settings:
            continue
        tree, at = settings[key], f"{where}.{key}"
        if hook in POINTS and isinstance(tree, Mapping) and "hook" in tree:
            tree, jumps[hook] = _jumping(tree, at, python)
            at = f"{at}.hook"
        functions[hook] = function(tree, at)
    return {"name": settings.get("name"), "functions": functions, "jumps": jumps}


def _jumping(tree: Mapping[str, Any], where: str, python: bool) -> tuple[Any, tuple[str, ...]]:
    key = "can_jump_to" if python else "canJumpTo"
    check_keys(tree, where, [key, "hook"])
    targets = tree.get(key, [])
    if not isinstance(targets, list | tuple):
        raise ValueError(f"{where}.{key}: expected a list of model, tools, end, but {targets!r} came")
    return tree["hook"], tuple(_word(f"{where}.{key}", target, ("model", "tools", "end")) for target in targets)


_KINDS: dict[str, tuple[type[Middleware], Callable[[Mapping[str, Any], str, bool], Settings]]] = {
    "ModelCallLimitMiddleware": (ModelCallLimit, _model_limit),
    "ToolCallLimitMiddleware": (ToolCallLimit, _tool_limit),
    "ToolRetryMiddleware": (ToolRetry, _retry),
    "ModelRetryMiddleware": (ModelRetry, _retry),
    "ToolErrorMiddleware": (ToolError, _tool_error),
    "HumanInTheLoopMiddleware": (HumanInTheLoop, _approval),
    "SummarizationMiddleware": (Summarization, _summary),
}


def stack_of(options: Options, tools: Iterable[ToolSpec], python: bool, prebuilt: bool) -> list[Middleware]:
    """The middlewares of one thread; a scenario's `approval: required` is one more, added last."""
    stack = [made.kind(made.name, made.settings, python) for made in options.middleware]
    gated = {tool.name: True for tool in tools if tool.approval is not None}
    if gated and not prebuilt and not any(isinstance(one, HumanInTheLoop) for one in stack):
        stack.append(HumanInTheLoop("HumanInTheLoopMiddleware", {"interrupt_on": gated}, python))
    return stack
