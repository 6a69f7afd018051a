/** Chapter: a request that breaks two rules is told the one that is checked earlier. */
import { expect, test } from "vitest";
import { type EventStream, openEventStream } from "../event-stream.ts";
import type { RawRequest } from "../http-exchange.ts";
import { acceptBoth, initializeMessage } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { type ExpectedRefusal, expectRefusal, primed } from "./checks.ts";

export function refusalOrderChapter(open: OpenBench): void {
  posts(open);
  gets(open);
  deletes(open);
}

/** A rule, how a request breaks it, and the refusal that it earns. */
interface Rule {
  readonly refusal: ExpectedRefusal;
  breakIn(request: RawRequest): RawRequest;
}

const bodyBytesMax = 2_000;

function rule(
  [status, code, type]: readonly [number, number, string],
  change: (request: RawRequest) => Partial<RawRequest>,
): Rule {
  return {
    refusal: { status, code, type },
    breakIn: (request) => ({ ...request, ...change(request) }),
  };
}

/** A rule that a header breaks; `undefined` leaves the header out. */
function headerRule(
  refusal: readonly [number, number, string],
  name: string,
  value: string | undefined,
): Rule {
  return rule(refusal, ({ headers }) => ({ headers: { ...headers, [name]: value } }));
}

const path = rule([404, -32000, "not-found"], ({ url }) => ({ url: `${url}/elsewhere` }));
const host = headerRule([403, -32000, "host-not-allowed"], "host", "evil.example");
const origin = headerRule([403, -32000, "origin-not-allowed"], "origin", "https://evil.example");
const method = rule([405, -32000, "method-not-allowed"], () => ({ method: "PUT" }));
const accept = headerRule([406, -32000, "not-acceptable"], "accept", "text/html");
const mediaType = headerRule(
  [415, -32000, "unsupported-media-type"],
  "content-type",
  "application/x-www-form-urlencoded",
);
const size = rule([413, -32000, "body-too-large"], ({ body }) => ({
  body: `${body}${" ".repeat(bodyBytesMax)}`,
}));
const parse = rule([400, -32700, "parse-error"], ({ body }) => ({ body: `{${body}` }));
const versionTold = [400, -32022, "unsupported-version"] as const;
const version = headerRule(versionTold, "mcp-protocol-version", "1999-01-01");
const noSession = headerRule([400, -32000, "session-required"], "mcp-session-id", undefined);
const otherSession = headerRule([404, -32001, "session-not-found"], "mcp-session-id", "nobody");
const shape = rule([400, -32600, "invalid-request"], () => ({ body: '{"jsonrpc":"1.0","id":1}' }));
const eventId = headerRule([400, -32000, "invalid-event-id"], "last-event-id", "nonsense");

/** [C D-04] a rule that broken together with any later one is the one that is told. */
async function expectOrder(
  good: RawRequest,
  rules: readonly (Rule | readonly Rule[])[],
  send: (request: RawRequest) => Promise<EventStream>,
): Promise<void> {
  for (const [index, earlier] of rules.entries()) {
    for (const one of [earlier].flat()) {
      await expectRefusal(await send(one.breakIn(good)), one.refusal);
      for (const later of rules.slice(index + 1).flat()) {
        const request = one.breakIn(later.breakIn(good));
        const stream = await send(request);
        const what = `${one.refusal.type} before ${later.refusal.type}`;
        expect(`${what}: ${stream.status}`).toBe(`${what}: ${one.refusal.status}`);
        const { error } = await expectRefusal(stream, one.refusal);
        const isPost = request.method === "POST";
        expect(error?.data?.["notRun"]).toBe(isPost ? true : undefined);
      }
    }
  }
}

const beforeAll = [path, host, origin, method] as const;

const headersOf = ({ sessionId }: BenchSession) => ({
  ...{ accept: acceptBoth, "content-type": "application/json" },
  ...{ "mcp-session-id": sessionId, "mcp-protocol-version": "2025-11-25" },
});

function posts(open: OpenBench): void {
  // A session whose results fill its share of the log takes no more calls [C W-03].
  const retention = { windowMs: 1_800_000, maxEvents: 1_000, maxBytes: 4_000 };
  const settings = { options: { bodyBytesMax, retention, path: "/mcp" } };

  test(`${verifies("D-04", "D-03")}the checks of a POST come in their order`, async () => {
    const bench = await open(settings);
    const session = await bench.session();
    const filling = await session.call("big");
    (await session.upstream.request("tools/call")).answer({ text: "x".repeat(5_000) });
    await filling.body();
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}';
    const good = { url: bench.url, method: "POST", headers: headersOf(session), body };
    const full: Rule = {
      refusal: { status: 503, code: -32000, type: "overloaded" },
      breakIn: (request) => request,
    };
    await expectOrder(
      good,
      [
        ...beforeAll,
        ...[accept, mediaType, size, parse, version],
        ...[[noSession, otherSession], shape, full],
      ],
      openEventStream,
    );
    const ran = session.upstream.arrivals.filter(({ message }) => message.method === "tools/call");
    expect(ran).toHaveLength(1);
  });

  test(`${verifies("D-04", "D-03")}the checks of an initialize come in their order`, async () => {
    const bench = await open(settings);
    const withSession = headerRule([400, -32000, "session-not-allowed"], "mcp-session-id", "any");
    const noId = rule([400, -32600, "invalid-request"], () => ({
      body: '{"jsonrpc":"2.0","method":"initialize"}',
    }));
    const good = {
      ...{ url: bench.url, method: "POST", body: JSON.stringify(initializeMessage()) },
      headers: { accept: acceptBoth, "content-type": "application/json" },
    };
    const rules = [...beforeAll, accept, mediaType, size, parse, version, withSession, noId];
    await expectOrder(good, rules, openEventStream);
    expect(bench.upstreams.all).toEqual([]);
  });
}

function gets(open: OpenBench): void {
  test(`${verifies("D-04", "D-03")}the checks of a GET come in their order`, async () => {
    const bench = await open({ options: { path: "/mcp" } });
    const session = await bench.session();
    const other = await bench.session();
    const theirs = await primed(await other.get());
    const foreign = headerRule([400, -32000, "foreign-event-id"], "last-event-id", theirs);
    const good = { url: bench.url, method: "GET", headers: headersOf(session) };
    await expectOrder(
      good,
      [...beforeAll, accept, version, [noSession, otherSession], [eventId, foreign]],
      openEventStream,
    );
  });
}

function deletes(open: OpenBench): void {
  test(`${verifies("D-04", "D-03")}the checks of a DELETE come in their order`, async () => {
    const bench = await open({ options: { path: "/mcp" } });
    const session = await bench.session();
    const good = { url: bench.url, method: "DELETE", headers: headersOf(session) };
    const rules = [...beforeAll, version, [noSession, otherSession]];
    await expectOrder(good, rules, openEventStream);
    expect((await session.delete()).status).toBe(204);
  });
}
