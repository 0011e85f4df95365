"""crewai's ``Crew.kickoff`` (one agent, one task) and ``Agent.kickoff``, as their users make them.

Neither says whether it finished: every return is an answer. Each kickoff starts from nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any

os.environ |= {"OTEL_SDK_DISABLED": "true", "CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import LLM, Agent, Crew, Task
from crewai.llms import retry
from crewai.tools import BaseTool
from py_common import TYPES, Failure, Json, Tools, serve
from pydantic import Field, create_model

for provider in ("anthropic", "openai"):  # crewai imports them with the first model, which takes longer than a run may
    importlib.import_module(f"crewai.llms.providers.{provider}.completion")
retry._LLM_RATE_LIMIT_INITIAL_DELAY_SECONDS = 0.01  # type: ignore[misc]


def model_of(case: Json) -> LLM:
    """The native client of a wire, by a name that this version knows."""
    if case["wire"] == "openai-chat":
        return LLM(model="openai/gpt-4o", base_url=f"{case['base_url']}/v1", api_key=case["api_key"])
    return LLM(model="anthropic/claude-sonnet-4-0", base_url=case["base_url"], api_key=case["api_key"])


def tool_of(tools: Tools, spec: Json) -> BaseTool:
    """A tool class with a pydantic model of its arguments. An error result is an exception here."""
    fields: Json = {}
    schema = spec.get("schema") or {}
    for name, kind in schema.get("properties", {}).items():
        hint: Any = TYPES.get(kind.get("type", ""), Any)
        needed = name in schema.get("required", [])
        fields[name] = (hint, Field(...)) if needed else (hint | None if hint is not Any else Any, Field(default=None))
    description = spec.get("description", spec["name"])

    class Made(BaseTool):
        def _run(self, **given: Any) -> Any:
            value = tools.run(spec, given)
            if isinstance(value, Failure):
                raise RuntimeError(value.text)
            return value

    return Made(
        name=spec["name"],
        description=description,
        args_schema=create_model(f"{spec['name']}_arguments", **fields),
        result_as_answer=bool(spec.get("return_direct")),
    )


def agent_of(case: Json, tools: Tools) -> Agent:
    """The agent; its options are the case's."""
    options = {name: case["options"][name] for name in ("max_retry_limit", "cache") if name in case["options"]}
    if case["limit"] != "default":
        options["max_iter"] = case["limit"]
    made = [tool_of(tools, spec) for spec in tools.specs]
    return Agent(role="Clerk", goal="Help.", backstory="A clerk.", llm=model_of(case), tools=made, **options)


def once(agent: Agent, case: Json, prompt: str) -> Any:
    """One kickoff."""
    if case["style"].endswith("Agent.kickoff"):
        return agent.kickoff(prompt)
    task = Task(description=prompt, expected_output="An answer.", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff()


def run(case: Json, tools: Tools) -> Json:
    """All prompts, one after the other; the last one's ending is told."""
    agent = agent_of(case, tools)
    *earlier, last = case.get("prompts") or [case["prompt"]]
    for prompt in earlier:
        with contextlib.suppress(Exception):
            once(agent, case, prompt)
    return {"returned": "answer", "final_text": once(agent, case, last).raw}


serve(run)
