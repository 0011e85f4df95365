"""Play a scenario under a style: choose the wire, read the limit, run the loop, find the least limit that is enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentsim.core.events import ModelReplied, Outcome, RunFinished, RunStarted
from agentsim.core.messages import Reply, ToolCall
from agentsim.core.run import Setup
from agentsim.core.style import Refused, Style
from agentsim.core.tools import AgentSpec, ToolSpec
from agentsim.core.transcript import Transcript
from agentsim.core.wires import WIRES, cannot_express
from agentsim.drive.drivers import adrive, drive
from agentsim.drive.world import World
from agentsim.errors import UsageError
from agentsim.judge.result import Result
from agentsim.judge.settings import check_names, configured
from agentsim.scenario.inputs import input_check
from agentsim.scenario.model import (
    FOREVER,
    UNREADABLE,
    AnyCall,
    Entry,
    Scenario,
    ScriptedFault,
    ScriptedReply,
    seen_instead,
)

Function = Callable[..., Any]

#: A limit that nobody set: the SDK's own default holds.
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Play:
    """One style with everything that its runs of one scenario share.

    Args:
        wire: the provider's format, None where none can say the scenario (`why` tells).
        options: what the style made of the option tree.
    """

    scenario: Scenario
    style: Style
    wire: str | None
    why: str
    stream: bool
    options: Any = None
    output: Callable[[Any], str | None] | None = None
    max_calls: int = 100
    functions: Mapping[str, Function] = field(default_factory=dict)

    def transcript(self, limit: float | None, is_default: bool = False) -> tuple[Transcript, int]:
        """One run, and how many replies it left unused."""
        started = self._not_started(limit)
        if started is not None:
            return started, _scripted_replies(self.scenario)
        setup, world = self._prepare(limit, is_default)
        return drive(setup, world), world.player.unused

    async def atranscript(self, limit: float | None, is_default: bool = False) -> tuple[Transcript, int]:
        """The same, awaiting tools that are coroutine functions."""
        started = self._not_started(limit)
        if started is not None:
            return started, _scripted_replies(self.scenario)
        setup, world = self._prepare(limit, is_default)
        return await adrive(setup, world), world.player.unused

    def _prepare(self, limit: float | None, is_default: bool) -> tuple[Setup, World]:
        bound = self.style.read_limit(limit) if limit is not None else None
        assert self.wire is not None
        scenario = self.scenario
        main, agents = agent_specs(scenario)
        setup = Setup(
            self.style,
            self.wire,
            self.stream,
            bound,  # type: ignore[arg-type]
            main,
            {name: tool for name, tool in scenario.tools.items() if tool.server},
            agents,
            scenario.prompts,
            scenario.messages,
            scenario.approvals or None,
            self.output,
            (scenario.price.input, scenario.price.output) if scenario.price else None,
            self.options,
            is_default,
            (scenario.output or {}).get("title"),
        )
        resumes = _resumes_for_ever(scenario)
        bounded = (
            (bound is not None and self.style.stops) or getattr(self.options, "bounded", False) or self._costs_bound()
        )
        world = World(
            scenario,
            streamed=self.stream,
            max_calls=max(self.max_calls, int(bound or 0) + 1) if resumes else self.max_calls,  # type: ignore[arg-type]
            bounded=bounded and not resumes,
            functions=self.functions,
        )
        return setup, world

    def _costs_bound(self) -> bool:
        """Whether an option sets a budget in USD, and replies cost anything."""
        price = self.scenario.price
        return bool(price and (price.input or price.output)) and getattr(self.options, "costs_bound", False)

    def _not_started(self, limit: float | None) -> Transcript | None:
        """The transcript of a run that makes no call: the wire can't say the script, or the SDK refuses the limit."""
        if self.wire is None:
            outcome = Outcome("cannot_express", "error", error_type="CannotExpress", error_message=self.why)
        else:
            bound = self.style.read_limit(limit) if limit is not None else None
            if not isinstance(bound, Refused):
                return None
            outcome = Outcome("limit", "error", error_type=bound.type, error_message=bound.message)
        prompt = self.scenario.prompts[0] if self.scenario.prompts else None
        return Transcript([RunStarted(prompt, self.scenario.messages, self.style.name, limit), RunFinished(outcome)])

    def result(self, limit: Any) -> Result:
        """One run at this limit (DEFAULT: the SDK's own)."""
        value = self._value(limit)
        return self._result(value, limit == DEFAULT, *self.transcript(value, limit == DEFAULT))

    async def aresult(self, limit: Any) -> Result:
        """The same, awaiting tools that are coroutine functions."""
        value = self._value(limit)
        return self._result(value, limit == DEFAULT, *await self.atranscript(value, limit == DEFAULT))

    def _value(self, limit: Any) -> float | None:
        if limit == DEFAULT and getattr(self.options, "sets_limit", False):
            return None  # an option of the tree says what the knob says: it replaces the default
        default = getattr(self.options, "own_default", None)
        value = (self.style.default if default is None else default) if limit == DEFAULT else limit
        return None if value == "none" else value

    def _result(self, limit: float | None, is_default: bool, transcript: Transcript, unused: int) -> Result:
        return Result(
            self.scenario,
            self.style,
            transcript,
            wire=self.wire or self.style.wires[0],
            stream=self.stream,
            limit=limit,
            limit_is_default=is_default,
            unused_replies=unused,
            least_limit=self.least_limit,
            at=replace(self, functions={}).result,
        )

    # -- the least limit ----------------------------------------------------------------------------------------

    def least_limit(self) -> int | None:
        """The smallest n such that n and every larger limit end as no limit does; None where that never ends or can't be stopped."""
        if not self.style.stops:
            return None
        quiet = replace(self, functions={})
        free, _ = quiet.transcript(None)
        outcome = free.outcome
        assert outcome is not None
        if outcome.ended in ("unbounded", "cannot_express", "not_implemented"):
            return None
        wanted = _essence(free)
        n = max(1, int(_count(free))) + 2
        while _essence(quiet.transcript(n)[0]) != wanted:
            n += 1
            if n > 2 * _count(free) + 100:
                return None
        while n > 1 and _essence(quiet.transcript(n - 1)[0]) == wanted:
            n -= 1
        return n


def _resumes_for_ever(scenario: Scenario) -> bool:
    """Whether an endless script asks for an approval that is always given: many SDKs begin to count anew with each resume."""
    last = scenario.script[-1] if scenario.script else None
    if scenario.approvals or not isinstance(last, ScriptedReply) or last.repeat != FOREVER:
        return False
    asked = (scenario.tools.get(call.name) for call in last.reply.calls)
    return any(tool is not None and tool.approval is not None and tool.approval.kind != "none" for tool in asked)


def agent_specs(scenario: Scenario) -> tuple[AgentSpec, dict[str, AgentSpec]]:
    """The main agent and the others, as loops know them."""
    main = AgentSpec(scenario.agent or "", scenario.system, _own(scenario.tools), scenario.handoffs)
    agents = {
        agent.name: AgentSpec(
            agent.name, agent.system, _own(agent.tools), agent.handoffs, agent.limit, agent.background
        )
        for agent in scenario.agents.values()
    }
    if main.name:
        agents.setdefault(main.name, main)
    return main, agents


def _own(tools: Mapping[str, ToolSpec]) -> dict[str, ToolSpec]:
    """The tools that the client has to do with."""
    return {name: tool for name, tool in tools.items() if not tool.server}


def _count(transcript: Transcript) -> float:
    last = transcript.events[-1]
    return last.count if isinstance(last, RunFinished) else 0


def _essence(transcript: Transcript) -> tuple[Any, ...]:
    """What has to be the same for a limit to be enough: return, text, runs, and the ending of what threw.

    Of a run that returned, the number of calls stands for its ending: where the limit only took the tools away from the last call, and
    the same answer came, nobody could tell the difference.
    """
    outcome = transcript.outcome
    assert outcome is not None
    runs = tuple((run.name, repr(run.input), repr(run.output), run.is_error) for run in transcript.tool_runs)
    calls = sum(type(event) is ModelReplied for event in transcript)
    how = outcome.ended if outcome.returned == "error" else calls
    return outcome.returned, outcome.finish_reason, outcome.final_text, outcome.error_type, runs, how


def _scripted_replies(scenario: Scenario) -> int:
    return sum(max(0, entry.repeat) for entry in scenario.script if isinstance(entry, ScriptedReply))


def prepare(
    scenario: Scenario,
    style: Style,
    *,
    wire: str | None = None,
    stream: bool | None = None,
    options: Mapping[str, Any] | None = None,
    max_calls: int = 100,
    functions: Mapping[str, Function] | None = None,
) -> Play:
    """Settle what the runs of one style share.

    Args:
        wire: the provider's format; None: the first that the style names and that can say the scenario.
        stream: whether the model is called with streaming; None: as the style does, or not.
        options: the style's option tree; the scenario's own `styles:` where None.
    Raises:
        ScenarioError: `styles:` names a style that there is none of.
        UsageError: a wire, stream value or option that the style does not have.
    """
    check_names(scenario)
    settings = scenario.settings(style.name)
    tree = options if options is not None else (settings.options if settings else {})
    chosen, why = _choose_wire(scenario, style, wire)
    output = input_check(scenario.output) if scenario.output is not None else None
    streams = _choose_stream(style, stream) or chosen in style.streams_on
    if chosen and not style.reads_anything and (unmeasured := _unmeasured(scenario, streams)):
        chosen, why = None, f"what {style.name} makes of it is not measured: {unmeasured}; {_ASK_THE_SDK}"
    return Play(scenario, style, chosen, why, streams, configured(style, tree), output, max_calls, functions or {})


def _choose_wire(scenario: Scenario, style: Style, wire: str | None) -> tuple[str | None, str]:
    if wire is not None and wire not in style.wires:
        known = ", ".join(style.wires) if wire in WIRES else ", ".join(WIRES)
        raise UsageError(f"{style.name} does not speak {wire!r}; it speaks {known}")
    why = ""
    for candidate in [wire] if wire else style.wires:
        problem = _problem(scenario, candidate)
        if problem is None:
            return candidate, ""
        why = why or problem
    return None, why


def _problem(scenario: Scenario, wire: str) -> str | None:
    for entry in (entry for script in _scripts(scenario) for entry in script):
        reply = _whole(entry) if isinstance(entry, ScriptedReply) else entry.fault.partial
        if reply is not None and (problem := cannot_express(reply, wire)):
            return problem
    return None


_ASK_THE_SDK = "play it to the SDK itself, with `agentsim serve` or `agentsim.play`"


def _unmeasured(scenario: Scenario, streamed: bool) -> str | None:
    """The first answer of a script that the SDKs were not measured with, in words."""
    for entry in (entry for script in _scripts(scenario) for entry in script):
        fault = seen_instead(entry, entry.fault if isinstance(entry, ScriptedFault) else None, streamed)
        if fault is not None and (fault.type == UNREADABLE or fault.disconnect == "stall"):
            what = fault.message or "the connection stays and nothing more comes"
            return f"on line {entry.line} {what}" if entry.line else what
    return None


def _scripts(scenario: Scenario) -> list[tuple[Entry, ...]]:
    return [scenario.script, *(agent.script for agent in scenario.agents.values())]


def _whole(entry: ScriptedReply) -> Reply:
    """The reply with the calls that it only gets when it is played: handoffs, and calls of any offered tool."""
    if not entry.handoff and not any(isinstance(extra, AnyCall) for _, extra in entry.extras):
        return entry.reply
    return Reply((*entry.reply.blocks, ToolCall("", "any")), entry.reply.stop_reason, entry.reply.usage)


def _choose_stream(style: Style, stream: bool | None) -> bool:
    if style.streams is None:
        return bool(stream)
    if stream is not None and stream is not style.streams:
        raise UsageError(f"{style.name} {'always' if style.streams else 'never'} calls the model with streaming")
    return style.streams
