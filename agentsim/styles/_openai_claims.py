"""Checkable statements about the OpenAI Agents SDKs."""

from __future__ import annotations

from agentsim.core.style import Claim

CLAIMS: tuple[Claim, ...] = ()
