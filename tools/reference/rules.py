"""The page of loop rules."""

from __future__ import annotations

from agentsim.judge.rules import all_rules

INTRODUCTION = """# Loop rules

What holds for any agent loop over any provider. `sim.check()` looks at all of them, `sim.check("limit_is_kept")` at one, `agentsim.check(messages)` holds them against a
history from anywhere, and `agentsim audit` plays the scenarios that provoke each. A rule that a run can't decide is *not applicable*, never passed."""


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for rule in all_rules().values():
        provoked = ", ".join(f"`{name}`" for name in rule.scenarios)
        parts.append(f"## {rule.name}\n\n{rule.sentence}\n\n- Source: {rule.source}\n- Provoked by: {provoked}")
    return "\n\n".join(parts) + "\n"
