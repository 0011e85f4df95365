"""What had arrived of a stream that broke off is no answer, whatever an SDK makes of it."""

from __future__ import annotations

import pytest

from agentsim.core.wires import WIRES
from agentsim.styles import all_styles
from tests.styles.playing import played

HALF = "half an"
SCRIPT = """
- {text: half an answer, disconnect: {after_characters: 7, how: end}}
- text: a whole one
"""
STREAMING = [
    (name, wire)
    for name, style in sorted(all_styles().items())
    for wire in WIRES
    if style.streams is not False and wire in style.wires
]


@pytest.mark.parametrize(("name", "wire"), STREAMING)
def test_an_sdk_that_returns_half_an_answer_reports_an_unfinished_run(name, wire):
    run = played(name, SCRIPT, wire=wire, stream=True if all_styles()[name].streams is None else None)
    if run.returned == "answer" and run.final_text == HALF:
        assert (run.ended, run.silent) == ("broken_stream", True)
    else:
        assert run.ended != "answer" or run.model_calls
