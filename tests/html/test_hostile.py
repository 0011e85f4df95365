"""What strangers wrote stays text: names, results and files of anybody neither act on a page nor break it."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agentsim
from agentsim.audit import Report, Row
from agentsim.audit.page import page as audit_page
from agentsim.core.events import Fault, ModelFailed, ModelReplied, ModelRequested, RunStarted, ToolRun, ToolsRan
from agentsim.core.messages import (
    Message,
    Opaque,
    Refusal,
    Reply,
    ServerCall,
    ServerResult,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from agentsim.core.transcript import Transcript
from agentsim.judge.rules import chosen
from agentsim.report.html import budgeted, compared, shown, tested
from agentsim.report.html.tested import PlayedTest
from agentsim.report.plain import plain
from agentsim.report.table import Table
from tests.html.pages import PAGES
from tests.html.reading import find, parsed, tag

NASTY = (
    '"><script>alert(1)</script>',
    "</title></style></script><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!-- --><svg/onload=alert(1)> ]]> <![CDATA[",
    "{{ 7 * 7 }}{% raw %}&lt;&#x3c;&amp",
    "javascript:alert(1)",
    "\x00\x07\x1b[31mred\x9b0m\x7f",
    "\u202etxt.exe\u2066\u200b\ufeff",
    "\ud83d lone \udc00",
    "\ufdd0\uffff\U0001ffff",
    "\U000e0041\U000e0042\ufe0f\U000e0100",
    "👩‍👩‍👧‍👦 e\u0301 한국어 عربى",
    "x" * 5000,
)


def everywhere(text: str) -> Transcript:
    """A transcript that says the text wherever a stranger could."""
    call, result = ToolCall(text, text, text), ToolResult(text, [text], True)
    blocks = (
        Text(text), Thinking(text), call, ServerCall(text, text, text), ServerResult(text, {text: text}, text),
        Refusal(text, text), Opaque(text, {text: text}),
    )  # fmt: skip
    fault = Fault(None, text, text, disconnect=text, partial=Reply(blocks, text), after_characters=1)
    return Transcript(
        [
            RunStarted(text, (Message("user", (Text(text),)),)),
            ModelRequested(0, (Message("user", (Text(text), result)),), text),
            ModelReplied(Reply(blocks, text)),
            ToolsRan((ToolRun(text, text, {text: text}, text, True),)),
            ModelRequested(1, (Message("assistant", blocks),), text + "2", thread=1),
            ModelFailed(fault),
        ]
    )


def pages(text: str) -> list[str]:
    """Every kind of page, with the text wherever a stranger could put it."""
    script = {
        "agentsim": 1,
        "name": text,
        "system": text,
        "prompt": text,
        "tools": {"look": {"description": text, "returns": text}},
        "replies": [{"text": text, "tool_use": {"look": {"a": text}}}, {"text": text}],
    }
    scenario = agentsim.loads(json.dumps(script)) if _can_be_written(text) else agentsim.load(_harmless())
    results = agentsim.compare(scenario, styles=["reference", "ai-sdk/generateText"])
    budgets = agentsim.budget([scenario], styles=["reference"])
    budgets.skipped[text] = text
    rules = chosen(["limit_is_kept"])
    row = Row("limit_is_kept", "failed", text, text, (text,), everywhere(text))
    return [
        compared.page(Table(list(results))),
        budgeted.page(budgets),
        shown.page(scenario, text),
        shown.run_page(results[0]),
        audit_page(Report(text, (row,), tuple(rules))),
        tested.page([PlayedTest(text, "failed", text, everywhere(text), (text,), text)]),
    ]


def _can_be_written(text: str) -> bool:
    return not any(0xD800 <= ord(c) < 0xE000 or c == "\x00" for c in text)


def _harmless() -> Path:
    return Path(__file__).parents[2] / "scenarios" / "refund.yaml"


def skeleton(root: Element) -> set[tuple[str, tuple[str, ...]]]:
    """The elements of a page with the names of their attributes: what no text may add to."""
    return {(tag(e), tuple(sorted(map(str, e.attrib)))) for e in root.iter()}


@cache
def known() -> set[tuple[str, tuple[str, ...]]]:
    return set().union(*(skeleton(parsed(make())) for make in PAGES.values()))


def check(page: str) -> None:
    root = parsed(page)
    page.encode("utf-8")
    assert skeleton(root) <= known()
    assert len(find(root, "script")) == len(find(root, "style")) == 1


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_what_strangers_wrote_stays_text(text):
    for page in pages(text):
        check(page)
        said = "".join(parsed(page).itertext())
        assert " ".join(plain(text)[:60].split()) in " ".join(said.split()) or not _can_be_written(text)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=40))
def test_no_text_breaks_a_page(text):
    check(tested.page([PlayedTest(text, "failed", text, everywhere(text), (text,), text)]))


def test_what_hides_or_reorders_is_shown_by_its_number():
    assert plain("a\u202eb\u200bc\x1b[0m\ud800") == "a[U+202E]b[U+200B]c\u241b[0m\ufffd"
    assert plain("tabs\tand\nlines, 👩‍👧 and e\u0301") == "tabs\tand\nlines, 👩‍👧 and e\u0301"


def test_a_file_name_is_text_too(tmp_path):
    name = "<b onclick='x'>&.jsonl"
    (tmp_path / name).write_text('{"agentsim_transcript":1}\n{"event":"run_started","prompt":"hi"}\n', "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "agentsim", "show", name, "--html", "-"], cwd=tmp_path, capture_output=True, check=False
    )
    if done.returncode == 0:
        check(done.stdout.decode("utf-8"))
    assert done.returncode == 0, done.stderr
