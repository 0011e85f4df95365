"""The story that every framework plays, and how a script tells what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agentsim.session import play

STORY = {
    "agentsim": 1,
    "prompt": "What is the weather in Paris?",
    "tools": {"get_weather": {"input": {"city": "string"}, "returns": "sunny"}},
    "replies": [
        {"text": "Let me see.", "tool_use": {"get_weather": {"city": "Paris"}}, "stream": {"characters_per_chunk": 3}},
        {"text": "It is sunny."},
    ],
}


def tell(name: str, agent: Callable[..., Any], **settings: Any) -> None:
    """Play the story to an agent and print one line of JSON about it."""
    try:
        with play(STORY) as sim:
            answer = agent(sim, **settings)
        told = {"answer": answer, "calls": sim.model_calls, "wires": sorted({each.wire for each in sim.requests})}
    except Exception as error:
        told = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"name": name, **told}), flush=True)
