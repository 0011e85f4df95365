"""Broken loops, each with one fault that public bug reports describe; EXPECTED says which rules an audit names for it."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import anthropic

from tests.zoo.chat import CLIENT as CHAT_CLIENT
from tests.zoo.chat import AsyncChat, Chat, StreamedChat
from tests.zoo.claude import AsyncClaude, Claude, StreamedClaude
from tests.zoo.responses import AsyncResponses, Responses, StreamedResponses
from tests.zoo.tools import IMPLS, LoopError, parsed, run_tool

#: name of a loop -> rules that it breaks.
EXPECTED: dict[str, frozenset[str]] = {}


def breaks(*rules: str) -> Any:
    """Makes a target of a loop's class."""

    def register(loop: Any) -> Any:
        EXPECTED[loop.__name__] = frozenset(rules)
        if hasattr(loop, "arun"):

            async def atarget(prompt: str) -> Any:
                return await loop(prompt).arun()

            return atarget
        return lambda prompt: loop(prompt).run()

    return register


RUNS_CUT = ("cut_call_never_runs", "cut_call_gets_an_error_result_or_none")
ONCE = anthropic.Anthropic(api_key="zoo", base_url="https://api.anthropic.com", max_retries=0)

# --- the Messages API ------------------------------------------------------------------------------------------------


@breaks("pause_is_resumed_unchanged")
class ReturnsOnPause(Claude):
    """A paused reply is taken for the answer."""

    def on_pause(self, reply: Any) -> Any:
        return True, self.text(reply)


@breaks("pause_is_resumed_unchanged")
class SaysGoOnAfterAPause(Claude):
    """The pause is answered with a user message."""

    def on_pause(self, reply: Any) -> Any:
        self.keep(reply)
        self.messages.append({"role": "user", "content": "Continue."})
        return False, None


@breaks("pause_is_resumed_unchanged")
class DropsThePause(AsyncClaude):
    """The paused reply is not given back: the same request again."""

    def on_pause(self, reply: Any) -> Any:
        return False, None


@breaks("endless_pause_ends")
class PausesForEver(Claude):
    """A pause does not count."""

    def on_pause(self, reply: Any) -> Any:
        self.keep(reply)
        return self.step(self.ask())


@breaks(
    "pause_is_resumed_unchanged", "refusal_is_no_answer", "truncated_text_is_no_answer", "full_context_is_no_answer"
)
class ReturnsUnlessToolUse(Claude):
    """`if stop_reason != "tool_use": return text`."""

    def step(self, reply: Any) -> Any:
        if reply.stop_reason != "tool_use" and not any(block.type == "tool_use" for block in reply.content):
            return True, self.text(reply)
        return super().step(reply)


@breaks(*RUNS_CUT)
class RunsCutCalls(Claude):
    """max_tokens is not looked at where there are calls."""

    def on_cut(self, reply: Any, calls: list[Any]) -> Any:
        for call in calls:
            call.input = {"key": "", **call.input}
        return self.on_calls(reply, calls) if calls else super().on_cut(reply, calls)


@breaks(*RUNS_CUT)
class RunsCutCallsStreamed(StreamedClaude):
    """The same, streamed: what looks whole is run."""

    def on_cut(self, reply: Any, calls: list[Any]) -> Any:
        return self.on_calls(reply, calls) if calls else super().on_cut(reply, calls)


@breaks("cut_call_gets_an_error_result_or_none")
class SaysOkToCutCalls(Claude):
    """A cut call is not run, but its result says that all is well."""

    def on_cut(self, reply: Any, calls: list[Any]) -> Any:
        if not calls:
            return super().on_cut(reply, calls)
        self.keep(reply)
        self.answer([{"type": "tool_result", "tool_use_id": call.id, "content": "ok"} for call in calls])
        return False, None


@breaks("answers_are_in_one_message")
class OneMessageForEachResult(Claude):
    """A user message for each result."""

    def answer(self, results: list[dict[str, Any]]) -> None:
        self.messages += [{"role": "user", "content": [result]} for result in results]


@breaks("answers_come_first")
class TextBeforeResults(AsyncClaude):
    """A remark stands before the results."""

    def answer(self, results: list[dict[str, Any]]) -> None:
        self.messages.append({"role": "user", "content": [{"type": "text", "text": "The results:"}, *results]})


@breaks("every_call_is_answered")
class AnswersTheFirstCallOnly(Claude):
    """Parallel calls are not expected."""

    def on_calls(self, reply: Any, calls: list[Any]) -> Any:
        return super().on_calls(reply, calls[:1])


@breaks("every_call_is_answered")
class TrustsEndTurn(Claude):
    """Calls beside end_turn are dropped."""

    def on_calls(self, reply: Any, calls: list[Any]) -> Any:
        return (True, self.text(reply)) if reply.stop_reason == "end_turn" else super().on_calls(reply, calls)


@breaks("no_answer_without_a_call", "every_call_is_answered")
class MakesIdsUp(Claude):
    """Results carry an id of the loop's own."""

    def result(self, call: Any) -> dict[str, Any]:
        return {**super().result(call), "tool_use_id": f"toolu_{len(self.messages)}_{call.id[-1]}"}


@breaks("no_answer_without_a_call")
class ForgetsTheReply(Claude):
    """Only results are appended, not the reply that they answer."""

    def keep(self, reply: Any) -> None:
        if not any(block.type == "tool_use" for block in reply.content):
            super().keep(reply)


@breaks("one_run_for_each_call")
class RunsTwice(Claude):
    """Each call is run once to look and once to answer."""

    def run_tool(self, name: str, given: Any) -> Any:
        run_tool(name, given)
        return run_tool(name, given)


@breaks("one_run_for_each_call")
class AnswersTwice(AsyncClaude):
    """Each result is sent twice."""

    def answer(self, results: list[dict[str, Any]]) -> None:
        super().answer([*results, *results])


@breaks("unknown_tool_gets_an_error_result")
class CrashesOnUnknownTools(Claude):
    """A dictionary is asked for a tool that is not in it."""

    def run_tool(self, name: str, given: Any) -> Any:
        return run_tool(name, given) if IMPLS[name] else None


@breaks("unknown_tool_gets_an_error_result")
class ShrugsAtUnknownTools(StreamedClaude):
    """An unknown tool gives nothing special."""

    def run_tool(self, name: str, given: Any) -> Any:
        return run_tool(name, given) if name in IMPLS else ("{}", False)


@breaks("failing_tool_gets_an_error_result")
class LetsToolsThrow(Claude):
    """A tool's exception ends the run."""

    def run_tool(self, name: str, given: Any) -> Any:
        if name == "lookup" and isinstance(given, dict) and set(given) == {"key"}:
            return IMPLS[name](**given), False
        return run_tool(name, given)


@breaks("failing_tool_gets_an_error_result")
class HidesFailures(AsyncClaude):
    """A failing tool's result is "done"."""

    def run_tool(self, name: str, given: Any) -> Any:
        output, failed = run_tool(name, given)
        return ("done", False) if failed and "audit" in output else (output, failed)


@breaks("bad_input_gets_an_error_result", "unreadable_arguments_never_run")
class RunsWhateverComes(Claude):
    """Arguments are not checked."""

    def run_tool(self, name: str, given: Any) -> Any:
        return run_tool(name, {"key": str(given.get("key"))} if name == "lookup" else given)


@breaks("refusal_is_no_answer")
class ReturnsRefusals(StreamedClaude):
    """A refusal's words are the answer."""

    def on_refusal(self, reply: Any) -> Any:
        return True, self.text(reply) or "refused"


@breaks("refusal_is_not_retried")
class RetriesRefusalsForEver(Claude):
    """The same request, until the model gives in."""

    def on_refusal(self, reply: Any) -> Any:
        return self.step(self.ask())


@breaks("truncated_text_is_no_answer")
class ReturnsCutText(AsyncClaude):
    """Half a sentence is an answer."""

    def on_cut(self, reply: Any, calls: list[Any]) -> Any:
        if reply.stop_reason == "max_tokens" and not calls:
            return True, self.text(reply)
        return super().on_cut(reply, calls)


@breaks("full_context_is_no_answer")
class ReturnsFullContext(Claude):
    """The context window's end is the answer's end."""

    def on_cut(self, reply: Any, calls: list[Any]) -> Any:
        if reply.stop_reason == "model_context_window_exceeded":
            return True, self.text(reply)
        return super().on_cut(reply, calls)


@breaks("stop_sequence_is_an_answer")
class OnlyKnowsEndTurn(Claude):
    """Everything but end_turn is an error."""

    def step(self, reply: Any) -> Any:
        if reply.stop_reason == "stop_sequence":
            raise LoopError("unexpected stop reason stop_sequence")
        return super().step(reply)


@breaks("empty_reply_ends_or_is_asked_again")
class ReadsTheFirstBlock(Claude):
    """`content[0].text`."""

    def text(self, reply: Any) -> str:
        return str(reply.content[0].text)


@breaks("empty_reply_ends_or_is_asked_again")
class AsksForEver(StreamedClaude):
    """An empty reply is asked again, and again."""

    def on_empty(self, reply: Any) -> Any:
        self.messages.append({"role": "user", "content": "Please answer."})
        return self.step(self.ask())


@breaks("empty_reply_is_not_retried")
class AsksTheSameAgain(AsyncClaude):
    """After an empty reply the same request is sent again."""

    def on_empty(self, reply: Any) -> Any:
        if self.asked_again:
            raise LoopError("the model answered nothing, twice")
        self.asked_again = True
        return False, None


@breaks("tool_use_without_calls_is_no_answer")
class ReturnsWithoutCalls(StreamedClaude):
    """No calls: then it must be the answer."""

    def on_nothing_to_run(self, reply: Any) -> Any:
        return True, self.text(reply)


@breaks("no_empty_message")
class GivesEmptyRepliesBack(Claude):
    """An empty reply goes into the history."""

    def on_empty(self, reply: Any) -> Any:
        self.keep(reply)
        return super().on_empty(reply)


@breaks("no_empty_message")
class AnswersNothing(Claude):
    """tool_use without a call is answered with no results."""

    def on_nothing_to_run(self, reply: Any) -> Any:
        self.keep(reply)
        self.answer([])
        return False, None


@breaks("assistant_blocks_are_sent_back_unchanged")
class DropsThinking(Claude):
    """Only text and calls go back."""

    def keep(self, reply: Any) -> None:
        kinds = ("thinking", "redacted_thinking")
        self.messages.append({"role": "assistant", "content": [b for b in reply.content if b.type not in kinds]})


@breaks("assistant_blocks_are_sent_back_unchanged")
class DropsServerResults(AsyncClaude):
    """Blocks of server tools are left out."""

    def keep(self, reply: Any) -> None:
        if reply.stop_reason == "pause_turn":
            return super().keep(reply)
        kept = [block for block in reply.content if block.type in ("text", "thinking", "tool_use")]
        self.messages.append({"role": "assistant", "content": kept})
        return None


@breaks("history_only_grows")
class SlidingWindow(Claude):
    """Old rounds are dropped to save tokens."""

    def settings(self) -> dict[str, Any]:
        given = super().settings()
        return given if len(self.messages) < 6 else {**given, "messages": [self.messages[0], *self.messages[-2:]]}


@breaks("limit_is_reported")
class SwallowsTheCap(Claude):
    """At the limit the last text is returned."""

    def step(self, reply: Any) -> Any:
        self.said = self.text(reply)
        return super().step(reply)

    def at_limit(self) -> Any:
        return self.said or "done"


@breaks("limit_is_kept")
class NoLimit(AsyncClaude):
    """The loop has no limit, but for pauses."""

    limit = 8
    pauses = 0

    async def arun(self) -> Any:
        self.limit = 10_000
        return await super().arun()

    def on_pause(self, reply: Any) -> Any:
        self.pauses += 1
        if self.pauses > 3:
            raise LoopError("too many pauses")
        return super().on_pause(reply)


AGAIN = "transient_errors_are_retried_without_running_tools_again"


@breaks(AGAIN)
class NeverRetries(Claude):
    """The client's retries are off, and nothing replaces them."""

    client = ONCE


@breaks(AGAIN)
class StartsOverOn529(Claude):
    """An overload starts the whole run over."""

    client = ONCE

    def ask(self) -> Any:
        try:
            return super().ask()
        except (anthropic.InternalServerError, anthropic.RateLimitError):
            self.messages = self.messages[:1]
            return super().ask()


@breaks(AGAIN)
class RunsToolsAgainOn529(Claude):
    """The round is a unit: a failed request after it runs its tools again."""

    client = ONCE

    def ask(self) -> Any:
        try:
            return super().ask()
        except (anthropic.InternalServerError, anthropic.RateLimitError):
            for message in self.messages[2::2]:
                for result in message["content"]:
                    result["content"] = run_tool("lookup", {"key": "a"})[0]
            return super().ask()


@breaks("client_errors_are_not_retried")
class RetriesEverything(Claude):
    """`except APIStatusError: continue`."""

    def ask(self) -> Any:
        try:
            return super().ask()
        except anthropic.APIStatusError:
            return super().ask()


@breaks("broken_stream_runs_nothing")
class RunsBrokenStreams(StreamedClaude):
    """What a broken stream brought is taken for the reply."""

    def ask(self) -> Any:
        reply = None
        try:
            with self.client.messages.stream(**self.settings()) as stream:
                for _ in stream:
                    reply = stream.current_message_snapshot
        except anthropic.APIStatusError as error:
            if error.status_code != 200:
                raise
        return reply


@breaks("tools_not_offered_never_run")
class RunsWithdrawnTools(Claude):
    """After two rounds the tools are withdrawn from the request, but not from the loop."""

    limit = 4

    def settings(self) -> dict[str, Any]:
        given = super().settings()
        if len(self.messages) >= 5:
            given["tools"] = [
                {"name": "finish", "description": "End.", "input_schema": {"type": "object", "properties": {}}}
            ]
        return given

    def run_tool(self, name: str, given: Any) -> Any:
        if name == "finish":
            return "finished", False
        return run_tool(name, {"key": "a"} if given == {} and len(self.messages) > 5 else given)


@breaks("failing_tool_gets_an_error_result")
class ThrowsOutOfAMethod(Claude):
    """The tools are methods, in a table of the agent's own; one that fails ends the run."""

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self.found = 0
        self.table = {"lookup": self._find}

    def _find(self, key: str) -> str:
        self.found += 1
        return f"value of {key}, {self.found}"

    def run_tool(self, name: str, given: Any) -> Any:
        fits = isinstance(given, dict) and set(given) == {"key"} and isinstance(given["key"], str)
        return (self.table[name](**given), False) if fits and name in self.table else run_tool(name, given)


# --- the Responses API -----------------------------------------------------------------------------------------------


@breaks("unreadable_arguments_never_run", "bad_input_gets_an_error_result", *RUNS_CUT)
class RepairsArguments(Responses):
    """Unreadable and cut arguments are mended and run."""

    def on_cut(self, reply: Any, calls: list[Any]) -> Any:
        return self.on_calls(reply, calls) if calls else super().on_cut(reply, calls)

    def result(self, call: Any) -> dict[str, Any]:
        given = parsed(call.arguments)
        output, _ = run_tool(call.name, {"key": "a"} if given is None and call.name == "lookup" else given)
        return {"type": "function_call_output", "call_id": call.call_id, "output": output}


@breaks("refusal_is_no_answer")
class TakesRefusalItems(Responses):
    """A refusal part is text like any other."""

    def on_refusal(self, reply: Any) -> Any:
        return True, "The model said: " + str(reply.output[0].content[0].refusal)


@breaks("truncated_text_is_no_answer")
class IgnoresIncomplete(StreamedResponses):
    """status incomplete is not looked at."""

    def on_cut(self, reply: Any, calls: list[Any]) -> Any:
        return super().on_cut(reply, calls) if calls else (True, reply.output_text)


@breaks("no_answer_without_a_call", "every_call_is_answered")
class AnswersByItemId(Responses):
    """The item's id (`fc_…`) in place of its call_id."""

    def result(self, call: Any) -> dict[str, Any]:
        return {**super().result(call), "call_id": call.id}


@breaks("every_call_is_answered")
class FirstCallOnlyResponses(AsyncResponses):
    """The first function call of a reply is answered, the others are not."""

    def on_calls(self, reply: Any, calls: list[Any]) -> Any:
        return super().on_calls(reply, calls[:1])


@breaks("assistant_blocks_are_sent_back_unchanged")
class DropsReasoning(Responses):
    """Reasoning items are left out of the history."""

    def keep(self, reply: Any) -> None:
        self.items = [*self.items, *(item.to_dict() for item in reply.output if item.type != "reasoning")]


@breaks("history_only_grows")
class GivesInstructionsOnce(Responses):
    """The thread is stored, and with it, so it is believed, the instructions."""

    stored = True

    def settings(self) -> dict[str, Any]:
        given = super().settings()
        return given if self.parent else {**given, "instructions": "Look things up."}


@breaks("limit_is_reported")
class SaysSorryAtTheLimit(AsyncResponses):
    """At the limit an apology is returned."""

    def at_limit(self) -> Any:
        return "Sorry, I need more steps to process this request."


@breaks("empty_reply_ends_or_is_asked_again")
class IndexesTheOutput(Responses):
    """`output[-1].content[0]`."""

    def on_empty(self, reply: Any) -> Any:
        return True, reply.output[-1].content[0].text


@breaks("one_run_for_each_call")
class RunsOnceMoreToLog(StreamedResponses):
    """A debug line calls the tool again."""

    def run_tool(self, name: str, given: Any) -> Any:
        output = run_tool(name, given)
        self.log = run_tool(name, given)
        return output


@breaks("failing_tool_gets_an_error_result")
class ThrowsOutOfTools(AsyncResponses):
    """A tool's exception ends the run."""

    def run_tool(self, name: str, given: Any) -> Any:
        if name == "lookup" and isinstance(given, dict) and set(given) == {"key"}:
            return IMPLS[name](**given), False
        return run_tool(name, given)


# --- Chat Completions ------------------------------------------------------------------------------------------------


@breaks(*RUNS_CUT)
class IgnoresLength(Chat):
    """finish_reason length is not looked at where there are calls."""

    def on_cut(self, message: Any, calls: list[Any]) -> Any:
        return self.on_calls(message, calls) if calls else super().on_cut(message, calls)


@breaks("truncated_text_is_no_answer")
class ReturnsLength(AsyncChat):
    """A text of finish_reason length is returned."""

    def on_cut(self, message: Any, calls: list[Any]) -> Any:
        return super().on_cut(message, calls) if calls else (True, message.content)


@breaks("every_call_is_answered")
class FirstCallOnlyChat(StreamedChat):
    """The first call is answered."""

    def on_calls(self, message: Any, calls: list[Any]) -> Any:
        return super().on_calls(message, calls[:1])


@breaks("answers_come_first")
class UserBeforeTools(Chat):
    """A user message stands between calls and results."""

    def on_calls(self, message: Any, calls: list[Any]) -> Any:
        self.keep(message)
        self.messages += [{"role": "user", "content": "Results follow."}, *(self.result(call) for call in calls)]
        return False, None


@breaks("no_answer_without_a_call", "every_call_is_answered")
class AnswersByName(Chat):
    """The tool's name in place of the call's id."""

    def result(self, call: Any) -> dict[str, Any]:
        return {**super().result(call), "tool_call_id": call.function.name}


@breaks("unreadable_arguments_never_run", "bad_input_gets_an_error_result")
class CrashesOnBadJson(AsyncChat):
    """json.loads without a try."""

    def result(self, call: Any) -> dict[str, Any]:
        import json

        json.loads(call.function.arguments)
        return super().result(call)


@breaks("limit_is_kept")
class WhileTrue(StreamedChat):
    """while True."""

    limit = 10_000


@breaks("broken_stream_runs_nothing")
class TakesBrokenStreams(StreamedChat):
    """A stream that ends is a stream that is done."""

    def ask(self) -> Any:
        stream = CHAT_CLIENT.chat.completions.create(**self.settings(), stream=True)
        message, finish = self.collect(as_far_as_it_goes(stream))
        return message, finish or "stop"


def as_far_as_it_goes(stream: Any) -> Any:
    """A stream without its errors."""
    with contextlib.suppress(Exception):
        yield from stream


@breaks("unreadable_arguments_never_run", "bad_input_gets_an_error_result")
class ClosesOpenArguments(StreamedChat):
    """A brace that is missing is put there."""

    def result(self, call: Any) -> dict[str, Any]:
        text = call.function.arguments
        given = parsed(text)
        output, _ = self.run_tool(call.function.name, parsed(text + "}") if given is None else given)
        return {"role": "tool", "tool_call_id": call.id, "content": output}


@breaks("history_only_grows")
class LosesTheSystemPrompt(Chat):
    """The system prompt goes with the first request only."""

    def settings(self) -> dict[str, Any]:
        given = super().settings()
        system = {"role": "system", "content": "Look things up."}
        return {**given, "messages": [system, *self.messages]} if len(self.messages) == 1 else given


@breaks("unknown_tool_gets_an_error_result")
class RaisesOnUnknownTools(Chat):
    """An unknown tool is a programming error, so it raises."""

    def run_tool(self, name: str, given: Any) -> Any:
        if name not in IMPLS:
            raise LoopError(f"unknown tool {name}")
        return run_tool(name, given)


@breaks("refusal_is_no_answer")
class RefusalIsContent(Chat):
    """`message.content or message.refusal`."""

    def on_refusal(self, message: Any) -> Any:
        return True, message.content or message.refusal


@breaks("history_only_grows")
class KeepsTheLastRounds(AsyncChat):
    """Only the prompt and the last round are sent."""

    def settings(self) -> dict[str, Any]:
        given = super().settings()
        return given if len(self.messages) < 6 else {**given, "messages": [self.messages[0], *self.messages[-2:]]}


# --- loops that have to be stopped; an audit plays each scenario in a process of its own ---------------------------------


def hangs(prompt: str) -> str:
    """Waits for something that never comes."""
    answer = Claude(prompt).run()
    while answer:
        time.sleep(60)
    return str(answer)
