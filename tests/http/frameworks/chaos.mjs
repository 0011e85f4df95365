// Every scenario named in the arguments through the JavaScript clients: a line of JSON for each way to ask.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const messages = [{ role: "user", content: "What is the capital of France?" }];
// Only where nothing ever comes is a client's patience tried, so that a busy machine changes nothing.
const settings = (name) => ({ timeout: name.startsWith("stalled") ? 2000 : 120000, maxRetries: 3 });
const PATIENCE = 8000;

async function tell(name, way, ask) {
  let sent = 0;
  const counting = (...of) => (sent++, fetch(...of));
  let saw;
  try {
    const asking = ask({ ...settings(name), fetch: counting, apiKey: `sim-${name}:js-${way}` });
    const late = name.startsWith("stalled") ? [new Promise((done) => setTimeout(done, PATIENCE, "hangs"))] : [];
    saw = (await Promise.race([asking, ...late])) || "nothing";
  } catch (error) {
    saw = error.constructor.name;
  }
  if (saw === "It is Paris, on the Seine.") saw = "answer";
  console.log(JSON.stringify({ name, way, saw: `${sent} ${saw}` }));
}

const ofClaude = (said) =>
  typeof said === "string" ? "page" : said.stop_reason === "tool_use" ? "call" : said.content.map((b) => b.text ?? "").join("");

async function ofChunks(chunks) {
  let text = "";
  for await (const chunk of chunks) for (const choice of chunk.choices) text += choice.delta.content ?? "";
  return text;
}

const ofChat = (said) =>
  typeof said === "string" ? "page" : said.choices[0].message.tool_calls ? "call" : said.choices[0].message.content;

const asked = { model: "m", max_tokens: 99, messages };
const ways = {
  claude: async (given) => ofClaude(await new Anthropic(given).messages.create(asked)),
  "claude stream": async (given) => ofClaude(await new Anthropic(given).messages.stream(asked).finalMessage()),
  chat: async (given) => ofChat(await new OpenAI(given).chat.completions.create({ model: "m", messages })),
  "chat stream": async (given) => ofChunks(await new OpenAI(given).chat.completions.create({ model: "m", messages, stream: true })),
};

for (const name of process.argv.slice(2)) await Promise.all(Object.entries(ways).map(([way, ask]) => tell(name, way, ask)));
process.exit(0);
