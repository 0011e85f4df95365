// Mastra: Agent.generate and Agent.stream, through the AI SDK's providers.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { errorOf, Failure, serve, toZod } from "./node_common.mjs";

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

function toolOf(tools, spec) {
  return createTool({
    id: spec.name,
    description: spec.description ?? "",
    inputSchema: toZod(z, spec.schema),
    execute: async (input, context) => {
      const pending = tools.run(spec, input);
      const id = context?.agent?.toolCallId;
      if (id) tools.runs.at(-1).call_id = id;
      const value = await pending;
      // Mastra's tools have no error result of their own; throwing is how its users make one.
      if (value instanceof Failure) throw new Error(value.text);
      return value;
    },
  });
}

function agentOf(one, tools) {
  return new Agent({
    id: "agent",
    name: "agent",
    instructions: one.system ?? "",
    model: modelOf(one),
    tools: Object.fromEntries([...tools.specs.map((spec) => [spec.name, toolOf(tools, spec)]), ...serverTools(one)]),
  });
}

// `maxSteps` is compared with ===, so Infinity is the "no limit" that Mastra has no word for.
function settingsOf(one) {
  return one.limit === "default" ? {} : { maxSteps: one.limit ?? Infinity };
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

async function stream(agent, one) {
  const output = await agent.stream(one.prompt, settingsOf(one));
  let error = null;
  for await (const chunk of output.fullStream) if (chunk.type === "error") error = chunk.payload.error;
  const result = shown(await output.finishReason, await output.text, await output.steps);
  error ??= output.error ?? null;
  return error ? { ...result, returned: "error", error: errorOf(error) } : result;
}

serve(async (one, tools) => {
  const agent = agentOf(one, tools);
  if (one.style === "mastra/Agent.stream") return stream(agent, one);
  const result = await agent.generate(one.prompt, settingsOf(one));
  return shown(result.finishReason, result.text, result.steps);
});
