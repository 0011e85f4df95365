"""A Claude Code session and the files of its subagents are one recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import agentsim
from agentsim.judge.fleet import files_in
from agentsim.store.importers import read
from agentsim.store.recording import facts, scenarios
from tests.store.test_store_claude_code import Session, replies, result, text, use


def write(path: Path, session: Session) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(session.lines) + "\n", "utf-8")


def task(identity: str, prompt: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "Task", "input": {"prompt": prompt}}


def agent(prompt: str, answer: str, **more: Any) -> Session:
    """A subagent's file, as newer versions write it."""
    session = Session()
    session.user(prompt, isSidechain=True, parent=None, **more)
    session.says(f"{answer}-1", use(f"{answer}-t", "Grep"), isSidechain=True, **more)
    session.user(result(f"{answer}-t"), isSidechain=True, **more)
    session.says(f"{answer}-2", text(answer), isSidechain=True, **more)
    return session


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session whose two subagents ran at once, and ended in the other order."""
    main = Session()
    main.user("go")
    main.says("m1", task("t1", "look here"), task("t2", "look there"))
    main.user(result("t2", "there"), toolUseResult={"agentId": "bb"})
    main.user(result("t1", "here"), toolUseResult={"agentId": "aa"})
    main.says("m2", text("done"))
    write(tmp_path / "s.jsonl", main)
    write(tmp_path / "s" / "subagents" / "agent-aa.jsonl", agent("look here", "here", agentId="aa"))
    write(tmp_path / "s" / "subagents" / "agent-bb.jsonl", agent("look there", "there", agentId="bb"))
    return tmp_path / "s.jsonl"


def test_each_subagent_is_a_conversation_that_names_its_call(session):
    found = read(session)
    assert [(c.parent, replies(c)) for c in found.conversations] == [
        (None, ["", "done"]), ("t1", ["", "here"]), ("t2", ["", "there"]),
    ]  # fmt: skip
    counts = facts(found)
    assert (counts["conversations"], counts["model_calls"], counts["tool_calls"], counts["orphan_calls"]) == (
        3,
        6,
        4,
        0,
    )


def test_where_no_result_names_an_agent_its_words_do(tmp_path):
    main = Session()
    main.user("go")
    main.says("m1", task("t1", "same"), task("t2", "other"), task("t3", "same"))
    write(tmp_path / "s.jsonl", main)
    for name, prompt in (("x", "other"), ("y", "same"), ("z", "same"), ("stray", "never asked")):
        write(tmp_path / "s" / "subagents" / f"agent-{name}.jsonl", agent(prompt, name))
    parents = {c.name: c.parent for c in read(tmp_path / "s.jsonl").conversations[1:]}
    assert parents == {"agent x": "t2", "agent y": "t1", "agent z": "t3", "agent stray": None}


def test_an_agent_without_an_id_in_its_lines_has_its_files_name(session):
    write(session.parent / "s" / "subagents" / "agent-cc.jsonl", agent("look nowhere", "nowhere"))
    assert [c.name for c in read(session).conversations[1:]] == ["agent aa", "agent bb", "agent cc"]


def test_a_broken_file_of_a_subagent_loses_nothing_else(session):
    folder = session.parent / "s" / "subagents"
    (folder / "agent-aa.jsonl").write_bytes(b"")
    with (folder / "agent-bb.jsonl").open("a") as file:
        file.write('{"type": "assist\n')
    found = read(session)
    assert [replies(c) for c in found.conversations] == [["", "done"], ["", "there"]]
    assert [what for what in found.skipped if what.startswith("agent-")] == [
        "agent-aa.jsonl: the file is empty",
        "agent-bb.jsonl: broken line 5: no JSON (Unterminated string starting at at column 10)",
    ]


def test_a_walk_through_a_folder_meets_no_subagent_twice(session):
    assert list(files_in(session.parent)) == [str(session)]
    assert agentsim.budget(session.parent, styles=["reference"]).runs == 3
    folder = session.parent / "s" / "subagents"
    assert agentsim.budget(folder, styles=["reference"]).runs == 2, "a folder that is asked for is read"
    session.unlink()
    assert len(list(files_in(session.parent))) == 2, "without their session they are read by themselves"


def test_the_scenarios_of_subagents_play(session):
    played = [agentsim.run(scenario) for scenario in scenarios(read(session), "s")]
    assert [(run.ended, run.final_text) for run in played] == [
        ("answer", "done"), ("answer", "here"), ("answer", "there"),
    ]  # fmt: skip


def test_lines_that_stand_in_both_files_are_read_once(session):
    inline = agent("look here", "here", agentId="aa")
    with session.open("a") as file:
        file.write("\n".join(inline.lines) + "\n")
    assert facts(read(session))["model_calls"] == 6


def test_results_of_parallel_tasks_in_one_file_name_their_own_call():
    main = Session()
    main.user("go")
    main.says("m1", use("t1", "Task"), use("t2", "Task"))
    for name in ("aa", "bb"):
        main.user("look", isSidechain=True, agentId=name, parent=None)
        main.says(f"m-{name}", text(name), isSidechain=True, agentId=name)
    main.user(result("t2"), toolUseResult={"agentId": "bb"}, parent="u2")
    main.user(result("t1"), toolUseResult={"agentId": "aa"}, parent="u2")
    assert {c.name: c.parent for c in main.read().conversations[1:]} == {"agent aa": "t1", "agent bb": "t2"}
