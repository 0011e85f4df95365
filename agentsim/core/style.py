"""A style: one SDK entry point's way of looping, counting and stopping, as a value."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentsim.core.actions import Action
from agentsim.core.events import Event, Outcome
from agentsim.core.wires import ANTHROPIC

if TYPE_CHECKING:
    from agentsim.core.run import Run

#: A loop: a generator that yields what it wants next and is sent what happened. It reads as the SDK's own algorithm.
Loop = Callable[["Run"], Generator[Action, Event, Outcome]]
Steps = Generator[Action, Event, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """A limit (or other value) that the SDK refuses before any call."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkable statement about an SDK.

    Args:
        id: stable, as "openai-agents.last-tools-run".
        says: one sentence.
        source: where it is said or was measured.
        version: of the SDK that it was checked on.
        divergence: how the measured SDK contradicts it; None: confirmed.
    """

    id: str
    says: str
    source: str
    version: str
    divergence: str | None = None


def any_number(value: Any) -> float | Refused | None:
    """The plainest reading of a limit: a number is a limit, None is none."""
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Style:
    """One SDK entry point.

    Args:
        name: "sdk/entry point", as its users write it.
        sdk: packages and versions that it was proved against.
        unit: what its limit counts.
        knob: the option that sets the limit.
        default: the knob's value where nobody sets it; None is no limit.
        loop: the algorithm.
        checks: where the check of the limit sits, in words.
        at_limit: what the caller gets at the limit, in words.
        signal: how the SDK itself says that it finished, in words; "" where it has no signal.
        wires: provider formats that it speaks, preferred first.
        streams: True or False where it always or never calls the model with streaming; None is the caller's choice.
        streams_on: wires on which it streams whatever is asked for, because the SDK's model of that provider does.
        read_limit: what the SDK makes of the knob's value: a number, None (never fires) or Refused.
        options: names of the options that it takes, with a word about each.
        configure: checks an option tree and makes of it what the loop reads; raises ValueError with a sentence.
        claims: statements about it, with sources.
        reads_anything: whether its loop has a meaning for answers that nobody can read, and for those that never come; the
            SDKs were not measured with such.
        stops: whether a limit that is reached ends the run; otherwise the loop goes on, and no limit is enough for anything.
        formula: the arithmetic of its least limit, in words, for so many tool rounds under these (configured) options.
    """

    name: str
    sdk: str
    unit: str
    knob: str
    default: float | None
    loop: Loop
    checks: str = ""
    at_limit: str = ""
    signal: str = ""
    wires: tuple[str, ...] = (ANTHROPIC,)
    streams: bool | None = None
    streams_on: tuple[str, ...] = ()
    read_limit: Callable[[Any], float | Refused | None] = any_number
    options: Mapping[str, str] = field(default_factory=dict)
    configure: Callable[[Mapping[str, Any]], Any] | None = None
    claims: tuple[Claim, ...] = ()
    reads_anything: bool = False
    stops: bool = True
    formula: Callable[[Any, int], str] | None = None
