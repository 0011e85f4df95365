"""What fuzzing began with and what it found ends well, and so do small changes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import CORPUS, TARGETS
from tests.store.test_store_hostile import places, with_value

FILES = {name: sorted((CORPUS / name).iterdir()) for name in TARGETS}
ALL = [pytest.param(name, path, id=f"{name}-{path.name}") for name, paths in FILES.items() for path in paths]


@pytest.mark.parametrize(("name", "path"), ALL)
def test_a_file_of_the_corpus_ends_well(name: str, path: Path) -> None:
    TARGETS[name](path.read_bytes())


@st.composite
def changed(draw: st.DrawFn, name: str) -> bytes:
    """A file of the corpus with a few bytes flipped, cut out, doubled, or replaced by what hurts."""
    data = bytearray(draw(st.sampled_from(FILES[name])).read_bytes())
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        end = min(len(data), at + draw(st.integers(0, 30)))
        how = draw(st.sampled_from(["flip", "cut", "double", "put"]))
        if how == "flip" and data:
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == "cut":
            del data[at:end]
        elif how == "double":
            data[at:at] = data[at:end]
        else:
            bad = st.sampled_from(
                [b"null", b"{}", b"[]", b'""', b"1e999", b"-1", b"\xff", b"[[[[", b"\n\n", b"\r", b"data:"]
            )
            data[at:end] = draw(bad)
    return bytes(data)


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_near_it_ends_well_too(name: str) -> None:
    @given(changed(name))
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    def ends_well(data: bytes) -> None:
        TARGETS[name](data)

    ends_well()


#: One of each kind of JSON value.
KINDS: tuple[object, ...] = ([], [1], {}, {"a": []}, 1, None, "x", True, 1.5)


@pytest.mark.parametrize("path", FILES["request"], ids=lambda path: path.name)
def test_a_request_with_another_type_at_any_place_ends_well(path: Path) -> None:
    data = path.read_bytes()
    try:
        body = json.loads(data[1:])
    except ValueError:
        return
    for place in places(body):
        for value in KINDS:
            TARGETS["request"](data[:1] + json.dumps(with_value(body, place, value)).encode())
