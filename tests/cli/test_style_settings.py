"""Options and settings for a style that there is none of are a mistake, wherever they are written: they would be ignored."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import agentsim as library
from agentsim.errors import ScenarioError
from tests.cli.test_commands import SCENARIOS, agentsim

BEGINNING = "agentsim: 1\nprompt: hi\nreplies: [{text: hello}]\n"
WRONG = f"""{BEGINNING}styles:
  haystack/Agent.rum: {{limit: 3}}
  langchain/create_agent:
    limit: 9
    options: {{foo: 1}}
"""


@pytest.fixture
def wrong(tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text(WRONG, encoding="utf-8")
    return file


def test_validate_tells_wrong_styles_and_options_with_line_and_path(wrong):
    text = agentsim("validate", str(wrong), status=2)
    rum = "there is no style 'haystack/Agent.rum'; did you mean 'haystack/Agent.run'? `agentsim styles` lists them"
    assert f"{wrong}:5: styles['haystack/Agent.rum']: {rum}" in text
    assert f"{wrong}:8: styles['langchain/create_agent'].options: langchain/create_agent: unknown option 'foo'" in text
    found = json.loads(agentsim("validate", str(wrong), "--format", "json", status=2).partition("]\n")[0] + "]")
    assert [(each["line"], each["path"]) for each in found] == [
        (5, "styles['haystack/Agent.rum']"),
        (8, "styles['langchain/create_agent'].options"),
    ]


@pytest.mark.parametrize("command", [("run",), ("compare", "--style", "reference"), ("budget",)])
def test_no_command_plays_a_file_and_ignores_its_settings(wrong, command):
    assert "did you mean 'haystack/Agent.run'" in agentsim(*command, str(wrong), status=2)


def test_the_library_does_not_ignore_them_either(wrong):
    with pytest.raises(ScenarioError, match=r"there is no style 'haystack/Agent\.rum'"):
        library.run(library.load(wrong))


def test_an_sdks_name_speaks_of_all_its_entry_points(tmp_path):
    file = tmp_path / "x.yaml"
    settings = "styles: {openai-agents: {limit: 3}, openai-agents/Runner.run: {limit: 4}}\n"
    file.write_text(BEGINNING + settings, encoding="utf-8")
    agentsim("validate", str(file))
    scenario = library.load(file)
    limits = {row.style.name: row.limit for row in library.compare(scenario, styles=["openai-agents"])}
    assert limits == {"openai-agents/Runner.run": 4, "openai-agents/Runner.run_streamed": 3}


def test_validate_loads_styles_only_for_a_file_that_names_one(tmp_path):
    (tmp_path / "named.yaml").write_text(BEGINNING + "styles: {reference: {limit: 3}}\n", encoding="utf-8")
    loaded = [_loads_styles(file) for file in (SCENARIOS / "refund.yaml", tmp_path / "named.yaml")]
    assert loaded == ["False", "True"]


def _loads_styles(file):
    program = (
        "import sys; from agentsim.cli.validate import command; command(sys.argv[1:], standalone_mode=False);"
        "print('agentsim.styles.reference' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_an_options_file_names_styles_that_there_are(tmp_path):
    options = tmp_path / "o.yaml"
    options.write_text("reference: {}\nfoo: {a: 1}\nhaystack/Agent.rum: {a: 1}\n", encoding="utf-8")
    for command in ("run", "compare", "budget"):
        text = agentsim(
            command,
            str(SCENARIOS / "refund.yaml"),
            "--style",
            "haystack/Agent.run",
            "--options",
            str(options),
            status=2,
        )
        assert f"{options}:2: there is no style 'foo'" in text
        assert f"{options}:3: there is no style 'haystack/Agent.rum'; did you mean 'haystack/Agent.run'?" in text


def test_an_options_file_may_name_an_sdk(tmp_path):
    options = tmp_path / "o.yaml"
    tree = "{model_settings: {max_tokenz: 3}}"
    options.write_text(f"openai-agents: {tree}\n", encoding="utf-8")
    text = agentsim(
        "compare", str(SCENARIOS / "refund.yaml"), "--style", "openai-agents", "--options", str(options), status=2
    )
    assert "openai-agents/Runner.run: " in text


def test_an_option_of_a_style_that_is_not_played_is_a_mistake():
    text = agentsim(
        "run", str(SCENARIOS / "refund.yaml"), "--style", "reference", "--set", "langchain/create_agent.a=1", status=2
    )
    assert "langchain/create_agent is not played" in text


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("langchian", "langchain"),
        ("haystack/agent.run", "haystack/Agent.run"),
        ("generateTxt", "ai-sdk/generateText"),
        ("referense", "reference"),
    ],
)
def test_what_was_probably_meant_is_named(word, meant):
    assert f"there is no style {word!r}; did you mean {meant!r}?" in agentsim("styles", word, status=2)


def test_one_run_is_of_one_style():
    text = agentsim("run", str(SCENARIOS / "refund.yaml"), "--style", "openai-agents", status=2)
    assert "'openai-agents' is an SDK, not one style; name one of openai-agents/Runner.run, " in text


def test_nothing_far_off_is_suggested():
    assert "there is no style 'foo'; `agentsim styles` lists them" in agentsim("styles", "foo", status=2)
