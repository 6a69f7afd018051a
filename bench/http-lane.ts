/**
 * One keep-alive connection of HTTP/1.1, one request at a time: the load generator. It knows as
 * much of HTTP as the servers measured here say, so that it costs little; it checks all it reads.
 */
import { connect, type Socket } from "node:net";

export interface LaneReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body as it came, chunk sizes included. */
  readonly body: string;
}

export interface HttpLane {
  /** @throws Error when the connection ends before the reply does */
  exchange(request: string): Promise<LaneReply>;
  close(): void;
}

export interface RequestParts {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A request as it goes on the wire. */
export function requestText({ method, headers = {}, body = "" }: RequestParts): string {
  const lines = [
    `${method} /mcp HTTP/1.1`,
    "host: 127.0.0.1",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  if (method === "POST") lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

interface Waiting {
  resolve(reply: LaneReply): void;
  reject(error: Error): void;
}

export async function openLane(port: number): Promise<HttpLane> {
  const socket = await connected(port);
  socket.setEncoding("latin1");
  let received = "";
  let waiting: Waiting | undefined;
  socket.on("data", (text: string) => {
    received += text;
    if (!isWhole(received)) return;
    const reply = readReply(received);
    const { resolve } = waiting ?? {};
    received = "";
    waiting = undefined;
    resolve?.(reply);
  });
  socket.on("close", () => waiting?.reject(new Error(`the connection closed after ${received}`)));
  socket.on("error", (error) => waiting?.reject(error));
  return {
    exchange: (request) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(request);
      }),
    close: () => void socket.destroy(),
  };
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

const blank = "\r\n\r\n";

/** Nothing of what is sent here holds the end of a chunked body inside. */
function isWhole(text: string): boolean {
  const head = text.indexOf(blank);
  if (head < 0) return false;
  if (text.endsWith(`\r\n0${blank}`)) return true;
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, head + 2))?.[1];
  if (length !== undefined) return text.length >= head + blank.length + Number(length);
  return / (?:202|204) /.test(text.slice(0, "HTTP/1.1 204 ".length)) && text.length === head + 4;
}

function readReply(text: string): LaneReply {
  const head = text.indexOf(blank);
  const [first = "", ...lines] = text.slice(0, head).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const status = Number(first.split(" ")[1]);
  return { status, headers: new Map(headers), body: text.slice(head + blank.length) };
}
