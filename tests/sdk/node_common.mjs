// What every Node driver shares: the JSON-lines loop, the behaviour of the tools, JSON Schema -> zod.
//
// A driver calls `serve(handler)`. The handler gets a case and its `Tools` and resolves to the fields
// of the answer; whatever it throws becomes an `error` answer.
import { createInterface } from "node:readline";

// Standard output is the protocol's alone: whatever an SDK prints goes to standard error.
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = (...args) => process.stderr.write(...args);
for (const name of ["log", "info", "debug", "dir", "table"]) console[name] = (...args) => console.error(...args);

// What a tool with `fails` returns: the SDK's own error result is the driver's business.
export class Failure {
  constructor(text) {
    this.text = text;
  }
}

// The case's client tools, and a record of each run in order of start.
export class Tools {
  constructor(specs) {
    this.specs = specs.filter((spec) => !spec.server);
    this.runs = [];
    this.counts = {};
  }

  // Run a tool on the input that its function received; throws where the script says so.
  // `seconds` of the spec pass first: a tool that takes its time, and stops where it is given a signal that goes off.
  async run(spec, input, signal) {
    const entry = { name: spec.name, input: structuredClone(input ?? {}), output: null, is_error: false };
    this.runs.push(entry);
    const count = this.counts[spec.name] ?? 0;
    this.counts[spec.name] = count + 1;
    try {
      if (spec.seconds) await sleep(spec.seconds, signal);
      const value = behave(spec, input ?? {}, count);
      const failed = value instanceof Failure;
      Object.assign(entry, { output: failed ? value.text : value, is_error: failed });
      return value;
    } catch (error) {
      Object.assign(entry, { output: error.message, is_error: true });
      throw error;
    }
  }
}

export function sleep(seconds, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

const TESTS = { is: (a, b) => a === b, below: (a, b) => a < b, at_least: (a, b) => a >= b };

// A function of an option tree: `{scripted: [values]}`, or `{FIELD: {is: n}}` of the counts that `counts` makes of its arguments.
export function toFunction(tree, counts = () => ({})) {
  if (!("scripted" in tree)) {
    const [[field, test]] = Object.entries(tree);
    const [[how, number]] = Object.entries(test);
    return (...args) => TESTS[how](counts(...args)[field], number);
  }
  let calls = 0;
  const next = () => {
    const value = tree.scripted[Math.min(calls++, tree.scripted.length - 1)];
    if (value === null) return undefined;
    if (typeof value !== "object" || !("raises" in value)) return value;
    const { type = "Error", message = value.raises } = typeof value.raises === "object" ? value.raises : {};
    throw Object.assign(new Error(message), { name: type });
  };
  if (tree.seconds) return async () => sleep(tree.seconds).then(next);
  return tree.async ? async () => next() : next;
}

function behave(spec, input, count) {
  let entry = spec;
  if ("returns_each" in spec) {
    const value = spec.returns_each[Math.min(count, spec.returns_each.length - 1)];
    const isBehaviour = value && typeof value === "object" && ("raises" in value || "fails" in value);
    entry = isBehaviour ? value : { returns: value };
  }
  if ("raises" in entry) throw new Error(entry.raises);
  if ("fails" in entry) return new Failure(entry.fails);
  return render(entry.returns ?? null, input);
}

// Fill `{name}` of a string from the input; other JSON values are returned as they are.
export function render(value, input) {
  if (value && typeof value === "object" && "$add" in value) return input[value.$add[0]] + input[value.$add[1]];
  if (typeof value === "string") return value.replace(/\{(\w+)\}/g, (_, name) => `${input[name]}`);
  return value;
}

// The zod object that a user would write for this JSON Schema; `z` is the zod module of the SDK.
export function toZod(z, schema) {
  const shape = {};
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const field = zodField(z, property);
    shape[name] = (schema.required ?? []).includes(name) ? field : field.optional();
  }
  return z.object(shape);
}

function zodField(z, schema) {
  if (schema.enum) return z.enum(schema.enum);
  switch (schema.type) {
    case "string":
      return z.string();
    case "number":
      return z.number();
    case "integer":
      return z.number().int();
    case "boolean":
      return z.boolean();
    case "array":
      return z.array(schema.items ? zodField(z, schema.items) : z.any());
    case "object":
      return toZod(z, schema);
    default:
      return z.any();
  }
}

// The error's own `name`, and its message.
export function errorOf(error) {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error?.message ?? error) };
  return { type: error.name || error.constructor.name, message: error.message };
}

// The answer of a run that threw.
export function threw(error) {
  return { returned: "error", error: errorOf(error) };
}

// Answer cases from standard input, one at a time, until it ends.
export async function serve(handler) {
  process.on("unhandledRejection", (error) => console.error("unhandled rejection", error));
  process.on("uncaughtException", (error) => console.error("uncaught exception", error));
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim()) write(JSON.stringify(await answer(handler, JSON.parse(line))) + "\n");
  }
  process.exit(0);
}

async function answer(handler, one) {
  const tools = new Tools(one.tools ?? []);
  const seconds = one.timeout ?? 30;
  const late = Object.assign(new Error(`no answer within ${seconds} s`), { name: "RigTimeout" });
  let timer;
  const timeout = new Promise((_, reject) => (timer = setTimeout(() => reject(late), seconds * 1000)));
  const run = (async () => handler(one, tools))();
  const result = await Promise.race([run, timeout]).catch(threw);
  clearTimeout(timer);
  const empty = { returned: null, finish_reason: null, final_text: null, reported_count: null, error: null };
  return { id: one.id, ...empty, tool_runs: [...tools.runs], ...result };
}
