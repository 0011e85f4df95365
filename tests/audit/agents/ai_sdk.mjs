// A small agent on the Vercel AI SDK: streamText, five steps, one tool.
import { anthropic } from "@ai-sdk/anthropic";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";

let runs = 0;
const result = streamText({
  model: anthropic("claude-sonnet-5-5"),
  prompt: process.argv.at(-1),
  stopWhen: isStepCount(5),
  onError: ({ error }) => {
    throw error;
  },
  tools: {
    lookup: tool({
      description: "Look a value up.",
      inputSchema: z.object({ key: z.string() }),
      execute: async ({ key }) => `value of ${key}, ${++runs}`,
    }),
  },
});
console.log(await result.text);
