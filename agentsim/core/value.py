"""`@value`: a dataclass that type checkers hold to be frozen.

A run makes some twenty of these a tool round. A really frozen dataclass pays a call of `object.__setattr__` for each field,
which was half of a run's time; so immutability is checked statically, and nothing assigns to a value at run time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make a slotted, comparable, hashable dataclass of `cls`; treat its instances as values."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
