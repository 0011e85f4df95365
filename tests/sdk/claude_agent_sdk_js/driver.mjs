// The Claude Agent SDK for JavaScript: a single-shot `query()` with the tools in an in-process MCP server.
//
// The SDK starts its bundled CLI as a process. Its home is a folder that lives as long as the case, its
// built-in tools are off, and of this process's environment only what any shell has reaches it: the CLI
// obeys dozens of variables, so that the same script would end differently from machine to machine.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { errorOf, Failure, serve, toZod } from "./node_common.mjs";

const SERVER = "sim";

// What a user would hand back to MCP: text as it is, anything else as JSON.
function resultOf(value) {
  const failed = value instanceof Failure;
  const plain = failed ? value.text : value;
  const text = typeof plain === "string" ? plain : JSON.stringify(plain);
  return { content: [{ type: "text", text }], isError: failed };
}

function mcpServer(tools) {
  const made = tools.specs.map((spec) =>
    tool(spec.name, spec.description ?? spec.name, toZod(z, spec.schema).shape, async (input) =>
      resultOf(await tools.run(spec, input)),
    ),
  );
  return createSdkMcpServer({ name: SERVER, version: "1.0.0", tools: made });
}

function environment(one, home) {
  return {
    LANG: process.env.LANG ?? "C.UTF-8",
    PATH: process.env.PATH,
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, "config"),
    ANTHROPIC_BASE_URL: one.base_url,
    ANTHROPIC_API_KEY: one.api_key,
    ENABLE_TOOL_SEARCH: "false",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    ...one.options.env,
  };
}

function optionsOf(one, tools, home, abortController) {
  const options = {
    abortController,
    allowedTools: tools.specs.map((spec) => `mcp__${SERVER}__${spec.name}`),
    cwd: home,
    env: environment(one, home),
    mcpServers: { [SERVER]: mcpServer(tools) },
    settingSources: [],
    tools: [],
  };
  if (one.system) options.systemPrompt = one.system;
  if (one.limit !== "default") options.maxTurns = one.limit;
  return options;
}

// The CLI's estimate of a prompt's size depends on the machine.
function withoutEstimate(error) {
  return { ...error, message: error.message.replace(/only ~\d+ tokens/, "only ~N tokens") };
}

// The signal is subtype "success" without is_error; after any other result `query()` throws.
function answerOf(result, error) {
  const isAnswer = result?.subtype === "success" && !result.is_error;
  return {
    returned: error ? "error" : isAnswer ? "answer" : "stopped",
    finish_reason: result?.subtype ?? null,
    final_text: error ? null : (result?.result ?? null),
    reported_count: result?.num_turns ?? null,
    error: error ? withoutEstimate(errorOf(error)) : null,
    detail: result && {
      stop_reason: result.stop_reason,
      terminal_reason: result.terminal_reason,
      is_error: result.is_error,
      result: result.result,
      errors: result.errors,
      api_error_status: result.api_error_status,
    },
  };
}

serve(async (one, tools) => {
  const home = mkdtempSync(join(tmpdir(), "agentsim-"));
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), (one.timeout - 1) * 1000);
  let result = null;
  let thrown = null;
  try {
    for await (const message of query({ prompt: one.prompt, options: optionsOf(one, tools, home, abort) })) {
      if (message.type === "result") result = message;
    }
  } catch (error) {
    thrown = error;
  }
  clearTimeout(timer);
  rmSync(home, { recursive: true, force: true });
  return answerOf(result, thrown);
});
