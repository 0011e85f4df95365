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
          ...(spec.approval === "required" && { needsApproval: true }),
          ...(spec.execute !== "client" && {
            execute: (input, { toolCallId }) => {
              const output = tools.run(spec, input);
              tools.runs.at(-1).call_id = toolCallId;
              return output;
            },
          }),
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

// The conversation with the person's answers to the calls that wait for one; null where nobody answers. Requests
// reach a user interface by the stream alone, so they are put beside the calls here, as it would store them.
function answered(one, { messages, toolCalls, toolResults }) {
  const requests = [];
  const answers = [];
  for (const { toolCallId, toolName } of toolCalls) {
    const spec = one.tools.find(({ name }) => name === toolName);
    const waits = spec?.approval === "required" && !toolResults.some((result) => result.toolCallId === toolCallId);
    if (!waits || spec.approved === undefined) continue;
    const approvalId = `approval-${toolCallId}`;
    const reason = spec.approved.reject;
    requests.push({ type: "tool-approval-request", approvalId, toolCallId });
    answers.push({ type: "tool-approval-response", approvalId, approved: spec.approved === true, ...(reason && { reason }) });
  }
  if (answers.length === 0) return null;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const asked = { ...messages[last], content: [...messages[last].content, ...requests] };
  return [...messages.with(last, asked), { role: "tool", content: answers }];
}

serve(async (one, tools) => {
  // There is no way to answer an approval request with other arguments.
  if (one.tools.some(({ approved }) => approved?.edit)) return { skip: true };
  const client = { baseURL: `${one.base_url}/v1`, apiKey: one.api_key };
  const agent = new WorkflowAgent({
    model: MODELS[one.wire](client),
    ...(one.tools.length > 0 && { tools: toolSet(one, tools) }),
    ...(one.system && { instructions: one.system }),
    ...(one.limit !== "default" && { stopWhen: one.limit === null ? isLoopFinished() : isStepCount(one.limit) }),
  });
  let messages = [{ role: "user", content: one.prompt }];
  if (one.style.endsWith(".generate")) return done(await agent.generate({ messages }));
  for (;;) {
    const result = await agent.stream({ messages });
    messages = answered(one, result);
    if (messages === null) return done(result);
  }
});
