// LangChain JS: createAgent of `langchain` and the prebuilt createReactAgent of LangGraph.
import { ChatAnthropic } from "@langchain/anthropic";
import { ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import { Failure, serve, toZod } from "./node_common.mjs";
import { decisionsOf, settingsOf } from "./options.mjs";

// Core's caller waits 1, 2, 4 … 32 s (times up to 2) between its 7 attempts and ignores retry-after-ms: its clock runs a
// hundred times faster here, which changes no decision. AGENTSIM_REAL_TIME=1 measures with the real one.
const later = globalThis.setTimeout;
if (!process.env.AGENTSIM_REAL_TIME) {
  globalThis.setTimeout = (run, ms, ...rest) => later(run, isRetry(ms) ? ms / 100 : ms, ...rest);
}

function isRetry(ms) {
  return ms >= 1000 && /p-retry/.test(new Error().stack);
}

function modelOf(one) {
  if (one.wire === "anthropic-messages") {
    return new ChatAnthropic({ model: "claude-sonnet-5", apiKey: one.api_key, anthropicApiUrl: one.base_url });
  }
  return new ChatOpenAI({
    model: "gpt-6-astra",
    apiKey: one.api_key,
    configuration: { baseURL: `${one.base_url}/v1` },
    useResponsesApi: one.wire === "openai-responses",
  });
}

function toolOf(tools, spec) {
  const run = async (input, config) => {
    const pending = tools.run(spec, input);
    const id = config?.toolCallId ?? config?.toolCall?.id;
    if (id) tools.runs.at(-1).call_id = id;
    const value = await pending;
    if (!(value instanceof Failure)) return value;
    return new ToolMessage({ content: value.text, tool_call_id: id, name: spec.name, status: "error" });
  };
  return tool(run, {
    name: spec.name,
    description: spec.description ?? "",
    schema: toZod(z, spec.schema),
    returnDirect: spec.return_direct ?? false,
  });
}

// Tools that run at the provider are given to the model as the provider writes them.
function serverTools(one) {
  const type = one.wire === "anthropic-messages" ? "web_search_20250305" : "web_search";
  return (one.tools ?? []).filter((spec) => spec.server).map((spec) => ({ type, name: spec.name }));
}

function agentOf(one, tools) {
  const list = [...tools.specs.map((spec) => toolOf(tools, spec)), ...serverTools(one)];
  const model = modelOf(one);
  if (one.style === "langchain-js/createReactAgent") {
    return createReactAgent({ llm: model, tools: list, prompt: one.system ?? undefined });
  }
  const agent = createAgent({ model, tools: list, systemPrompt: one.system ?? undefined, ...settingsOf(one, model) });
  const own = one.options?.withConfig;
  return own ? agent.withConfig(own) : agent;
}

// LangGraph has no word for "no limit": Infinity is what its comparison never reaches.
function configOf(one) {
  const config = { configurable: { thread_id: "thread" } };
  if (one.limit !== "default") config.recursionLimit = one.limit ?? Infinity;
  if (one.options?.maxConcurrency) config.maxConcurrency = one.options.maxConcurrency;
  return config;
}

async function once(agent, one, input) {
  const config = configOf(one);
  if (!one.stream) return agent.invoke(input, config);
  let state;
  const stream = await agent.stream(input, { ...config, streamMode: ["messages", "values"] });
  for await (const [mode, chunk] of stream) if (mode === "values") state = { ...state, ...chunk };
  return state;
}

// One prompt with its resumes.
async function stateOf(agent, one, prompt, counter) {
  let state = await once(agent, one, { messages: [{ role: "user", content: prompt }] });
  while (state.__interrupt__?.length) {
    const calls = state.messages.findLast((message) => message.type === "ai").tool_calls;
    const decisions = decisionsOf(one, state.__interrupt__[0].value.actionRequests, calls, counter.resumes);
    if (!decisions || !agent.checkpointer) return state;
    counter.resumes += 1;
    state = await once(agent, one, new Command({ resume: { decisions } }));
  }
  return state;
}

// All prompts on one thread; the last one's ending is told.
async function lastState(agent, one) {
  const prompts = one.prompts ?? [one.prompt];
  const counter = { resumes: 0 };
  for (const prompt of prompts.slice(0, -1)) await stateOf(agent, one, prompt, counter).catch(() => {});
  return stateOf(agent, one, prompts.at(-1), counter);
}

// The word that the last message shows, where its provider's package puts it. Claude's stop_reason is in both places when not
// streamed, and in additional_kwargs alone when streamed.
function finishOf(message) {
  const shown = { stop_reason: message.additional_kwargs?.stop_reason, ...message.response_metadata };
  return shown.stop_reason ?? shown.finish_reason ?? shown.incomplete_details?.reason ?? shown.status ?? null;
}

serve(async (one, tools) => {
  const state = await lastState(agentOf(one, tools), one);
  const last = state.messages.at(-1);
  const returned = state.__interrupt__?.length ? "stopped" : "answer";
  return { returned, finish_reason: finishOf(last), final_text: last.text, last_type: last.type };
});
