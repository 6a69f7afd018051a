/**
 * A server of bytes on a real socket: each request is read whole, then answered by what the test
 * writes, byte for byte. Connections can be reset, left open, or fall silent.
 */
import { createServer, type Socket } from "node:net";
import { onDispose, signal } from "@holdfast/testkit";

export interface RawRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly id?: number;
    readonly method?: string;
    readonly params?: Readonly<Record<string, unknown>>;
  };
  /** Bytes, as they are. */
  write(text: string | Uint8Array): void;
  /** Status line and headers of an event stream; the body ends with the connection. */
  openStream(): void;
  respond(status: number, body?: string, headers?: Readonly<Record<string, string>>): void;
  /** FIN after what was written. */
  end(): void;
  /** RST. */
  reset(): void;
}

export interface RawServer {
  readonly url: string;
  readonly requests: RawRequest[];
}

export type RawHandler = (request: RawRequest, server: RawServer) => void | Promise<void>;

/** @param handler - called once for each request, when it is there whole */
export async function rawServer(handler: RawHandler): Promise<RawServer> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
      const read = readRequest(text);
      if (read === undefined) return;
      text = text.slice(read.length);
      const request = onSocket(socket, read);
      requests.push(request);
      arrived.emit(request);
      void handler(request, shown);
    });
  });
  const arrived = signal<RawRequest>("request");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onDispose(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const shown: RawServer = { url: `http://127.0.0.1:${port}/mcp`, requests };
  return shown;
}

interface ReadRequest {
  readonly length: number;
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: RawRequest["body"];
}

function readRequest(text: string): ReadRequest | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(":");
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
  const bodyLength = Number(headers["content-length"] ?? 0);
  const length = end + 4 + bodyLength;
  if (text.length < length) return undefined;
  const bytes = Buffer.from(text.slice(end + 4, length), "latin1");
  const body = bodyLength === 0 ? {} : (JSON.parse(bytes.toString("utf8")) as RawRequest["body"]);
  return { length, method: first.split(" ")[0] ?? "", headers, body };
}

function onSocket(socket: Socket, { method, headers, body }: ReadRequest): RawRequest {
  const request: RawRequest = {
    ...{ method, headers, body },
    write: (text) => void socket.write(text),
    openStream: () =>
      request.write(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
      ),
    respond: (status, text = "", more = {}) => {
      const bytes = Buffer.byteLength(text);
      const lines = Object.entries(more).map(([name, value]) => `${name}: ${value}\r\n`);
      const length = status === 204 ? "" : `content-length: ${bytes}\r\n`;
      request.write(`HTTP/1.1 ${status} X\r\n${length}${lines.join("")}\r\n${text}`);
    },
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
  };
  return request;
}
