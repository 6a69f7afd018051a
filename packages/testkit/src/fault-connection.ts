/**
 * One connection through a {@link FaultProxy}: two sockets, and the faults between them.
 *
 *     open ─┬─ cut rst, fin ──→ gone
 *           ├─ cut half-close → detached: the server's side stays, unread
 *           ├─ black-holed ⇄ open: nothing passes, no close is passed on
 *           └─ refused: answered here, then closed
 *
 * Reads HTTP only to know when a response is owed, begins and ends.
 */
import { STATUS_CODES } from "node:http";
import { connect, type Socket } from "node:net";
import { type ByteLane, byteLane } from "./byte-lane.ts";
import { type CutManner, cutOffset, type FaultRules, type Refusal } from "./fault-rules.ts";
import { type ResponsePiece, type ResponseReader, responseReader } from "./http-response.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** `told`: by `cutAll` or `cut`. */
export interface Cut {
  /** Number of the connection: 1, 2, 3 … */
  readonly connection: number;
  readonly manner: CutManner;
  readonly cause: "told" | "idle" | "response-time" | "bytes";
  /** A response was owed or under way. */
  readonly isResponseCut: boolean;
  /** Bytes of that response that went through. */
  readonly responseBytes: number;
}

/** What the connection asks of, and tells, its proxy. */
export interface FaultSurroundings {
  readonly target: { readonly host: string; readonly port: number };
  readonly random: SeededRandom;
  rules(): FaultRules;
  refusal(): Refusal | undefined;
  onRequest(): void;
  onRefused(): void;
  onCut(cut: Cut): void;
  onGone(): void;
}

/** Bytes pass while it is `open`; `refused`, `cut` and `detached` are final. */
type State = "open" | "blackholed" | "refused" | "cut" | "detached";

/** The response that is owed or under way. */
interface Owed {
  readonly reader: ResponseReader;
  readonly cutAt: number | undefined;
  readonly sinceMs: number;
  /** Bytes held back with the head; `undefined` once they went out. */
  held: Buffer[] | undefined;
  sentBytes: number;
}

export class FaultConnection {
  /** 1, 2, 3 … in the order of arrival. */
  readonly number: number;
  readonly #client: Socket;
  readonly #around: FaultSurroundings;
  #state: State = "open";
  /** Connected at the first request. */
  #server: Socket | undefined;
  #up: ByteLane | undefined;
  #down: ByteLane | undefined;
  #owed: Owed | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #responseTimer: NodeJS.Timeout | undefined;

  constructor(number: number, client: Socket, around: FaultSurroundings) {
    this.number = number;
    this.#client = client;
    this.#around = around;
    client.on("data", (bytes) => this.#onRequestBytes(bytes));
    client.on("end", () => {
      if (this.#server === undefined) client.end();
      else if (this.#state === "open") this.#up?.carry(undefined);
    });
    client.on("error", () => {
      if (this.#state === "open") this.#server?.resetAndDestroy();
    });
    client.on("close", () => this.#onClientClosed());
  }

  get isOpen(): boolean {
    return this.#state === "open" || this.#state === "blackholed";
  }

  /** Cut now; nothing when it is cut already. */
  cut(manner: CutManner, cause: Cut["cause"] = "told"): void {
    if (!this.isOpen || this.#client.destroyed) return;
    const isResponseCut = this.#owed !== undefined;
    const responseBytes = this.#owed?.sentBytes ?? 0;
    this.#disarm();
    this.#owed = undefined;
    this.#state = manner === "half-close" ? "detached" : "cut";
    if (manner === "rst") {
      this.#client.resetAndDestroy();
      this.#server?.resetAndDestroy();
    } else {
      this.#client.end();
      // Read on, for its own end to be seen; what it still sends is nobody's.
      this.#client.resume();
      if (manner === "fin") this.#server?.destroy();
      else this.#server?.pause();
    }
    const { number } = this;
    this.#around.onCut({ connection: number, manner, cause, isResponseCut, responseBytes });
  }

  /** Let nothing pass, closes neither; or let it pass again. */
  blackhole(isOn: boolean): void {
    if (this.#state !== (isOn ? "open" : "blackholed")) return;
    this.#state = isOn ? "blackholed" : "open";
    this.rearm();
    if (isOn) {
      this.#client.pause();
      this.#server?.pause();
    } else if (this.#client.destroyed || this.#server?.destroyed) {
      this.destroy();
    } else {
      this.#client.resume();
      this.#up?.wake();
      this.#down?.wake();
    }
  }

  /** The rules have changed. */
  rearm(): void {
    this.#disarm();
    if (this.#owed === undefined || this.#state !== "open" || this.#client.destroyed) return;
    const { idleMs, responseMs, manner = "rst" } = this.#around.rules();
    if (idleMs !== undefined) {
      this.#idleTimer = setTimeout(() => this.cut(manner, "idle"), idleMs);
    }
    if (responseMs !== undefined) {
      const leftMs = Math.max(0, this.#owed.sinceMs + responseMs - performance.now());
      this.#responseTimer = setTimeout(() => this.cut(manner, "response-time"), leftMs);
    }
  }

  destroy(): void {
    this.#disarm();
    this.#client.destroy();
    this.#server?.destroy();
  }

  #disarm(): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#responseTimer);
  }

  #onRequestBytes(bytes: Buffer): void {
    if (this.#state !== "open") return;
    if (this.#owed === undefined) {
      this.#around.onRequest();
      const refusal = this.#around.refusal();
      if (refusal !== undefined) return this.#refuse(refusal);
      const method = bytes.toString("latin1", 0, 5) === "HEAD " ? "HEAD" : "GET";
      this.#owed = {
        reader: responseReader(method),
        cutAt: cutOffset(this.#around.rules(), this.#around.random),
        sinceMs: performance.now(),
        held: [],
        sentBytes: 0,
      };
    }
    this.#server ??= this.#connectServer();
    this.#up?.carry(bytes);
    this.rearm();
  }

  #refuse(refusal: Refusal): void {
    this.#state = "refused";
    this.#around.onRefused();
    // Ended, not destroyed: unread bytes of the request would turn the close into a reset.
    this.#client.end(refusalText(refusal));
    this.#server?.destroy();
  }

  #connectServer(): Socket {
    const server = connect({ ...this.#around.target, allowHalfOpen: true, noDelay: true });
    const delayMs = () => this.#around.rules().delayMs ?? 0;
    const isOpen = () => this.#state === "open";
    this.#up = byteLane(this.#client, server, delayMs, isOpen);
    this.#down = byteLane(server, this.#client, delayMs, isOpen);
    server.on("data", (bytes) => this.#onResponseBytes(bytes));
    server.on("end", () => {
      if (!isOpen()) return;
      this.#sendHeld();
      this.#down?.carry(undefined);
    });
    server.on("error", () => {
      if (isOpen()) this.#client.resetAndDestroy();
    });
    server.on("close", () => {
      if (isOpen()) this.#down?.carry(undefined);
      if (this.#client.destroyed) this.#around.onGone();
    });
    return server;
  }

  #onClientClosed(): void {
    const isServerKept = this.#state === "blackholed" || this.#state === "detached";
    if (!isServerKept) this.#disarm();
    if (!isServerKept) this.#server?.destroy();
    if (this.#server === undefined || this.#server.destroyed) this.#around.onGone();
  }

  #onResponseBytes(bytes: Buffer): void {
    if (this.#state !== "open") return;
    const owed = this.#owed;
    if (owed === undefined) return this.#down?.carry(bytes);
    const pieces = readPieces(owed.reader, bytes);
    const isEnd = pieces.some(({ kind }) => kind === "end");
    const isHeadOnly = !isEnd && pieces.every(({ kind }) => kind === "head");
    if (owed.held !== undefined) owed.held.push(bytes);
    else this.#sendDown(owed, bytes);
    if (!(isHeadOnly && this.#around.rules().isHeadHeld)) this.#sendHeld();
    if (isEnd) this.#owed = undefined;
    this.rearm();
  }

  #sendHeld(): void {
    const owed = this.#owed;
    if (owed?.held === undefined) return;
    const held = Buffer.concat(owed.held);
    owed.held = undefined;
    if (held.length > 0) this.#sendDown(owed, held);
  }

  /** To the client, up to where this response is to be cut. */
  #sendDown(owed: Owed, bytes: Buffer): void {
    const left = (owed.cutAt ?? Number.POSITIVE_INFINITY) - owed.sentBytes;
    const sent = bytes.length < left ? bytes : bytes.subarray(0, left);
    owed.sentBytes += sent.length;
    if (owed.sentBytes !== owed.cutAt) return this.#down?.carry(sent);
    // Cut when the kernel has the last byte, so that it arrives before the reset.
    const manner = this.#around.rules().manner ?? "rst";
    this.#down?.carry(sent, () => this.cut(manner, "bytes"));
    this.#server?.pause();
  }
}

function refusalText({ status, retryAfter, body, contentType = "text/html" }: Refusal): string {
  const reason = STATUS_CODES[status] ?? "Refused";
  const text = body ?? `<html><body><h1>${status} ${reason}</h1></body></html>\n`;
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    `content-type: ${contentType}`,
    `content-length: ${Buffer.byteLength(text)}`,
    ...(retryAfter === undefined ? [] : [`retry-after: ${retryAfter}`]),
    "connection: close",
  ];
  return `${head.join("\r\n")}\r\n\r\n${text}`;
}

/** A server that speaks no HTTP is passed on all the same: its response never ends. */
function readPieces(reader: ResponseReader, bytes: Buffer): ResponsePiece[] {
  try {
    return reader.read(bytes);
  } catch {
    return [{ kind: "body", bytes }];
  }
}
