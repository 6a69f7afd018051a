/** Chapter: what is refused for its headers or its shape, and what is let pass. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { rawRequest } from "../http-exchange.ts";
import { acceptBoth } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import type { BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, expectRefusal, primed, sessionNotFound } from "./checks.ts";

export function refusalsChapter(open: OpenBench): void {
  acceptHeaders(open);
  contentTypes(open);
  shapes(open);
  sessionHeaders(open);
  methods(open);
  accepted(open);
  overload(open);
}

const ping = '{"jsonrpc":"2.0","id":"p","method":"ping"}';

function acceptHeaders(open: OpenBench): void {
  const refusal = { status: 406, code: -32000, type: "not-acceptable" };
  const both = {
    passes: [
      ...[acceptBoth, "*/*", "text/*, application/*", "application/json,text/event-stream"],
      ...["TEXT/Event-Stream , Application/JSON", "application/json;q=0.1, */*;q=0.01"],
      ...["text/event-stream;charset=utf-8, application/json", "text/html, */*;q=0.8"],
      ...["application/json, text/event-stream;q=1.0", "*/*, image/png;q=0"],
    ],
    fails: [
      ...["application/json", "text/event-stream", "text/html", "", "json", "application/*"],
      ...["*/*;q=0", "application/json, text/event-stream;q=0", "*/*, text/event-stream;q=0.0"],
      ...["application/json;q=0, */*", "text/*, application/json;q=0.000", "*/json"],
      ...["text/event-stream2, application/json", "application/jsonp, text/event-stream"],
      undefined,
    ],
  };
  const stream = {
    passes: ["text/event-stream", "*/*", "text/*", acceptBoth, "application/json;q=0, */*;q=0.1"],
    fails: [
      ...["application/json", "text/event-stream;q=0", "text/*;q=0, */*", "application/*", ""],
      undefined,
    ],
  };

  test(`${verifies("D-04", "R-07")}the Accept header decides, with its wildcards and weights`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const accept of both.passes) {
      const answer = await session.post(ping, { headers: { accept } });
      expect(`${accept}: ${answer.status}`).toBe(`${accept}: 200`);
    }
    for (const accept of both.fails) {
      const answer = await session.post(ping, { headers: { accept } });
      const { error } = await expectRefusal(answer, refusal);
      expect(error?.data).toMatchObject({ notRun: true });
    }
    for (const accept of stream.passes) {
      const viewport = await session.get({ headers: { accept } });
      expect(`${accept}: ${viewport.status}`).toBe(`${accept}: 200`);
    }
    for (const accept of stream.fails) {
      await expectRefusal(await session.get({ headers: { accept } }), refusal);
    }
  });

  test(`${verifies("D-04")}several Accept lines count as one`, async () => {
    const bench = await open();
    const session = await bench.session();
    const accept = ["application/json", "text/event-stream"];
    expect((await session.post(ping, { headers: { accept } })).status).toBe(200);
  });
}

function contentTypes(open: OpenBench): void {
  test(`${verifies("D-03", "D-04", "c060")}a body is JSON in UTF-8, or refused`, async () => {
    const bench = await open();
    const session = await bench.session();
    const passes = [
      ...["application/json", "Application/JSON", "application/json; charset=utf-8"],
      ...['application/json;charset="UTF-8"', "application/json ; x=y"],
    ];
    for (const type of passes) {
      const answer = await session.post(ping, { headers: { "content-type": type } });
      expect(`${type}: ${answer.status}`).toBe(`${type}: 200`);
    }
    const fails = [
      ...["text/plain", "application/json-rpc", "application/x-www-form-urlencoded", ""],
      ...["multipart/form-data; boundary=x", "application/json; charset=utf-16", "json"],
      ...["application/json, text/plain", undefined],
    ];
    const refusal = { status: 415, code: -32000, type: "unsupported-media-type" };
    for (const type of fails) {
      await expectRefusal(await session.post(ping, { headers: { "content-type": type } }), refusal);
    }
    for (const encoding of ["gzip", "br", "gzip, identity"]) {
      const headers = { "content-encoding": encoding };
      await expectRefusal(await session.post(ping, { headers }), refusal);
    }
    expect(session.upstream.arrivals).toHaveLength(2 + passes.length);
  });
}

function shapes(open: OpenBench): void {
  test(`${verifies("D-03", "D-04")}what is no message of JSON-RPC is refused, and told why`, async () => {
    const bench = await open();
    const session = await bench.session();
    const parse = { status: 400, code: -32700, type: "parse-error", id: null };
    const texts = ["", " ", "{", "{'id':1}", '{"a":1}x', "\u0000", "{}{}", "[1,]", "NaN", "\ufeff"];
    for (const text of texts) await expectRefusal(await session.post(text), parse);

    const invalid = { status: 400, code: -32600, type: "invalid-request" };
    const version = '"jsonrpc":"2.0"';
    const bodies = [
      ...["null", "1", '"text"', "true", "{}", '{"method":"ping","id":1}', `{${version}}`],
      ...[`{${version},"id":null,"method":"ping"}`, `{${version},"id":1e999,"method":"ping"}`],
      ...[`{${version},"id":{},"method":"ping"}`, `{${version},"id":[1],"method":"ping"}`],
      ...[`{${version},"id":true,"method":"ping"}`, `{${version},"id":1,"method":7}`],
      ...[`{${version},"id":1,"method":""}`, `{${version},"id":1,"method":"x","params":[1]}`],
      ...[`{${version},"id":1,"method":"x","params":null}`, `{${version},"id":1}`],
      ...[`{${version},"id":1,"method":"x","result":1}`, `{${version},"id":{},"result":1}`],
      ...[`{${version},"id":1,"result":1,"error":{}}`, `{${version},"id":1,"error":"no"}`],
      ...['{"jsonrpc":2.0,"id":1,"method":"x"}', '{"jsonrpc":"2.0 ","id":1,"method":"x"}'],
    ];
    for (const body of bodies) {
      const { error } = await expectRefusal(await session.post(body), invalid);
      expect(error?.data).toMatchObject({ notRun: true });
    }
    expect(session.upstream.arrivals).toHaveLength(2);
    await expectAlive(session);
  });
}

/** Each way to speak of a session. */
const uses = ["call", "notification", "GET", "GET with a cursor", "DELETE"] as const;

async function use(
  session: BenchSession,
  how: (typeof uses)[number],
  sessionId: string | undefined,
  lastEventId: string,
) {
  const headers = { "mcp-session-id": sessionId };
  const notification = { jsonrpc: "2.0", method: "notifications/x" };
  switch (how) {
    case "call":
      return session.post(ping, { headers });
    case "notification":
      return session.post(notification, { headers });
    case "GET":
      return session.get({ headers });
    case "GET with a cursor":
      return session.get({ headers, lastEventId });
    case "DELETE":
      return session.delete({ headers });
  }
}

function sessionHeaders(open: OpenBench): void {
  test(`${verifies("S-04", "S-05", "c015")}an unknown, a missing and a malformed session id are told apart`, async () => {
    const bench = await open();
    const session = await bench.session();
    const cursor = await primed(await session.get());
    const malformed = { status: 400, code: -32000, type: "invalid-session-id" };
    const required = { status: 400, code: -32000, type: "session-required" };
    const known = session.sessionId;
    const odd = ["a\x80b", "ä", "a b", `${known}, ${known}`, "x".repeat(300), `${known}\xff`];
    for (const how of uses) {
      const unknown = `${known.slice(0, -1)}${known.endsWith("A") ? "B" : "A"}`;
      const refusal = sessionNotFound("unknown");
      await expectRefusal(await use(session, how, unknown, cursor), refusal);
      await expectRefusal(await use(session, how, known.toUpperCase(), cursor), refusal);
      await expectRefusal(await use(session, how, undefined, cursor), required);
      await expectRefusal(await use(session, how, "", cursor), required);
      for (const id of odd) await expectRefusal(await use(session, how, id, cursor), malformed);
    }
    await expectAlive(session);
  });

  test(`${verifies("c015")}a control character in a header never reaches a session`, async () => {
    const bench = await open();
    const session = await bench.session();
    for (const id of [`${session.sessionId}\x01`, `\x00${session.sessionId}`, "a\x7f"]) {
      const { status } = await session.post(ping, { headers: { "mcp-session-id": id } });
      expect(status).toBe(400);
    }
    expect(session.upstream.arrivals).toHaveLength(2);
  });
}

function methods(open: OpenBench): void {
  test(`${verifies("D-04", "D-03")}other methods are refused with the list of those that are not`, async () => {
    const bench = await open();
    const session = await bench.session();
    const refusal = { status: 405, code: -32000, type: "method-not-allowed" };
    for (const method of ["PUT", "PATCH", "PROPFIND", "QUERY"]) {
      const headers = { "mcp-session-id": session.sessionId, accept: acceptBoth };
      const stream = await openEventStream({ url: bench.url, method, headers });
      await expectRefusal(stream, refusal);
      expect(stream.headers["allow"]).toBe("GET, POST, DELETE, OPTIONS");
    }
    const { status, body } = await rawRequest({ url: bench.url, method: "HEAD" });
    expect([status, body.length]).toEqual([405, 0]);
    await expectAlive(session);
  });
}

function accepted(open: OpenBench): void {
  test(`${verifies("D-04")}what is accepted without an answer has no body`, async () => {
    const bench = await open();
    const session = await bench.session();
    await expectEmpty(await session.notify("notifications/x"), 202);
    await expectEmpty(await session.post({ jsonrpc: "2.0", id: 9, result: {} }), 202);
    const error = { code: -1, message: "no" };
    await expectEmpty(await session.post({ jsonrpc: "2.0", id: null, error }), 202);
    await expectEmpty(await session.delete(), 204);
  });
}

function overload(open: OpenBench): void {
  test(`${verifies("D-03", "W-03")}a session whose results fill its share is told to wait, and stays`, async () => {
    const retention = { windowMs: 1_800_000, maxEvents: 1_000, maxBytes: 4_000 };
    const bench = await open({ options: { retention } });
    const session = await bench.session();
    const filling = await session.call("big", {}, { id: 1 });
    const cursor = await primed(filling);
    const result = { text: "x".repeat(5_000) };
    (await session.upstream.request("tools/call")).answer(result);
    await filling.body();
    const refusal = { status: 503, code: -32000, type: "overloaded", data: { notRun: true } };
    await expectRefusal(await session.call("more", {}, { id: "q" }), { ...refusal, id: "q" });
    // What needs no new stream goes on, and what is kept is kept.
    await expectEmpty(await session.notify("notifications/x"), 202);
    const replay = await session.get({ lastEventId: cursor });
    expect((await replay.response(1)).result).toEqual(result);
    await expectAlive(await bench.session());
  });

  test(`${verifies("D-03")}an upstream that does not read is given so much and no more`, async () => {
    const bench = await open();
    const session = await bench.session();
    session.upstream.stopReading();
    const text = "x".repeat(3_900_000);
    const statuses: number[] = [];
    for (let i = 0; i < 8 && statuses.at(-1) !== 503; i++) {
      const stream = await session.call("big", { text });
      statuses.push(stream.status);
      if (stream.status === 503) {
        const refusal = { status: 503, code: -32000, type: "overloaded", data: { notRun: true } };
        await expectRefusal(stream, { ...refusal, id: i + 1 });
      }
    }
    expect(statuses.at(-1)).toBe(503);
    const taken = statuses.length - 1;
    session.upstream.readOn();
    for (let i = 0; i < taken; i++) (await session.upstream.request("tools/call")).answer({});
    await expectAlive(session);
    const ran = session.upstream.arrivals.filter(({ message }) => message.method === "tools/call");
    expect(ran).toHaveLength(taken);
  });
}
