"""pydantic-ai: a request limit that is checked before each request, and retries for whatever does not fit.

Measured on pydantic-ai-slim 2.68.0 (anthropic 2.14.0, openai 3.57.0):

    requests = tool_calls = outputs = 0; failed[tool] = 0
    loop:
      request_limit is set and requests >= it, or a token limit is exceeded -> raise UsageLimitExceeded
      reply = model call; pause_turn: send it back, at most 10 times, all one request     # an 11th: UnexpectedModelBehavior
        a token limit is exceeded -> raise UsageLimitExceeded, before it is sent back
      requests += 1; a token limit is exceeded -> raise UsageLimitExceeded
      nothing but blank text and thinking:
        length -> raise OutputTokenLimitExceeded; content_filter -> raise ContentFilterError
        outputs += 1; more than the retries (1) -> raise UnexpectedModelBehavior; ask again
      calls:
        tool_calls + calls > tool_calls_limit -> raise UsageLimitExceeded, none runs
        two of one id -> raise UnexpectedModelBehavior
        unknown or unfit: failed[tool] >= its retries (1) -> raise IncompleteToolCall if the output limit cut the last one, else
          UnexpectedModelBehavior; none runs
        run all others at once; an exception leaves the run; tool_calls += successes
        then failed[tool] += 1 for each tool that failed in this step, = 0 for one that only succeeded
      text: return it, whatever the finish reason

`run_stream` differs in one thing: the first reply with text is the result; calls beside it are run, and the run is over; one that was cut is
unfit like any other there. On Claude's wire the model is always streamed; it sends empty texts and server tools' blocks not back.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.messages import Message
from agentsim.core.messages import Usage as Tokens
from agentsim.core.run import Failed, Run
from agentsim.core.style import Style
from agentsim.core.wires import ANTHROPIC, CHAT, RESPONSES
from agentsim.styles._pydantic_ai_calls import Usage, run_calls
from agentsim.styles._pydantic_ai_claims import CLAIMS
from agentsim.styles._pydantic_ai_options import OPTIONS, Options, configure
from agentsim.styles._pydantic_ai_reply import Response, call_model, error_of
from agentsim.styles._python_clients import ending

ASKED = "Please return text or call a tool."


def loop(run: Run, first_text: bool) -> Generator[Action, Event, Outcome]:
    """One run of a prompt; what a run that raises has said is not kept for the next one."""
    begin, options, usage = max(0, len(run.history) - 1), run.options or Options(), Usage()
    run.count = 0
    while True:
        outcome = exceeded(run, options, usage) or (yield from step(run, options, usage, first_text))
        if outcome is not None:
            if outcome.returned == "error" and run.setup.prompts:
                run.rewrite(begin)
            return outcome


def step(run: Run, options: Options, usage: Usage, first_text: bool) -> Generator[Action, Event, Outcome | None]:
    """A request and what follows from it; an outcome where the run ends in it."""
    response = yield from call_model(run, lambda used: passed(run, options, usage, used))
    if isinstance(response, Outcome):
        return response
    if isinstance(response, Failed):
        if response.aborted:
            return run.threw("CancelledError", "", "aborted")
        return run.threw(*error_of(response.fault), ending(response))
    if response.suspended:
        return run.threw("UnexpectedModelBehavior", "Model response was suspended more than the maximum of 10 times")
    run.count += 1
    usage.input_tokens += response.usage.input_tokens
    usage.output_tokens += response.usage.output_tokens
    if response.blocks:
        run.history.append(Message("assistant", response.blocks))
    if outcome := passed(run, options, usage):
        return outcome
    response.is_result = first_text and bool(response.text)
    if not response.calls and not response.text:
        return without_output(run, options, usage, response)
    if response.calls:
        outcome = yield from run_calls(run, options, usage, response)
        if outcome is not None or not response.is_result:
            return outcome
    ended = "broken_stream" if response.broken else None
    return run.returned(response.text, response.finish, ended=ended, reported=int(run.count))


def without_output(run: Run, options: Options, usage: Usage, response: Response) -> Outcome | None:
    """A reply with nothing to go on with: asked for again, if there are retries left."""
    if response.finish == "length":
        return run.threw("OutputTokenLimitExceeded", "Model token limit exceeded before any response was generated.")
    if response.finish == "content_filter":
        return run.threw("ContentFilterError", "Content filter triggered.")
    usage.outputs += 1
    if usage.outputs > options.output_retries:
        message = f"Exceeded maximum output retries ({options.output_retries})"
        return run.threw("UnexpectedModelBehavior", message)
    if run.wire == ANTHROPIC:
        run.say(ASKED)  # OpenAI's wires carry it as a system message
    return None


def exceeded(run: Run, options: Options, usage: Usage) -> Outcome | None:
    """The error of a limit that is used up, or passed, before a request."""
    caps = [cap for cap in (run.limit, options.limits.get("request_limit")) if cap is not None]
    if any(run.count >= cap for cap in caps):
        message = f"The next request would exceed the request_limit of {min(caps):g}"
        return run.threw("UsageLimitExceeded", message, "limit")
    return passed(run, options, usage)


def passed(run: Run, options: Options, usage: Usage, more: Tokens | None = None) -> Outcome | None:
    """The error of a limit of tokens that is passed. `more`: of a paused reply."""
    more = more or Tokens(0, 0)
    used_in, used_out = usage.input_tokens + more.input_tokens, usage.output_tokens + more.output_tokens
    used = {
        "input_tokens_limit": used_in,
        "output_tokens_limit": used_out,
        "total_tokens_limit": used_in + used_out,
    }
    for name, tokens in used.items():
        if tokens > options.limits.get(name, tokens):
            return run.threw("UsageLimitExceeded", f"Exceeded the {name} of {options.limits[name]:g}", "limit")
    return None


def _style(name: str, streams: bool, first_text: bool = False, streams_on: tuple[str, ...] = ()) -> Style:
    return Style(
        name=f"pydantic-ai/{name}",
        sdk="pydantic-ai-slim 2.68.0",
        unit="request",
        knob="usage_limits.request_limit",
        default=50,
        loop=partial(loop, first_text=first_text),
        checks="before each request, after the last one's tools ran",
        at_limit="raises UsageLimitExceeded",
        signal="",
        wires=(ANTHROPIC, CHAT, RESPONSES),
        streams=streams,
        streams_on=streams_on,
        options=OPTIONS,
        configure=configure,
        claims=CLAIMS,
    )


STYLES = (
    _style("Agent.run", False, streams_on=(ANTHROPIC,)),
    _style("Agent.iter", False, streams_on=(ANTHROPIC,)),
    _style("Agent.run_stream", True, first_text=True),
    _style("Agent.run_stream_events", True),
)
