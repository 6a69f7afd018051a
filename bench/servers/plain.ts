/**
 * What the same answer costs without sessions, streams or a log: a handler of node:http that reads
 * a JSON body and answers with an event stream of one event.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { serveMeasured } from "../serve-measured.ts";
import { resultOf } from "./tool.ts";

interface Request {
  readonly id: number;
  readonly method: string;
}

const bodyBytesMax = 4 * 2 ** 20;

function handle(req: IncomingMessage, res: ServerResponse): void {
  if (req.method !== "POST" || req.url !== "/mcp") {
    res.writeHead(404).end();
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  req.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) req.destroy();
    else chunks.push(chunk);
  });
  req.on("end", () => answer(Buffer.concat(chunks).toString("utf8"), res));
}

function answer(body: string, res: ServerResponse): void {
  let request: Request;
  try {
    request = JSON.parse(body);
  } catch {
    res.writeHead(400).end();
    return;
  }
  if (request.method === "notifications/initialized") {
    res.writeHead(202).end();
    return;
  }
  const { id, method } = request;
  const message = JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(method) });
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  res.end(`data: ${message}\n\n`);
}

serveMeasured(handle);
