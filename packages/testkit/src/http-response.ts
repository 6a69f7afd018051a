/**
 * Reads HTTP/1.x responses out of bytes, one after the other, in whatever pieces they come.
 *
 * Written here so that a test sees what was on the wire: a response that ends without its last
 * chunk is told from one that is whole. Reads only what a server sends; no socket, no clock.
 *
 *     head ─┬─ no body ────────────────────────────┬─→ head
 *           ├─ fixed (content-length) ─────────────┤
 *           ├─ size ⇄ chunk, then trailers ────────┘
 *           └─ until close
 */

export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** Lower-case names; values of a repeated header joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** As they came. */
  readonly rawHeaders: readonly (readonly [name: string, value: string])[];
}

export type ResponsePiece =
  | { readonly kind: "head"; readonly head: ResponseHead }
  /** Never empty. */
  | { readonly kind: "body"; readonly bytes: Buffer }
  | { readonly kind: "end" };

export interface ResponseReader {
  /** @throws Error when the bytes are no HTTP response */
  read(chunk: Uint8Array): ResponsePiece[];
  /** The connection is at its end: was the last response whole? "none": not even begun. */
  finish(): "complete" | "truncated" | "none";
}

type State =
  | { at: "head" }
  | { at: "fixed"; left: number }
  | { at: "size" }
  | { at: "chunk"; left: number }
  | { at: "trailers" }
  | { at: "close" };

const lineBytesMax = 64 * 1024;

/** @param method - of the request that is answered; a HEAD has no body */
export function responseReader(method = "GET"): ResponseReader {
  let state: State = { at: "head" };
  let rest: Buffer = Buffer.alloc(0);
  let pieces: ResponsePiece[] = [];
  let responses = 0;

  return {
    read: (chunk) => {
      rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
      pieces = [];
      while (rest.length > 0 && step()) {}
      return pieces;
    },
    finish: () => {
      if (state.at === "close") return "complete";
      if (state.at !== "head" || rest.length > 0) return "truncated";
      return responses === 0 ? "none" : "complete";
    },
  };

  /** One step of the machine; false when it needs more bytes. */
  function step(): boolean {
    switch (state.at) {
      case "head":
        return stepHead();
      case "fixed":
        return stepFixed(state.left);
      case "size":
        return stepSize();
      case "chunk":
        return stepChunk(state.left);
      case "trailers":
        return stepTrailers();
      case "close":
        return body(rest.length);
    }
  }

  function stepHead(): boolean {
    const text = take("\r\n\r\n");
    if (text === undefined) return false;
    const head = parseHead(text);
    // [RFC 9110 15.2] an interim response comes before the one that counts
    if (head.status >= 100 && head.status < 200) return true;
    responses += 1;
    pieces.push({ kind: "head", head });
    state = bodyState(head, method);
    if (state.at === "head") pieces.push({ kind: "end" });
    return true;
  }

  function stepFixed(left: number): boolean {
    const bytes = Math.min(left, rest.length);
    body(bytes);
    if (bytes === left) finishResponse();
    else state = { at: "fixed", left: left - bytes };
    return true;
  }

  function stepSize(): boolean {
    const line = take("\r\n");
    if (line === undefined) return false;
    if (!/^[0-9a-f]{1,8}\s*(;.*)?$/i.test(line)) throw new Error(`no chunk size: "${line}"`);
    const left = Number.parseInt(line, 16);
    state = left === 0 ? { at: "trailers" } : { at: "chunk", left };
    return true;
  }

  function stepChunk(left: number): boolean {
    if (left > 0) {
      const bytes = Math.min(left, rest.length);
      state = { at: "chunk", left: left - bytes };
      return body(bytes);
    }
    // The line break that follows a chunk's bytes.
    if (rest.length < 2) return false;
    if (rest.toString("latin1", 0, 2) !== "\r\n") throw new Error("a chunk is longer than it said");
    rest = rest.subarray(2);
    state = { at: "size" };
    return true;
  }

  function stepTrailers(): boolean {
    const line = take("\r\n");
    if (line === undefined) return false;
    if (line === "") finishResponse();
    return true;
  }

  function finishResponse(): void {
    state = { at: "head" };
    pieces.push({ kind: "end" });
  }

  function body(bytes: number): boolean {
    pieces.push({ kind: "body", bytes: rest.subarray(0, bytes) });
    rest = rest.subarray(bytes);
    return true;
  }

  function take(ending: string): string | undefined {
    const at = rest.indexOf(ending, 0, "latin1");
    if (at < 0 && rest.length <= lineBytesMax) return undefined;
    if (at < 0) throw new Error(`no line end in ${lineBytesMax} bytes`);
    const text = rest.toString("latin1", 0, at);
    rest = rest.subarray(at + ending.length);
    return text;
  }
}

function parseHead(text: string): ResponseHead {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const match = /^HTTP\/1\.[01] ([0-9]{3}) ?(.*)$/.exec(statusLine);
  if (match === null) throw new Error(`no HTTP response: "${statusLine.slice(0, 80)}"`);
  const rawHeaders = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const headers: Record<string, string> = {};
  for (const [name, value] of rawHeaders) {
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  return { status: Number(match[1]), reason: match[2] ?? "", headers, rawHeaders };
}

function bodyState(head: ResponseHead, method: string): State {
  if (method === "HEAD" || head.status === 204 || head.status === 304) return { at: "head" };
  if (/\bchunked\b/i.test(head.headers["transfer-encoding"] ?? "")) return { at: "size" };
  const length = head.headers["content-length"];
  if (length === undefined) return { at: "close" };
  return Number(length) === 0 ? { at: "head" } : { at: "fixed", left: Number(length) };
}
