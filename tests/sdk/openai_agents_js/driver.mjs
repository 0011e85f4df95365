// run(agent, input, options) of @openai/agents, over the Responses API or Chat Completions.
import { Agent, MemorySession, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { errorOf, Failure, serve, toFunction, toZod } from "./node_common.mjs";

setTracingDisabled(true);

const RUN_OPTIONS = ["toolNotFoundBehavior"];
const TOOL_OPTIONS = ["errorFunction", "timeoutMs"];

const chosen = (options, names) => Object.fromEntries(names.filter((name) => name in options).map((name) => [name, options[name]]));
const isFunction = (tree) => tree !== null && typeof tree === "object" && "scripted" in tree;
const mapped = (object, make) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, make(value)]));

// A tool has no error result here: what MCP would mark as an error is a text like any other.
function functionTool(tools, spec, options) {
  return tool({
    name: spec.name,
    description: spec.description,
    parameters: toZod(z, spec.schema),
    ...(spec.approval === "required" ? { needsApproval: true } : {}),
    ...chosen(options, TOOL_OPTIONS),
    execute: async (input, _context, details) => {
      if (tools.abort?.during === spec.name) tools.gaveUp.abort();
      const value = await tools.run(spec, input, tools.abort ? undefined : details?.signal);
      return value instanceof Failure ? value.text : value;
    },
  });
}

// The case's agents, made when they are first spoken of: they may hand over to each other.
class Agents {
  constructor(one, tools, model) {
    Object.assign(this, { one, tools, model, made: {} });
  }

  main() {
    const { one } = this;
    const { toolUseBehavior, modelSettings, resetToolChoice, inputGuardrails, outputGuardrails } = one.options;
    const own = {};
    if (toolUseBehavior) own.toolUseBehavior = isFunction(toolUseBehavior) ? toFunction(toolUseBehavior) : toolUseBehavior;
    if (modelSettings) own.modelSettings = modelSettings;
    if (resetToolChoice !== undefined) own.resetToolChoice = resetToolChoice;
    if (inputGuardrails) own.inputGuardrails = inputGuardrails.map(guardrail);
    if (outputGuardrails) own.outputGuardrails = outputGuardrails.map(guardrail);
    if (one.output) own.outputType = toZod(z, one.output.schema);
    return this.make("A", { handoffs: one.handoffs ?? [] }, own);
  }

  make(name, spec, own = {}) {
    if (this.made[name]) return this.made[name];
    const agent = new Agent({ name, model: this.model, ...own });
    this.made[name] = agent;
    const mine = spec.tools ?? this.tools.specs.filter((tool) => !tool.of).map((tool) => tool.name);
    agent.tools = this.tools.specs.filter((tool) => mine.includes(tool.name)).map((tool) => this.tool(tool));
    agent.handoffs = (spec.handoffs ?? []).map((other) => this.named(other));
    return agent;
  }

  named(name) {
    return this.make(name, this.one.agents?.[name] ?? {});
  }

  tool(spec) {
    if (!spec.agent) return functionTool(this.tools, spec, this.one.options.tools?.[spec.name] ?? {});
    const { limit } = this.one.agents[spec.agent];
    const more = limit === undefined ? {} : { runOptions: { maxTurns: limit } };
    return this.named(spec.agent).asTool({ toolName: spec.name, toolDescription: spec.description ?? spec.name, ...more });
  }
}

function guardrail(tree, index) {
  const execute = toFunction(tree.execute);
  return { name: `guardrail ${index}`, ...tree, execute: async () => execute() };
}

// The client's errors keep the inherited `name` "Error": their class is what a caller catches.
function threw(error, count) {
  const { type, message } = errorOf(error);
  const shown = count ?? error.state?.usage.requests ?? null;
  return { returned: "error", error: { type: type === "Error" ? error.constructor.name : type, message }, reported_count: shown };
}

const textOf = (output) => (output === undefined ? null : typeof output === "string" ? output : JSON.stringify(output));

async function plain(agent, input, options) {
  try {
    const result = await run(agent, input, options);
    return [result, { returned: "answer", final_text: textOf(result.finalOutput), reported_count: result.state.usage.requests }];
  } catch (error) {
    return [null, threw(error)];
  }
}

async function streamed(agent, input, options) {
  const result = await run(agent, input, { ...options, stream: true });
  try {
    for await (const _ of result);
    await result.completed;
  } catch (error) {
    return [null, threw(error, result.currentTurn)];
  }
  return [result, { returned: "answer", final_text: textOf(result.finalOutput), reported_count: result.currentTurn }];
}

// The state to resume with; null where nobody answers.
function answered(result, one, resume) {
  const { interruptions, state } = result;
  if (one.approvals) {
    if (resume >= one.approvals.length) return null;
    for (const said of one.approvals[resume]) {
      for (const item of interruptions) {
        if (item.rawItem.callId === said.approve) state.approve(item);
        else if (item.rawItem.callId === said.reject) state.reject(item, { message: said.message });
      }
    }
    return state;
  }
  const approved = Object.fromEntries(one.tools.map((spec) => [spec.name, spec.approved]));
  const known = interruptions.filter((item) => approved[item.name] !== undefined);
  for (const item of known) {
    if (approved[item.name] === true) state.approve(item);
    else state.reject(item, { message: approved[item.name]?.reject });
  }
  return known.length ? state : null;
}

await serve(async (one, tools) => {
  const client = new OpenAI({ apiKey: one.api_key, baseURL: `${one.base_url}/v1` });
  const Model = one.wire === "openai-chat" ? OpenAIChatCompletionsModel : OpenAIResponsesModel;
  const agent = new Agents(one, tools, new Model(client, "gpt-6-astra")).main();
  const options = chosen(one.options, RUN_OPTIONS);
  if (one.options.errorHandlers) options.errorHandlers = mapped(one.options.errorHandlers, (tree) => toFunction(tree));
  if (one.limit !== "default") options.maxTurns = one.limit;
  Object.assign(tools, { abort: one.abort, gaveUp: new AbortController() });
  if (one.abort) options.signal = tools.gaveUp.signal;
  if (one.abort?.before_reply === 1) tools.gaveUp.abort();
  if (one.prompts) options.session = new MemorySession();
  let answer;
  for (const prompt of one.prompts ?? [one.prompt]) {
    let input = prompt;
    for (let resume = 0; input !== null; resume++) {
      let result;
      [result, answer] = await (one.stream ? streamed : plain)(agent, input, options);
      input = result?.interruptions?.length ? answered(result, one, resume) : null;
    }
  }
  return answer;
});
