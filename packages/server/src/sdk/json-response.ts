/**
 * POSTs that are answered with JSON: what the event stream of the answer would have shown, read to
 * its end, and of it the responses.
 */
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ServedMessage } from "../http/node.ts";
import type { SessionRuntime } from "../runtime.ts";

export async function sendAsJson(
  runtime: SessionRuntime,
  req: ServedMessage,
  res: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  res.once("close", () => gone.abort());
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    if (value !== undefined) headers.set(name, [value].flat().join(", "));
  }
  const url = `http://${req.headers.host ?? "localhost"}${req.url ?? "/"}`;
  const isParsed = req.readableDidRead && req.body !== undefined;
  const request = new Request(url, {
    ...{ method: "POST", headers, signal: gone.signal },
    ...(isParsed ? {} : { body: Readable.toWeb(req) as ReadableStream, duplex: "half" }),
  });
  const facts = { authInfo: req.auth, ...(isParsed ? { parsedBody: req.body } : {}) };
  const response = await runtime.handleRequest(request, facts);
  const sent = Object.fromEntries(response.headers);
  const body = await response.text().catch(() => undefined);
  if (body === undefined) return;
  if (sent["content-type"] !== "text/event-stream") {
    res.writeHead(response.status, sent).end(body);
    return;
  }
  const answers = messagesOf(body).filter((message) => !("method" in JSON.parse(message)));
  res.writeHead(200, { ...sent, "content-type": "application/json" });
  res.end(answers.length === 1 ? answers[0] : `[${answers.join(",")}]`);
}

/** The data of the stream's events; a message of JSON.stringify has no line breaks [C E-07]. */
function messagesOf(stream: string): string[] {
  return stream
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => line.slice("data: ".length));
}
