"""Keys and cookies can't be written: not from headers, not from bodies, not in pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsim.http.record import Recorder
from agentsim.store.httplog import line_of
from agentsim.store.secrets import Secrets, secret_values
from agentsim.wire.base import HttpRequest, HttpResponse

#: Made up, each in the shape of its kind; put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "Anthropic": "sk-ant-" + "api03-AbCdEfGhIjKlMnOp",
    "OpenAI": "sk-" + "proj-AbCdEfGh12345678ijkl",
    "OpenAI, old": "sk-" + "abcdefghij0123456789ABCD",
    "Google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "GitHub": "ghp_" + "A1b2" * 9,
    "GitHub, fine": "github_pat_" + "A1b2" * 8,
    "GitLab": "glpat-" + "A1b2" * 6,
    "Slack": "xoxb-" + "123456789012-abcdefghijkl",
    "AWS": "AKIA" + "ABCDEFGH12345678",
    "Hugging Face": "hf_" + "AbCd" * 9,
    "Groq": "gsk_" + "AbCd1" * 9,
    "Stripe": "sk_live_" + "AbCd" * 6,
    "npm": "npm_" + "A1b2" * 9,
    "web token": "eyJhbGciOiJI.eyJzdWIiOiIx.AbCdEfGhIjKl",
    "bearer": "Bearer " + "abcdefghij0123456789",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----",
}


def written(request: HttpRequest, body: bytes = b"{}", headers: Any = (), secrets: Secrets | None = None) -> str:
    return line_of(1, request, 200, headers, body, None, secrets or Secrets()).decode()


def stream(*texts: str) -> bytes:
    events = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts
    ]
    return "".join(f"event: content_block_delta\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def said_in(line: str) -> str:
    body = json.loads(line)["response"]["body"]
    found = [json.loads(each[6:]) for each in body.split("\n") if each.startswith("data: ")]
    return "".join(event["delta"]["text"] for event in found)


@pytest.mark.parametrize("name", SECRETS)
def test_a_known_shape_is_replaced_wherever_it_stands(name: str) -> None:
    secret = SECRETS[name]
    text = f"the key is {secret}, keep it"
    body = {"messages": [{"role": "user", "content": [{"text": text}]}], secret: 1}
    line = written(
        HttpRequest("POST", "/v1/messages", {}, json.dumps(body).encode()), json.dumps({"a": [text]}).encode()
    )
    assert json.dumps(secret)[1:-1] not in line
    assert "removed], keep it" in line


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("size", [1, 3, 7])
def test_a_secret_that_is_streamed_in_pieces_is_replaced(name: str, size: int) -> None:
    text = f"it is {SECRETS[name]} so."
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    said = said_in(written(HttpRequest("POST", "/v1/messages"), stream(*pieces)))
    assert SECRETS[name] not in said
    assert said.startswith("it is [")
    assert said.endswith("removed] so.")


def test_a_stream_without_a_secret_is_written_byte_for_byte() -> None:
    body = b'event: a\r\ndata: {"type": "x",  "delta": {"text": "\\u00e9 sk-"}}\r\n\r\n: ping\n\ndata: [DONE]\n\n'
    assert json.loads(written(HttpRequest("POST", "/"), body))["response"]["body"].encode() == body


def test_headers_are_written_by_an_allow_list() -> None:
    headers = {
        "authorization": "Bearer topsecret-1", "x-api-key": "topsecret-2", "cookie": "session=topsecret-3; a=b",
        "x-anything": "topsecret-4", "openai-organization": "topsecret-5", "content-type": "application/json",
    }  # fmt: skip
    answer = [("Set-Cookie", "id=topsecret-6"), ("x-request-id", "topsecret-7"), ("Content-Type", "application/json")]
    line = written(HttpRequest("POST", "/v1/messages", headers, b"{}"), headers=answer)
    assert "topsecret" not in line
    assert json.loads(line)["request"]["headers"] == {"content-type": "application/json"}


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"])
def test_a_key_is_removed_from_bodies_too_whatever_it_looks_like(header: str) -> None:
    value = {"authorization": "Bearer plainwords", "cookie": "sid=plainwords"}.get(header, "plainwords")
    body = json.dumps({"input": "echo plainwords"}).encode()
    assert "plainwords" not in written(HttpRequest("POST", "/v1/responses", {header: value}, body), body)


def test_a_key_in_the_url_is_not_written() -> None:
    line = written(
        HttpRequest("POST", "https://user:pw123456@host.test/v1beta/models/m:generateContent?key=plainwords&alt=sse")
    )
    assert "plainwords" not in line
    assert "pw123456" not in line
    assert json.loads(line)["request"]["url"] == "https://host.test/v1beta/models/m:generateContent?alt=sse"


def test_values_of_secret_variables_are_removed() -> None:
    environment = {
        "DB_PASSWORD": "correct horse",
        "MY_API_KEY": "battery staple",
        "HOME": "/home/somebody",
        "X_TOKEN": "short",
    }
    secrets = Secrets(secret_values(environment))
    assert secrets.hidden("correct horse, battery staple, /home/somebody, short") == (
        "[secret removed], [secret removed], /home/somebody, short"
    )


@pytest.mark.parametrize(
    "text", ["sk-learn and scikit-learn", "ask-me-anything-about-it-please", "a hf_ token", "https://a.test/b:c@d"]
)
def test_words_that_only_look_like_keys_stay(text: str) -> None:
    assert Secrets().hidden(text) == text


@given(st.lists(st.sampled_from(["a", "kéy ", *SECRETS.values()]), max_size=5), st.integers(1, 9))
def test_pieces_say_together_what_the_whole_text_says(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    hidden = Secrets().in_pieces(pieces)
    assert len(hidden) == len(pieces)
    assert "".join(hidden) == Secrets().hidden(text)


def test_half_a_character_can_be_written() -> None:
    line = written(HttpRequest("POST", "/", {}, b'{"input": "\\ud800"}'))
    assert json.loads(line)["request"]["body"] == {"input": "\ud800"}


# --- every place -----------------------------------------------------------------------------------------------------

PLANT = "plantedSecret4711value"
PLACES: dict[str, Any] = {
    "an unknown header": {"headers": {"x-gateway-session": PLANT}},
    "a header whose name says so": {"headers": {"x-my-auth": PLANT}},
    "a key with a scheme of its own": {"headers": {"authorization": f"Basic {PLANT}"}},
    "a cookie": {"headers": {"cookie": f"a=b; session={PLANT}"}},
    "an unknown query parameter": {"url": f"https://host.test/v1/messages?sig={PLANT}&beta=true"},
    "a known query parameter that carries a key": {
        "headers": {"x-api-key": PLANT},
        "url": f"https://host.test/v1/messages?after={PLANT}",
    },
    "the user of the URL": {"url": f"https://{PLANT}:x@host.test/v1/messages", "headers": {"x-api-key": PLANT}},
    "a harmless header that carries a key": {"headers": {"user-agent": f"me/1 {PLANT}", "api-key": PLANT}},
    "a field of the request": {"body": {"metadata": {"api_key": PLANT}}},
    "a field deep in the request": {"body": {"tools": [{"headers": {"Authorization": PLANT}}]}},
    "the arguments of a call": {"body": {"arguments": json.dumps({"user": "ann", "password": PLANT})}},
    "a text that is JSON": {"body": {"content": json.dumps({"a": json.dumps({"client_secret": PLANT})})}},
    "a response header": {"answer": [("set-cookie", f"id={PLANT}")]},
    "the response": {"said": {"access_token": PLANT}},
    "a streamed call": {"pieces": ['{"user": "ann", "pass', 'word": "planted', "Secret4711", 'value"}']},
}


@pytest.mark.parametrize("place", PLACES)
def test_a_planted_secret_is_not_written(place: str) -> None:
    planted = PLACES[place]
    body = json.dumps({"model": "m", "echo": PLANT if "headers" in planted else "", **planted.get("body", {})}).encode()
    headers = {"content-type": "application/json", **planted.get("headers", {})}
    request = HttpRequest("POST", planted.get("url", "https://host.test/v1/messages"), headers, body)
    said = json.dumps({"echo": PLANT if "headers" in planted else "", **planted.get("said", {})}).encode()
    line = written(request, stream(*planted["pieces"]) if "pieces" in planted else said, planted.get("answer", ()))
    assert PLANT not in line
    assert PLANT not in said_in(line) if "pieces" in planted else True


@pytest.mark.parametrize(
    "name", ["MY_KEY", "OPENAI_APIKEY", "GH_PAT", "PGPASSWORD", "npm_config__auth", "DB_CREDENTIALS", "X_TOKEN_2"]
)
def test_a_variable_whose_name_says_so_is_secret(name: str) -> None:
    assert secret_values({name: PLANT}) == [PLANT]


@pytest.mark.parametrize(
    "name", ["HOME", "KEYBOARD", "MONKEYS", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "PATH", "AUTHOR"]
)
def test_a_variable_that_only_sounds_like_it_is_none(name: str) -> None:
    assert secret_values({name: PLANT}) == []


def test_fields_that_providers_need_stay() -> None:
    body = {
        "max_tokens": 9, "prompt_cache_key": "a-long-cache-key", "logprobs": [{"token": " something"}],
        "thinking": {"signature": "EqQBCgIYAhIM1234"}, "tools": [{"properties": {"password": {"type": "string"}}}],
        "input": {"key": "a value of a tool", "next_page_token": "abcdefghijkl"},
    }  # fmt: skip
    line = written(HttpRequest("POST", "/v1/messages", {}, json.dumps(body).encode()))
    assert json.loads(line)["request"]["body"] == body


def recorded(folder: Path, answer: HttpResponse, prompt: str, headers: dict[str, str]) -> dict[str, str]:
    """What a recorder writes of one exchange: the files' names and texts."""
    recorder = Recorder(folder / "a.yaml", environment={"OPENAI_API_KEY": PLANT})
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()
    recorder.keep_answer(HttpRequest("POST", "https://api.openai.com/v1/chat/completions", headers, body), answer)
    return {path.name: path.read_text("utf-8") for path in recorder.finish()}


def test_what_is_made_of_a_recording_holds_no_key(tmp_path: Path) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": f"your key is {PLANT}!"}}
    said = json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode()
    answer = HttpResponse(200, (("content-type", "application/json"),), (said,))
    headers = {"authorization": f"Bearer {PLANT}", "x-api-key": "another-plain-key"}
    files = recorded(tmp_path, answer, f"what is {PLANT}", headers)
    assert set(files) == {"a.yaml", "a.http.jsonl", "a.transcript.jsonl"}
    assert not any(PLANT in text or "another-plain-key" in text for text in files.values())
    assert "your key is [secret removed]!" in files["a.yaml"]


def test_an_answer_that_nobody_can_read_is_recorded_as_such(tmp_path: Path) -> None:
    page = HttpResponse(200, (("content-type", "text/html"),), (b"<html>",))
    files = recorded(tmp_path, page, "hi", {"authorization": "Bearer k"})
    assert "<html>" in files["a.http.jsonl"]
