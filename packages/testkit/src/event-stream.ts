/**
 * A response read as an event stream: item by item, as it comes, with nothing left out.
 *
 * Also stands for a response that is no event stream (a refusal, a 202): status, headers and body
 * are there all the same, and no item ever comes. It never reconnects.
 */
import { type HttpExchange, openExchange, type RawRequest } from "./http-exchange.ts";
import { type SseEvent, type SseItem, sseReader } from "./sse-reading.ts";
import { within } from "./wait-for.ts";

/** A JSON-RPC message as a test looks at it. */
export interface RpcMessage {
  readonly jsonrpc?: string;
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
}

/** Reading goes on from where the last read ended; `items` keeps everything. */
export interface EventStream extends HttpExchange, AsyncIterable<SseItem> {
  readonly isEventStream: boolean;
  readonly items: readonly SseItem[];
  /** The cursor: id of the newest event, or of a later block without data. */
  readonly lastEventId: string | undefined;
  /** All events so far. */
  readonly events: readonly SseEvent[];
  /** All JSON-RPC messages so far. */
  readonly messages: readonly RpcMessage[];
  /** The next item; `undefined` at the end. */
  next(): Promise<SseItem | undefined>;
  /** The next event that `matches`, what lies before it is skipped. @throws Error at the end */
  nextEvent(matches?: (event: SseEvent) => boolean): Promise<SseEvent>;
  /** The next comment that `matches`. @throws Error at the end of the stream */
  nextComment(matches?: (text: string) => boolean): Promise<string>;
  /** The next JSON-RPC message that `matches`. @throws Error at the end of the stream */
  nextMessage(matches?: (message: RpcMessage) => boolean): Promise<RpcMessage>;
  /** The next JSON-RPC response, of this id if given. @throws Error at the end of the stream */
  response(id?: string | number): Promise<RpcMessage>;
  /** Everything not yet read, up to the end of the stream, however it ends. */
  rest(): Promise<SseItem[]>;
}

/** The message in an event's data; `undefined` for other events and for empty data. */
export function messageOf(item: SseItem): RpcMessage | undefined {
  if (item.kind !== "event" || item.data === "") return undefined;
  if (item.event !== undefined && item.event !== "message") return undefined;
  return JSON.parse(item.data) as RpcMessage;
}

/**
 * Send a request and wait for the head of its response.
 *
 * @throws NoResponseError when the connection ends before it
 */
export async function openEventStream(request: RawRequest): Promise<EventStream> {
  const items: SseItem[] = [];
  const read = sseReader();
  const held: Buffer[] = [];
  let isEventStream: boolean | undefined;
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  const exchange = await openExchange(request, (bytes) => {
    if (bytes === undefined) isOver = true;
    else if (isEventStream === undefined) held.push(bytes);
    else if (isEventStream) items.push(...read(bytes));
    wake.resolve();
    wake = Promise.withResolvers();
  });
  isEventStream = (exchange.headers["content-type"] ?? "").startsWith("text/event-stream");
  if (isEventStream) for (const bytes of held) items.push(...read(bytes));

  let at = 0;
  const next = async (): Promise<SseItem | undefined> => {
    while (at >= items.length) {
      if (isOver) return undefined;
      await within(wake.promise, `the next item of ${request.method ?? "GET"} ${request.url}`);
    }
    return items[at++];
  };
  return {
    ...exchange,
    ...reads(next, items, exchange.ended),
    isEventStream,
    items,
    get lastEventId() {
      return items.flatMap((item) => ("id" in item ? [item.id] : [])).findLast(isGiven);
    },
    get events() {
      return items.filter((item) => item.kind === "event");
    },
    get messages() {
      return items.map(messageOf).filter(isGiven);
    },
  };
}

function isGiven<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function reads(
  next: () => Promise<SseItem | undefined>,
  items: readonly SseItem[],
  ended: HttpExchange["ended"],
) {
  /** The first value that `choose` makes of an item. */
  const seek = async <T>(what: string, choose: (item: SseItem) => T | undefined): Promise<T> => {
    for (let item = await next(); item !== undefined; item = await next()) {
      const chosen = choose(item);
      if (chosen !== undefined) return chosen;
    }
    const { how, code } = await ended;
    const seen = JSON.stringify(items.slice(-5));
    throw new Error(`the stream ended (${code ?? how}) before ${what}; its last items: ${seen}`);
  };
  const nextMessage = (matches: (message: RpcMessage) => boolean = () => true) =>
    seek("the message", (item) => {
      const message = messageOf(item);
      return message !== undefined && matches(message) ? message : undefined;
    });
  return {
    next,
    nextMessage,
    nextEvent: (matches: (event: SseEvent) => boolean = () => true) =>
      seek("the event", (item) => (item.kind === "event" && matches(item) ? item : undefined)),
    nextComment: (matches: (text: string) => boolean = () => true) =>
      seek("the comment", (item) =>
        item.kind === "comment" && matches(item.text) ? item.text : undefined,
      ),
    response: (id?: string | number) =>
      nextMessage(
        (message) =>
          ("result" in message || "error" in message) && (id === undefined || message.id === id),
      ),
    rest: async () => {
      const rest: SseItem[] = [];
      for (let item = await next(); item !== undefined; item = await next()) rest.push(item);
      return rest;
    },
    async *[Symbol.asyncIterator]() {
      for (let item = await next(); item !== undefined; item = await next()) yield item;
    },
  };
}
