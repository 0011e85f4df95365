"""The option trees of the OpenAI Agents SDKs, JavaScript and Python: one meaning, two spellings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentsim.core.scripted import Function, check_keys, function, is_function, nearest

BEHAVIOURS = ("run_llm_again", "stop_on_first_tool")
CHOICES = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class Words:
    """How a language spells the options and the fields of what functions return."""

    behaviour: str
    stop_at: str
    handlers: str
    max_turns: str
    model_refusal: str
    invalid_output: str
    settings: str
    tool_choice: str
    reset: str
    input_guardrails: str
    output_guardrails: str
    guardrail: str
    in_parallel: str
    tripped: str
    info: str
    error_function: str
    timeout: str
    is_final: str
    final_output: str
    not_found: tuple[str, ...]

    def names(self) -> dict[str, str]:
        """Every option with a word about it."""
        return {
            self.behaviour: "what ends the run after tools: run_llm_again, stop_on_first_tool, names, or a function",
            f"{self.handlers}.{self.max_turns}": "a function that gives the output when the turns are used up",
            f"{self.handlers}.{self.model_refusal}": "a function that gives the output when the model refuses",
            f"{self.handlers}.{self.invalid_output}": "a function that gives the output when the structured one is bad",
            f"{self.settings}.{self.tool_choice}": "auto, none or required; sent until a tool was called",
            self.reset: "false: the tool choice is sent every time",
            ".".join(self.not_found): "return_error_to_model: an unknown tool is an error result",
            self.input_guardrails: "functions that look at the prompt, before the first call or beside it",
            self.output_guardrails: "functions that look at the final output",
            f"tools.NAME.{self.error_function}": "null: a failing tool throws out of the run",
            f"tools.NAME.{self.timeout}": "how long a run of the tool may take",
        }


JS = Words(
    "toolUseBehavior", "stopAtToolNames", "errorHandlers", "maxTurns", "modelRefusal", "invalidFinalOutput",
    "modelSettings", "toolChoice", "resetToolChoice", "inputGuardrails", "outputGuardrails", "execute", "runInParallel",
    "tripwireTriggered", "outputInfo", "errorFunction", "timeoutMs", "isFinalOutput", "finalOutput",
    ("toolNotFoundBehavior",),
)  # fmt: skip
PYTHON = Words(
    "tool_use_behavior", "stop_at_tool_names", "error_handlers", "max_turns", "model_refusal", "invalid_final_output",
    "model_settings", "tool_choice", "reset_tool_choice", "input_guardrails", "output_guardrails", "guardrail_function",
    "run_in_parallel", "tripwire_triggered", "output_info", "failure_error_function", "timeout", "is_final_output",
    "final_output", ("run_config", "tool_not_found_behavior"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guardrail:
    """A function that may trip. `parallel`: it runs beside the first model call."""

    function: Function
    parallel: bool = True


@dataclass(frozen=True, slots=True)
class Options:
    """What the tree comes to.

    Args:
        behaviour: "run_llm_again", "stop_on_first_tool", names of tools, or a function.
        handlers: "max_turns", "model_refusal", "invalid_final_output" -> function.
        return_not_found: an unknown tool is an error result.
        input_guardrails, output_guardrails: in order.
        throwing: tools without an error function.
        timeouts: tool -> the time-out as it is written, and in seconds.
    """

    behaviour: str | tuple[str, ...] | Function = "run_llm_again"
    handlers: Mapping[str, Function] = field(default_factory=dict)
    return_not_found: bool = False
    input_guardrails: tuple[Guardrail, ...] = ()
    output_guardrails: tuple[Guardrail, ...] = ()
    throwing: frozenset[str] = frozenset()
    timeouts: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def configure(tree: Mapping[str, Any], words: Words) -> Options:
    """The tree of one language.

    Raises:
        ValueError: an unknown option or a value that it can't have; says what was expected and what came.
    """
    top = (
        words.behaviour, words.handlers, words.settings, words.reset, words.not_found[0], words.input_guardrails,
        words.output_guardrails, "tools",
    )  # fmt: skip
    check_keys(tree, "", top)
    _tool_choice(tree, words)
    throwing, timeouts = _tools(tree.get("tools", {}), words)
    return Options(
        _behaviour(tree.get(words.behaviour, "run_llm_again"), words),
        _handlers(tree.get(words.handlers, {}), words),
        _not_found(tree, words.not_found),
        _guardrails(tree, words.input_guardrails, words),
        _guardrails(tree, words.output_guardrails, words),
        throwing,
        timeouts,
    )


def _behaviour(value: Any, words: Words) -> str | tuple[str, ...] | Function:
    if isinstance(value, str):
        if value not in BEHAVIOURS:
            raise ValueError(f"{words.behaviour}: unknown value {value!r}{nearest(value, BEHAVIOURS)}")
        return value
    if is_function(value):
        decide = function(value, words.behaviour)
        for entry in decide.values:
            _entry(entry, words.behaviour, words.is_final, (words.is_final, words.final_output))
        return decide
    names = check_keys(value, words.behaviour, (words.stop_at, "scripted")).get(words.stop_at)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{words.behaviour}.{words.stop_at}: expected a list of tool names, but {names!r} came")
    return tuple(names)


def _handlers(tree: Any, words: Words) -> dict[str, Function]:
    kinds = {
        words.max_turns: "max_turns",
        words.model_refusal: "model_refusal",
        words.invalid_output: "invalid_final_output",
    }
    check_keys(tree, words.handlers, tuple(kinds))
    found = {}
    for key, value in tree.items():
        where = f"{words.handlers}.{key}"
        found[kinds[key]] = handler = function(value, where)
        for entry in handler.values:
            _entry(entry, where, words.final_output, (words.final_output,))
    return found


def _entry(entry: Any, where: str, needs: str, known: tuple[str, ...]) -> None:
    """One value that a function returns: null, an exception, or a mapping of its fields."""
    if entry is None or (isinstance(entry, Mapping) and set(entry) == {"raises"}):
        return
    check_keys(entry, f"{where}.scripted", known)
    if needs not in entry:
        raise ValueError(f"{where}.scripted: expected {{{needs}: …}}, but {entry!r} came")


def _tool_choice(tree: Mapping[str, Any], words: Words) -> None:
    """Checked only: the tool choice and its reset change what a request says to the model, not what the loop does."""
    settings = check_keys(tree.get(words.settings, {}), words.settings, (words.tool_choice,))
    choice = settings.get(words.tool_choice, "auto")
    if choice not in CHOICES:
        where = f"{words.settings}.{words.tool_choice}"
        raise ValueError(f"{where}: expected {', '.join(CHOICES)}, but {choice!r} came")
    if not isinstance(tree.get(words.reset, True), bool):
        raise ValueError(f"{words.reset}: expected true or false, but {tree[words.reset]!r} came")


def _not_found(tree: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    *parents, name = path
    for key in parents:
        tree = check_keys(tree.get(key, {}), key, (name,))
    value = tree.get(name)
    if value not in (None, "return_error_to_model"):
        raise ValueError(f"{'.'.join(path)}: expected return_error_to_model, but {value!r} came")
    return value is not None


def _guardrails(tree: Mapping[str, Any], name: str, words: Words) -> tuple[Guardrail, ...]:
    entries = tree.get(name, ())
    if not isinstance(entries, list | tuple):
        raise ValueError(f"{name}: expected a list of guardrails, but {entries!r} came")
    known = (words.guardrail, words.in_parallel) if name == words.input_guardrails else (words.guardrail,)
    found = []
    for at, entry in enumerate(entries):
        where = f"{name}[{at}]"
        check_keys(entry, where, known)
        guard = function(entry.get(words.guardrail), f"{where}.{words.guardrail}")
        for value in guard.values:
            if value is None:
                raise ValueError(f"{where}.{words.guardrail}.scripted: expected {{{words.tripped}: …}}, but null came")
            _entry(value, f"{where}.{words.guardrail}", words.tripped, (words.tripped, words.info))
        parallel = entry.get(words.in_parallel, True)
        if not isinstance(parallel, bool):
            raise ValueError(f"{where}.{words.in_parallel}: expected true or false, but {parallel!r} came")
        found.append(Guardrail(guard, parallel))
    return tuple(found)


def _tools(tree: Any, words: Words) -> tuple[frozenset[str], dict[str, tuple[float, float]]]:
    if not isinstance(tree, Mapping):
        raise ValueError(f"tools: expected a mapping of tool names, but {tree!r} came")
    throwing, timeouts = set(), {}
    for name, settings in tree.items():
        where = f"tools.{name}"
        check_keys(settings, where, (words.error_function, words.timeout))
        if words.error_function in settings:
            if settings[words.error_function] is not None:
                raise ValueError(
                    f"{where}.{words.error_function}: expected null, but {settings[words.error_function]!r} came"
                )
            throwing.add(str(name))
        if words.timeout in settings:
            value = settings[words.timeout]
            if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
                raise ValueError(f"{where}.{words.timeout}: expected a positive number, but {value!r} came")
            timeouts[str(name)] = (value, value / 1000 if words is JS else value)
    return frozenset(throwing), timeouts
