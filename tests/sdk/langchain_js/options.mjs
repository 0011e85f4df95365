// The option tree of createAgent as its users' code: middlewares, structured output, what a resume says.
import { MemorySaver } from "@langchain/langgraph";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import {
  createMiddleware,
  humanInTheLoopMiddleware,
  modelCallLimitMiddleware,
  modelRetryMiddleware,
  providerStrategy,
  summarizationMiddleware,
  toolCallLimitMiddleware,
  toolErrorMiddleware,
  toolRetryMiddleware,
  toolStrategy,
} from "langchain";
import { toFunction } from "./node_common.mjs";

// Retries wait a second and more by default; that changes no decision.
const QUICK = { initialDelayMs: 1, jitter: false };
const HOOKS = ["beforeAgent", "beforeModel", "afterModel", "afterAgent"];

const MAKERS = {
  modelCallLimitMiddleware,
  toolCallLimitMiddleware,
  humanInTheLoopMiddleware,
  toolRetryMiddleware: (settings) => toolRetryMiddleware({ ...settings, ...QUICK }),
  modelRetryMiddleware: (settings) => modelRetryMiddleware({ ...settings, ...QUICK }),
  toolErrorMiddleware: ({ onError }) => toolErrorMiddleware({ onError: toFunction(onError) }),
  summarizationMiddleware: (settings, model) => summarizationMiddleware({ model, ...settings }),
  createMiddleware: custom,
};

function custom(settings) {
  const made = { name: settings.name ?? "Probe" };
  for (const hook of HOOKS) {
    const tree = settings[hook];
    if (!tree) continue;
    made[hook] = "hook" in tree ? { canJumpTo: tree.canJumpTo, hook: hookOf(tree.hook) } : hookOf(tree);
  }
  const { wrapModelCall, wrapToolCall } = settings;
  if (wrapModelCall) made.wrapModelCall = wrapper(wrapModelCall, (text) => new AIMessage(text));
  if (wrapToolCall) made.wrapToolCall = wrapper(wrapToolCall, toolMessage);
  return createMiddleware(made);
}

function hookOf(tree) {
  const next = toFunction(tree);
  return () => next();
}

function wrapper(tree, otherwise) {
  const next = toFunction(tree);
  return async (request, handler) => {
    const value = await next();
    return value === "handler" ? handler(request) : otherwise(value, request);
  };
}

function toolMessage(content, { toolCall }) {
  return new ToolMessage({ content, tool_call_id: toolCall.id, name: toolCall.name });
}

function made(entry, model) {
  const [[name, settings]] = typeof entry === "string" ? [[entry, {}]] : Object.entries(entry);
  return MAKERS[name](settings, model);
}

// What createAgent is given beside model and tools; a scenario's `approval: required` is one more middleware, added last.
export function settingsOf(one, model) {
  const { middleware = [], responseFormat, checkpointer, version } = one.options ?? {};
  const list = middleware.map((entry) => made(entry, model));
  const gated = (one.tools ?? []).filter((spec) => spec.approval).map((spec) => [spec.name, true]);
  if (gated.length) list.push(humanInTheLoopMiddleware({ interruptOn: Object.fromEntries(gated) }));
  const kept = checkpointer || gated.length || (one.prompts ?? []).length > 1;
  return {
    middleware: list,
    ...(kept ? { checkpointer: new MemorySaver() } : {}),
    ...(version ? { version } : {}),
    ...(one.output ? { responseFormat: formatOf(responseFormat, one.output.schema) } : {}),
  };
}

function formatOf(tree, schema) {
  if (!tree) return schema;
  const [[name, settings]] = typeof tree === "string" ? [[tree, {}]] : Object.entries(tree);
  return name === "providerStrategy" ? providerStrategy(schema) : toolStrategy(schema, settings);
}

// The decisions of one resume, in the order of the gated calls.
export function decisionsOf(one, actions, calls, resume) {
  const said = one.approvals ? one.approvals[resume] : fromTools(one, actions);
  if (!said || (!one.approvals && said.some((decision) => !decision))) return undefined;
  const bare = said.filter((entry) => typeof entry === "string").map((type) => ({ type }));
  const named = said.filter((entry) => typeof entry !== "string");
  const gated = calls.filter((call) => actions.some((action) => action.name === call.name));
  if (!one.approvals) return said;
  const ordered = gated.flatMap((call) => named.filter((entry) => idOf(entry) === call.id).map((entry) => decision(entry, call)));
  return [...ordered, ...bare];
}

const idOf = (entry) => entry.approve ?? entry.reject ?? entry.edit;

function decision(entry, call) {
  if ("approve" in entry) return { type: "approve" };
  if ("reject" in entry) return { type: "reject", message: entry.message };
  return { type: "edit", editedAction: { name: call.name, args: entry.input } };
}

function fromTools(one, actions) {
  return actions.map(({ name }) => {
    const said = one.tools.find((spec) => spec.name === name).approved;
    if (said === undefined || said === null) return undefined;
    if (said === true) return { type: "approve" };
    if (said === false) return { type: "reject" };
    if ("edit" in said) return { type: "edit", editedAction: { name, args: said.edit } };
    return { type: "reject", message: said.reject };
  });
}
