"""The names of the strictness rules: what a refused request broke, and what `off` switches off."""

from __future__ import annotations

from collections.abc import Iterable

from agentsim.errors import UsageError, nearest

#: Stands for every rule.
ALL = "all"
#: Every rule that a codec or a history is held to.
RULES = (
    "answers_come_first", "call_ids_are_short", "calls_keep_their_reasoning", "every_call_is_answered",
    "has_credentials", "has_legal_roles", "has_legal_types", "has_messages", "has_required_fields",
    "has_tool_call_id", "has_version", "ids_are_legal", "ids_are_unique", "item_ids_have_their_prefix",
    "no_answer_without_a_call", "no_blank_text", "no_empty_array", "no_empty_message", "no_empty_text",
    "no_prefill", "no_removed_fields", "no_server_answer_without_a_call", "no_thinking_when_disabled",
    "no_trailing_whitespace", "no_unknown_fields", "one_answer_for_each_call", "one_way_to_continue",
    "parents_are_stored", "reasoning_keeps_its_follower", "references_are_stored", "server_calls_are_paired",
    "things_exist", "thinking_comes_first", "thinking_is_unchanged", "threads_exist",
    "threads_keep_their_tools", "tool_names_are_legal", "tool_names_are_unique",
)  # fmt: skip


def check_off(names: Iterable[str]) -> None:
    """Refuse a name that no rule has: nothing would be switched off.

    Raises:
        UsageError: it names the nearest, and all.
    """
    for name in names:
        if name != ALL and name not in RULES:
            near = nearest(name, RULES)
            hint = f"; did you mean {near!r}?" if near else ""
            raise UsageError(f"there is no strictness rule {name!r}{hint} (known: {ALL}, {', '.join(RULES)})")
