// An agent on Anthropic's own tool runner: eight iterations, one tool; what the runner returns last is the answer.
import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import * as z from "zod";

let runs = 0;
const client = new Anthropic();
const runner = client.beta.messages.toolRunner({
  model: "claude-sonnet-5",
  max_tokens: 1024,
  max_iterations: 8,
  messages: [{ role: "user", content: process.argv.at(-1) }],
  tools: [
    betaZodTool({
      name: "lookup",
      description: "Look a value up.",
      inputSchema: z.object({ key: z.string() }),
      run: async ({ key }) => `value of ${key}, ${++runs}`,
    }),
  ],
});
const message = await runner.runUntilDone();
console.log(message.content.filter((block) => block.type === "text").map((block) => block.text).join(""));
