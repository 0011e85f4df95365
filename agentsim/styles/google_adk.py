"""google-adk: a model call and its tools, until a reply has no call.

Measured on google-adk 2.13.0, over its own model of Claude and over LiteLlm 1.110.2 (Chat Completions):

    n = 0
    loop:
      n += 1; 0 < max_llm_calls < n -> raise LlmCallsLimitExceededError        # the last one's tools have run
      reply = model call
        Claude, whole: a server tool's block -> NotImplementedError; streamed: arguments that are no JSON -> ValueError
        LiteLlm: a call with broken arguments is left out; streamed, the whole reply is: error code MAX_TOKENS or
          MALFORMED_FUNCTION_CALL
        STOP without a word or call: error code MODEL_RETURNED_NO_CONTENT      # streamed only where there is an empty part
      calls: run them at once; unknown, a parameter missing -> {"error": …} as result; an exception leaves the run; continue
      otherwise: the last event, with the finish reason as it came

Arguments are not checked: what the function has no parameter for is left out, types stay as they are.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Fault, Outcome, ToolRun
from agentsim.core.messages import Message, ToolResult
from agentsim.core.run import Failed, Run
from agentsim.core.style import Refused, Style
from agentsim.core.wires import ANTHROPIC, CHAT, SeenCall
from agentsim.styles._google_adk_claims import CLAIMS
from agentsim.styles._google_adk_reply import response_of
from agentsim.styles._python_clients import RETRY, client_error, ending

BROKEN_STREAM = "MidStreamFallbackError"
#: LiteLlm's classes by status; APIError for those that it has none for.
LITE_LLM_ERRORS = {
    400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError", 408: "Timeout", 422: "BadRequestError",
    429: "RateLimitError", 500: "InternalServerError", 503: "ServiceUnavailableError", 504: "Timeout",
}  # fmt: skip
#: Where anthropic 2.14 and google-adk call an error otherwise than older clients do.
CLAUDE_ERRORS = {"RateLimitError": "_AnthropicRateLimitError", "RequestTooLargeError": "ContentTooLargeError"}


def loop(run: Run) -> Generator[Action, Event, Outcome]:
    """One run of a prompt."""
    run.count = 0
    while True:
        if run.limit is not None and run.count >= run.limit:
            message = f"Max number of llm calls limit of `{run.limit:g}` exceeded"
            return run.threw("LlmCallsLimitExceededError", message, "limit")
        seen = yield from run.call(RETRY)
        broken = False
        if isinstance(seen, Failed):
            if not seen.fault.in_stream or seen.fault.disconnect != "end" or run.wire == CHAT:
                return failed(run, seen)
            seen, broken = run.partly(seen.fault)[0], True
        response = response_of(seen)
        if response.problem is not None:
            return run.threw(*response.problem, bad_call=True)
        run.count += 1
        if response.blocks:
            run.history.append(Message("assistant", response.blocks))
        if not response.calls:
            finish = response.error or response.finish
            done = response.error is None and finish in (None, "STOP")
            ended = "broken_stream" if broken else None
            return run.returned(response.text, finish, done=done, ended=ended, dropped=True, bad_call=response.dropped)
        settled = yield from run.settle(
            [fitted(run, call) for call in response.calls], lambda call: refused(run, call), rendered
        )
        if run.aborted:
            return run.threw("CancelledError", "", "aborted")
        thrown = next((done for done in settled.runs if done.raised), None)
        if thrown is not None:
            return run.threw("Exception", str(thrown.output), "tool_error")
        run.answer_with(settled.results)


def fitted(run: Run, call: SeenCall) -> SeenCall:
    """The call with those arguments that the function has a parameter for."""
    spec = run.tools.get(call.name)
    if spec is None:
        return call
    known = spec.schema.get("properties", {})
    return SeenCall(call.id, call.name, call.raw, {key: value for key, value in call.arguments.items() if key in known})


def refused(run: Run, call: SeenCall) -> ToolResult | None:
    """The result of a call that is not run; nothing says that it is an error but its words."""
    spec = run.tools.get(call.name)
    if spec is None or spec.client:
        return ToolResult(call.id, {"error": f"Tool '{call.name}' not found.\nAvailable tools: {', '.join(run.tools)}"})
    missing = [key for key in spec.schema.get("required", ()) if key not in call.arguments]
    if missing:
        text = f"Invoking `{call.name}()` failed as the following mandatory input parameters are not present:\n"
        return ToolResult(call.id, {"error": text + "\n".join(missing)})
    return None


def rendered(done: ToolRun) -> ToolResult:
    """A run's result: what is no mapping becomes one."""
    if done.is_error:
        return ToolResult(done.call_id, {"error": done.output})
    return ToolResult(done.call_id, done.output if isinstance(done.output, dict) else {"result": done.output})


def failed(run: Run, failure: Failed) -> Outcome:
    """The client's own error; LiteLlm has classes of its own, and the model of Claude wraps a rate limit."""
    if failure.aborted:
        return run.threw("CancelledError", "", "aborted")
    if run.wire == CHAT:
        return run.threw(*lite_llm_error(failure.fault), ending(failure))
    type_, message = client_error(run.wire, failure.fault)
    if failure.fault.in_stream and failure.fault.disconnect is None:
        type_ = "ResponseNotRead"  # the error's body is asked for, which a stream does not keep
    return run.threw(CLAUDE_ERRORS.get(type_, type_), message, ending(failure))


def lite_llm_error(fault: Fault) -> tuple[str, str]:
    """LiteLlm's own error: a stream that broke in any way is one, and a status of its own has what it has a class for."""
    if fault.in_stream:
        return BROKEN_STREAM, fault.message
    if fault.status is None:
        return "InternalServerError", "Connection error."
    return LITE_LLM_ERRORS.get(fault.status, "APIError"), f"OpenAIException - {fault.message}"


def read_limit(value: Any) -> float | Refused | None:
    """A whole number; 0 and less are no limit."""
    if value is None:
        return None
    if isinstance(value, bool) or value != int(value):
        return Refused("ValidationError", "max_llm_calls: Input should be a valid integer")
    return value if value > 0 else None


STYLES = (
    Style(
        name="google-adk/Runner.run_async",
        sdk="google-adk 2.13.0, litellm 1.110.2",
        unit="model call",
        knob="max_llm_calls",
        default=500,
        loop=loop,
        checks="before each call, after the last one's tools ran",
        at_limit="raises LlmCallsLimitExceededError",
        signal='the last event: finish_reason is "STOP" or missing, and no error_code',
        wires=(ANTHROPIC, CHAT),
        read_limit=read_limit,
        claims=CLAIMS,
    ),
)
