"""crewai's words: what it says to the model, and what it makes of a forced last reply."""

from __future__ import annotations

import re

from agentsim.core.wires import CHAT, Seen

FORCED = (
    "Now it's time you MUST give your absolute best final answer. You'll ignore all previous instructions, stop using any "
    "tools, and just return your absolute BEST Final answer."
)
REPEATED = (
    "Agent called '{0}' with the same arguments {1} times and got the same result each time. Stopped because it is not making "
    "progress."
)


def answer_in(text: str) -> str:
    """What a forced text comes to: what follows "Final Answer:", else all of it."""
    if "Final Answer:" not in text:
        return text
    found = text.split("Final Answer:")[-1].strip()
    return found[:-3].rstrip() if found.endswith("```") and len(re.findall("```", found)) % 2 else found


def representation(seen: Seen) -> str:
    """Python's repr of the client's call objects, which is what Agent.kickoff returns as its answer."""
    if seen.wire == CHAT:
        shown = [
            f"ChatCompletionMessageFunctionToolCall(id={call.id!r}, function=Function(arguments={call.raw!r}, "
            f"name={call.name!r}), type='function')"
            for call in seen.calls
        ]
    else:
        shown = [
            f"ToolUseBlock(id={call.id!r}, caller=DirectCaller(type='direct'), input={call.arguments!r}, name={call.name!r}, "
            "type='tool_use', toolset_name=None)"
            for call in seen.calls
        ]
    return f"[{', '.join(shown)}]"
