/**
 * The runtime's fetch face behind a small `node:http` server that turns one into the other, as
 * hosts in the fetch style do.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Face } from "@holdfast/testkit/face-acceptance";
import { serveRuntime } from "./node-face.ts";

export const fetchFace: Face = {
  name: "fetch",
  serve: (parts) => serveRuntime(parts, (runtime) => fetchListener(runtime.fetch)),
};

export type Fetch = (request: Request) => Promise<Response> | Response;

/** What a host in the fetch style does, for one application. */
export function fetchListener(fetch: Fetch): RequestListener {
  return (req, res) => {
    answer(fetch, req, res).catch(() => res.destroy());
  };
}

async function answer(fetch: Fetch, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const gone = new AbortController();
  res.once("close", () => gone.abort());
  const request = requestOf(req, gone.signal);
  if (request === undefined) {
    res.writeHead(400, { "content-type": "application/json" });
    res.end('{"error":{"message":"A Request cannot hold this."}}');
    return;
  }
  const response = await fetch(request);
  res.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    res.end();
    if (!req.complete) req.resume();
    return;
  }
  res.flushHeaders();
  for await (const chunk of response.body) {
    if (!res.write(chunk)) await drained(res);
    if (res.destroyed) break;
  }
  res.end();
  if (!req.complete) req.resume();
}

/** @returns undefined for what a `Request` cannot hold; hosts refuse that by themselves */
function requestOf(req: IncomingMessage, signal: AbortSignal): Request | undefined {
  const headers = new Headers();
  const hasBody = req.method !== "GET" && req.method !== "HEAD";
  try {
    for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
      headers.append(req.rawHeaders[i] ?? "", req.rawHeaders[i + 1] ?? "");
    }
    // Left out, it would be taken from the URL, which this server makes up.
    if (!headers.has("host")) headers.set("host", "");
    return new Request(new URL(req.url ?? "/", "http://127.0.0.1"), {
      method: req.method ?? "GET",
      headers,
      signal,
      ...(hasBody && { body: Readable.toWeb(req) as ReadableStream, duplex: "half" }),
    });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off("drain", done).off("close", done);
      resolve();
    };
    res.on("drain", done).on("close", done);
  });
}
