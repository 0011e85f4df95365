"""What became of a run's last reply, in one function for all styles."""

from __future__ import annotations

from agentsim.core.wires import Seen

#: Endings after which "answer" tells the caller the truth.
HONEST_ENDINGS = frozenset({"answer", "tool_result", "stop_condition", "handed_back", "approval"})

_BY_STOP = {
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "context_window",
    "refusal": "refusal",
    "pause_turn": "pause",
    "compaction": "pause",
}


def fate(seen: Seen, *, bad_call: bool = False, dropped: bool = False) -> str:
    """The contract's `ended` of a run that stopped on this reply.

    Args:
        seen: the last reply.
        bad_call: an unknown, unreadable or repeated call ended the run.
        dropped: the reply has calls that never ran and were not answered.
    """
    if ending := _BY_STOP.get(seen.stop or ""):
        return ending
    if seen.refusal is not None:
        return "refusal"
    if bad_call or (seen.stop == "tool_use" and not seen.calls):
        return "bad_call"
    if dropped and seen.calls:
        return "dropped_calls"
    return "answer" if seen.text else "empty"
