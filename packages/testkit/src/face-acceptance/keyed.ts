/** What the chapters about idempotency keys share: keys, principals, keyed calls. */
import { expect } from "vitest";
import type { EventStream } from "../event-stream.ts";
import type { CallOptions, RawSession } from "../raw-session.ts";
import type { ExpectedRefusal } from "./checks.ts";
import type { FaceAuthenticate } from "./face.ts";
import { respondToSetup, type ScriptedUpstreams } from "./scripted-upstream.ts";

/** Long enough for an endpoint whose callers share their keys. */
export const key = "key-of-16-chars!";

export const keyHeader = "idempotency-key";
export const keyField = "dev.holdfast/idempotency-key";

/** By the header, or by the field of `_meta`. */
export const keyForms = {
  header: (value: string): CallOptions => ({ headers: { [keyHeader]: value } }),
  field: (value: string): CallOptions => ({ meta: { [keyField]: value } }),
} as const;

/** Whoever says `Bearer NAME` is NAME; `Bearer expired` and nothing are refused. */
export const authenticateByName: FaceAuthenticate = (request) => {
  const name = /^Bearer (\S+)$/.exec(request.header("authorization") ?? "")?.[1];
  // A token is "NAME" or "NAME.REFRESHED": the principal is the same.
  const [principal = ""] = name?.split(".") ?? [];
  if (principal === "" || principal === "expired") {
    return { kind: "refused", challenge: 'Bearer realm="test"', message: "Say who you are." };
  }
  return { kind: "principal", principal };
};

export const as = (name: string) => ({ authorization: `Bearer ${name}` });

/** POST a tool call under a key. */
export function keyed(
  session: Pick<RawSession, "call">,
  name: string,
  options: CallOptions & { readonly key?: string; readonly args?: object } = {},
): Promise<EventStream> {
  const { key: value = key, args = {}, headers, ...rest } = options;
  return session.call(name, args, { ...rest, headers: { ...headers, [keyHeader]: value } });
}

export const badKey: ExpectedRefusal = {
  ...{ status: 400, code: -32000, type: "invalid-idempotency-key" },
  data: { notRun: true },
};

export const reuse: ExpectedRefusal = {
  ...{ status: 422, code: -32000, type: "idempotency-key-reuse" },
  data: { notRun: true },
};

/** [C X-05] The stream's one answer, and its end. */
export async function expectOutcomeUnknown(
  stream: EventStream,
  reason: string,
  data: object = {},
): Promise<void> {
  const answer = await stream.response();
  expect(answer.error).toMatchObject({
    code: -32011,
    data: { type: "outcome-unknown", ...data, reason },
  });
  expect(answer.id).toBe(answer.error?.data?.["requestId"]);
  await stream.body();
  expect(stream.messages.filter(({ method }) => method === undefined)).toHaveLength(1);
}

/** How often a tool of this name was run, by all upstreams together. */
export function runsOf(
  upstreams: { readonly all: readonly { readonly arrivals: readonly { message: object }[] }[] },
  name: string,
): number {
  const calls = upstreams.all
    .flatMap(({ arrivals }) => arrivals.map(({ message }) => message))
    .filter((message) => "method" in message && message.method === "tools/call");
  return calls.filter((call) => {
    const params: unknown = "params" in call ? call.params : undefined;
    return (
      typeof params === "object" && params !== null && "name" in params && params.name === name
    );
  }).length;
}

/** Upstreams that list these pages of tools; everything else but setup waits for the test. */
export function listTools(
  upstreams: ScriptedUpstreams,
  pages: readonly (readonly object[])[] = [],
): { readonly lists: number } {
  const seen = { lists: 0 };
  upstreams.respond = (request, upstream) => {
    if (request.method !== "tools/list") return respondToSetup(request, upstream);
    seen.lists += 1;
    const page = Number(request.params?.["cursor"] ?? 0);
    const nextCursor = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {};
    return { tools: pages[page] ?? [], ...nextCursor };
  };
  return seen;
}
