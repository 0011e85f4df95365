// A careful loop written by hand on @anthropic-ai/sdk: an answer is a text that ended naturally, everything else is an error.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
const tools = [
  {
    name: "lookup",
    description: "Look a value up.",
    input_schema: { type: "object", properties: { key: { type: "string" } }, required: ["key"] },
  },
];
let runs = 0;
const impls = new Map([["lookup", async ({ key }) => `value of ${key}, ${++runs}`]]);

async function result(call) {
  const failed = (content) => ({ type: "tool_result", tool_use_id: call.id, content, is_error: true });
  const impl = impls.get(call.name);
  if (!impl) return failed(`unknown tool ${call.name}`);
  if (typeof call.input?.key !== "string") return failed("invalid arguments: key has to be a string");
  try {
    return { type: "tool_result", tool_use_id: call.id, content: await impl(call.input) };
  } catch (error) {
    return failed(String(error));
  }
}

async function run(prompt, limit = 8) {
  const messages = [{ role: "user", content: prompt }];
  for (let step = 0; step < limit; step++) {
    const reply = await client.messages.create({ model: "claude-sonnet-5", max_tokens: 1024, tools, messages });
    const calls = reply.content.filter((block) => block.type === "tool_use");
    const text = reply.content.filter((block) => block.type === "text").map((block) => block.text).join("");
    const goesOn = reply.stop_reason === "pause_turn" || reply.stop_reason === "tool_use" || reply.stop_reason === "end_turn";
    if (calls.length > 0 && goesOn) {
      messages.push({ role: "assistant", content: reply.content });
      messages.push({ role: "user", content: await Promise.all(calls.map(result)) });
    } else if (reply.stop_reason === "pause_turn") {
      messages.push({ role: "assistant", content: reply.content });
    } else if ((reply.stop_reason === "end_turn" || reply.stop_reason === "stop_sequence") && text) {
      return text;
    } else {
      throw new Error(`no answer: ${reply.stop_reason}`);
    }
  }
  throw new Error(`${limit} model calls were not enough`);
}

console.log(await run(process.argv.at(-1)));
