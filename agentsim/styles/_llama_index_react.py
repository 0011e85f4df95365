"""LlamaIndex's ReAct agent: tools are asked for in plain text, and results are texts of the user.

A scripted call is said as such a model would say it, see `spoken`; everything else is read as the SDK's own parser reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from agentsim.core.messages import Message, Text, ToolResult
from agentsim.core.run import Run
from agentsim.core.wires import Seen, SeenCall
from agentsim.styles._llama_index_replies import Leaves, Step, Talk, text_of

#: Searched by `re`'s own cache: compiling them costs more than the rest of this file, and most runs need none.
_ACTION = r"(?:\s*Thought: (.*?)|(.+))\n+Action: ([^\n\(\) ]+).*?\n+Action Input: .*?(\{.*\})"
_ANSWER = r"\s*Thought:(.*?)Answer:(.*?)(?:$)"
_PAIRS = r'"(\w+)":\s*"([^"]*)"'


class ReAct(Talk):
    """The scratchpad is a list of thoughts, actions and observations."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.kept = len(run.history)
        self.reasoning: list[Message] = []

    def read(self, seen: Seen) -> Step:
        """One action, an answer, or a text that is neither."""
        text = spoken(seen)
        if not text:
            return Step(seen, text, problem="FAILURE: Your previous response was empty.")
        try:
            return _parsed(seen, text, len(self.reasoning))
        except ValueError as error:
            return Step(seen, text, problem=f"Error while parsing the output: {error}")

    def take(self, step: Step) -> bool:
        """A readable reply is kept as a thought; for another one the next request shows the prompt again, the reply, and why."""
        if step.problem is None:
            self.reasoning.append(_said(step.extra))
            self._shows(self.reasoning)
            return True
        memory = self.run.history[: self.kept]
        again = [memory[-1], _said(step.text or ""), Message("user", (Text(step.problem),))]
        self._shows([*again, *self.reasoning])
        return False

    def show(self, results: Sequence[ToolResult]) -> None:
        """An observation each."""
        self.reasoning += [Message("user", (Text(f"Observation: {result.output}"),)) for result in results]
        self._shows(self.reasoning)

    def _shows(self, scratchpad: Sequence[Message]) -> None:
        """The next request shows this behind the memory; what it shares with the one before is kept."""
        alike, before = 0, self.run.history[self.kept :]
        while alike < min(len(before), len(scratchpad)) and before[alike] == scratchpad[alike]:
            alike += 1
        self.run.rewrite(self.kept + alike, scratchpad[alike:])

    def said(self, seen: Seen) -> str | None:
        """Calls are texts here."""
        return spoken(seen)

    def finish(self) -> None:
        """All of it becomes one message of the memory."""
        texts = [block.text for message in self.reasoning for block in message.content if isinstance(block, Text)]
        self._shows([_said("\n".join(texts))])


def spoken(seen: Seen) -> str | None:
    """The reply as a model without function calling says it."""
    if not seen.calls:
        return text_of(seen)
    lines = [f"Thought: {seen.text or 'I need a tool.'}"]
    for call in seen.calls:
        lines += [f"Action: {call.name}", f"Action Input: {call.raw or '{}'}"]
    return "\n".join(lines)


def _said(text: str) -> Message:
    return Message("assistant", (Text(text),))


def _parsed(seen: Seen, text: str, number: int) -> Step:
    """ReActOutputParser.parse."""
    found = {word: text.find(f"{word}:") for word in ("Thought", "Action", "Answer")}
    if max(found.values()) < 0:
        thought = f"Thought: (Implicit) I can answer without any more tools!\nAnswer: {text}"
        return Step(seen, text, extra=thought)
    if found["Action"] >= 0 and (found["Answer"] < 0 or found["Action"] < found["Answer"]):
        match = re.search(_ACTION, text, re.DOTALL)
        if match is None:
            raise ValueError(f"Could not extract tool use from input text: {text}")
        given = _input(match.group(4).strip())
        call = SeenCall(f"react_{number}", match.group(3).strip(), json.dumps(given), given)
        thought = (match.group(1) or match.group(2)).strip()
        return Step(seen, text, (call,), extra=f"Thought: {thought}\nAction: {call.name}\nAction Input: {given}")
    if found["Answer"] >= 0:
        match = re.search(_ANSWER, text, re.DOTALL)
        if match is None:
            raise ValueError(f"Could not extract final answer from input text: {text}")
        answer = text[found["Answer"] + len("Answer:") :].strip()
        return Step(seen, answer, extra=f"Thought: {match.group(1).strip()}\nAnswer: {match.group(2).strip()}")
    raise ValueError(f"Could not parse output: {text}")


def _input(text: str) -> dict[str, Any]:
    """The first object of the text, or what looks like pairs of texts in it."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        value = dict(re.findall(_PAIRS, text))
    if not isinstance(value, dict):
        raise Leaves("ValidationError", "1 validation error for ActionReasoningStep\naction_input", "bad_call")
    return value
