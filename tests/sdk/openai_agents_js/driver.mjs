// run(agent, input, options) of @openai/agents, over the Responses API or Chat Completions.
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { errorOf, Failure, serve, toZod } from "./node_common.mjs";

setTracingDisabled(true);

const AGENT_OPTIONS = ["toolUseBehavior", "modelSettings", "resetToolChoice"];
const RUN_OPTIONS = ["toolNotFoundBehavior"];
const TOOL_OPTIONS = ["errorFunction", "timeoutMs"];

const chosen = (options, names) => Object.fromEntries(names.filter((name) => name in options).map((name) => [name, options[name]]));

// A tool has no error result here: what MCP would mark as an error is a text like any other.
function functionTool(tools, spec, options) {
  return tool({
    name: spec.name,
    description: spec.description,
    parameters: toZod(z, spec.schema),
    ...chosen(options, TOOL_OPTIONS),
    execute: async (input) => {
      const value = await tools.run(spec, input);
      return value instanceof Failure ? value.text : value;
    },
  });
}

// The client's errors keep the inherited `name` "Error": their class is what a caller catches.
function threw(error, count) {
  const { type, message } = errorOf(error);
  const shown = count ?? error.state?.usage.requests ?? null;
  return { returned: "error", error: { type: type === "Error" ? error.constructor.name : type, message }, reported_count: shown };
}

async function streamed(agent, one, options) {
  const result = await run(agent, one.prompt, { ...options, stream: true });
  try {
    for await (const _ of result);
    await result.completed;
  } catch (error) {
    return threw(error, result.currentTurn);
  }
  return { returned: "answer", final_text: result.finalOutput ?? null, reported_count: result.currentTurn };
}

await serve(async (one, tools) => {
  const client = new OpenAI({ apiKey: one.api_key, baseURL: `${one.base_url}/v1` });
  const Model = one.wire === "openai-chat" ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
  const agent = new Agent({
    name: "A",
    model: new Model(client, "gpt-6-astra"),
    tools: tools.specs.map((spec) => functionTool(tools, spec, one.options.tools?.[spec.name] ?? {})),
    ...chosen(one.options, AGENT_OPTIONS),
  });
  const options = chosen(one.options, RUN_OPTIONS);
  if (one.limit !== "default") options.maxTurns = one.limit;
  try {
    if (one.stream) return await streamed(agent, one, options);
    const result = await run(agent, one.prompt, options);
    return { returned: "answer", final_text: result.finalOutput ?? null, reported_count: result.state.usage.requests };
  } catch (error) {
    return threw(error);
  }
});
