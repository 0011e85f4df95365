// The loop that the article prints, as it is printed: only the tools come from outside.
import Anthropic from "@anthropic-ai/sdk";
import { Failure, serve } from "./node_common.mjs";

async function runAgent(client, tools, impls, prompt, maxSteps = 10) {
  const messages = [{ role: "user", content: prompt }];

  for (let step = 0; step < maxSteps; step++) {
    const response = await client.messages.create({
      model: "claude-sonnet-5-5",
      max_tokens: 2048,
      tools,
      messages,
    });
    messages.push({ role: "assistant", content: response.content });
    const stop = response.stop_reason;

    if (stop === "pause_turn") continue;

    if (stop === "end_turn" || stop === "stop_sequence") {
      return response.content
        .filter((b) => b.type === "text")
        .map((b) => b.text)
        .join("");
    }

    if (stop !== "tool_use") {
      throw new Error(`Agent stopped without finishing: stop_reason=${stop}`);
    }

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

// A tool of this loop has no other way than an exception to say that it failed.
async function implementation(tools, spec, input) {
  const value = await tools.run(spec, input);
  if (value instanceof Failure) throw new Error(value.text);
  return value;
}

// The client's errors keep the inherited `name` "Error": their class is what a caller catches.
function threw(error) {
  return { returned: "error", error: { type: error.constructor.name, message: error.message } };
}

await serve(async (one, tools) => {
  const client = new Anthropic({ apiKey: one.api_key, baseURL: one.base_url });
  const offered = [];
  const impls = {};
  for (const spec of tools.specs) {
    offered.push({ name: spec.name, description: spec.description, input_schema: spec.schema });
    if (spec.execute !== "client") impls[spec.name] = (input) => implementation(tools, spec, input);
  }
  const limit = one.limit === "default" ? [] : [one.limit];
  try {
    const text = await runAgent(client, offered, impls, one.prompt, ...limit);
    return { returned: "answer", final_text: text };
  } catch (error) {
    return threw(error);
  }
});
