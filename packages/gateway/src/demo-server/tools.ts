/** The tools of the demo server: a slow one with an effect, a talkative one, an echo, a question. */
import { setTimeout as delay } from "node:timers/promises";
import type { Ledger } from "./ledger.ts";
import { type JsonObject, objectOf, type RequestContext, RpcError } from "./peer.ts";

/** What the tools know of the session and the world. */
export interface ToolWorld {
  readonly ledger: Ledger;
  /** Capabilities of the client. */
  clientCapabilities(): JsonObject;
  /** Whether the client asked for log messages of this level. */
  wantsLevel(level: string): boolean;
  /** A line for the operator. */
  say(line: string): void;
}

interface Tool {
  readonly description: string;
  readonly annotations?: JsonObject;
  readonly properties: JsonObject;
  readonly required: readonly string[];
  run(call: ToolCall, world: ToolWorld): Promise<string> | string;
}

interface ToolCall extends RequestContext {
  readonly args: JsonObject;
  progress(done: number, total: number, message: string): Promise<void>;
}

const tools: Readonly<Record<string, Tool>> = {
  charge: {
    description: "Charge a card. The charge is made at once; the receipt takes a while.",
    annotations: { readOnlyHint: false, idempotentHint: false, destructiveHint: true },
    properties: {
      amount: { type: "number", description: "how much" },
      seconds: { type: "number", description: "how long the receipt takes; 8 when left out" },
    },
    required: ["amount"],
    run: charge,
  },
  charges: {
    description: "The charges that were made, by all sessions.",
    annotations: { readOnlyHint: true },
    properties: {},
    required: [],
    run: (_call, { ledger }) => {
      const all = ledger.charges();
      const lines = all.map(({ number, amount }) => `#${number}: ${amount}`);
      return [`${all.length} charges`, ...lines].join("\n");
    },
  },
  chatty: {
    description: "Send many log messages, and progress when it was asked for.",
    properties: { count: { type: "integer", description: "how many; 100 when left out" } },
    required: [],
    run: chatty,
  },
  echo: {
    description: "Give back the text.",
    annotations: { readOnlyHint: true },
    properties: { text: { type: "string" } },
    required: ["text"],
    run: ({ args }) => String(args.text ?? ""),
  },
  ask: {
    description: "Ask the user (elicitation), or else the model (sampling), of the client.",
    properties: { question: { type: "string" } },
    required: ["question"],
    run: ask,
  },
};

const secondsDefault = 8;
const secondsMax = 3600;
const countMax = 100_000;

export function listTools(): JsonObject {
  return {
    tools: Object.entries(tools).map(([name, tool]) => ({
      name,
      description: tool.description,
      inputSchema: { type: "object", properties: tool.properties, required: tool.required },
      annotations: tool.annotations,
    })),
  };
}

/** `tools/call`: a tool's failure is a result that says so, as MCP has it. */
export async function callTool(context: RequestContext, world: ToolWorld): Promise<JsonObject> {
  const name = String(context.params.name);
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) throw new RpcError(-32602, `There is no tool "${name}".`);
  const progressToken = objectOf(context.params._meta).progressToken;
  const progress = async (done: number, total: number, message: string) => {
    if (progressToken === undefined) return;
    const params = { progressToken, progress: done, total, message };
    await context.notify("notifications/progress", params);
  };
  const args = objectOf(context.params.arguments);
  try {
    const text = await tool.run({ ...context, args, progress }, world);
    return { content: [{ type: "text", text }] };
  } catch (error) {
    const text = error instanceof Error ? error.message : "It failed.";
    return { content: [{ type: "text", text }], isError: true };
  }
}

async function charge(call: ToolCall, world: ToolWorld): Promise<string> {
  const amount = numberOf(call.args.amount, "amount", 0, 1e9);
  const seconds = numberOf(call.args.seconds ?? secondsDefault, "seconds", 0, secondsMax);
  const { number } = world.ledger.charge(amount);
  world.say(`charge #${number}: ${amount}`);
  const steps = Math.max(1, Math.round(seconds));
  for (let step = 1; step <= steps; step++) {
    await delay((seconds * 1000) / steps, undefined, { signal: call.signal });
    await call.progress(step, steps, `charge #${number}: waiting for the receipt`);
  }
  return `charge #${number}: ${amount} was charged`;
}

async function chatty(call: ToolCall, world: ToolWorld): Promise<string> {
  const count = numberOf(call.args.count ?? 100, "count", 0, countMax);
  for (let i = 1; i <= count && !call.signal.aborted; i++) {
    if (world.wantsLevel("info")) {
      const params = { level: "info", logger: "demo", data: `message ${i} of ${count}` };
      await call.notify("notifications/message", params);
    }
    await call.progress(i, count, `${i} of ${count}`);
  }
  return `sent ${count} messages`;
}

async function ask(call: ToolCall, world: ToolWorld): Promise<string> {
  const question = String(call.args.question ?? "");
  const capabilities = world.clientCapabilities();
  if (capabilities.elicitation !== undefined) {
    const answer = await call.ask("elicitation/create", {
      message: question,
      requestedSchema: {
        type: "object",
        properties: { answer: { type: "string" } },
        required: ["answer"],
      },
    });
    if (answer.action !== "accept") return `the user said: ${String(answer.action)}`;
    return `the user answered: ${String(objectOf(answer.content).answer)}`;
  }
  if (capabilities.sampling !== undefined) {
    const answer = await call.ask("sampling/createMessage", {
      messages: [{ role: "user", content: { type: "text", text: question } }],
      maxTokens: 200,
    });
    return `the model answered: ${String(objectOf(answer.content).text)}`;
  }
  throw new Error("This client takes no questions: it offers neither elicitation nor sampling.");
}

function numberOf(value: unknown, name: string, min: number, max: number): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw new Error(`"${name}" must be a number from ${min} to ${max}.`);
}
