/** Chapter: bodies, how large they may be, and that one that is not whole runs nothing. */
import { connect } from "node:net";
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth } from "../raw-session.ts";
import { verifies } from "../verifies.ts";
import { within } from "../wait-for.ts";
import type { Bench, BenchSession, OpenBench } from "./bench.ts";
import { expectAlive, expectRefusal } from "./checks.ts";

export function bodyLimitsChapter(open: OpenBench): void {
  sizes(open);
  cutBodies(open);
  encodings(open);
}

const mebibyte = 2 ** 20;

const headersOf = ({ sessionId }: BenchSession) => ({
  ...{ accept: acceptBoth, "content-type": "application/json", "mcp-session-id": sessionId },
});

/** A call whose body has exactly so many bytes. */
function callOf(bytes: number): string {
  const [head, end] = ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"', '"}}'];
  return `${head}${"x".repeat(bytes - head.length - end.length)}${end}`;
}

const tooLarge = { status: 413, code: -32000, type: "body-too-large", data: { notRun: true } };

function sizes(open: OpenBench): void {
  for (const framing of ["length", "chunked"] as const) {
    test(`${verifies("D-03", "P-02", "c060")}bodies of up to 4 MiB run, with ${framing} framing; one byte more does not`, async () => {
      const bench = await open();
      const session = await bench.session();
      const request = { url: bench.url, method: "POST", headers: headersOf(session), framing };
      for (const bytes of [95_000, 105_000, mebibyte, 4 * mebibyte]) {
        const body = callOf(bytes);
        const stream = await openEventStream({ ...request, body });
        expect(`${bytes}: ${stream.status}`).toBe(`${bytes}: 200`);
        const call = await session.upstream.request("tools/call");
        expect(call.text.length).toBeGreaterThan(bytes - 10);
        call.answer({});
        await stream.body();
      }
      const stream = await openEventStream({ ...request, body: callOf(4 * mebibyte + 1) });
      await expectRefusal(stream, tooLarge);
      await expectAlive(session);
      const ran = session.upstream.arrivals.filter(
        ({ message }) => message.method === "tools/call",
      );
      expect(ran).toHaveLength(4);
    });
  }

  test(`${verifies("D-03", "c060")}the refusal can be read before the whole body was sent`, async () => {
    const bench = await open({ options: { bodyBytesMax: 10_000 } });
    const session = await bench.session();
    const request = { url: bench.url, method: "POST", headers: headersOf(session) };
    // Said to be too large; little of it comes.
    const said = { ...request, body: callOf(1_000_000), bodyBytesSent: 100 };
    await expectRefusal(await openEventStream(said), tooLarge);
    // Says nothing of its size; more comes than may.
    for (const bodyBytesSent of [10_001, 200_000]) {
      const framing = "chunked" as const;
      const unsaid = { ...request, framing, body: callOf(1_000_000), bodyBytesSent };
      await expectRefusal(await openEventStream(unsaid), tooLarge);
    }
    await expectAlive(session);
  });

  test(`${verifies("P-02", "c060")}the limit can be set`, async () => {
    const bench = await open({ options: { bodyBytesMax: 500 } });
    const session = await bench.session();
    const request = { url: bench.url, method: "POST", headers: headersOf(session) };
    expect((await openEventStream({ ...request, body: callOf(500) })).status).toBe(200);
    await expectRefusal(await openEventStream({ ...request, body: callOf(501) }), tooLarge);
  });
}

function cutBodies(open: OpenBench): void {
  test(`${verifies("D-03", "S-01", "c060")}a body that is cut off runs nothing and harms nothing`, async () => {
    const bench = await open();
    const session = await bench.session();
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"charge"}}';
    const lines = Object.entries({ ...headersOf(session), host: "localhost" }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const framings = [
      `content-length: ${body.length}\r\n\r\n`,
      `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`,
    ];
    for (const framing of framings) {
      const head = `POST ${new URL(bench.url).pathname} HTTP/1.1\r\n${lines.join("")}${framing}`;
      for (const how of ["fin", "rst"] as const) {
        for (const bytes of [0, 1, body.length - 1]) {
          await sendAndCut(bench.target, head + body.slice(0, bytes), how);
          await expectAlive(session);
        }
      }
    }
    const methods = session.upstream.arrivals.map(({ message }) => message.method);
    expect(methods).not.toContain("tools/call");
    expect(bench.logLines.filter(({ level }) => level === "error")).toEqual([]);
  });
}

/** Send this much and close; whether an answer comes does not matter. */
async function sendAndCut(target: Bench["target"], text: string, how: "fin" | "rst") {
  const socket = connect({ ...target, noDelay: true }).resume();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => {});
  await new Promise((resolve) => socket.write(text, resolve));
  if (how === "fin") socket.end();
  else socket.resetAndDestroy();
  await within(closed, "the close of a connection that was cut");
}

function encodings(open: OpenBench): void {
  const head = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"';
  const sequences: readonly (readonly number[])[] = [
    ...[[0xff], [0xc0, 0xaf], [0x80], [0xe2, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
  ];

  test(`${verifies("D-03", "c060")}a body that is not UTF-8 is refused as no JSON`, async () => {
    const bench = await open();
    const session = await bench.session();
    const request = { url: bench.url, method: "POST", headers: headersOf(session) };
    const utf16 = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', "utf16le");
    const bodies = sequences.map((bytes) =>
      Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from('"}}')]),
    );
    for (const body of [...bodies, utf16]) {
      const refusal = { status: 400, code: -32700, type: "parse-error", data: { notRun: true } };
      await expectRefusal(await openEventStream({ ...request, body }), refusal);
    }
    expect(session.upstream.arrivals).toHaveLength(2);
    await expectAlive(session);
  });
}
