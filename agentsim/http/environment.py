"""The variables by which clients find a server, each spelt as that client reads it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

#: Variables for API keys; where one is not set it gets a dummy, because clients refuse to start without.
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")

#: The official Anthropic clients, LangChain's and litellm's want no `/v1`; OpenAI's all want one.
_BASES = {
    "ANTHROPIC_BASE_URL": "",
    "ANTHROPIC_API_URL": "",
    "ANTHROPIC_API_BASE": "",
    "OPENAI_BASE_URL": "/v1",
    "OPENAI_API_BASE": "/v1",
    "GOOGLE_GEMINI_BASE_URL": "",
}


def base_urls(url: str) -> dict[str, str]:
    """Base-URL variables for a server at `url`; its path, if any, names a session."""
    return {name: url.rstrip("/") + path for name, path in _BASES.items()}


#: Keeps libraries from calling home when they are imported (litellm fetches a price list).
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def dummy_keys(present: Mapping[str, str], key: str = "sim") -> dict[str, str]:
    """Keys for those variables that are not set, and what keeps libraries quiet."""
    missing = {name: key for name in KEYS if not present.get(name)}
    if "GOOGLE_API_KEY" in missing or "GEMINI_API_KEY" in missing:
        # google-genai warns where both are set, so one is enough.
        missing.pop("GOOGLE_API_KEY", None)
    return missing | {name: value for name, value in QUIET.items() if name not in present}


@contextlib.contextmanager
def dummies_set() -> Iterator[None]:
    """Variables that are not set have dummies inside: agents that build their client when they are imported want keys then."""
    added = dummy_keys(os.environ)
    os.environ.update(added)
    try:
        yield
    finally:
        for name, value in added.items():
            if os.environ.get(name) == value:
                del os.environ[name]


def for_subprocess(url: str, present: Mapping[str, str], key: str = "sim") -> dict[str, str]:
    """Everything that a child process needs to talk to a server at `url`, and to nothing in between."""
    loopback = "127.0.0.1,localhost"
    without = ",".join(filter(None, (present.get("NO_PROXY") or present.get("no_proxy"), loopback)))
    return {**base_urls(url), **dummy_keys(present, key), "NO_PROXY": without, "no_proxy": without}
