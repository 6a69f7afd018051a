/** What the chapters check again and again: refusals, cursors, unknown outcomes. */
import { expect } from "vitest";
import type { EventStream, RpcMessage } from "../event-stream.ts";
import type { RawSession } from "../raw-session.ts";

/** A refusal as the contract names it. */
export interface ExpectedRefusal {
  readonly status: number;
  readonly code: number;
  /** `error.data.type`. */
  readonly type: string;
  /** Further members of `error.data`. */
  readonly data?: object;
  /** The refused request's id; `null` when it has none that could be read. */
  readonly id?: string | number | null;
}

export const sessionNotFound = (reason: string): ExpectedRefusal => ({
  status: 404,
  code: -32001,
  type: "session-not-found",
  data: { reason },
});

/** [C D-03] "Always a JSON body that says what was wrong" */
export async function expectRefusal(
  stream: EventStream,
  { status, code, type, data, id }: ExpectedRefusal,
): Promise<RpcMessage> {
  const text = await stream.text();
  expect({ status: stream.status, text }).toMatchObject({ status });
  expect(stream.headers["content-type"]).toBe("application/json");
  const body = JSON.parse(text) as RpcMessage;
  expect(body).toMatchObject({ jsonrpc: "2.0", error: { code, data: { type, ...data } } });
  expect(body.error?.message).toMatch(/^\S.*\S$/s);
  expect("id" in body).toBe(true);
  if (id !== undefined) expect(body.id).toBe(id);
  const isBusy = status === 503 || status === 429;
  if (isBusy) expect(stream.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  return body;
}

/** An answer without a body: 202, 204. */
export async function expectEmpty(stream: EventStream, status: number): Promise<void> {
  const text = await stream.text();
  expect({ status: stream.status, text }).toEqual({ status, text: "" });
  expect(stream.headers["content-type"]).toBeUndefined();
}

/** The stream's first event id: a cursor before anything has happened [C E-05]. */
export async function primed(stream: EventStream): Promise<string> {
  const { id, data } = await stream.nextEvent();
  expect(data).toBe("");
  expect(id).toBeDefined();
  return id ?? "";
}

/** The session answers: its upstream is reached and its answer comes back. */
export async function expectAlive(session: RawSession): Promise<void> {
  const stream = await session.request("ping", undefined, { id: "alive?" });
  expect(stream.status).toBe(200);
  expect(await stream.response()).toEqual({ jsonrpc: "2.0", id: "alive?", result: {} });
}

/** What a reader of this cursor is shown until the stream ends; texts as they came. */
export async function replayed(session: RawSession, lastEventId: string): Promise<string[]> {
  const stream = await session.get({ lastEventId });
  expect(stream.status).toBe(200);
  await stream.body();
  return textsOf(stream);
}

/** Texts of all messages of a stream so far, byte for byte. */
export function textsOf(stream: EventStream): string[] {
  return stream.events.flatMap(({ event, data }) =>
    event === undefined && data !== "" ? [data] : [],
  );
}
