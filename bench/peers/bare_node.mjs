// The limit of a Node server: node:http answering constant JSON and events. `node bare_node.mjs PORT`
import http from "node:http";

const FOX = "The quick brown fox jumps over the lazy dog. ".repeat(5);
const MESSAGE = {
  id: "msg_1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "Hi there" }],
  stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 2 },
};
const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;

function answer(body, response) {
  if (!JSON.parse(body).stream) {
    const text = JSON.stringify(MESSAGE);
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
    response.end(text);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event("message_start", { message: { ...MESSAGE, content: [], stop_reason: null } }));
  response.write(event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }));
  for (let at = 0; at < FOX.length; at += 20) {
    response.write(event("content_block_delta", { index: 0, delta: { type: "text_delta", text: FOX.slice(at, at + 20) } }));
  }
  response.write(event("content_block_stop", { index: 0 }));
  response.write(event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 50 } }));
  response.write(event("message_stop", {}));
  response.end();
}

http
  .createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data));
    request.on("end", () => answer(body, response));
  })
  .listen(Number(process.argv[2]), "127.0.0.1");
