// WorkflowAgent outside the workflow runtime, where `stream()` runs inline and resolves when the loop is done.
// `limit` is `stopWhen: isStepCount(limit)`, null is `isLoopFinished()`.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { WorkflowAgent } from "@ai-sdk/workflow";
import { hasToolCall, isLoopFinished, isStepCount, Output, tool } from "ai";
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

function done(result) {
  const { finishReason, steps } = result;
  const returned = finishReason === "stop" ? "answer" : "stopped";
  const fields = { returned, finish_reason: finishReason, final_text: steps.at(-1)?.text ?? null, reported_count: steps.length };
  return "error" in result ? { ...fields, returned: "error", error: errorOf(result.error) } : fields;
}

// The conversation with the person's answers to the calls that wait for one; null where nobody answers. Requests
// reach a user interface by the stream alone, so they are put beside the calls here, as it would store them.
function answered(one, { messages, toolCalls, toolResults }, resumes) {
  const requests = [];
  const answers = [];
  const waits = ({ toolCallId, toolName }) =>
    one.tools.find(({ name }) => name === toolName)?.approval === "required" && !toolResults.some((result) => result.toolCallId === toolCallId);
  const waiting = toolCalls.filter(waits);
  if (waiting.length === 0 || (one.approvals && !(resumes.count in one.approvals))) return null;
  for (const { toolCallId, toolName } of waiting) {
    const decision = one.approvals?.[resumes.count].find(({ approve, reject }) => (approve ?? reject) === toolCallId);
    const { approved: said } = one.tools.find(({ name }) => name === toolName);
    if (one.approvals ? !decision : said === undefined) continue;
    const approved = one.approvals ? decision.approve !== undefined : said === true;
    const reason = one.approvals ? decision.message : said.reject;
    const approvalId = `approval-${toolCallId}`;
    requests.push({ type: "tool-approval-request", approvalId, toolCallId });
    answers.push({ type: "tool-approval-response", approvalId, approved, ...(reason && { reason }) });
  }
  if (answers.length === 0 && !one.approvals) return null;
  resumes.count += 1;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const asked = { ...messages[last], content: [...messages[last].content, ...requests] };
  return [...messages.with(last, asked), { role: "tool", content: answers }];
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

// One prompt's run, and the resumes after it: its fields, and the conversation that the caller then has.
async function converse(one, agent, call, messages, resumes) {
  for (;;) {
    let result;
    try {
      result = await agent.stream({ messages, ...call });
    } catch (error) {
      return { fields: threw(error), messages };
    }
    const next = answered(one, result, resumes);
    if (next === null) return { fields: done(result), messages: result.messages };
    messages = next;
  }
}

serve(async (one, tools) => {
  // There is no way to answer an approval request with other arguments.
  if (one.tools.some(({ approved }) => approved?.edit)) return { skip: true };
  tools.gaveUp = new AbortController();
  const before = one.abort?.before_reply;
  if (before === 1) tools.gaveUp.abort();
  const options = settings(one, tools);
  if (before > 1) options.onStepEnd = ({ stepNumber }) => stepNumber === before - 2 && tools.gaveUp.abort();
  const agent = new WorkflowAgent(options);
  const call = {
    ...(one.abort && { abortSignal: tools.gaveUp.signal }),
    ...(one.options.stream?.stopWhen && { stopWhen: conditionsOf(one.options.stream.stopWhen) }),
  };
  if (one.style.endsWith(".generate")) return done(await agent.generate({ messages: [{ role: "user", content: one.prompt }] }));
  let last = { messages: [] };
  const resumes = { count: 0 };
  for (const content of one.prompts ?? [one.prompt]) {
    last = await converse(one, agent, call, [...last.messages, { role: "user", content }], resumes);
  }
  return last.fields;
});
