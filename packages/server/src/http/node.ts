/**
 * The endpoint's face for `node:http`, and all that is built on it (Express, Fastify, Connect).
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthInfo } from "../authentication.ts";
import { bounds } from "../options.ts";
import type { BodyOutcome, HttpReply, HttpRequest, Sink } from "./exchange.ts";
import { parsedBody } from "./parsed-body.ts";

/** A request, with what a middleware may have put on it. */
export type ServedMessage = IncomingMessage & {
  /** Who makes it, as the SDKs' middleware says it. */
  readonly auth?: AuthInfo;
  /** The body, where a parser has read it: its numbers and key order are the parser's [C E-12]. */
  readonly body?: unknown;
};

export function nodeRequest(req: ServedMessage): HttpRequest {
  return {
    method: req.method ?? "",
    path: pathOf(req.url ?? ""),
    header: (name) => {
      const value = req.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    hosts: () => hostsOf(req.rawHeaders),
    headers: () =>
      Object.fromEntries(
        Object.entries(req.headers).map(([name, value]) => [name, [value ?? ""].flat().join(", ")]),
      ),
    authInfo: req.auth,
    body: (bytesMax) =>
      req.readableDidRead && req.body !== undefined
        ? Promise.resolve(parsedBody(req.body, bytesMax))
        : readBody(req, bytesMax),
  };
}

export function nodeReply(req: IncomingMessage, res: ServerResponse): HttpReply {
  return {
    send: (status, headers, body) => {
      const isUnread = !req.complete;
      // Else a request that asks for `connection: close` is cut off as soon as it is answered.
      if (isUnread) res.shouldKeepAlive = true;
      res.writeHead(status, headers);
      res.end(body);
      if (isUnread) discard(req);
    },
    stream: (headers) => {
      res.writeHead(200, headers as Record<string, string>);
      return nodeSink(res);
    },
  };
}

function nodeSink(res: ServerResponse): Sink {
  let linger: NodeJS.Timeout | undefined;
  res.on("close", () => clearTimeout(linger));
  return {
    write: (text) => res.write(text),
    isDrained: () => res.writableLength === 0,
    drained: () =>
      new Promise((resolve) => {
        if (!res.writableNeedDrain || res.destroyed) return resolve();
        const done = () => {
          res.off("drain", done).off("close", done);
          resolve();
        };
        res.on("drain", done).on("close", done);
      }),
    end: (lingerMs) => {
      res.end();
      if (res.writableFinished) return;
      // A half-open peer takes nothing more: its socket is not waited for.
      linger = setTimeout(() => res.destroy(), lingerMs).unref();
    },
    destroy: () => {
      res.destroy();
    },
    onClose: (listener) => {
      // The client may have gone while its stream was being opened: no event comes any more.
      if (res.destroyed) listener();
      else res.on("close", listener);
    },
  };
}

/** Values of every `Host`: the parsed headers keep but the first. */
function hostsOf(rawHeaders: readonly string[]): readonly string[] {
  const hosts: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts.push(rawHeaders[i + 1] ?? "");
  }
  return hosts;
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

function readBody(req: IncomingMessage, bytesMax: number): Promise<BodyOutcome> {
  return new Promise((resolve) => {
    if (Number(req.headers["content-length"] ?? 0) > bytesMax) {
      resolve({ kind: "too-large" });
      return;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    req.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        req.removeAllListeners("data");
        resolve({ kind: "too-large" });
      } else {
        chunks.push(chunk);
      }
    });
    req.on("end", () => {
      const [only] = chunks;
      const whole = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
      resolve({ kind: "body", bytes: whole });
    });
    const isCut = () => resolve({ kind: "incomplete" });
    req.on("close", isCut).on("error", isCut);
  });
}

/** Let the client read the refusal before the rest of its body is cut off. */
function discard(req: IncomingMessage): void {
  req.resume();
  const timer = setTimeout(() => req.destroy(), bounds.lingerMs);
  req.once("close", () => clearTimeout(timer));
}
