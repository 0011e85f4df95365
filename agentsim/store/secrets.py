"""Secrets that must not be written: keys by their shape, and values that are known to be secret.

Bodies are JSON values or streams of events. In a stream a secret may come in pieces, a few characters an event, so the pieces of one
text are looked at together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: What a secret is called -> its shape. Each is as its issuer documents it, or as secret scanners know it.
SHAPES: Mapping[str, str] = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z)",
    "Anthropic key": r"sk-ant-[\w-]{8,}",
    "OpenAI key": r"sk-(?=[A-Za-z_-]*\d)[\w-]{20,}",
    "Google key": r"AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}",
    "GitHub token": r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,}",
    "GitLab token": r"glpat-[\w-]{20,}",
    "Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
    "AWS key": r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "provider's key": r"(?:gsk_|xai-|pplx-|r8_|nvapi-|fw_|tgp_v1_|lsv2_(?:pt|sk)_)[\w-]{20,}",
    "Stripe key": r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9]{16,}",
    "npm token": r"npm_[A-Za-z0-9]{36}",
    "PyPI token": r"pypi-AgE[\w-]{50,}",
    "SendGrid key": r"SG\.[\w-]{16,}\.[\w-]{16,}",
    "web token": r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
    "bearer token": r"(?i:bearer)\s+[\w.~+/-]{20,}=*",
    "password": r"(?<=://)[^\s:/@\"']+:[^\s/@\"']+(?=@)",
}
_SHAPE = re.compile(
    "|".join(f"(?P<s{number}>(?<![A-Za-z0-9]){shape})" for number, shape in enumerate(SHAPES.values())), re.DOTALL
)
_NAMES = tuple(SHAPES)
#: A text without any of these holds no secret of a known shape: most texts are done with one look.
_HINT = re.compile(
    r"PRIVATE KEY|sk-|AIza|ya29|GOCSPX|gh[pousr]_|github_pat|glpat|xox|xapp|AKIA|ASIA|hf_|gsk_|xai-|pplx-|r8_|nvapi|fw_|tgp_v1"
    r"|lsv2_|_live_|_test_|whsec|npm_|pypi-|SG\.|eyJ|(?i:bearer)|://"
)
#: Shorter values are no secrets but words.
SHORTEST = 8
#: What names of variables and headers say whose values are secret: a word of the name, or its end.
_WORDS = "key|token|secret|passwd|password|passphrase|credentials?|cookie|auth|authorization|signature|pat|apikey"
_SECRET_NAME = re.compile(rf"(?:^|[_.-])(?:{_WORDS})(?=$|[_.-])|(?:key|token|secret|password)$", re.IGNORECASE)
_NOT_SECRET = re.compile(r"idempotency[_-]?key|SSH_AUTH_SOCK", re.IGNORECASE)
#: Names of JSON fields say so more rarely: `key`, `token` and `signature` alone are of tools, log probabilities and thinking.
_SECRET_FIELD = re.compile(
    r"(?:api|access|secret|private|auth|refresh|session|bearer|client|id)[_-]?(?:key|token|secret)$"
    r"|(?:password|passwd|passphrase|secret|authorization|credentials?)$",
    re.IGNORECASE,
)
#: A field of that kind in a JSON text, its quotes escaped or not where the text stands in another one.
_FIELD = re.compile(r'\\*"([\w.-]{1,60})\\*"\s*:\s*\\*"((?:[^"\\]|\\[^"]){8,}?)\\*"')


class Secrets:
    """What must not be written.

    Args:
        values: texts that are secret whatever they look like; those of fewer than SHORTEST characters are no secrets.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: dict[str, None] = {}
        self._known: re.Pattern[str] | None = None
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """Learn further secret values."""
        new = {value: None for value in values if len(value) >= SHORTEST and value not in self._values}
        if new:
            self._values |= new
            longest_first = sorted(self._values, key=len, reverse=True)
            self._known = re.compile("|".join(map(re.escape, longest_first)))

    def hidden(self, text: str) -> str:
        """The text with every secret replaced by what it is."""
        spans = self._spans(text)
        if not spans:
            return text
        out: list[str] = []
        at = 0
        for start, end, name in spans:
            out += text[at:start], _mark(name)
            at = end
        return "".join((*out, text[at:]))

    def in_value(self, value: Any) -> Any:
        """A JSON value with every secret in its texts replaced, keys included."""
        if isinstance(value, str):
            return self.hidden(value)
        if isinstance(value, list):
            return [self.in_value(item) for item in value]
        if isinstance(value, dict):
            return {self.hidden(key): self._of_field(key, item) for key, item in value.items()}
        return value

    def _of_field(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and len(value) >= SHORTEST and _SECRET_FIELD.search(key):
            return _mark(key)
        return self.in_value(value)

    def in_pieces(self, pieces: list[str]) -> list[str]:
        """The pieces of one text; a secret that lies over several is replaced in the first of them."""
        text = "".join(pieces)
        spans = self._spans(text)
        if not spans:
            return pieces
        out, at = [], 0
        for piece in pieces:
            end = at + len(piece)
            kept, here = [], at
            for start, stop, name in spans:
                if stop <= at or start >= end:
                    continue
                kept.append(text[here : max(start, here)])
                if at <= start:
                    kept.append(_mark(name))
                here = min(stop, end)
            kept.append(text[here:end])
            out.append("".join(kept))
            at = end
        return out

    def in_events(self, text: str) -> str:
        """A text of server-sent events. Events without a secret stay as they came, byte for byte."""
        lines = text.split("\n")
        places = [(at, value) for at, line in enumerate(lines) if (value := _data(line)) is not None]
        clean = [self.in_value(value) for _, value in places]
        runs: dict[Any, list[tuple[dict[str, Any], str]]] = {}
        for value in clean:
            for key, holder, name in _deltas(value):
                runs.setdefault(key, []).append((holder, name))
        for run in runs.values():
            for (holder, name), piece in zip(run, self.in_pieces([holder[name] for holder, name in run]), strict=True):
                holder[name] = piece
        for (at, before), value in zip(places, clean, strict=True):
            if value != before:
                end = "\r" if lines[at].endswith("\r") else ""
                lines[at] = "data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")) + end
        return "\n".join(line if line.startswith("data: {") else self.hidden(line) for line in lines)

    def _spans(self, text: str) -> list[tuple[int, int, str]]:
        spans: list[tuple[int, int, str]] = []
        if self._known is not None:
            spans += [(found.start(), found.end(), "secret") for found in self._known.finditer(text)]
        if _HINT.search(text):
            for found in _SHAPE.finditer(text):
                name = _NAMES[int((found.lastgroup or "s0")[1:])]
                spans.append((found.start(), found.end(), name))
        if '"' in text:
            for found in _FIELD.finditer(text):
                if _SECRET_FIELD.search(found[1]):
                    spans.append((found.start(2), found.end(2), found[1]))
        if len(spans) < 2:
            return spans
        merged: list[tuple[int, int, str]] = []
        for start, end, name in sorted(spans):
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1]), merged[-1][2]
            else:
                merged.append((start, end, name))
        return merged


def secret_values(environment: Mapping[str, str]) -> list[str]:
    """Values of an environment that are secret by their variables' names."""
    return [value for name, value in environment.items() if is_secret_name(name)]


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable or header says that its value is secret."""
    return bool(_SECRET_NAME.search(name)) and not _NOT_SECRET.search(name)


def looks_random(value: str) -> bool:
    """Whether a value is long, without spaces, and of letters and digits: what a key is, and a word is not."""
    return (
        len(value) >= 16
        and not re.search(r"\s", value)
        and bool(re.search(r"\d", value) and re.search(r"[a-zA-Z]", value))
    )


def _mark(name: str) -> str:
    return f"[{name} removed]"


def _data(line: str) -> Any:
    """The JSON object or list of a data line; None for any other line."""
    if not line.startswith("data:"):
        return None
    try:
        value = json.loads(line[5:])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _deltas(value: Any, path: tuple[Any, ...] = (), inside: bool = False) -> Iterator[tuple[Any, dict[str, Any], str]]:
    """The texts of an event that are pieces of longer ones: what tells whose piece it is, the holder and the key."""
    if isinstance(value, list):
        for at, item in enumerate(value):
            place = item.get("index", at) if isinstance(item, dict) else at
            yield from _deltas(item, (*path, place), inside)
    elif isinstance(value, dict):
        if not path:
            path = tuple(str(value.get(name)) for name in ("type", "index", "output_index", "content_index"))
        for key, item in value.items():
            within = inside or key in ("delta", "parts")
            if isinstance(item, str) and within and key not in ("type", "id", "role", "name"):
                yield (*path, key), value, key
            else:
                yield from _deltas(item, (*path, key), within)
