// The loop that the article prints, as a command: the prompt is the last argument, the answer goes to standard output.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();

const tools = [
  {
    name: "get_order_status",
    description: "Look up the shipping status of an order by id.",
    input_schema: { type: "object", properties: { orderId: { type: "string" } }, required: ["orderId"] },
  },
];

const impls = {
  get_order_status: async (input) => JSON.stringify({ orderId: input.orderId, status: "shipped" }),
};

async function runAgent(prompt, maxSteps = 10) {
  const messages = [{ role: "user", content: prompt }];
  for (let step = 0; step < maxSteps; step++) {
    const response = await client.messages.create({ model: "claude-sonnet-5-5", max_tokens: 2048, tools, messages });
    messages.push({ role: "assistant", content: response.content });
    const stop = response.stop_reason;
    if (stop === "pause_turn") continue;
    if (stop === "end_turn" || stop === "stop_sequence") {
      return response.content.filter((b) => b.type === "text").map((b) => b.text).join("");
    }
    if (stop !== "tool_use") throw new Error(`Agent stopped without finishing: stop_reason=${stop}`);
    const toolUses = response.content.filter((b) => b.type === "tool_use");
    const results = await Promise.all(
      toolUses.map(async (call) => {
        const impl = impls[call.name];
        if (!impl) {
          return { type: "tool_result", tool_use_id: call.id, content: `Unknown tool: ${call.name}`, is_error: true };
        }
        try {
          const output = await impl(call.input);
          return { type: "tool_result", tool_use_id: call.id, content: output };
        } catch (err) {
          return { type: "tool_result", tool_use_id: call.id, content: String(err), is_error: true };
        }
      }),
    );
    messages.push({ role: "user", content: results });
  }
  throw new Error(`Agent hit maxSteps (${maxSteps}) without finishing`);
}

console.log(await runAgent(process.argv.at(-1)));
