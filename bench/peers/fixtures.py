"""What every server serves: "bench-json" is answered with two words, "bench-stream" with 225 characters. Written where servers look for it."""

from __future__ import annotations

import json
from pathlib import Path

FOX = "The quick brown fox jumps over the lazy dog. " * 5
SAID = {"bench-json": "Hi there", "bench-stream": FOX}


def write(folder: Path) -> None:
    """Scenarios in `agentsim/`, and one file or folder for each peer. All are JSON, which YAML is too."""
    (folder / "agentsim").mkdir()
    (folder / "stubllm").mkdir()
    for prompt, text in SAID.items():
        scenario = {
            "agentsim": 1,
            "prompt": prompt,
            "replies": [{"text": text, "stream": {"characters_per_chunk": 20}}],
        }
        (folder / "agentsim" / f"{prompt}.json").write_text(json.dumps(scenario), "utf-8")
    _put(
        folder / "aimock.json",
        {
            "fixtures": [
                {"match": {"userMessage": prompt}, "response": {"content": text}} for prompt, text in SAID.items()
            ]
        },
    )
    rules = [
        {"name": prompt, "when": {"messages_contain": prompt}, "respond": {"content": text}}
        for prompt, text in SAID.items()
    ]
    _put(folder / "fakellm.yaml", {"version": 1, "rules": rules})
    fixtures = [
        {
            "name": prompt,
            "match": {"messages": [{"role": "user", "content": {"contains": prompt}}]},
            "response": {"content": text, "stream_chunk_delay_ms": 0},
        }
        for prompt, text in SAID.items()
    ]
    _put(folder / "stubllm" / "bench.yaml", {"fixtures": fixtures})


def _put(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), "utf-8")
