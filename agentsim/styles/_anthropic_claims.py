"""Checkable statements about Anthropic's tool runners."""

from __future__ import annotations

from agentsim.core.style import Claim

CLAIMS: tuple[Claim, ...] = ()
