"""A request as a script may look at it: conditions (`when:`) and expectations (`request:`)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from agentsim.core.messages import Message, Refusal, Reply, Text, Thinking, ToolCall, ToolResult
from agentsim.scenario.model import Expectation, TextMatch, When

#: Tools that a request offers: name -> JSON Schema, or names alone.
Offered = Mapping[str, Any] | Iterable[str]

SHOWN = 200


class RequestView:
    """What conditions and expectations may ask about one request; everything is looked up when it is asked for.

    Args:
        messages: the whole history that the request carries, threads resolved; it is not copied.
        offered: the tools in the request, as name -> JSON Schema or as names; None: all that the agent has.
        output_tool: name of the SDK's own output tool, None where it asks for JSON text.
        system: the system prompt.
        withheld: tools in the request that a reply of the request's choice may not call; they are not in `offered`.
    """

    __slots__ = ("messages", "offered", "output_tool", "system", "withheld")

    def __init__(
        self,
        messages: Sequence[Message] = (),
        offered: Offered | None = None,
        *,
        output_tool: str | None = None,
        system: str = "",
        withheld: Sequence[str] = (),
    ) -> None:
        self.messages = messages
        self.offered = offered
        self.output_tool = output_tool
        self.system = system
        self.withheld = withheld

    @classmethod
    def of(cls, messages: Sequence[Message], offered: Offered | None = None) -> RequestView:
        """A view of a history with the tools that the request offers."""
        return cls(messages, offered)

    @property
    def prompt(self) -> str:
        """Text of the last user message that has any; "" where none has."""
        for message in reversed(self.messages):
            if message.role == "user":
                texts = [part.text for part in message.content if type(part) is Text]
                if texts:
                    return "".join(texts)
        return ""

    @property
    def last_result(self) -> str | None:
        """Text of the last tool result; None where there is none."""
        for message in reversed(self.messages):
            for part in reversed(message.content):
                if type(part) is ToolResult:
                    return text_of(part.output)
        return None

    @property
    def answers(self) -> dict[str, str]:
        """Call id -> text of the results that came after the last reply."""
        found: dict[str, str] = {}
        for message in reversed(self.messages):
            if message.role == "assistant":
                break
            new = {part.call_id: text_of(part.output) for part in message.content if type(part) is ToolResult}
            found = new | found
        return found

    @property
    def text(self) -> str:
        """All texts of the request: system prompt, messages, arguments of calls and results, a line each."""
        texts = [self.system] if self.system else []
        texts += [text for message in self.messages for part in message.content if (text := _part_text(part))]
        return "\n".join(texts)


def text_of(value: Any) -> str:
    """A tool's output as text: a string as it is, a list of text blocks joined, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, dict) and "text" in item for item in value):
        return "".join(str(item["text"]) for item in value)
    return json.dumps(value, ensure_ascii=False)


def _part_text(part: Any) -> str:
    kind = type(part)
    if kind is Text or kind is Refusal:
        return str(part.text)
    if kind is ToolCall:
        return str(part.arguments)
    if kind is ToolResult:
        return text_of(part.output)
    return str(part.thinking) if kind is Thinking else ""


def fits(match: TextMatch | When, text: str) -> bool:
    """Whether a text contains, or matches, what is asked for."""
    if match.how == "contains":
        return match.pattern in text
    return re.search(match.pattern, text) is not None


def holds(when: When, view: RequestView | None) -> bool:
    """Whether a reply's condition holds for this request; without a view there is nothing that it could hold for."""
    if view is None:
        return False
    text = view.prompt if when.where == "prompt" else view.last_result
    return text is not None and fits(when, text)


def check_request(
    expected: Expectation, view: RequestView, offered: Collection[str] = (), paused: Reply | None = None
) -> str | None:
    """The first reason why a request is not the one that a reply is for (`request:`).

    Args:
        expected: what the scenario asks for.
        view: the request.
        offered: names of the tools that it offers.
        paused: the reply before, for `resumes`.
    Returns:
        A sentence that says what was expected and what came; None: the request fits.
    """
    return (
        _offers(expected, offered)
        or (_resumes(view, paused) if expected.resumes else None)
        or _answers(expected, view.answers)
        or _text(expected, view)
    )


def _offers(expected: Expectation, offered: Collection[str]) -> str | None:
    for name in expected.offers:
        if name not in offered:
            return f"expected the tool {name!r} to be offered; the request offers {_list(offered, 'no tools')}"
    return None


def _resumes(view: RequestView, paused: Reply | None) -> str | None:
    want = "expected the paused reply to come back, unchanged and last"
    if paused is None:
        return f"{want}; there is no reply before this request"
    last = view.messages[-1] if view.messages else None
    if last is None or last.role != "assistant":
        return f"{want}; the request ends in {'nothing' if last is None else 'a user message'}"
    if not paused.blocks or last.content[-len(paused.blocks) :] == paused.blocks:
        return None
    return f"{want}; it came back changed: {_short(repr(last.content))} in place of {_short(repr(paused.blocks))}"


def _answers(expected: Expectation, answers: Mapping[str, str]) -> str | None:
    came = f"the request answers {_list(answers, 'no call')}"
    if expected.no_answers and answers:
        return f"expected no tool result; {came}"
    for call_id, match in (expected.answers or {}).items():
        if call_id not in answers:
            return f"expected a result for {call_id}; {came}"
        if match is not None and not fits(match, answers[call_id]):
            want = _wanted(match)
            return f"expected the result of {call_id} to {want}; it is {_short(repr(answers[call_id]))}"
    return None


def _text(expected: Expectation, view: RequestView) -> str | None:
    if not expected.text:
        return None
    text = view.text
    for match in expected.text:
        if not fits(match, text):
            return f"expected the request to {_wanted(match)}; its text ends in {text[-SHOWN:]!r}"
    return None


def _wanted(match: TextMatch) -> str:
    return f"{'contain' if match.how == 'contains' else 'match'} {match.pattern!r}"


def _list(names: Collection[str], none: str) -> str:
    return ", ".join(names) or none


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
