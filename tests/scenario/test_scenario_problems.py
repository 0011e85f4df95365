"""A wrong file is a list of sentences, each with its line; never anything else."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.errors import Problem, ScenarioError
from agentsim.scenario.dump import dumps
from agentsim.scenario.load import load, loads
from agentsim.scenario.validate import files_of, problems_of
from tests.scenario.documents import AWKWARD, documents, values

REFUND = (Path(__file__).parents[2] / "scenarios" / "refund.yaml").read_text("utf-8")
slow = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def problems(text: Any, name: str = "scenario") -> list[str]:
    """What is wrong with a text, one line each; empty where nothing is."""
    try:
        loads(text, name)
    except ScenarioError as error:
        return str(error).splitlines()
    return []


def only(text: str) -> str:
    found = problems("agentsim: 1\n" + text if "agentsim:" not in text else text)
    assert len(found) == 1, found
    return found[0]


def replies(*lines: str) -> str:
    return "agentsim: 1\nreplies:\n" + "".join(f"  - {line}\n" for line in lines)


# -- all at once, each where it is ---------------------------------------------------------------------------------------

SIX = """\
agentsim: 1
promt: Refund order 42
tools:
  refund:
    input: {order_id: int}
    return: refunded
replies:
  - text: 42
  - tool_use: {refund: {order_id: 1}}
    stop_reason: end_trun
  - text: a
    text: b
"""


def test_six_mistakes_are_reported_at_once_each_with_its_line() -> None:
    assert problems(SIX, "six.yaml") == [
        "six.yaml:2: promt: unknown key 'promt'; did you mean 'prompt'?",
        "six.yaml:5: tools.refund.input.order_id: unknown word 'int'; did you mean 'integer'?"
        " (expected string, integer, number, boolean, array, object or null)",
        "six.yaml:6: tools.refund.return: unknown key 'return'; did you mean 'returns'?",
        "six.yaml:8: replies[0].text: expected a text, got the number 42 (in quotes it is text: '42')",
        "six.yaml:10: replies[1].stop_reason: unknown word 'end_trun'; did you mean 'end_turn'? (expected {raw: word}, null,"
        " end_turn, tool_use, stop_sequence, max_tokens, model_context_window_exceeded, refusal, pause_turn or compaction)",
        "six.yaml:12: replies[2].text: the key 'text' is here twice, first on line 11",
    ]


def test_json_problems_have_lines_too() -> None:
    text = json.dumps({"agentsim": 1, "replies": [{"txt": "a"}]}, indent=1)
    assert problems(text) == ["scenario:5: replies[0].txt: unknown key 'txt'; did you mean 'text'?"]


def test_a_mapping_has_no_lines_but_places() -> None:
    assert problems({"agentsim": 1, "replies": [{"txt": "a"}]}) == [
        "scenario: replies[0].txt: unknown key 'txt'; did you mean 'text'?"
    ]


def test_a_key_that_is_cut_short_is_understood() -> None:
    assert "did you mean 'stop_reason'?" in only(replies("{text: a, stop: end_turn}"))


def test_a_flood_of_problems_is_counted() -> None:
    found = problems("agentsim: 1\nreplies: []\n" + "".join(f"k{i}: 1\n" for i in range(5000)))
    assert len(found) == 201
    assert found[-1] == "scenario:202: and 4800 more problems"


def test_a_far_off_key_is_answered_with_those_there_are() -> None:
    assert "has the keys agentsim, name, system" in only("zzz: 1\nreplies: []")


# -- what YAML 1.2 does not say, and what everybody expects it to say -----------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("no", "no"), ("on", "on"), ("yes", "yes"), ("y", "y"), ("1e3", 1000.0), ("0o17", 15), ("017", 17), ("0x1F", 31),
        ("1_000", "1_000"), ("1:30", "1:30"), ("2026-11-30", "2026-11-30"), ("=", "="), ("~", None), ("", None), ("Null", None),
        ("TRUE", True), ("tRUE", "tRUE"), ("+1", 1), (".5", 0.5), ("1.", 1.0), ("-", "-"), ("'1'", "1"), ("!!str 1", "1"),
        ("! 1", "1"), ("!!int 7", 7), ("!!float 7", 7.0), ('"\\u00e9"', "é"), ("0b1", "0b1"), ("1e", "1e"), ("'<<'", "<<"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_the_core_schema(written: str, value: Any) -> None:
    scenario = loads(f"agentsim: 1\ntools: {{t: {{returns: [{written}]}}}}\nreplies: []" if written else
                     "agentsim: 1\ntools:\n  t:\n    returns_each:\n      -\nreplies: []")  # fmt: skip
    (outcome,) = scenario.tools["t"].outcomes
    given = outcome.value[0] if written else outcome.value
    assert given == value
    assert type(given) is type(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("unused_replies: no\nreplies: []", "expected allow, got the text 'no'"),
        ("tools: {a: {read_only: yes}}\nreplies: []", "YAML 1.2 has true and false, without quotes"),
        ("tools: {a: {read_only: 'true'}}\nreplies: []", "YAML 1.2 has true and false, without quotes"),
        ("tools: {a: {seconds: 1_000}}\nreplies: []", "expected seconds, or a list of seconds, got the text '1_000'"),
        ("replies: [{text: a, usage: {input_tokens: 1e3}}]", "expected a whole number, 0 or more, got the number 1e3"),
        ("replies: [{text: a, usage: {input_tokens: 1_000}}]", "a number is written 1000, without quotes"),
        ("system:\nreplies: []", "expected a text, got nothing (an empty text is '')"),
        ("name: 007\nreplies: []", "in quotes it is text: '007'"),
        ("name: null\nreplies: []", "in quotes it is text: 'null'"),
        ("name: .inf\nreplies: []", ".inf is no number that a scenario may hold"),
        ("tools: {t: {returns: .nan}}\nreplies: []", ".nan is no number that a scenario may hold"),
        ("tools: {t: {returns: 1e999}}\nreplies: []", "the number 1e999 is too large"),
        ("tools: {t: {returns: {1: a}}}\nreplies: []", "keys are text, and 1 is not; quote it: '1'"),
        ("tools: {t: {returns: {true: a}}}\nreplies: []", "keys are text, and true is not; quote it: 'true'"),
        ("tools: {t: {returns: {[a]: b}}}\nreplies: []", "keys are text; this one is a list or a mapping"),
        ("tools: {t: {returns: {<<: {a: 1}}}}\nreplies: []", "merge keys (<<) are not YAML 1.2"),
        ("tools: {t: {returns: !!binary aGk=}}\nreplies: []", "the tag !!binary means nothing in a scenario"),
        ("tools: {t: {returns: !thing 1}}\nreplies: []", "the tag !thing means nothing in a scenario"),
        ("tools: {t: {returns: !!int x}}\nreplies: []", "the tag !!int means nothing in a scenario"),
        ("tools: {t: {returns: *x}}\nreplies: []", "the alias *x has no anchor &x that ends before it"),
        ("tools: {t: {returns: &x [*x]}}\nreplies: []", "the alias *x has no anchor &x that ends before it"),
        ("replies: []\n---\nreplies: []", "a second document begins here; one file is one scenario"),
        ("replies: [{text: \u2028}]", 'the invisible character U+2028 has to be written as an escape in double quotes: "\\u2028"'),
        ("replies: [{text: \x00}]", "the character U+0000 can't stand in a text file"),
        ("replies: [", "this is no YAML: while parsing a flow"),
        ("a\tb: [", "this is no YAML"),
    ],
)  # fmt: skip
def test_a_trap_is_explained(text: str, said: str) -> None:
    assert said in only(text)


def test_yaml_1_1_is_refused_and_1_2_is_not() -> None:
    assert "YAML 1.1; scenarios are YAML 1.2" in only("%YAML 1.1\n---\nagentsim: 1\nreplies: []")
    assert problems("%YAML 1.2\n---\nagentsim: 1\nreplies: []") == []


def test_anchors_are_values_written_again() -> None:
    scenario = loads("agentsim: 1\nreplies:\n  - &call {tool_use: {lookup: {key: a}}}\n  - *call\n  - text: done")
    assert scenario.script[0].reply == scenario.script[1].reply


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbfagentsim: 1\nreplies: []\n")
    assert load(tmp_path / "bom.yaml").name == "bom"
    assert problems("\ufeffagentsim: 1\nreplies: []") == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("agentsim: 1".encode("utf-16"), "the file is UTF-16; a scenario is UTF-8"),
        (b"agentsim: 1\nname: \xe9\n", "the file is not UTF-8 text: byte 0xe9 can't stand here"),
        (b"", "the file is empty"),
        (b"# nothing\n", "the file is empty"),
    ],
)
def test_only_utf_8_text_is_read(tmp_path: Path, raw: bytes, said: str) -> None:
    (tmp_path / "a.yaml").write_bytes(raw)
    (problem,) = problems_of([tmp_path / "a.yaml"])
    assert said in problem.message
    assert problem.line > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"agentsim": 1, "replies": [}', "this is no JSON: Expecting value (column 29)"),
        ('{"agentsim": 1,\n "replies": [{"text": NaN}]}', "NaN is no JSON number"),
        ('{"agentsim": 1, "replies": [], "replies": []}', "the key 'replies' is here twice, first on line 1"),
        ('{"agentsim": 1, "replies": [{"text": "\\ud800"}]}', "half of a surrogate pair is no character"),
    ],
)
def test_json_is_read_strictly(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.json").write_text(text)
    (problem,) = problems_of([tmp_path / "a.json"])
    assert said in problem.message


# -- combinations that can't be ---------------------------------------------------------------------------------------------

BILLING = "agents: {billing: {replies: [{text: a}]}}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (replies("{text: a, repeat: forever}", "{text: b}"), "`repeat: forever` stands in the last reply only"),
        (replies("{text: a, repeat: 0}"), "expected a whole number, 1 or more, or forever"),
        (replies("{text: a, cut_after: 3}"), "'cut_after' needs a call whose arguments it cuts"),
        (replies("{server_tool_use: {s: {}}, cut_after: 3}"), "'cut_after' needs a call whose arguments it cuts"),
        (replies("{refusal: no, text: a}"), "'text' can't stand beside 'refusal'"),
        (replies("{refusal: no, output: 1}"), "'output' can't stand beside 'refusal'"),
        (replies("{refusal: no, empty: true}"), "'refusal' can't stand beside 'empty'"),
        (replies("{text: a, category: cyber}"), "'category' needs 'refusal' beside it"),
        (replies("{text: a, signature: s}"), "'signature' needs 'thinking' beside it"),
        (replies("{content: [], text: a}"), "'text' can't stand beside 'content'"),
        (replies("{empty: true, text: a}"), "'text' can't stand beside 'empty'"),
        (replies("{empty: false}"), "expected true, got false"),
        (replies("{}"), "one without content is written `empty: true`"),
        (replies("{usage: {output_tokens: 1}}"), "one without content is written `empty: true`"),
        (replies("{tool_use: {}}"), "expected a mapping of tools to inputs, got an empty mapping"),
        (replies("{tool_use: {a: 1}}"), "raw argument text is written in `content:`"),
        (replies("{tool_use: [{a: {}, b: {}}]}"), "expected a mapping of one tool to its input"),
        (replies("{tool_use: {a: {}, a: {}}}"), "two calls of one tool are a list: [{a: …}, {a: …}]"),
        (replies("{content: [{tool_use: {name: a, input: {}, raw: x}}]}"), "'raw' can't stand beside 'input'"),
        (replies("{content: [{text: a, tool_use: {name: b}}]}"), "each is an entry of its own"),
        (replies("{content: [{txet: a}]}"), "did you mean 'text'?"),
        (replies("{content: [{server_tool_result: {for: nope}}]}"), "no server call has the id 'nope'"),
        (replies("{text: a, request: {answers: {call_7: x}}}"), "no call has the id 'call_7'"),
        (replies("{text: a, request: {}}"), "expected 'offers', 'answers', 'resumes', 'contains' or 'matches'"),
        (replies("{text: a, request: {matches: '('}}"), "'(' is no regular expression"),
        (replies("{text: a, when: {prompt: a, last_tool_result: b}}"), "'last_tool_result' can't stand beside 'prompt'"),
        (replies("{text: a, handoff: billing}"), "there is no agent 'billing'; the file has no `agents`"),
        (replies("{text: a, handoff: biling}") + BILLING, "there is no agent 'biling'; did you mean 'billing'?"),
        (replies("{text: a}") + BILLING + "agent: billing", "the main agent can't have the name of one in `agents`"),
        (replies("{text: a}") + "handoffs: [b]", "there is no agent 'b'"),
        (replies("{error: 529, disconnect: {before: headers}}"), "'disconnect' can't stand beside 'error'"),
        (replies("{error: 529, text: a}"), "'text' beside 'error' needs `after_characters`"),
        (replies("{error: {type: a, after_characters: 3}}"), "needs the content beside it that arrives"),
        (replies("{error: {message: a}}"), "expected 'status' or 'type', got none of them"),
        (replies("{error: 200}"), "expected an HTTP status from 400 to 599"),
        (replies("{disconnect: {}}"), "expected 'before' or 'after_characters'"),
        (replies("{error: 500, handoff: billing}") + BILLING, "'handoff' can't stand beside 'error'"),
        (replies("{text: a}") + "tools: {a: {returns: 1, raises: b}}", "'raises' can't stand beside 'returns'"),
        (replies("{text: a}") + "tools: {a: {input: {}, schema: {type: object}}}", "'schema' can't stand beside 'input'"),
        (replies("{text: a}") + "tools: {a: {schema: {type: string}}}", "it needs `type: object`"),
        (replies("{text: a}") + "tools: {a: {schema: {type: object, required: a}}}", "this is no JSON Schema"),
        (replies("{text: a}") + "tools: {a: {approved: true}}", "'approved' needs `approval: required`"),
        (replies("{text: a}") + "tools: {a: {server: true, returns: 1}}", "'returns' can't stand in a tool that runs at the provider"),
        (replies("{text: a}") + "tools: {a: {agent: billing}}", "there is no agent 'billing'"),
        (replies("{text: a}") + "tools: {a: {agent: billing, returns: 1}}\n" + BILLING, "'returns' can't stand in a tool that is an agent"),
        (replies("{text: a}") + "tools: {a: {returns_each: [{raises: 1}]}}", "'raises' takes a text"),
        (replies("{text: a}") + "tools: {'*': {}}", "'*' can't be a name here"),
        (replies("{text: a}") + "approvals: [approve]", "each resume is a list of its own"),
        (replies("{text: a}") + "approvals: [[{edit: call_1}]]", "'edit' and 'input' go together"),
        (replies("{text: a}") + "approvals: [[{approve: call_1, message: no}]]", "'message' goes with 'reject' only"),
        (replies("{text: a}") + "tools: {a: {}}\nabort: {before_reply: 1, during: a}", "'during' can't stand beside 'before_reply'"),
        (replies("{text: a}") + "abort: {during: lookup}", "there is no tool 'lookup'"),
        (replies("{text: a}") + "messages: [{tool_result: {for: call_1}}]", "no call in the history has the id 'call_1'"),
        (replies("{text: a}") + "messages: [{assistant: {tool_use: {'*': {}}}}]", "a call of any tool ('*') can't stand in the history"),
        (replies("{text: a}") + "messages: [{assistant: {text: a, repeat: 2}}]", "unknown key 'repeat'"),
        (replies("{text: a}") + "price: {input: 1}", "the key 'output' is missing; a price needs it"),
        (replies("{text: a}") + "expect: {ended: done}", "expected answer, cannot_express"),
        (replies("{text: a}") + "expect: {refused_requests: [no_prefill]}", "expected a refused request, got the text"),
        (replies("{text: a}") + "expect: {refused_requests: [{request: 1}]}", "the key 'rule' is missing; a refused request needs it"),
        (replies("{text: a}") + "expect: {requests: [{kept: 0}]}", "the key 'new' is missing; a request in short needs it"),
        (replies("{text: a}") + "styles: {reference: {limit: many}}", "expected a number or none, got the text 'many'"),
        (replies("{text: a}") + "prompt: []", "expected a list of texts, got an empty list"),
        ("agentsim: 2\nreplies: []", "this agentsim reads format version 1; the file says the number 2"),
        ("agentsim: 1", "the key 'replies' is missing; a scenario needs it"),
        ("- agentsim: 1", "expected a scenario, got a list"),
    ],
)  # fmt: skip
def test_an_impossible_combination_is_refused(text: str, said: str) -> None:
    assert said in only(text)


def test_a_repeated_id_is_legal() -> None:
    call = "{tool_use: {name: a, id: call_1}}"
    assert problems(replies(f"{{content: [{call}, {call}]}}", f"{{content: [{call}]}}")) == []


def test_ids_that_will_be_counted_may_be_named_before_they_are() -> None:
    text = replies("{tool_use: {a: {}, b: {}}}", "{text: c, request: {answers: {call_1: , call_2: x}}}")
    assert problems(text) == []


# -- hostile files: an answer within a moment, in one sentence ----------------------------------------------------------------


def bomb() -> str:
    rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    rows += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    return "\n".join(rows)


HOSTILE = {
    "fifty_megabytes.yaml": (b"agentsim: 1\n" * 4_400_000, "the file has 50.4 MiB; a scenario in JSON may have 32 MiB"),
    "five_megabytes.yaml": (b"agentsim: 1\n" * 440_000, "the file has 5.0 MiB; a scenario in YAML may have 4 MiB (JSON: 32)"),
    "bomb.yaml": (bomb().encode(), "the aliases stand for more than 100,000 values in all"),
    "binary.yaml": (bytes(range(256)) * 64, "the file is not UTF-8 text"),
    "nul.yaml": (b"\x00" * 4096, "the character U+0000 can't stand in a text file"),
    "deep_flow.yaml": (b"[" * 10_000, "nested deeper than 100 levels"),
    "deep_block.yaml": (b"- " * 10_000, "nested deeper than 100 levels"),
    "deep_map.yaml": ("".join(" " * i + "a:\n" for i in range(1500)).encode(), "nested deeper than 100 levels"),
    "deep.json": (b"[" * 10_000 + b"]" * 10_000, "nested deeper than 100 levels"),
    "long_number.json": (b'{"agentsim": ' + b"9" * 100_000 + b"}", "the number 99999999999999999999… is too long"),
    "many_keys.yaml": (b"".join(b"k%d: 1\n" % i for i in range(20_000)), "unknown key 'k0'"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_answered_in_a_sentence(tmp_path: Path, name: str) -> None:
    raw, said = HOSTILE[name]
    (tmp_path / name).write_bytes(raw)
    found = problems_of([tmp_path / name])
    assert said in found[0].message
    assert len(found[0].message) < 400


def test_a_number_that_is_too_long_is_a_problem_of_yaml_too() -> None:
    assert "is too long" in problems(f"agentsim: {'9' * 5000}")[0]


# -- garbage ------------------------------------------------------------------------------------------------------------------


def check(text: Any, lines: bool = True) -> None:
    """It reads (and can be written again), or it is a ScenarioError whose problems all have a line and a sentence."""
    found: tuple[Problem, ...] | None = None
    try:
        scenario = loads(text)
        assert loads(dumps(scenario)) == scenario
    except ScenarioError as error:
        found = error.problems
    assert found != ()
    for problem in found or ():
        assert problem.message
        assert (problem.line > 0) is lines
        str(problem).encode()


@slow
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from([*AWKWARD, "\n", ": ", "- ", "[", "]", "{", "}", ","])).map("".join),
    )
)
def test_any_text_reads_or_is_a_scenario_error(text: str) -> None:
    check(text)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60))
def test_any_file_reads_or_is_a_scenario_error(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    path.write_bytes(raw)
    assert all(problem.line > 0 for problem in problems_of([path]))


@slow
@given(st.data())
def test_a_scenario_with_one_value_changed_reads_or_is_a_scenario_error(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(documents()))
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(values)
    check(document, lines=False)
    check(json.dumps(document))


@slow
@given(st.integers(0, len(REFUND)), st.integers(0, 40), st.sampled_from(AWKWARD))
def test_a_damaged_file_reads_or_is_a_scenario_error(at: int, removed: int, added: str) -> None:
    check(REFUND[:at] + added + REFUND[at + removed :])


# -- files and folders -----------------------------------------------------------------------------------------------------------


def test_a_folder_is_all_the_scenarios_below_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("b.yml", "a.yaml", "deep/c.json", "d.txt", ".hidden/e.yaml"):
        (tmp_path / name).write_text('{"agentsim": 1}')
    names = [Path(file).relative_to(tmp_path).as_posix() for file in files_of([tmp_path])]
    assert names == ["a.yaml", "b.yml", "deep/c.json"]
    assert [problem.file for problem in problems_of([tmp_path])] == files_of([tmp_path])


def test_a_path_that_is_not_there_and_an_empty_folder_are_problems(tmp_path: Path) -> None:
    assert [problem.message for problem in problems_of([tmp_path / "x.yaml", tmp_path])] == [
        "there is no such file",
        "there is no scenario file (.yaml, .yml, .json) in this folder",
    ]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="this is a folder, not a scenario file"):
        load(tmp_path)


def test_the_name_is_the_files_where_none_is_stated(tmp_path: Path) -> None:
    (tmp_path / "some story.yaml").write_text("agentsim: 1\nreplies: []\n")
    scenario = load(tmp_path / "some story.yaml")
    assert scenario.name == "some story"
    assert scenario.path == str(tmp_path / "some story.yaml")
    assert loads("agentsim: 1\nreplies: []", "given").name == "given"


# -- without the C parser -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [SIX, REFUND, "a: [", "[" * 2000, "- " * 2000, "a: *x", "%YAML 1.1\n---\na: 1", "a: 1\n---\nb: 1"]
)
def test_the_pure_parser_says_the_same(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    import yaml

    expected = problems(text)
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    found = problems(text)
    assert len(found) == len(expected)
    if not any("this is no YAML" in line for line in expected):  # the two word their syntax errors differently
        assert found == expected
