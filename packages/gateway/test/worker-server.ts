/**
 * A stdio MCP server whose calls do what the test says, step by step, so that a test needs no clock:
 * `work` has its one effect and then waits for `advance`. Without an SDK: it starts in a moment.
 *
 *     node worker-server.ts EFFECTS_FILE [PROTOCOL_VERSION]
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import {
  type JsonObject,
  objectOf,
  type RequestContext,
  servePeer,
} from "../src/demo-server/peer.ts";

/** A running `work`. */
interface Work {
  progress(): Promise<void>;
  log(): Promise<void>;
  ask(kind: string): Promise<string>;
  finish(text: string): void;
}

type Tool = (args: JsonObject, context: RequestContext) => Promise<string> | string;

const [, , effectsFile = "", forcedVersion] = process.argv;
const works = new Map<string, Work>();
const subscribed = new Set<string>();
let level = "debug";

const tools: Readonly<Record<string, Tool>> = {
  /** `{ name }`: one effect, one progress event, and then what `advance` says. */
  work: async ({ name }, context) => {
    note(String(name));
    context.signal.addEventListener("abort", () => note(`${name} cancelled`));
    const result = Promise.withResolvers<string>();
    await startWork(String(name), context, result.resolve).progress();
    return result.promise;
  },
  /** `{ name, progress?, log?, ask?, done? }`: so many events of that call, then its end. */
  advance: async (args) => {
    const work = works.get(String(args.name));
    if (work === undefined) throw new Error(`nothing named "${args.name}" runs`);
    for (let i = 0; i < Number(args.progress ?? 0); i++) await work.progress();
    for (let i = 0; i < Number(args.log ?? 0); i++) await work.log();
    if (args.ask !== undefined) work.ask(String(args.ask)).then(work.finish, work.finish);
    if (args.done === true) work.finish(`${args.name} done`);
    return "advanced";
  },
  /** `{ name, steps, everyMs }`: a progress event and a tick at each step, by the clock. */
  steady: async ({ name, steps, everyMs }, context) => {
    note(String(name));
    const work = startWork(String(name), context, () => {});
    for (let step = 1; step <= Number(steps); step++) {
      await delay(Number(everyMs));
      await work.progress();
      await context.notify("notifications/resources/updated", { uri: `tick://${step}` });
    }
    return `${name} done`;
  },
  /** `{ from, count }`: events of the standalone stream. */
  tick: async ({ from, count }, { notify }) => {
    for (let i = 0; i < Number(count); i++) {
      await notify("notifications/resources/updated", { uri: `tick://${Number(from) + i}` });
    }
    return "ticked";
  },
  /** `{ uri }`: tell of an update if there is a subscription. */
  touch: async ({ uri }, { notify }) => {
    if (!subscribed.has(String(uri))) return "not subscribed";
    await notify("notifications/resources/updated", { uri: String(uri) });
    return "told";
  },
  ask: ({ kind }, context) => ask(String(kind), context),
  echo: ({ text }) => String(text),
};

function startWork(name: string, context: RequestContext, finish: (text: string) => void): Work {
  let done = 0;
  const { progressToken } = objectOf(context.params._meta);
  const work: Work = {
    progress: async () => {
      done += 1;
      if (progressToken === undefined) return;
      await context.notify("notifications/progress", { progressToken, progress: done });
    },
    log: async () => {
      const params = { level: "info", logger: "worker", data: `${name} at ${done}` };
      if (level === "debug" || level === "info") {
        await context.notify("notifications/message", params);
      }
    },
    ask: (kind) => ask(kind, context),
    finish,
  };
  works.set(name, work);
  return work;
}

/** Ask the client. @returns its answer as JSON */
async function ask(kind: string, context: RequestContext): Promise<string> {
  const question = "Which colour?";
  const content = { type: "text", text: question };
  const properties = { colour: { type: "string" } };
  const requestedSchema = { type: "object", properties };
  const questions: Readonly<Record<string, readonly [method: string, params: JsonObject]>> = {
    elicitation: ["elicitation/create", { message: question, requestedSchema }],
    sampling: ["sampling/createMessage", { messages: [{ role: "user", content }], maxTokens: 10 }],
    roots: ["roots/list", {}],
  };
  const [method = "", params = {}] = questions[kind] ?? [];
  return JSON.stringify(await context.ask(method, params));
}

/** One line for one effect: whatever runs twice is there twice. */
function note(line: string): void {
  appendFileSync(effectsFile, `${line}\n`);
}

await servePeer(process.stdin, process.stdout, {
  initialize: ({ params }) => ({
    protocolVersion: forcedVersion ?? String(params.protocolVersion),
    capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
    serverInfo: { name: "worker", version: "1.0.0" },
  }),
  ping: () => ({}),
  "logging/setLevel": ({ params }) => {
    level = String(params.level);
    return {};
  },
  "tools/list": () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })),
  }),
  "tools/call": async (context) => {
    const tool = tools[String(context.params.name)];
    if (tool === undefined) throw new Error(`there is no tool "${context.params.name}"`);
    const text = await tool(objectOf(context.params.arguments), context);
    return { content: [{ type: "text", text }] };
  },
  "resources/list": () => ({ resources: [{ uri: "note://1", name: "note 1" }] }),
  "resources/read": ({ params }) => ({
    contents: [{ uri: String(params.uri), text: `the text of ${params.uri}` }],
  }),
  "resources/subscribe": ({ params }) => {
    subscribed.add(String(params.uri));
    return {};
  },
  "resources/unsubscribe": ({ params }) => {
    subscribed.delete(String(params.uri));
    return {};
  },
});
process.exit(0);
