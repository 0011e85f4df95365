"""What a recording of each format says happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsim.store.importers import FORMATS, read, recognise
from agentsim.store.recording import facts
from tests.store.files import FACTS, OWN, SHARED, own, packed, shared_facts

NUMBERS = ("model_calls", "error_replies", "stop_reasons", "tool_calls", "server_calls", "tool_results", "orphan_calls")


@pytest.mark.parametrize("name", FACTS)
def test_the_facts_of_each_hand_written_recording(name: str) -> None:
    assert facts(read(OWN / name)) == FACTS[name]


@pytest.mark.parametrize("name", sorted(packed()))
def test_a_packed_recording_has_the_facts_of_what_it_holds(name: str) -> None:
    data, plain = packed()[name]
    assert facts(read(data)) == FACTS[plain]


def test_the_facts_of_each_public_recording_beside_the_repository() -> None:
    wrong = {}
    for name, known in shared_facts().items():
        found = facts(read(SHARED / name))
        differing = {key: (known[key], found[key]) for key in NUMBERS if known[key] != found[key]}
        if differing:
            wrong[name] = differing
    assert wrong == {}


def test_every_format_has_a_hand_written_recording() -> None:
    names = {"vcr-langchain-gz": "vcr", "openai-agents-items": "responses"}
    covered = {names.get(known["format"], known["format"]) for known in FACTS.values()}
    assert covered == FORMATS.keys()


@pytest.mark.parametrize("name", FACTS)
def test_a_file_is_recognised_by_its_content_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    renamed = tmp_path / "nothing.bin"
    renamed.write_bytes(own(name))
    assert recognise(renamed) == recognise(OWN / name) == recognise(own(name))
    assert facts(read(renamed)) == FACTS[name]


@pytest.mark.parametrize("name", FACTS)
def test_the_named_format_reads_as_the_recognised_one(name: str) -> None:
    assert read(OWN / name, format=recognise(OWN / name)) == read(OWN / name)


@pytest.mark.parametrize("name", [n for n in FACTS if n.endswith((".json", ".traj", ".har"))])
def test_the_layout_of_a_document_does_not_matter(name: str) -> None:
    import json

    document = json.loads(own(name))
    for text in (json.dumps(document), json.dumps(document, indent=4), "\n\n" + json.dumps(document) + "\n"):
        assert facts(read(b"\xef\xbb\xbf" + text.encode())) == FACTS[name]
