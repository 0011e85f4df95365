// The JavaScript SDKs against `agentsim serve`: a line of JSON for each way to use them.
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import OpenAI from "openai";

const prompt = "What is the weather in Paris?";
const schema = { type: "object", properties: { city: { type: "string" } } };
const offered = [{ name: "get_weather", description: "weather", input_schema: schema }];

async function tell(name, agent) {
  let told;
  try {
    told = { answer: await agent() };
  } catch (error) {
    told = { error: String(error.stack ?? error).slice(0, 500) };
  }
  console.log(JSON.stringify({ name, ...told }));
}

async function claudeLoop(send) {
  const messages = [{ role: "user", content: prompt }];
  for (;;) {
    const reply = await send({ model: "claude-sonnet-5", max_tokens: 99, tools: offered, messages });
    const calls = reply.content.filter((block) => block.type === "tool_use");
    if (!calls.length) return reply.content[0].text;
    const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: "sunny" }));
    messages.push({ role: "assistant", content: reply.content }, { role: "user", content: results });
  }
}

const claude = new Anthropic();
await tell("@anthropic-ai/sdk", () => claudeLoop((asked) => claude.messages.create(asked)));
await tell("@anthropic-ai/sdk streamed", () => claudeLoop((asked) => claude.messages.stream(asked).finalMessage()));
await tell("@anthropic-ai/sdk toolRunner", async () => {
  const weather = { ...offered[0], run: async () => "sunny", parse: (input) => input };
  const asked = { model: "claude-sonnet-5", max_tokens: 99, messages: [{ role: "user", content: prompt }], tools: [weather] };
  return (await claude.beta.messages.toolRunner(asked)).content[0].text;
});

async function responsesLoop(send) {
  let input = [{ role: "user", content: prompt }];
  let previous_response_id;
  for (;;) {
    const reply = await send({ model: "gpt-6-astra", input, previous_response_id });
    const calls = reply.output.filter((item) => item.type === "function_call");
    if (!calls.length) return reply.output_text;
    previous_response_id = reply.id;
    input = calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: "sunny" }));
  }
}

const openai = new OpenAI();
await tell("openai responses", () => responsesLoop((asked) => openai.responses.create(asked)));
await tell("openai responses streamed", () => responsesLoop((asked) => openai.responses.stream(asked).finalResponse()));

async function chatLoop(send) {
  const messages = [{ role: "user", content: prompt }];
  for (;;) {
    const reply = (await send({ model: "gpt-6-astra", messages })).choices[0].message;
    if (!reply.tool_calls?.length) return reply.content;
    messages.push({ role: "assistant", content: reply.content, tool_calls: reply.tool_calls });
    for (const call of reply.tool_calls) messages.push({ role: "tool", tool_call_id: call.id, content: "sunny" });
  }
}

await tell("openai chat", () => chatLoop((asked) => openai.chat.completions.create(asked)));
await tell("openai chat streamed", () => chatLoop((asked) => openai.chat.completions.stream(asked).finalChatCompletion()));

const tools = {
  get_weather: tool({ description: "weather", inputSchema: jsonSchema(schema), execute: async () => "sunny" }),
};
const models = {
  anthropic: createAnthropic()("claude-sonnet-5"),
  "anthropic, base URL with /v1": createAnthropic({ baseURL: `${process.env.ANTHROPIC_BASE_URL}/v1` })("claude-sonnet-5"),
  openai: createOpenAI()("gpt-6-astra"),
  "openai.chat": createOpenAI().chat("gpt-6-astra"),
};
for (const [name, model] of Object.entries(models)) {
  const asked = { model, prompt, tools, stopWhen: isStepCount(5) };
  await tell(`ai generateText, ${name}`, async () => (await generateText(asked)).text);
  await tell(`ai streamText, ${name}`, async () => {
    const { steps } = streamText(asked);
    return (await steps).at(-1).text;
  });
}
