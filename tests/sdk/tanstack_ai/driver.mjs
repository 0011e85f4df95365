// TanStack AI's `chat()`. `limit` is `agentLoopStrategy: maxIterations(limit)`, null is maxIterations(Infinity).
import { chat, combineStrategies, maxIterations, toolDefinition, untilFinishReason } from "@tanstack/ai";
import { createAnthropicChat } from "@tanstack/ai-anthropic";
import { webSearchTool as anthropicWebSearch } from "@tanstack/ai-anthropic/tools";
import { createOpenaiChat, createOpenaiChatCompletions } from "@tanstack/ai-openai";
import { webSearchTool as openaiWebSearch } from "@tanstack/ai-openai/tools";
import { z } from "zod";
import { errorOf, Failure, serve, toFunction, toZod } from "./node_common.mjs";

const ADAPTERS = {
  "anthropic-messages": (one) => createAnthropicChat("claude-sonnet-5", one.api_key, { baseURL: one.base_url }),
  "openai-responses": (one) => createOpenaiChat("gpt-5.2", one.api_key, { baseURL: `${one.base_url}/v1` }),
  "openai-chat": (one) => createOpenaiChatCompletions("gpt-5.2", one.api_key, { baseURL: `${one.base_url}/v1` }),
};

function serverTool(one, spec) {
  if (one.wire !== "anthropic-messages") return openaiWebSearch({ type: "web_search" });
  return anthropicWebSearch({ name: spec.name, type: "web_search_20250305" });
}

function toolOf(one, spec, tools) {
  if (spec.server) return serverTool(one, spec);
  const definition = toolDefinition({
    name: spec.name,
    description: spec.description,
    inputSchema: toZod(z, spec.schema),
    ...(spec.approval === "required" && { needsApproval: true }),
  });
  const made = one.options.tools?.[spec.name];
  if (spec.execute === "client" && made !== "client") return definition;
  return definition[made ?? "server"](async (input, context) => {
    const running = tools.run(spec, input);
    tools.runs.at(-1).call_id = context?.toolCallId;
    if (one.abort?.during === spec.name) one.gaveUp.abort();
    const output = await running;
    // There is no result with an error mark: a tool says that it failed by throwing.
    if (output instanceof Failure) throw new Error(output.text);
    return output;
  });
}

// Follow the events: the run's last words are its last text message and its last finish reason.
async function follow(events) {
  const texts = new Map();
  let [finishReason, error, snapshot, open, runId] = [null, null, [], [], null];
  for await (const event of events) {
    if (event.type === "TEXT_MESSAGE_START" && !texts.has(event.messageId)) texts.set(event.messageId, "");
    if (event.type === "TEXT_MESSAGE_CONTENT") texts.set(event.messageId, (texts.get(event.messageId) ?? "") + event.delta);
    if (event.type === "MESSAGES_SNAPSHOT") snapshot = event.messages;
    if (event.type === "RUN_FINISHED") {
      [finishReason, runId] = [finishOf(event), event.runId];
      open = event.outcome?.interrupts ?? [];
    }
    if (event.type === "RUN_ERROR") error = { type: "RUN_ERROR", message: event.message, code: event.code ?? null };
  }
  const returned = error ? "error" : finishReason === "stop" ? "answer" : "stopped";
  const text = [...texts.values()].at(-1) ?? null;
  return { fields: { returned, finish_reason: error ? null : finishReason, final_text: text, error }, snapshot, open, runId };
}

const counts = (state) => ({ ...state, messages: state.messages.length });

function strategyOf(tree) {
  if ("maxIterations" in tree) return maxIterations(tree.maxIterations);
  if ("untilFinishReason" in tree) return untilFinishReason(tree.untilFinishReason);
  if ("combineStrategies" in tree) return combineStrategies(tree.combineStrategies.map(strategyOf));
  return toFunction(tree, counts);
}

// The recipe of the documentation.
function toolCallBudget({ max, maxPerTurn }) {
  let perTurn = 0;
  return {
    onIteration: () => void (perTurn = 0),
    onToolPhaseComplete: () => void (perTurn = 0),
    onBeforeToolCall() {
      if (maxPerTurn == null || ++perTurn <= maxPerTurn) return undefined;
      return { type: "skip", result: { error: `Skipped: exceeded maxToolCallsPerTurn (${maxPerTurn})` } };
    },
    onShouldContinue: (_context, state) => (max != null && state.toolCallCount >= max ? false : undefined),
  };
}

function middlewareOf({ toolCallBudget: budget, ...hooks }) {
  const functions = Object.entries(hooks).map(([name, tree]) => [name, toFunction(tree)]);
  return { ...(budget && toolCallBudget(budget)), ...Object.fromEntries(functions) };
}

// What belongs to one call of chat(): functions count their calls anew in each.
function settings({ limit, options }) {
  const own = options.agentLoopStrategy && strategyOf(options.agentLoopStrategy);
  const knob = limit === "default" ? undefined : maxIterations(limit ?? Infinity);
  const strategy = own && knob ? combineStrategies([own, knob]) : (own ?? knob);
  return {
    ...(strategy && { agentLoopStrategy: strategy }),
    ...(options.middleware && { middleware: options.middleware.map(middlewareOf) }),
  };
}

// The person's answers to the open requests, by the ids of calls; a bare word is for the first one left.
function scripted(decisions, open) {
  const left = open.filter(({ reason }) => reason === "tool_call");
  return (decisions ?? []).flatMap(({ approve, reject, edit, input }) => {
    const id = approve ?? reject ?? edit;
    const at = left.findIndex(({ toolCallId }) => id === undefined || id === null || toolCallId === id);
    if (at < 0) return [];
    const [request] = left.splice(at, 1);
    const payload = { approved: reject === undefined, ...(input && { editedArgs: input }) };
    return [{ interruptId: request.id, status: "resolved", payload }];
  });
}

// The person's answers to the open approval requests; a tool without `approved` is one that nobody answers for.
function approvals(one, open) {
  if (one.approvals) {
    const decisions = one.approvals.shift();
    return decisions === undefined || open.length === 0 ? null : scripted(decisions, open);
  }
  const answers = [];
  for (const { id, reason, metadata } of open) {
    const approved = one.tools.find(({ name }) => name === metadata?.toolName)?.approved;
    if (reason !== "tool_call" || approved === undefined) continue;
    const payload = { approved: approved === true || "edit" in Object(approved) };
    if (approved.edit) payload.editedArgs = approved.edit;
    if (approved.reject) payload.reason = approved.reject;
    answers.push({ interruptId: id, status: "resolved", payload });
  }
  return answers.length > 0 ? answers : null;
}

async function converse(one, options) {
  let resumed = { runId: "run_1" };
  for (let number = 2; ; number += 1) {
    const { fields, snapshot, open, runId } = await follow(chat({ ...options, ...settings(one), threadId: "thread_1", ...resumed }));
    const resume = approvals(one, open);
    if (resume === null) return fields;
    resumed = { messages: snapshot, runId: `run_${number}`, parentRunId: runId, resume };
  }
}

function finishOf(event) {
  return event.finishReason ?? event.metadata?.tanstack?.finishReason ?? null;
}

serve(async (one, tools) => {
  one.gaveUp = new AbortController();
  const options = {
    adapter: ADAPTERS[one.wire](one),
    messages: [{ role: "user", content: one.prompt }],
    ...(one.tools.length > 0 && { tools: one.tools.map((spec) => toolOf(one, spec, tools)) }),
    debug: false,
    ...(one.system && { systemPrompts: [one.system] }),
    ...(one.abort && { abortController: one.gaveUp }),
  };
  if (one.options.stream !== false) return converse(one, options);
  try {
    return { returned: "answer", final_text: await chat({ ...options, ...settings(one), stream: false }) };
  } catch (error) {
    return { returned: "error", error: { ...errorOf(error), code: error.code ?? null } };
  }
});
