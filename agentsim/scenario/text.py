"""From a file's bytes to a tree: which syntax it is in, and the limits that keep an answer quick."""

from __future__ import annotations

import os

from agentsim.errors import nearest
from agentsim.limits import limit
from agentsim.scenario.document import BROKEN, Node, Report, Unreadable


def read_text(path: str | os.PathLike[str], report: Report) -> str | None:
    """The text of a file; None where it is no text file of a bearable size, which the report then says."""
    most = max(limit("scenario_json_bytes"), limit("scenario_yaml_bytes"))
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            raw = b"" if size > most else file.read(most + 1)
    except (OSError, ValueError) as error:
        report.add(_unopened(error, path))
        return None
    return text_of(raw, report, size)


def text_of(raw: bytes, report: Report, size: int = 0) -> str | None:
    """The text of a file's bytes, of a bearable size; None where the report says why there is none."""
    most = max(limit("scenario_json_bytes"), limit("scenario_yaml_bytes"))
    if max(size, len(raw)) > most:
        report.add(_too_large(max(size, len(raw)), most, "JSON"))
        return None
    return _decoded(raw, report)


def _unopened(error: Exception, path: str | os.PathLike[str]) -> str:
    if not os.fspath(path):
        return "a file was expected, but its name is empty"
    if isinstance(error, FileNotFoundError):
        return "there is no such file" + where_else(os.fspath(path))
    if isinstance(error, IsADirectoryError):
        return "this is a folder, not a scenario file"
    return f"the file can't be read: {error.strerror if isinstance(error, OSError) else error}"


def where_else(path: str) -> str:
    """A hint: the file beside it with the nearest name, or that there is not even the folder."""
    folder, name = os.path.split(path)
    try:
        beside = sorted(os.listdir(folder or "."))
    except OSError:
        return f", and no folder {folder!r}"
    if name in beside:
        return ": it is a link to one that is gone"
    near = nearest(name, beside)
    return f"; did you mean {near!r}?" if near else ""


def _too_large(size: int, most: int, syntax: str) -> str:
    return f"the file has {_mib(size)} MiB; a scenario in {syntax} may have {_mib(most)} MiB"


def _mib(size: int) -> str:
    return f"{size / 2**20:.6f}".rstrip("0").rstrip(".") if size % 2**20 == 0 or size < 2**20 else f"{size / 2**20:.1f}"


def _decoded(raw: bytes, report: Report) -> str | None:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        report.add("the file is UTF-16; a scenario is UTF-8", 1)
        return None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        report.add(f"the file is not UTF-8 text: byte 0x{raw[error.start]:02x} can't stand here", line)
        return None


def parse(text: str, report: Report, *, json: bool = False) -> Node:
    """The tree of a text.

    Args:
        text: YAML 1.2, or JSON.
        report: gets what is wrong.
        json: the text says that it is JSON, so it is not tried as YAML.
    Returns:
        The root; a BROKEN one where nothing could be read.
    """
    text = text.removeprefix("\ufeff")
    try:
        root = _parse_any(text, report, json)
    except Unreadable:
        root = None
    return root or Node(BROKEN, 1)


def _parse_any(text: str, report: Report, json: bool) -> Node | None:
    from agentsim.scenario import jsontext, yamltext

    most, syntax = (limit("scenario_json_bytes"), "JSON") if json else (limit("scenario_yaml_bytes"), "YAML")
    if not json and text.lstrip()[:1] == "{" and jsontext.is_json(text):
        json, most = True, limit("scenario_json_bytes")
    if len(text) > most:
        hint = "" if json else f" (JSON: {_mib(limit('scenario_json_bytes'))})"
        report.add(_too_large(len(text), most, syntax) + hint, 1)
        return None
    return jsontext.parse(text, report) if json else yamltext.parse(text, report)
