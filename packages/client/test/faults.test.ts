/** Faults on real sockets, byte by byte, against a server that is played. */
import { disposeAll, freePort, seededRandom, testSeed, verifies } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { type Host, openHost } from "./host.ts";
import { after, type EventOf, eventsOf, playedSession, textOf } from "./played-session.ts";
import type { RawRequest } from "./raw-server.ts";
import { holdfastCapability } from "./world.ts";

afterEach(disposeAll);

const data = ({ events }: Host) => events.map(({ params }) => params?.data);

/** Write this much of the stream, then break the connection. */
function cut(request: RawRequest, text: string, bytes: number, how: "end" | "reset"): void {
  request.write(text.slice(0, bytes));
  request[how]();
}

const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

describe("a stream that is cut", () => {
  test(`${verifies("K-01", "K-06", "K-09", "c001")}at any byte, twice: one effect, each event once, in order`, async () => {
    const random = seededRandom(testSeed("cut at any byte"));
    for (let run = 0; run < 60; run += 1) {
      let events: EventOf[] = [];
      const how = random.pick(["end", "reset"] as const);
      const at = random.int(0, 420);
      const again = random.int(0, 420);
      const server = await playedSession({
        call: (request) => {
          events = eventsOf(request);
          cut(request, head + textOf(events), at, how);
        },
        resume: (request, n) => {
          const text = head + textOf(after(events, request));
          cut(request, text, n === 0 ? again : text.length, n === 0 ? how : "end");
        },
      });
      const host = await openHost(server.url);
      const answer = await host.call();
      const seen = data(host);
      expect([run, seen]).toEqual([run, [1, 2].slice(0, seen.length)]);
      expect(server.count("tools/call")).toBe(1);
      expect(server.count("initialize")).toBe(1);
      // Where the first id has passed for certain, the result must come.
      const isPrimed = how === "end" && at >= head.length + textOf(events.slice(0, 1)).length;
      if (isPrimed || server.count("GET") > 1) expect(answer).toMatchObject({ result: {} });
      else if (answer.error) expect(host.unknown).toMatchObject([{ reason: "unreachable" }]);
      if (answer.result) expect(seen).toEqual([1, 2]);
      await disposeAll();
    }
  });

  test(`${verifies("K-09", "c001", "c004")}before its headers: unknown outcome, one effect`, async () => {
    const server = await playedSession({ call: (request) => request.reset() });
    const host = await openHost(server.url);
    expect(await host.call()).toMatchObject({ error: { code: -32011 } });
    expect(host.unknown).toMatchObject([{ reason: "unreachable", name: "charge" }]);
    expect(server.count("tools/call")).toBe(1);
  });

  test(`${verifies("c001")}after its result, before the end of the body: delivered once`, async () => {
    const server = await playedSession({
      call: (request) => {
        request.write(head.replace("connection: close", "transfer-encoding: chunked"));
        const text = textOf(eventsOf(request));
        request.write(`${text.length.toString(16)}\r\n${text}\r\n`);
        setImmediate(() => request.end());
      },
    });
    const host = await openHost(server.url);
    expect(await host.call()).toMatchObject({ result: {} });
    expect([server.count("tools/call"), server.count("GET"), host.unknown.length]).toEqual([
      1, 1, 0,
    ]);
  });

  test(`${verifies("K-06", "c004")}twice without an event in between: the cursor stays`, async () => {
    let events: EventOf[] = [];
    const server = await playedSession({
      call: (request) => {
        events = eventsOf(request, 1);
        request.openStream();
        request.write(textOf(events.slice(0, 2)));
        request.end();
      },
      resume: (request, n) => {
        if (n === 0) return request.reset();
        request.openStream();
        if (n > 1) request.write(textOf(after(events, request)));
        request.end();
      },
    });
    const host = await openHost(server.url);
    expect(await host.call()).toMatchObject({ result: {} });
    const cursors = server.requests.map(({ headers }) => headers["last-event-id"]).filter(Boolean);
    expect(cursors).toEqual(["c1", "c1", "c1"]);
  });
});

describe("a resume that is answered by", () => {
  async function cutAndResumed(
    resume: (request: RawRequest, n: number, events: readonly EventOf[]) => void,
  ) {
    let events: EventOf[] = [];
    const server = await playedSession({
      call: (request) => {
        events = eventsOf(request);
        request.openStream();
        request.write(textOf(events.slice(0, 2)));
        request.end();
      },
      resume: (request, n) => resume(request, n, events),
    });
    const host = await openHost(server.url);
    return { server, host, answer: await host.call() };
  }

  const serve = (request: RawRequest, events: readonly EventOf[]) => {
    request.openStream();
    request.write(textOf(after(events, request)));
    request.end();
  };

  test.each([
    ["503 for a while", 503, ""],
    ["502 with a page", 502, "<html>bad gateway</html>"],
    ["a bare 409", 409, ""],
    ["429", 429, ""],
    ["408", 408, ""],
    ["425", 425, ""],
  ])(
    `${verifies("K-01", "c008")}%s: the same cursor, until it works`,
    async (_name, status, body) => {
      const { server, host, answer } = await cutAndResumed((request, n, events) =>
        n < 5 ? request.respond(status, body) : serve(request, events),
      );
      expect(answer).toMatchObject({ result: {} });
      expect([data(host), host.gaps, host.ended]).toEqual([[1, 2], [], []]);
      expect(server.count("tools/call")).toBe(1);
    },
  );

  test(`${verifies("K-08")}410 with its body: a gap, then what is left`, async () => {
    const error = {
      ...{ code: -32010, message: "gone" },
      data: { type: "resume-window-exceeded", stream: 1, oldestEventId: "c2", lostEvents: 1 },
    };
    const { host, answer } = await cutAndResumed((request, n, events) => {
      if (n > 0) return serve(request, events);
      request.respond(410, JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    });
    expect(host.gaps).toMatchObject([{ from: "c1", to: "c2", lostEvents: 1, stream: 1 }]);
    expect([data(host), answer.result]).toEqual([[1], {}]);
  });

  test.each([
    ["410 without a body", 410, "", "window-expired"],
    ["204", 204, "", "stream-refused"],
    ["405", 405, "", "stream-refused"],
    ["418", 418, "", "stream-refused"],
    ["403", 403, "", "authorization"],
  ])(
    `${verifies("K-01", "K-08")}%s: unknown outcome, the session is kept`,
    async (_name, status, body, reason) => {
      const { host, answer } = await cutAndResumed((request) => request.respond(status, body));
      expect(answer).toMatchObject({ error: { code: -32011, data: { reason } } });
      expect(host.transport.sessionId).toBe("S0");
    },
  );

  test(`${verifies("K-01")}200 with a page: unknown outcome`, async () => {
    const { answer } = await cutAndResumed((request) =>
      request.respond(200, "<html>", { "content-type": "text/html" }),
    );
    expect(answer).toMatchObject({ error: { data: { reason: "stream-refused" } } });
  });

  test(`${verifies("D-01", "K-01")}event: close: the session is over, no further GET`, async () => {
    const { server, host, answer } = await cutAndResumed((request) => {
      request.openStream();
      request.write('event: close\ndata: {"reason":"expired"}\n\n');
    });
    expect(answer).toMatchObject({ error: { data: { reason: "session-ended" } } });
    expect(host.ended).toEqual([{ sessionId: "S0", reason: "expired" }]);
    expect(server.count("GET")).toBe(2);
  });
});

describe("what streams are made of", () => {
  async function answered(write: (request: RawRequest) => void) {
    const server = await playedSession({ call: write });
    const host = await openHost(server.url);
    return { host, answer: await host.call() };
  }

  test(`${verifies("K-15")}a BOM, CRLF cut between its bytes, CR alone, unknown fields and names`, async () => {
    const { host, answer } = await answered((request) => {
      request.openStream();
      const [, first, second, last] = eventsOf(request) as [EventOf, EventOf, EventOf, EventOf];
      const text =
        `\ufeffid: c1\r\nfoo: bar\r\ndata: ${first.message}\r\n\r\n` +
        `event: ping\rdata: {}\r\rid: c2\rdata: ${second.message}\r\r` +
        `:\r\n: comment\r\nid: c3\r\ndata: ${last.message}\r\n\r\n`;
      const pieces = text.split(/(?<=\r)/);
      const next = () => {
        const piece = pieces.shift();
        if (piece === undefined) return request.end();
        request.write(piece);
        setImmediate(next);
      };
      next();
    });
    expect([data(host), answer.result]).toEqual([[1, 2], {}]);
  });

  test.each([
    ["id, then empty data", "id: c0\ndata: \n\n"],
    ["id, then bare data", "id: c0\ndata:\n\n"],
    ["data, id and retry", "data:\nid: c0\nretry: 30\n\n"],
    ["an id alone", "id: c0\n\n"],
    ["another event, then an id", "event: ping\ndata: {}\n\nid: c0\n\n"],
    ["a comment, then an id", ": comment\n\nid: c0\n\n"],
  ])(
    `${verifies("c030", "K-06", "K-15")}priming by %s: a cursor and nothing else`,
    async (_name, priming) => {
      let events: EventOf[] = [];
      const server = await playedSession({
        call: (request) => {
          events = eventsOf(request);
          request.openStream();
          request.write(priming);
          request.end();
        },
        resume: (request) => {
          request.openStream();
          request.write(textOf(after(events, request)));
          request.end();
        },
      });
      const host = await openHost(server.url);
      expect(await host.call()).toMatchObject({ result: {} });
      expect(server.requests.at(-1)?.headers["last-event-id"]).toBe("c0");
      expect([data(host), host.errors]).toEqual([[1, 2], []]);
    },
  );

  test(`${verifies("K-15")}8 MB in one event`, async () => {
    const big = "é".repeat(4 * 2 ** 20);
    const { answer } = await answered((request) => {
      request.openStream();
      request.write(textOf(eventsOf(request, 0, { big })));
      request.end();
    });
    expect((answer.result as { big: string }).big === big).toBe(true);
  });

  test(`${verifies("K-15")}an event over the limit ends its call by name, and no other`, async () => {
    const server = await playedSession({
      call: (request, n) => {
        request.openStream();
        const big = n === 0 ? "x".repeat(5_000) : "";
        request.write(textOf(eventsOf(request, 0, { big })));
        request.end();
      },
    });
    const host = await openHost(server.url, { internals: { eventCharsMax: 4_096 } });
    const [first, second] = await Promise.all([host.call("big"), host.call("small")]);
    expect(first).toMatchObject({ error: { data: { code: "ERR_EVENT_TOO_LARGE" } } });
    expect(second).toMatchObject({ result: { big: "" } });
    expect(host.errors).toMatchObject([{ code: "ERR_EVENT_TOO_LARGE" }]);
    expect(host.unknown).toEqual([]);
  });

  test(`${verifies("K-15")}an event over the limit on the standalone stream: told, and it goes on`, async () => {
    let gets = 0;
    const notice = (text: string) =>
      JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { data: text } });
    const { promise: wasReopened, resolve: reopened } = Promise.withResolvers<void>();
    const server = await playedSession({
      call: (request) => request.respond(202),
      standalone: (request) => {
        request.openStream();
        gets += 1;
        if (gets > 1) return reopened();
        request.write(
          `id: g1\ndata: ${notice("a")}\n\nid: g2\ndata: ${notice("b".repeat(9_999))}\n\n`,
        );
      },
    });
    const host = await openHost(server.url, { internals: { eventCharsMax: 4_096 } });
    await wasReopened;
    expect([data(host), host.gaps.length]).toEqual([["a"], 1]);
    expect(host.errors).toMatchObject([{ code: "ERR_EVENT_TOO_LARGE" }]);
  });

  test(`${verifies("K-15")}what is no message is reported, and skipped`, async () => {
    const { host, answer } = await answered((request) => {
      request.openStream();
      request.write('id: c8\ndata: not json\n\nid: c9\ndata: {"jsonrpc":"1.0"}\n\n');
      request.write(textOf(eventsOf(request)));
      request.end();
    });
    expect([data(host), answer.result]).toEqual([[1, 2], {}]);
    expect(host.errors.map(({ name }) => name)).toEqual(["SyntaxError", "SyntaxError"]);
  });
});

describe("connections", () => {
  test(`${verifies("K-12", "K-01")}that are black holes: given up by heartbeat, and resumed`, async () => {
    let events: EventOf[] = [];
    const server = await playedSession({
      capability: { ...holdfastCapability, heartbeatMs: 40 },
      call: (request) => {
        events = eventsOf(request);
        request.openStream();
        // Then nothing, for ever.
        request.write(textOf(events.slice(0, 2)));
      },
      resume: (request) => {
        request.openStream();
        request.write(textOf(after(events, request)));
        request.end();
      },
    });
    const host = await openHost(server.url);
    expect(await host.call()).toMatchObject({ result: {} });
    expect([data(host), server.count("tools/call")]).toEqual([[1, 2], 1]);
  });

  test(`${verifies("K-07", "c016")}404 while four calls are made: one new session, each call once`, async () => {
    let isRestarted = false;
    const ran: unknown[] = [];
    const server = await playedSession({
      isKnown: (sessionId) => !isRestarted || sessionId === "S1",
      call: (request) => {
        ran.push(request.body.params?.name);
        request.openStream();
        request.write(textOf(eventsOf(request, 0)));
        request.end();
      },
    });
    const host = await openHost(server.url);
    isRestarted = true;
    const answers = await Promise.all(["a", "b", "c", "d"].map((name) => host.call(name)));
    expect(answers.every(({ result }) => result !== undefined)).toBe(true);
    expect([server.count("initialize"), ran.toSorted()]).toEqual([2, ["a", "b", "c", "d"]]);
    expect(host.transport.sessionId).toBe("S1");
  });

  test(`${verifies("K-09")}that are refused while the server restarts: the call waits, and runs once`, async () => {
    const server = await playedSession({
      call: (request) => {
        request.openStream();
        request.write(textOf(eventsOf(request, 0)));
        request.end();
      },
    });
    const nobody = await freePort();
    let refusals = 0;
    const host = await openHost(server.url, {
      fetch: (url, init) => {
        const isCall = String(init?.body).includes("tools/call");
        if (!isCall || refusals === 3) return fetch(url, init);
        refusals += 1;
        return fetch(`http://127.0.0.1:${nobody}/mcp`, init);
      },
    });
    expect(await host.call()).toMatchObject({ result: {} });
    expect([refusals, server.count("tools/call"), host.unknown]).toEqual([3, 1, []]);
  });

  test("that are redirected within the origin are followed; session ids go nowhere else", async () => {
    const stranger = await playedSession({ call: (request) => request.respond(200) });
    const server = await playedSession({
      call: (request, n) => {
        if (n === 0) return request.respond(307, "", { location: "/mcp?moved" });
        if (n === 2) return request.respond(307, "", { location: stranger.url });
        request.openStream();
        request.write(textOf(eventsOf(request, 0)));
        request.end();
      },
    });
    const host = await openHost(server.url);
    expect(await host.call()).toMatchObject({ result: {} });
    await expect(host.call()).rejects.toMatchObject({ status: 307 });
    expect(stranger.requests).toEqual([]);
  });
});
