// A small agent on the Vercel AI SDK. Its last argument is the prompt, its output the answer.
import { anthropic } from "@ai-sdk/anthropic";
import { isStepCount, tool, ToolLoopAgent } from "ai";
import { z } from "zod";

const clerk = new ToolLoopAgent({
  model: anthropic("claude-sonnet-5"),
  stopWhen: isStepCount(10),
  tools: {
    refund: tool({
      description: "Refund an order.",
      inputSchema: z.object({ order_id: z.number().int() }),
      execute: async ({ order_id }) => `order ${order_id} is refunded`,
    }),
  },
});

const result = await clerk.generate({ prompt: process.argv.at(-1) });
if (result.finishReason !== "stop") {
  console.error(`no answer: ${result.finishReason}`);
  process.exit(1);
}
console.log(result.text);
