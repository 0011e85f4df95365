"""What one run of one style gave, in the words of the contract."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from agentsim.core.events import Outcome, ToolRun
from agentsim.core.fate import HONEST_ENDINGS
from agentsim.core.history import Sent, sent_requests
from agentsim.core.run import cost_of
from agentsim.core.style import Style
from agentsim.core.transcript import Transcript
from agentsim.judge.refused import refused_requests
from agentsim.scenario.model import Scenario


class Result:
    """One run under one style.

    Attributes:
        scenario, style: what was played, and under which style.
        wire, stream: the provider's format that stood behind it, and whether the model was called with streaming.
        limit: the knob's value; None is no limit. `limit_is_default`: nobody set it.
        transcript: every event of the run.
        unused_replies: replies of the script that were never asked for.
    """

    def __init__(
        self,
        scenario: Scenario,
        style: Style,
        transcript: Transcript,
        *,
        wire: str,
        stream: bool,
        limit: float | None,
        limit_is_default: bool,
        unused_replies: int,
        least_limit: Callable[[], int | None],
        at: Callable[[Any], Result],
    ) -> None:
        self.scenario, self.style, self.transcript = scenario, style, transcript
        self.wire, self.stream, self.limit, self.limit_is_default = wire, stream, limit, limit_is_default
        self.unused_replies = unused_replies
        self._least_limit, self._at = least_limit, at

    def __repr__(self) -> str:
        return f"<{self.style.name}: {self.ended}, {self.model_calls} model calls, returned {self.returned}>"

    @property
    def outcome(self) -> Outcome:
        """The run's ending."""
        outcome = self.transcript.outcome
        assert outcome is not None, "a result holds a whole run"
        return outcome

    @property
    def ended(self) -> str:
        """What stopped the run."""
        return self.outcome.ended

    @property
    def returned(self) -> str:
        """What the SDK's caller sees: answer, stopped or error."""
        return self.outcome.returned

    @property
    def silent(self) -> bool:
        """Whether the caller is told that it is done although it is not."""
        return self.returned == "answer" and self.ended not in HONEST_ENDINGS

    @property
    def final_text(self) -> str | None:
        """What the SDK returns or last streamed; None where it threw."""
        return self.outcome.final_text

    @property
    def finish_reason(self) -> str | None:
        """The SDK's own word."""
        return self.outcome.finish_reason

    @property
    def error(self) -> dict[str, str] | None:
        """Type and message of what was thrown or emitted."""
        outcome = self.outcome
        if outcome.error_type is None:
            return None
        return {"type": outcome.error_type, "message": outcome.error_message or ""}

    @property
    def count(self) -> float:
        """Units that the limit compares, completed."""
        count = self._finished.count
        return int(count) if count == int(count) else count

    @property
    def seconds(self) -> float:
        """Virtual seconds of the whole run."""
        return float(self._finished.seconds)

    @property
    def _finished(self) -> Any:
        return self.transcript.events[-1]

    @property
    def model_calls(self) -> int:
        """Requests that got a reply."""
        return self.transcript.model_calls

    @property
    def model_requests(self) -> int:
        """Requests, failed attempts included."""
        return self.transcript.model_requests

    @property
    def tool_rounds(self) -> int:
        """Replies with at least one tool run."""
        return self.transcript.tool_rounds

    @property
    def tool_runs(self) -> tuple[ToolRun, ...]:
        """Every execution of a tool."""
        return self.transcript.tool_runs

    @cached_property
    def requests(self) -> tuple[Sent, ...]:
        """What each request carried, as the provider sees it."""
        return tuple(sent_requests(self.transcript))

    @cached_property
    def refused_requests(self) -> list[dict[str, Any]]:
        """What the real API would have rejected of what this SDK sent."""
        return refused_requests(self.transcript, self.wire)

    @cached_property
    def least_limit(self) -> int | None:
        """The smallest limit from which on the run is as without one; None where there is none."""
        return self._least_limit()

    def at(self, limit: float | None) -> Result:
        """The same run at another limit (None: no limit), with the scenario's results in place of functions."""
        return self._at(limit)

    @cached_property
    def cost_usd(self) -> float | None:
        """Cost of all replies; None without a price."""
        price = self.scenario.price
        if price is None:
            return None
        return round(sum(cost_of(r.usage, (price.input, price.output)) for r in self.transcript.replies), 10)

    def to_dict(self, *, full_requests: bool = False) -> dict[str, Any]:
        """The object that `run --format json` prints.

        Args:
            full_requests: whole messages in place of their short forms.
        """
        outcome = self.outcome
        return {
            "scenario": self.scenario.name,
            "style": self.style.name,
            "sdk": self.style.sdk,
            "wire": self.wire,
            "stream": self.stream,
            "unit": self.style.unit,
            "knob": self.style.knob,
            "limit": self.limit,
            "limit_is_default": self.limit_is_default,
            "count": self.count,
            "reported_count": outcome.reported_count,
            "least_limit": self.least_limit,
            "model_calls": self.model_calls,
            "model_requests": self.model_requests,
            "tool_rounds": self.tool_rounds,
            "tool_runs": [
                {"name": run.name, "input": run.input, "output": run.output, "is_error": run.is_error}
                for run in self.tool_runs
            ],
            "ended": outcome.ended,
            "returned": outcome.returned,
            "silent": self.silent,
            "handled": outcome.handled,
            "finish_reason": outcome.finish_reason,
            "error": self.error,
            "final_text": outcome.final_text,
            "unused_replies": self.unused_replies,
            "refused_requests": self.refused_requests,
            "requests": [_request(sent, full_requests) for sent in self.requests],
            "seconds": self.seconds,
            "cost_usd": self.cost_usd,
        }


def _request(sent: Sent, full: bool) -> dict[str, Any]:
    if not full:
        return sent.short()
    from agentsim.store.values import message_to_data

    return {"kept": sent.kept, "new": [message_to_data(message) for message in sent.new]}
