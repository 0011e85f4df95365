// WorkflowAgent outside the workflow runtime, where `stream()` runs inline and resolves when the loop is done.
// `limit` is `stopWhen: isStepCount(limit)`, null is `isLoopFinished()`.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { WorkflowAgent } from "@ai-sdk/workflow";
import { isLoopFinished, isStepCount, tool } from "ai";
import { z } from "zod";
import { errorOf, Failure, serve, toZod } from "./node_common.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const MODELS = {
  "anthropic-messages": (client) => createAnthropic(client)("claude-sonnet-5"),
  "openai-responses": (client) => createOpenAI(client).responses("gpt-5.2"),
  "openai-chat": (client) => createOpenAI(client).chat("gpt-5.2"),
};

// Provider tools by the names that scripts give them.
function serverTools(one) {
  const client = { baseURL: `${one.base_url}/v1`, apiKey: one.api_key };
  if (one.wire !== "anthropic-messages") return { web_search: createOpenAI(client).tools.webSearch() };
  const { webSearch_20250305, webFetch_20250910 } = createAnthropic(client).tools;
  return { web_search: webSearch_20250305(), web_fetch: webFetch_20250910() };
}

// What the model reads of a tool's output: an error result where the tool said so itself.
function toModelOutput({ output }) {
  if (output instanceof Failure) return { type: "error-text", value: output.text };
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output ?? null };
}

function toolSet(one, tools) {
  const set = {};
  for (const spec of one.tools) {
    set[spec.name] = spec.server
      ? serverTools(one)[spec.name]
      : tool({
          description: spec.description,
          inputSchema: toZod(z, spec.schema),
          execute: (input, { toolCallId }) => {
            const output = tools.run(spec, input);
            tools.runs.at(-1).call_id = toolCallId;
            return output;
          },
          ...("fails" in spec && { toModelOutput }),
        });
  }
  return set;
}

function done(result) {
  const { finishReason, steps } = result;
  const returned = finishReason === "stop" ? "answer" : "stopped";
  const fields = { returned, finish_reason: finishReason, final_text: steps.at(-1)?.text ?? null, reported_count: steps.length };
  return "error" in result ? { ...fields, returned: "error", error: errorOf(result.error) } : fields;
}

serve(async (one, tools) => {
  const client = { baseURL: `${one.base_url}/v1`, apiKey: one.api_key };
  const agent = new WorkflowAgent({
    model: MODELS[one.wire](client),
    tools: toolSet(one, tools),
    ...(one.system && { instructions: one.system }),
    ...(one.limit !== "default" && { stopWhen: one.limit === null ? isLoopFinished() : isStepCount(one.limit) }),
  });
  const messages = [{ role: "user", content: one.prompt }];
  if (one.style.endsWith(".generate")) return done(await agent.generate({ messages }));
  return done(await agent.stream({ messages }));
});
