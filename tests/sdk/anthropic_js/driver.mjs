// client.beta.messages.toolRunner, consumed the short way: runUntilDone().
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { ToolError } from "@anthropic-ai/sdk/lib/tools/ToolError";
import * as z from "zod";
import { Failure, serve, toZod } from "./node_common.mjs";

const OPTIONS = ["runToolsEagerly", "thread"];

function runnable(tools, spec) {
  if (spec.execute === "client") return { name: spec.name, description: spec.description, input_schema: spec.schema };
  return betaZodTool({
    name: spec.name,
    description: spec.description,
    inputSchema: toZod(z, spec.schema),
    run: async (input) => {
      if (tools.abort?.during === spec.name) tools.gaveUp.abort();
      const value = await tools.run(spec, input);
      if (value instanceof Failure) throw new ToolError(value.text);
      return value;
    },
  });
}

function settings(one, tools) {
  const given = { stream: one.stream };
  if (one.limit !== "default") given.max_iterations = one.limit;
  for (const name of OPTIONS) if (name in one.options) given[name] = one.options[name];
  const offered = tools.specs.map((spec) => runnable(tools, spec));
  if (one.tools.some((spec) => spec.server)) offered.push({ type: "web_search_20250305", name: "web_search" });
  return { ...given, tools: offered };
}

await serve(async (one, tools) => {
  Object.assign(tools, { abort: one.abort, gaveUp: new AbortController() });
  if (one.abort?.before_reply === 1) tools.gaveUp.abort();
  const client = new Anthropic({ apiKey: one.api_key, baseURL: one.base_url });
  const runner = client.beta.messages.toolRunner({
    model: "claude-sonnet-5",
    max_tokens: 1024,
    messages: [{ role: "user", content: one.prompt }],
    ...settings(one, tools),
  }, one.abort ? { signal: tools.gaveUp.signal } : {});
  const message = await runner.runUntilDone();
  const finished = message.stop_reason === "end_turn" || message.stop_reason === "stop_sequence";
  return {
    returned: finished ? "answer" : "stopped",
    finish_reason: message.stop_reason,
    final_text: message.content
      .filter((block) => block.type === "text")
      .map((block) => block.text)
      .join(""),
  };
});
