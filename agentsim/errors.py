"""Every exception of agentsim, and whose mistake each one is.

AgentsimError
├── ScenarioError        the file is wrong: file, line, path, message, all at once
├── ScriptError          scenario and run disagree (in `run` and `compare` a fact of the result, not an error)
│   ├── ScriptExhausted  "model call 5, but scenario 'refund' has 4 replies"
│   └── ScriptUnfinished "2 replies were never asked for"
├── CannotExpress        "openai-chat has no way to say stop_reason 'pause_turn'"
├── UnscriptedRequest    nothing answers this URL; the nearest that would
├── TranscriptError      a log can't be read: file, line, reason
├── UsageError           the call or command line is wrong: what was expected, what came, what is nearest
└── RuleBroken           (also an AssertionError) the code under test is wrong: the rule, the transcript
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: How much alike (0 to 1) two words have to be for the one to be suggested in place of the other, in every message.
CLOSE = 0.75
#: The same for words with one beginning of three letters: `retry` is near to `retries`, `missing` not to `bin`.
KIN = 0.55
#: So much of a word is compared: the time grows with its square, and nothing longer is a misspelling of anything.
LONGEST_WORD = 60


class AgentsimError(Exception):
    """Any error that agentsim raises on purpose."""


def not_installed(what: str, package: str, extra: str) -> str:
    """What to say where an optional package is missing. It names no package index: agentsim is installed from its source.

    Args:
        what: needs it, as the beginning of a sentence.
        package: as the field calls it.
        extra: of agentsim that brings it.
    """
    install = f"install agentsim with its extra '{extra}' (in a checkout: pip install '.[{extra}]')"
    return f"{what} needs {package}, which is not installed: {install}"


def _one_line(text: str) -> str:
    """The text with everything escaped that would break the line or steer a terminal: it quotes files of strangers."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def kind(value: Any) -> str:
    """What came, in a few words, for a message about a value of a wrong type: `the str 'a.yaml'`, `None`."""
    return "None" if value is None else f"the {type(value).__name__} {_one_line(reprlib.repr(value))}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant: what differs in a letter or two, in case, or in - and _; or what begins or ends so.

    Args:
        word: as it came.
        known: what it could have been.
    Returns:
        None where none is near: a hint that is far off is worse than none.
    """
    from difflib import get_close_matches  # only for mistakes

    plain: dict[str, str] = {}
    for each in known:
        plain.setdefault(_plain(each), each)
    word = _plain(word[:LONGEST_WORD])
    near = get_close_matches(word, list(plain), 1, CLOSE)
    longer = [each for each in plain if len(word) > 2 and (each.startswith(word) or each.endswith(word))]
    kin = get_close_matches(word, [each for each in plain if each[:3] == word[:3]], 1, KIN)
    found = near or longer or kin
    return plain[found[0]] if found else None


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a file.

    Args:
        message: what was expected and what came.
        line: 1-based; 0 where it concerns the whole file.
        path: where in the document, as `replies[2].tool_use`; "" for the whole.
        file: as the user named it; "" for a string.
    """

    message: str
    line: int = 0
    path: str = ""
    file: str = ""

    def __str__(self) -> str:
        where = self.file or "scenario"
        if self.line:
            where += f":{self.line}"
        return f"{where}: {self.path + ': ' if self.path else ''}{self.message}"


class ScenarioError(AgentsimError):
    """A scenario file is wrong; `problems` holds every mistake that was found, in order of lines."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class ScriptError(AgentsimError):
    """Scenario and run disagree."""


class ScriptExhausted(ScriptError):
    """The code under test asked for more replies than the script has."""


class ScriptUnfinished(ScriptError):
    """The code under test ended before it asked for every reply."""


class CannotExpress(AgentsimError):
    """A wire has no way to say what the scenario says."""


class UnscriptedRequest(AgentsimError):
    """Nothing answers this request."""


class TranscriptError(AgentsimError):
    """A log or recording can't be read."""

    def __init__(self, message: str, *, file: str = "", line: int = 0) -> None:
        self.file, self.line = file, line
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(_one_line(where + message))


class UsageError(AgentsimError):
    """The caller's mistake: an unknown style, option, wire or value."""


class RuleBroken(AgentsimError, AssertionError):
    """The code under test broke a loop rule; `verdicts` holds what every rule says, where rules were asked."""

    verdicts: Sequence[Any] = ()
