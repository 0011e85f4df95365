// The AI SDK's four entry points. `limit` is `stopWhen: isStepCount(limit)`, null is `isLoopFinished()`.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, hasToolCall, isLoopFinished, isStepCount, Output, streamText, tool, ToolLoopAgent } from "ai";
import { z } from "zod";
import { errorOf, Failure, serve, threw, toFunction, toZod } from "./node_common.mjs";

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

// A condition of an option tree; counts are those of the steps so far.
function conditionOf(tree) {
  if (tree === "isLoopFinished") return isLoopFinished();
  if ("isStepCount" in tree) return isStepCount(tree.isStepCount);
  if ("hasToolCall" in tree) return hasToolCall(...[tree.hasToolCall].flat());
  return toFunction(tree, ({ steps }) => ({
    steps: steps.length,
    totalTokens: steps.reduce((sum, { usage }) => sum + (usage.totalTokens ?? 0), 0),
  }));
}

const conditionsOf = (tree) => (Array.isArray(tree) ? tree.map(conditionOf) : conditionOf(tree));

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
            execute: (input, { toolCallId, abortSignal }) => {
              const output = tools.run(spec, input, one.options.timeout?.toolMs === undefined ? undefined : abortSignal);
              tools.runs.at(-1).call_id = toolCallId;
              if (one.abort?.during === spec.name) tools.gaveUp.abort();
              return output;
            },
          }),
          ...("fails" in spec && { toModelOutput }),
        });
  }
  return set;
}

const FUNCTIONS = ["prepareStep", "onStepEnd"];
const PLAIN = ["toolChoice", "toolApproval", "toolCallConcurrency", "maxRetries", "timeout"];

// The limit is one more condition beside those of the options.
function stopWhen({ limit, options }) {
  const own = "stopWhen" in options ? conditionsOf(options.stopWhen) : undefined;
  if (limit === "default") return own === undefined ? {} : { stopWhen: own };
  const knob = limit === null ? isLoopFinished() : isStepCount(limit);
  return { stopWhen: own === undefined ? knob : [...[own].flat(), knob] };
}

// The repair of a tree tells what it changes.
const withChanges = (toolCall, changes) => (changes === undefined ? null : { ...toolCall, ...changes });

function settings(one, tools) {
  const client = { baseURL: `${one.base_url}/v1`, apiKey: one.api_key };
  const functions = FUNCTIONS.filter((name) => name in one.options).map((name) => [name, toFunction(one.options[name])]);
  const repair = one.options.repairToolCall && toFunction(one.options.repairToolCall);
  const plain = PLAIN.filter((name) => name in one.options).map((name) => [name, one.options[name]]);
  return {
    model: MODELS[one.wire](client),
    ...(one.tools.length > 0 && { tools: toolSet(one, tools) }),
    ...(one.system && { instructions: one.system }),
    ...(one.output && { output: Output.object({ schema: toZod(z, one.output.schema) }) }),
    ...(repair && { repairToolCall: async ({ toolCall }) => withChanges(toolCall, repair()) }),
    ...Object.fromEntries([...functions, ...plain]),
    ...stopWhen(one),
  };
}

// What is given to the call, where an agent has settings of its own.
function ofTheCall({ options }, method, abortSignal) {
  const tree = options[method];
  return { ...(abortSignal && { abortSignal }), ...(tree?.stopWhen !== undefined && { stopWhen: conditionsOf(tree.stopWhen) }) };
}

// The person's answers to the open approval requests; a tool without `approved` is one that nobody answers for.
function approvals(one, content, resume) {
  if (one.approvals) return scripted(one.approvals[resume], content);
  const answers = [];
  for (const { type, approvalId, toolCall } of content) {
    const answer = type === "tool-approval-request" && one.tools.find(({ name }) => name === toolCall.toolName)?.approved;
    if (answer === undefined || type !== "tool-approval-request") continue;
    const reason = answer.reject;
    answers.push({ type: "tool-approval-response", approvalId, approved: answer === true, ...(reason && { reason }) });
  }
  return answers.length > 0 ? answers : null;
}

// The answers of one resume, by the ids of calls.
function scripted(decisions, content) {
  if (decisions === undefined) return null;
  return decisions.flatMap(({ approve, reject, message }) => {
    const asked = content.find(({ type, toolCall, isAutomatic }) => type === "tool-approval-request" && !isAutomatic && toolCall.toolCallId === (approve ?? reject));
    if (asked === undefined) return [];
    const { approvalId } = asked;
    return [{ type: "tool-approval-response", approvalId, approved: approve !== undefined, ...(message && { reason: message }) }];
  });
}

function done({ finishReason, text, steps }) {
  const returned = finishReason === "stop" ? "answer" : "stopped";
  return { returned, finish_reason: finishReason, final_text: text, reported_count: steps.length };
}

// A stream's promises reject only where no step was finished; errors come as parts.
async function settle(one, result) {
  let error = null;
  for await (const part of result.fullStream) {
    if (part.type === "error") error ??= errorOf(part.error);
  }
  try {
    const finished = { finishReason: await result.finishReason, text: await result.text, steps: await result.steps };
    if (one.output && finished.finishReason !== "tool-calls" && (finished.finishReason === "stop" || finished.text)) {
      await result.output.catch((rejection) => (error ??= errorOf(rejection)));
    }
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
      return wait(await new ToolLoopAgent(options).generate({ messages, ...ofTheCall(one, "generate", options.abortSignal) }));
    case "ai-sdk/streamText":
      return settle(one, streamText({ ...options, ...quiet }));
    default:
      return settle(one, await new ToolLoopAgent(options).stream({ ...quiet, ...ofTheCall(one, "stream", options.abortSignal) }));
  }
}

// One prompt's run, and the resumes after it: its fields, and the conversation that the caller then has.
async function converse(one, options, messages, resumes) {
  for (;;) {
    const { fields, said = [], content = [] } = await run(one, options, messages).catch((error) => ({ fields: threw(error) }));
    const answers = approvals(one, content, resumes.count);
    const asked = content.some(({ type, isAutomatic }) => type === "tool-approval-request" && !isAutomatic);
    messages = [...messages, ...said];
    if (!asked || answers === null) return { fields, messages };
    resumes.count += 1;
    messages.push({ role: "tool", content: answers });
  }
}

serve(async (one, tools) => {
  // There is no way to answer an approval request with other arguments.
  if (one.tools.some(({ approved }) => approved?.edit)) return { skip: true };
  tools.gaveUp = new AbortController();
  const before = one.abort?.before_reply;
  if (before === 1) tools.gaveUp.abort();
  const options = { ...settings(one, tools), ...(one.abort && { abortSignal: tools.gaveUp.signal }) };
  if (before > 1) options.onStepEnd = ({ stepNumber }) => stepNumber === before - 2 && tools.gaveUp.abort();
  let last = { messages: [] };
  const resumes = { count: 0 };
  for (const content of one.prompts ?? [one.prompt]) {
    last = await converse(one, options, [...last.messages, { role: "user", content }], resumes);
  }
  return last.fields;
});
