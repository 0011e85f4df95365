// One run of ten tool rounds and an answer in the AI SDK with its own mock model; speaks as worker.py does.
import { createInterface } from "node:readline";
import { generateText, isStepCount, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const call = (number) => ({
  content: [{ type: "tool-call", toolCallId: `call_${number}`, toolName: "get_weather", input: '{"city":"Paris"}' }],
  finishReason: { unified: "tool-calls", raw: "tool_use" },
  usage,
  warnings: [],
});
const done = {
  content: [{ type: "text", text: "done" }],
  finishReason: { unified: "stop", raw: "end_turn" },
  usage,
  warnings: [],
};
const script = [...Array(10).keys()].map(call).concat([done]);
const tools = { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async () => "sunny" }) };
const stop = (isStepCount ?? stepCountIs)(20);

async function step() {
  const model = new MockLanguageModelV4({ doGenerate: script });
  const answer = await generateText({ model, prompt: "go", stopWhen: stop, tools });
  if (answer.text !== "done" || answer.steps.length !== 11) throw new Error("not the answer");
}

await step();
console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const wall = performance.now();
  const cpu = process.cpuUsage();
  for (let left = Number(line); left > 0; left--) await step();
  const spent = process.cpuUsage(cpu);
  console.log(JSON.stringify({ cpu: (spent.user + spent.system) / 1e6, wall: (performance.now() - wall) / 1e3 }));
}
