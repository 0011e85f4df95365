"""Sessions of Claude Code: what their lines mean together."""

from __future__ import annotations

import json
from typing import Any

from agentsim.core.events import ModelRequested
from agentsim.core.messages import Text, Thinking, ToolCall
from agentsim.store.importers import read
from agentsim.store.recording import Conversation, Recording, facts, scenarios, tally
from tests.store.files import own


class Session:
    """Writes a session line by line; each line hangs on to the one before unless it is told otherwise."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.last: str | None = None

    def line(self, kind: str, message: Any = None, *, parent: str | None = "last", **more: Any) -> str:
        uuid = f"u{len(self.lines) + 1}"
        hook = self.last if parent == "last" else parent
        record = {"type": kind, "uuid": uuid, "parentUuid": hook, "isSidechain": False, "sessionId": "s", **more}
        if message is not None:
            record["message"] = message
        self.lines.append(json.dumps(record))
        self.last = uuid
        return uuid

    def user(self, *content: Any, **more: Any) -> str:
        return self.line(
            "user", {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}, **more
        )

    def says(self, identity: str, *content: Any, stop: str | None = None, **more: Any) -> str:
        message = {"id": identity, "role": "assistant", "model": "m", "content": list(content), "stop_reason": stop}
        return self.line("assistant", message, **more)

    def read(self) -> Recording:
        return read("\n".join(self.lines).encode())


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(identity: str, name: str = "Bash") -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": {"n": identity}}


def result(identity: str, output: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": output}


def replies(conversation: Conversation) -> list[str]:
    return [reply.text for reply in conversation.events.replies]


def test_a_reply_that_is_written_over_several_lines_is_one() -> None:
    (conversation,) = read(own("claude-code/session.jsonl")).conversations
    first = conversation.events.replies[0]
    assert [type(block) for block in first.blocks] == [Thinking, Text, ToolCall, ToolCall]


def test_the_stop_reason_of_a_reply_is_the_one_of_its_last_line() -> None:
    session = Session()
    session.user("go")
    session.says("m1", text("a"))
    session.says("m1", use("t1"), stop="tool_use")
    assert facts(session.read())["stop_reasons"] == ["tool_use"]


def test_usage_that_is_repeated_on_each_line_is_not_added_up() -> None:
    (conversation,) = read(own("claude-code/session.jsonl")).conversations
    usage = conversation.events.replies[0].usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (4, 9)


def test_results_between_the_lines_of_a_reply_answer_it_in_one_message() -> None:
    (conversation,) = read(own("claude-code/session.jsonl")).conversations
    second = [event for event in conversation.events if isinstance(event, ModelRequested)][1]
    assert [len(message.content) for message in second.new] == [4, 2]


def test_a_reply_that_a_resumed_session_repeats_counts_once() -> None:
    session = Session()
    session.user("one")
    session.says("m1", text("1"))
    session.user("one", parent=None)
    session.says("m1", text("1"))
    session.user("two")
    session.says("m2", text("2"))
    recording = session.read()
    assert replies(recording.conversations[0]) == ["1", "2"]
    assert scenarios(recording)[0].prompts == ("one", "two")


def test_blocks_of_a_reply_that_come_after_another_line_still_belong_to_it() -> None:
    session = Session()
    session.user("go")
    session.says("m1", use("t1"))
    session.says("m2", text("later"))
    session.says("m1", use("t2"))
    (conversation,) = session.read().conversations
    assert [call.id for call in conversation.events.replies[0].calls] == ["t1", "t2"]


def test_a_side_chain_is_a_conversation_of_its_own_that_names_its_call() -> None:
    main, side = read(own("claude-code/side-chain.jsonl")).conversations
    assert (replies(main), replies(side)) == (["", "a.py, line 3."], ["", "It is in a.py"])
    assert side.parent == "toolu_1"
    assert tally(main.events).orphan_calls == 0


def test_two_side_chains_that_are_written_in_turn_are_kept_apart() -> None:
    session = Session()
    session.user("go")
    session.says("m1", use("t1", "Task"), use("t2", "Task"))
    a = session.user("first", isSidechain=True, parent=None)
    b = session.user("second", isSidechain=True, parent=None)
    session.says("s1", text("one"), isSidechain=True, parent=a)
    session.says("s2", text("two"), isSidechain=True, parent=b)
    conversations = session.read().conversations
    assert [(replies(c), c.parent) for c in conversations[1:]] == [(["one"], "t1"), (["two"], "t2")]


def test_a_file_of_a_subagent_alone_is_one_conversation() -> None:
    session = Session()
    session.user("look", isSidechain=True, agentId="a1")
    session.says("m1", use("t1"), isSidechain=True, agentId="a1")
    session.user(result("t1"), isSidechain=True, agentId="a1")
    session.says("m2", text("found"), isSidechain=True, agentId="a1")
    found = facts(session.read())
    assert (found["conversations"], found["model_calls"], found["orphan_calls"]) == (1, 2, 0)


def test_the_result_of_a_task_says_which_agent_did_it() -> None:
    session = Session()
    session.user("go")
    session.says("m1", use("t0"), use("t1", "Agent"))
    session.user("look", isSidechain=True, agentId="a1", parent=None)
    session.says("s1", text("found"), isSidechain=True, agentId="a1")
    session.user(result("t1"), toolUseResult={"agentId": "a1"}, parent="u2")
    assert [c.parent for c in session.read().conversations] == [None, "t1"]


def test_a_rewind_begins_a_conversation_that_has_the_kept_messages_as_its_history() -> None:
    dead, live = read(own("claude-code/resume-rewind-compact.jsonl")).conversations
    assert (replies(dead), replies(live)) == (["one", "two"], ["one", "three", "four"][1:])
    assert live.shared
    assert [message.role for message in live.events[0].messages] == ["user", "assistant"]  # type: ignore[union-attr]


def test_results_of_parallel_calls_that_hang_on_to_their_own_line_are_no_rewind() -> None:
    session = Session()
    session.user("go")
    a = session.says("m1", use("t1"))
    b = session.says("m1", use("t2"))
    session.user(result("t1"), parent=a)
    session.user(result("t2"), parent=b)
    session.says("m2", text("done"))
    found = facts(session.read())
    assert (found["conversations"], found["tool_results"]) == (1, 2)


def test_a_compaction_replaces_the_history_and_keeps_the_run() -> None:
    session = Session()
    session.user("go")
    session.says("m1", use("t1"))
    session.user(result("t1"))
    session.line("system", subtype="compact_boundary", parent=None)
    session.user("Summary", isCompactSummary=True)
    session.says("m2", text("done"))
    recording = session.read()
    last = [event for event in recording.conversations[0].events if isinstance(event, ModelRequested)][-1]
    assert (last.kept, len(last.new)) == (0, 1)
    assert scenarios(recording)[0].prompts == ("go",)


def test_a_message_that_tells_of_an_api_error_is_no_reply() -> None:
    recording = read(own("claude-code/resume-rewind-compact.jsonl"))
    assert recording.skipped == {
        "synthetic message of an API error 529": 1,
        "line of a reply that was written before": 1,
    }


def test_what_the_harness_wrote_is_no_prompt_where_a_person_typed_something() -> None:
    session = Session()
    session.user("<command-name>/init</command-name>")
    session.user("Be careful", isMeta=True)
    session.user("Fix it")
    session.says("m1", text("ok"))
    session.user("<command-name>/done</command-name>")
    session.says("m2", text("bye"))
    assert scenarios(session.read())[0].prompts == ("Fix it", "<command-name>/done</command-name>")


def test_one_broken_line_loses_none_of_the_others() -> None:
    session = Session()
    session.user("go")
    session.lines.append('{"type": "assistant", "message": {"id"')
    session.lines.append("null")
    session.says("m1", text("ok"))
    recording = session.read()
    assert replies(recording.conversations[0]) == ["ok"]
    assert list(recording.skipped) == [
        "broken line 2: no JSON (Expecting ':' delimiter at column 39)",
        "line that is no object but a NoneType",
    ]


def test_many_broken_lines_are_counted_and_the_first_are_named() -> None:
    session = Session()
    session.user("go")
    session.lines += ["{"] * 100
    session.says("m1", text("ok"))
    skipped = session.read().skipped
    assert skipped["further broken lines"] == 95
    assert sum(skipped.values()) == 100


def test_lines_of_unknown_types_are_counted_by_name() -> None:
    session = Session()
    session.user("go")
    session.line("brand-new-thing")
    session.line("brand-new-thing")
    session.says("m1", text("ok"))
    assert session.read().skipped == {"line of type brand-new-thing": 2}


def test_a_line_that_is_skipped_still_stands_between_its_neighbours() -> None:
    session = Session()
    session.user("go")
    session.says("m1", text("ok"))
    session.line("attachment")
    session.user("more")
    session.says("m2", text("fine"))
    assert len(session.read().conversations) == 1


def test_a_log_that_only_counts_tokens_has_its_replies() -> None:
    lines = [
        {
            "timestamp": "t",
            "costUSD": 0.1,
            "requestId": f"r{n}",
            "message": {"id": f"m{n}", "usage": {"input_tokens": n}},
        }
        for n in (1, 2)
    ]
    recording = read("\n".join(map(json.dumps, lines)).encode())
    assert (recording.format, facts(recording)["model_calls"]) == ("claude-code", 2)
