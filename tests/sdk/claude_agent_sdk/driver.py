"""The Claude Agent SDK for Python: ``query()`` and ``ClaudeSDKClient``, tools in an in-process MCP server.

The SDK starts its bundled CLI as a process. Its home is a folder that lives as long as the case, its
built-in tools are off, and of this process's environment only what any shell has reaches it: the CLI
obeys dozens of variables, so that the same script would end differently from machine to machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    ResultMessage,
    SdkMcpTool,
    create_sdk_mcp_server,
    query,
    tool,
)
from py_common import Failure, Json, Tools, error_of, serve

SERVER = "sim"

for name in set(os.environ) - {"LANG", "PATH"}:
    del os.environ[name]
# Asking the CLI for its version would be one more process for each case.
os.environ["CLAUDE_AGENT_SDK_SKIP_VERSION_CHECK"] = "1"


def mcp_tool(tools: Tools, spec: Json) -> SdkMcpTool[Any]:
    """A tool as a user would write it: text is handed to MCP as it is, anything else as JSON."""

    @tool(spec["name"], spec.get("description") or spec["name"], spec.get("schema") or {})
    async def run(given: Json) -> Json:
        value = tools.run(spec, given)
        failed = isinstance(value, Failure)
        plain = value.text if failed else value
        text = plain if isinstance(plain, str) else json.dumps(plain)
        return {"content": [{"type": "text", "text": text}], "is_error": failed}

    return run


def options_of(case: Json, tools: Tools, home: str) -> ClaudeAgentOptions:
    """The options of one run."""
    env = {
        "HOME": home,
        "CLAUDE_CONFIG_DIR": str(Path(home) / "config"),
        "ANTHROPIC_BASE_URL": case["base_url"],
        "ANTHROPIC_API_KEY": case["api_key"],
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    made = [mcp_tool(tools, spec) for spec in tools.specs]
    limit = {} if case["limit"] == "default" else {"max_turns": case["limit"]}
    return ClaudeAgentOptions(
        allowed_tools=[f"mcp__{SERVER}__{spec['name']}" for spec in tools.specs],
        cwd=home,
        env=env | case["options"].get("env", {}),
        mcp_servers={SERVER: create_sdk_mcp_server(SERVER, "1.0.0", made)},
        setting_sources=[],
        system_prompt=case["system"],
        tools=[],
        **limit,
    )


async def messages_of(case: Json, options: ClaudeAgentOptions) -> AsyncIterator[Message]:
    """What the entry point yields."""
    if case["style"] == "claude-agent-sdk/query":
        async for message in query(prompt=case["prompt"], options=options):
            yield message
        return
    async with ClaudeSDKClient(options) as client:
        await client.query(case["prompt"])
        async for message in client.receive_response():
            yield message


def without_estimate(text: str | None) -> str | None:
    """The CLI's estimate of a prompt's size depends on the machine."""
    return text and re.sub(r"only ~\d+ tokens", "only ~N tokens", text)


def answer_of(result: ResultMessage | None, error: Exception | None) -> Json:
    """The signal is subtype "success" without is_error; ``query()`` raises after any other result."""
    is_answer = result is not None and result.subtype == "success" and not result.is_error
    answer: Json = {"returned": "error" if error else "answer" if is_answer else "stopped"}
    told = error_of(error) if error else None
    answer |= {"error": told and told | {"message": without_estimate(told["message"])}}
    if result is None:
        return answer
    names = ("stop_reason", "terminal_reason", "is_error", "result", "errors", "api_error_status")
    return answer | {
        "finish_reason": result.subtype,
        "final_text": None if error else without_estimate(result.result),
        "reported_count": result.num_turns,
        "detail": {name: getattr(result, name, None) for name in names},
    }


async def handle(case: Json, tools: Tools) -> Json:
    """Run one case."""
    result: ResultMessage | None = None
    thrown: Exception | None = None
    with tempfile.TemporaryDirectory(prefix="agentsim-", ignore_cleanup_errors=True) as home:
        try:
            async with asyncio.timeout(case["timeout"] - 1):
                async for message in messages_of(case, options_of(case, tools, home)):
                    if isinstance(message, ResultMessage):
                        result = message
        except Exception as error:
            thrown = error
    return answer_of(result, thrown)


serve(handle)
