"""The recordings that the tests read: hand-written ones of every format, some of them packed, and the public ones beside the repository."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentsim.store.importers.archive import _zstd

OWN = Path(__file__).parent / "fixtures"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "examples" / "transcripts"

#: File -> facts of the hand-written ones.
FACTS: dict[str, dict[str, Any]] = json.loads((OWN / "facts.json").read_text(encoding="utf-8"))


def own(name: str) -> bytes:
    """A hand-written recording."""
    return (OWN / name).read_bytes()


def eval_archive(log: bytes, method: int) -> bytes:
    """An Inspect log in JSON as the archive that Inspect writes."""
    document = json.loads(log)
    members = {
        "header.json": json.dumps({key: document[key] for key in ("version", "status", "eval")}),
        **{f"samples/{s['id']}_epoch_{s['epoch']}.json": json.dumps(s) for s in document["samples"]},
    }
    if method == 93:
        return zstandard_archive({name: text.encode() for name, text in members.items()})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def zstandard_archive(members: dict[str, bytes], packed: Callable[[bytes], bytes] | None = None) -> bytes:
    """A zip archive of method 93, which Python's own module writes from 3.14 on."""
    out, directory = b"", b""
    for name, data in members.items():
        body, title = (packed or _zstd().compress)(data), name.encode()
        sizes = struct.pack("<HHIII", 0, 0, 0, len(body), len(data))
        at = len(out)
        out += b"PK\x03\x04" + struct.pack("<HHH", 63, 0, 93) + sizes + struct.pack("<HH", len(title), 0) + title + body
        directory += b"PK\x01\x02" + struct.pack("<HHHH", 63, 63, 0, 93) + sizes
        directory += struct.pack("<HHHHHII", len(title), 0, 0, 0, 0, 0, at) + title
    count = len(members)
    return out + directory + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(out), 0)


def packed() -> dict[str, tuple[bytes, str]]:
    """Recordings in archives, by name: the bytes, and the hand-written file that they hold."""
    log = own("inspect-log/log.json")
    return {
        "gzip of a cassette": (gzip.compress(own("vcr-langchain/agent-loop.yaml")), "vcr-langchain/agent-loop.yaml"),
        "gzip of a session": (gzip.compress(own("claude-code/session.jsonl")), "claude-code/session.jsonl"),
        "deflated eval": (eval_archive(log, zipfile.ZIP_DEFLATED), "inspect-log/log.json"),
        "zstandard eval": (eval_archive(log, 93), "inspect-log/log.json"),
    }


def shared_facts() -> dict[str, dict[str, Any]]:
    """File -> facts of the public ones; empty where the folder does not lie beside the repository."""
    file = SHARED / "facts.json"
    found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def everything() -> list[Path]:
    """Every recording that is there."""
    return [OWN / name for name in FACTS] + [SHARED / name for name in shared_facts()]
