"""Files that mean harm, or nothing at all: a clear error each, or whatever of them can be read."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.errors import TranscriptError, UsageError
from agentsim.store.importers import FORMATS, read, recognise
from agentsim.store.recording import Recording, facts, scenarios
from tests.store.files import FACTS, own, packed, zstandard_archive

MB = 1 << 20


def bomb() -> bytes:
    return gzip.compress(b" " * (20 * MB))


def zip_bomb() -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("samples/1_epoch_1.json", "w") as file,
    ):
        for _ in range(20):
            file.write(b" " * MB)
    return buffer.getvalue()


def body_bomb() -> bytes:
    packed_body = base64.b64encode(gzip.compress(b" " * (2 * MB))).decode()
    head = "interactions:\n- request: {method: POST, uri: 'http://x/v1/messages', body: '{\"messages\": []}'}\n"
    return f"{head}  response: {{status: {{code: 200}}, body: {{string: !!binary '{packed_body}'}}}}\n".encode()


REFUSED = {
    "nothing": (b"", "the file is empty"),
    "only white space": (b" \n\t\n", "the file is empty"),
    "a gzip bomb": (bomb(), "unfold to more than"),
    "cut gzip": (gzip.compress(own("chat/list.json"))[:40], "broken gzip data: it ends too early"),
    "a zip bomb": (zip_bomb(), "unfolds to more than is sensible"),
    "a zstandard bomb": (
        zstandard_archive({"samples/1_epoch_1.json": b" " * (20 * MB)}),
        "unfolds to more than is sensible",
    ),
    "a cut archive": (packed()["deflated eval"][0][:200], "broken zip archive, maybe cut"),
    "an archive of something else": (zstandard_archive({"a.txt": b"x"}), "not an Inspect log"),
    "deep lists": (b"[" * 100_000, "nested too deep"),
    "deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deep"),
    "a deep cassette": (b"interactions: " + b"[" * 50_000, "broken YAML"),
    "a huge number": (b'[{"role": "user", "content": ' + b"9" * 100_000 + b"}]", "a number is too large"),
    "bytes that are no text": (b'{"messages": "\xff\xfe"}', "not UTF-8: byte 0xff at offset 14"),
    "a cut document": (own("chat/list.json")[:-20], "broken JSON, maybe cut"),
    "plain text": (b"Hello there.\n", "it looks like text that begins with 'Hello there.\\n'"),
    "another document": (b'{"name": "x", "version": "1"}', "it looks like a JSON object with the keys name, version"),
    "another list": (b'[{"a": 1}]', "it looks like a JSON list of 1, the first an object with the keys a"),
    "binary data": (b"\x89PNG\x00\x01", "it looks like binary data"),
    "events of nobody": (b'data: {"type": "tick"}\n\n', "events of none of the three wires"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_can_not_be_read_is_refused_with_its_reason(what: str) -> None:
    data, reason = REFUSED[what]
    with pytest.raises(TranscriptError) as caught:
        read(data)
    assert reason in str(caught.value)


@pytest.mark.parametrize("what", REFUSED)
def test_an_error_names_the_file(what: str, tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_bytes(REFUSED[what][0])
    with pytest.raises(TranscriptError) as caught:
        read(file)
    assert caught.value.file == str(file)
    assert str(caught.value).startswith(f"{file}:")


def test_an_unknown_file_is_told_what_is_supported() -> None:
    with pytest.raises(TranscriptError, match=r"Supported: .*Claude Code sessions.*VCR cassettes.*Inspect logs"):
        read(b"{}")
    assert recognise(b"{}") is None


def test_a_scenario_is_no_recording() -> None:
    story = {
        "agentsim": 1,
        "prompt": "go",
        "messages": [{"user": "hi"}, {"assistant": {"text": "hello"}}],
        "replies": [{"text": "x"}],
    }
    assert recognise(json.dumps(story).encode()) is None
    assert recognise(b"agentsim: 1\nprompt: go\nreplies:\n  - text: hi\n") is None


def test_a_broken_document_names_its_line() -> None:
    with pytest.raises(TranscriptError) as caught:
        read(b'[\n{"role": "user"\n"content": "x"}\n]')
    assert caught.value.line == 3


def test_a_folder_or_a_missing_file_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="a folder, but a file was expected"):
        read(tmp_path)
    with pytest.raises(TranscriptError, match="No such file"):
        read(tmp_path / "none")


def test_an_unknown_format_is_told_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown format 'claude-cod'; did you mean 'claude-code'"):
        read(own("chat/list.json"), format="claude-cod")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_read_as_a_format_that_it_is_not_is_an_error_or_an_empty_recording(name: str) -> None:
    for data in (b'{"a": [1, {"b": null}]}', b"[1, 2]", b'{"a": 1}\n{"b": 2}\n', b"text"):
        assert_read_or_refused(data, name)


def test_a_bomb_in_the_body_of_one_exchange_costs_only_that_exchange() -> None:
    assert read(body_bomb()).skipped == {"answer to /v1/messages that can't be read": 1}


def test_an_alias_that_multiplies_is_never_unfolded() -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    assert read(("interactions:\n" + "\n".join(lines)).encode()).conversations == ()


def test_a_tag_that_would_make_an_object_makes_none(tmp_path: Path) -> None:
    marker = tmp_path / "made"
    data = f"interactions:\n- request: !!python/object/apply:pathlib.Path.touch [!!python/object/apply:pathlib.Path ['{marker}']]\n  response: {{}}\n"
    read(data.encode())
    assert not marker.exists()


def test_a_list_of_a_million_entries_is_looked_at_only_at_its_beginning() -> None:
    with pytest.raises(TranscriptError, match="a JSON list of 300001"):
        read(b"[" + b"{}," * 300_000 + b"{}]")


# -- mutations ------------------------------------------------------------------------------------------------------------


def assert_read_or_refused(data: bytes, name: str | None = None) -> None:
    """A recording with facts and scenarios, or a TranscriptError of one line."""
    refusals: list[str] = []
    recording = None
    try:
        recording = read(data, format=name)
    except TranscriptError as error:
        refusals.append(str(error))
    if recording is None:
        assert [len(refusal.splitlines()) for refusal in refusals] == [1]
        return
    assert isinstance(recording, Recording)
    assert json.loads(json.dumps(facts(recording))) == facts(recording)
    scenarios(recording)


SEEDS = [own(name) for name in FACTS] + [data for data, _ in packed().values()]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A recording with a few bytes flipped, cut out, doubled, or replaced by what hurts."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        end = min(len(data), at + draw(st.integers(0, 40)))
        how = draw(st.sampled_from(["flip", "cut", "double", "put", "end"]))
        if how == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del data[at:end]
        elif how == "double":
            data[at:at] = data[at:end]
        elif how == "put":
            data[at:end] = draw(
                st.sampled_from([b"null", b"{}", b"[]", b'""', b"1e999", b"-1", b"\xff", b"[[[[", b"\n", b'{"type":'])
            ) * draw(st.integers(1, 3))
        else:
            del data[end:]
    return bytes(data)


def test_control_characters_of_a_file_do_not_reach_the_terminal():
    with pytest.raises(TranscriptError, match=r"the keys \\x1e\\x1b\[2J"):
        read(b'{"\\u001e\\u001b[2J": null}\n{"a": 1}\n')


@given(mutated())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_mutated_recording_is_read_or_refused(data: bytes) -> None:
    assert_read_or_refused(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += places(inner, (*path, index))
    return found


def with_value(value: object, path: tuple[str | int, ...], new: object) -> object:
    """A copy of a JSON value with another value at one place."""
    if not path:
        return new
    head, *rest = path
    if isinstance(value, dict):
        return {k: with_value(v, tuple(rest), new) if k == head else v for k, v in value.items()}
    assert isinstance(value, list)
    return [with_value(v, tuple(rest), new) if i == head else v for i, v in enumerate(value)]


@st.composite
def swapped(draw: st.DrawFn) -> bytes:
    """A recording in JSON with other types in one to three places."""
    name = draw(st.sampled_from([name for name in FACTS if name.endswith((".json", ".jsonl", ".har", ".traj"))]))
    text = own(name).decode()
    lines = name.endswith(".jsonl")
    whole = (
        [json.loads(line) for line in text.splitlines() if not line.endswith("conte")] if lines else json.loads(text)
    )
    for _ in range(draw(st.integers(1, 3))):
        spots = places(whole)
        whole = with_value(whole, draw(st.sampled_from(spots)), draw(JSON)) if spots else whole
    if lines and isinstance(whole, list):
        return "\n".join(map(json.dumps, whole)).encode()
    return json.dumps(whole).encode()


@given(swapped())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_recording_with_swapped_types_is_read_or_refused(data: bytes) -> None:
    assert_read_or_refused(data)
