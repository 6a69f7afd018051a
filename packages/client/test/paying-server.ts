/**
 * A server whose tool charges once for each time that it is called, takes a while, and keeps its
 * events: whoever shows a cursor gets what comes after it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onDispose } from "@holdfast/testkit";
import { initializeResult } from "./world.ts";

export interface PayingServer {
  readonly url: string;
  /** How often each order was charged. */
  readonly charges: Map<string, number>;
}

export interface PayingOptions {
  readonly capability?: object;
  readonly stepMs: number;
  /** A cursor is shown: the position of the event it names. */
  readonly onResume: (position: number) => void;
}

interface Lane {
  readonly log: string[];
  readonly readers: Set<() => void>;
}

/** Notifications of one charge; its result comes after them. */
const steps = 4;

export async function payingServer(options: PayingOptions): Promise<PayingServer> {
  const charges = new Map<string, number>();
  const lanes: Lane[] = [];
  const keys = new Map<string, number>();
  const charge = (id: unknown, order: string): number => {
    charges.set(order, (charges.get(order) ?? 0) + 1);
    const lane: Lane = { log: [], readers: new Set() };
    const append = (message: object) => {
      lane.log.push(JSON.stringify(message));
      for (const wake of lane.readers) wake();
    };
    const work = (step: number) => {
      if (step > steps) return append({ jsonrpc: "2.0", id, result: { charged: order } });
      const params = { level: "info", data: step };
      append({ jsonrpc: "2.0", method: "notifications/message", params });
      setTimeout(work, options.stepMs, step + 1);
    };
    work(1);
    return lanes.push(lane) - 1;
  };
  const show = (res: ServerResponse, number: number, after: number) => {
    const lane = lanes[number];
    if (lane === undefined) return res.writeHead(400).end();
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(`id: ${number}.${after}\ndata:\n\n`);
    let at = after;
    const catchUp = () => {
      for (; at < lane.log.length; at += 1) {
        res.write(`id: ${number}.${at + 1}\ndata: ${lane.log[at]}\n\n`);
      }
      if (at > steps) res.end();
    };
    lane.readers.add(catchUp);
    res.on("close", () => lane.readers.delete(catchUp));
    catchUp();
  };
  const server = createServer((req, res) => {
    void bodyOf(req).then(({ id, method, params }) => {
      const cursor = req.headers["last-event-id"];
      if (req.method === "GET" && typeof cursor === "string") {
        const [number, position] = cursor.split(".").map(Number);
        options.onResume(position ?? 0);
        return show(res, number ?? 0, position ?? 0);
      }
      if (req.method === "GET") return res.writeHead(405).end();
      if (method === "tools/call") {
        const key = req.headers["idempotency-key"];
        const known = typeof key === "string" ? keys.get(key) : undefined;
        const number = known ?? charge(id, String(params?.arguments?.order));
        if (typeof key === "string") keys.set(key, number);
        return show(res, number, 0);
      }
      if (id === undefined) return res.writeHead(202).end();
      const result = method === "initialize" ? initializeResult(options.capability) : {};
      res.writeHead(200, { "content-type": "application/json", "mcp-session-id": "S" });
      return res.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, charges };
}

interface Body {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly order?: unknown } };
}

async function bodyOf(req: IncomingMessage): Promise<Body> {
  let text = "";
  for await (const chunk of req) text += String(chunk);
  return text === "" ? {} : (JSON.parse(text) as Body);
}
