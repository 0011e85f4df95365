// Mastra: Agent.generate and Agent.stream, through the AI SDK's providers.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { errorOf, Failure, serve, sleep, toFunction, toZod } from "./node_common.mjs";

function providerOf(one) {
  const settings = { baseURL: `${one.base_url}/v1`, apiKey: one.api_key };
  return one.wire === "anthropic-messages" ? createAnthropic(settings) : createOpenAI(settings);
}

function modelOf(one) {
  const provider = providerOf(one);
  if (one.wire === "anthropic-messages") return provider("claude-sonnet-5");
  return one.wire === "openai-chat" ? provider.chat("gpt-6-astra") : provider.responses("gpt-6-astra");
}

// Tools that run at the provider are the provider package's own.
function serverTools(one) {
  const { tools } = providerOf(one);
  const make = one.wire === "anthropic-messages" ? tools.webSearch_20250305 : tools.webSearch;
  return (one.tools ?? []).filter((spec) => spec.server).map((spec) => [spec.name, make({})]);
}

function toolOf(one, tools, spec) {
  return createTool({
    id: spec.name,
    description: spec.description ?? "",
    inputSchema: toZod(z, spec.schema),
    ...(spec.approval === "required" && { requireApproval: true }),
    ...(spec.execute !== "client" && { execute: executeOf(one, tools, spec) }),
  });
}

function executeOf(one, tools, spec) {
  return async (input, context) => {
    const pending = tools.run(spec, input);
    const id = context?.agent?.toolCallId;
    if (id) tools.runs.at(-1).call_id = id;
    if (one.abort?.during === spec.name) one.gaveUp.abort();
    const value = await pending;
    // Mastra's tools have no error result of their own; throwing is how its users make one.
    if (value instanceof Failure) throw new Error(value.text);
    return value;
  };
}

function agentOf(one, tools) {
  const specs = tools.specs.map((spec) => [spec.name, toolOf(one, tools, spec)]);
  const { defaultOptions, maxRetries } = one.options;
  const agent = new Agent({
    id: "agent",
    name: "agent",
    instructions: one.system ?? "",
    model: modelOf(one),
    tools: Object.fromEntries([...specs, ...serverTools(one)]),
    ...(defaultOptions && { defaultOptions }),
    ...(maxRetries !== undefined && { maxRetries }),
  });
  if (one.tools.every(({ approval }) => !approval) && !one.options.requireToolApproval) return agent;
  // Runs that wait for an approval are kept in a store.
  return new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false }).getAgent("agent");
}

const callsOf = (step) => (step.toolCalls ?? []).map((call) => call.payload?.toolName ?? call.toolName);

function conditionOf(tree) {
  if ("hasToolCall" in tree) return ({ steps }) => callsOf(steps.at(-1)).includes(tree.hasToolCall);
  return toFunction(tree, ({ steps }) => ({
    steps: steps.length,
    totalTokens: steps.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0),
  }));
}

function scorerOf(tree, at) {
  const score = toFunction(tree);
  return { id: `scorer_${at}`, name: `scorer ${at}`, run: async () => ({ score: await score() }) };
}

const PLAIN = ["requireToolApproval", "toolCallConcurrency", "modelSettings"];

// `maxSteps` is compared with ===, so Infinity is the "no limit" that Mastra has no word for.
function settingsOf(one) {
  const { stopWhen, onIterationComplete, isTaskComplete } = one.options;
  return {
    ...(one.limit !== "default" && { maxSteps: one.limit ?? Infinity }),
    ...(stopWhen && { stopWhen: Array.isArray(stopWhen) ? stopWhen.map(conditionOf) : conditionOf(stopWhen) }),
    ...(onIterationComplete && { onIterationComplete: toFunction(onIterationComplete) }),
    ...(isTaskComplete && { isTaskComplete: { ...isTaskComplete, scorers: isTaskComplete.scorers.map(scorerOf) } }),
    ...(one.output && { structuredOutput: { schema: toZod(z, one.output.schema) } }),
    ...(one.abort && { abortSignal: one.gaveUp.signal }),
    ...Object.fromEntries(PLAIN.filter((name) => name in one.options).map((name) => [name, one.options[name]])),
  };
}

// `stop` is the one word by which Mastra says that the model came to its end.
function shown(finishReason, text, steps) {
  return {
    returned: finishReason === "stop" ? "answer" : "stopped",
    finish_reason: finishReason ?? null,
    final_text: text ?? null,
    reported_count: steps?.length ?? null,
  };
}

// After some errors the promises of a stream are never settled.
const settled = (promise) => Promise.race([promise, sleep(0.5).then(() => null)]);

// What a call of Agent.stream came to: its fields, and whatever waits for an approval.
async function follow(output) {
  let error = null;
  const waiting = [];
  for await (const chunk of output.fullStream) {
    if (chunk.type === "error") error = chunk.payload.error;
    if (chunk.type === "tool-call-approval") waiting.push(chunk.payload);
  }
  const result = shown(await settled(output.finishReason), await settled(output.text), await settled(output.steps));
  error ??= output.error ?? null;
  const fields = error ? { ...result, returned: "error", error: errorOf(error) } : result;
  return { fields, waiting, runId: output.runId, messages: async () => (await output.response).messages };
}

function finished(result) {
  const { finishReason, text, steps, suspendPayload, runId, response } = result;
  const waiting = finishReason === "suspended" && suspendPayload ? [suspendPayload] : [];
  return { fields: shown(finishReason, text, steps), waiting, runId, messages: async () => response.messages };
}

const ENTRIES = {
  "mastra/Agent.generate": ["generate", "approveToolCallGenerate", "declineToolCallGenerate", finished],
  "mastra/Agent.stream": ["stream", "approveToolCall", "declineToolCall", follow],
};

// The answers of one resume, one call of the SDK each; an answer without an id settles what it settles.
function answersOf(one, waiting) {
  if (one.approvals) return one.approvals.shift() ?? null;
  const answers = waiting.flatMap(({ toolName, toolCallId }) => {
    const approved = one.tools.find(({ name }) => name === toolName)?.approved;
    if (approved === undefined) return [];
    return [approved === true ? { approve: toolCallId } : { reject: toolCallId, message: approved.reject }];
  });
  return answers.length > 0 ? answers : null;
}

async function resume(one, agent, run, answers) {
  const [, approve, decline, follow] = ENTRIES[one.style];
  for (const { approve: yes, reject: no, message } of answers) {
    const named = (call) => [null, undefined, call.toolCallId].includes(yes ?? no);
    // A resumed run of generate tells only one of those that wait.
    if (!run.resumed && !run.waiting.some(named)) continue;
    const open = run.waiting.filter((call) => !named(call));
    const method = no === undefined ? approve : decline;
    const toolCallId = yes ?? no ?? undefined;
    const reason = message === undefined ? {} : { reason: message };
    run = await follow(await agent[method]({ runId: run.runId, ...(toolCallId && { toolCallId }), ...reason, ...one.options.approveToolCall }));
    run.resumed = one.style === "mastra/Agent.generate";
    run.waiting = run.fields.finish_reason === "suspended" ? [...open, ...run.waiting] : run.waiting;
  }
  return run;
}

async function converse(one, agent, messages) {
  const [start, , , follow] = ENTRIES[one.style];
  let run = await follow(await agent[start](messages, settingsOf(one)));
  while (run.waiting.length > 0) {
    const answers = answersOf(one, run.waiting);
    if (answers === null) break;
    run = await resume(one, agent, run, answers);
  }
  return run;
}

serve(async (one, tools) => {
  one.gaveUp = new AbortController();
  const agent = agentOf(one, tools);
  if (!one.prompts) return (await converse(one, agent, one.prompt)).fields;
  const messages = [];
  let fields = {};
  for (const content of one.prompts) {
    messages.push({ role: "user", content });
    try {
      const run = await converse(one, agent, messages);
      messages.push(...(await run.messages()));
      fields = run.fields;
    } catch (error) {
      fields = { returned: "error", error: errorOf(error) };
    }
  }
  return fields;
});
