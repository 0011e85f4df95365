// The AI SDK's four entry points. `limit` is `stopWhen: isStepCount(limit)`, null is `isLoopFinished()`.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isLoopFinished, isStepCount, streamText, tool, ToolLoopAgent } from "ai";
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

function settings(one, tools) {
  const client = { baseURL: `${one.base_url}/v1`, apiKey: one.api_key };
  const stop = one.limit === null ? isLoopFinished() : isStepCount(one.limit);
  return {
    model: MODELS[one.wire](client),
    ...(one.tools.length > 0 && { tools: toolSet(one, tools) }),
    ...(one.system && { instructions: one.system }),
    ...(one.limit !== "default" && { stopWhen: stop }),
  };
}

// The person's answers to the open approval requests; a tool without `approved` is one that nobody answers for.
function approvals(one, content) {
  const answers = [];
  for (const { type, approvalId, toolCall } of content) {
    const answer = type === "tool-approval-request" && one.tools.find(({ name }) => name === toolCall.toolName)?.approved;
    if (answer === undefined || type !== "tool-approval-request") continue;
    const reason = answer.reject;
    answers.push({ type: "tool-approval-response", approvalId, approved: answer === true, ...(reason && { reason }) });
  }
  return answers;
}

function done({ finishReason, text, steps }) {
  const returned = finishReason === "stop" ? "answer" : "stopped";
  return { returned, finish_reason: finishReason, final_text: text, reported_count: steps.length };
}

// A stream's promises reject only where no step was finished; errors come as parts.
async function settle(result) {
  let error = null;
  for await (const part of result.fullStream) {
    if (part.type === "error") error ??= errorOf(part.error);
  }
  try {
    const finished = { finishReason: await result.finishReason, text: await result.text, steps: await result.steps };
    const fields = { ...done(finished), ...(error && { returned: "error", error }) };
    return { fields, said: await result.responseMessages, content: finished.steps.at(-1).content };
  } catch (rejection) {
    const { type, message } = errorOf(rejection);
    return { fields: { returned: "error", error: error ? { ...error, rejected: type } : { type, message } } };
  }
}

function wait(result) {
  return { fields: done(result), said: result.responseMessages, content: result.steps.at(-1).content };
}

async function run(one, options, messages) {
  const quiet = { messages, onError() {} };
  switch (one.style) {
    case "ai-sdk/generateText":
      return wait(await generateText({ ...options, messages }));
    case "ai-sdk/ToolLoopAgent.generate":
      return wait(await new ToolLoopAgent(options).generate({ messages }));
    case "ai-sdk/streamText":
      return settle(streamText({ ...options, ...quiet }));
    default:
      return settle(await new ToolLoopAgent(options).stream(quiet));
  }
}

serve(async (one, tools) => {
  // There is no way to answer an approval request with other arguments.
  if (one.tools.some(({ approved }) => approved?.edit)) return { skip: true };
  const options = settings(one, tools);
  let messages = [{ role: "user", content: one.prompt }];
  for (;;) {
    const { fields, said, content = [] } = await run(one, options, messages);
    const answers = approvals(one, content);
    if (answers.length === 0) return fields;
    messages = [...messages, ...said, { role: "tool", content: answers }];
  }
});
