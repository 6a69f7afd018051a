/** Chapter: texts of messages pass byte for byte, but for what the gateway must change in them. */
import { expect, test } from "vitest";
import { openEventStream } from "../event-stream.ts";
import { acceptBoth } from "../raw-session.ts";
import { seededRandom, testSeed } from "../seeded-random.ts";
import { verifies } from "../verifies.ts";
import type { OpenBench } from "./bench.ts";
import { expectAlive, expectEmpty, primed, replayed, textsOf } from "./checks.ts";
import { type OddJson, oddJson } from "./odd-json.ts";

export function bytesChapter(open: OpenBench): void {
  inward(open);
  outward(open);
  capability(open);
}

const rounds = 300;

/** Members that are nobody's business. */
const extras = (odd: OddJson): (readonly [string, string])[] => [
  ["x-extra", odd.value()],
  ["Id", odd.value(1)],
];

function inward(open: OpenBench): void {
  test(`${verifies("E-12", "X-02")}requests reach the upstream byte for byte, but for id and token`, async () => {
    const odd = oddJson(seededRandom(testSeed("requests")), ["", " ", "\t", "\n", "\r", "\r\n"]);
    const bench = await open();
    const session = await bench.session();
    for (let round = 0; round < rounds; round++) {
      const id = odd.scalar();
      const meta = odd.object([["progressToken", "@token@"], ...extras(odd)]);
      const params = odd.object([
        ["name", odd.value(0)],
        ["arguments", odd.value()],
        ["_meta", meta],
      ]);
      const template = odd.object([
        ...[["jsonrpc", '"2.0"'] as const, ["id", "@id@"] as const],
        ...[["method", '"tools/call"'] as const, ["params", params] as const],
        ...extras(odd),
      ]);
      const written = (idText: string, token: string) =>
        template.replaceAll("@id@", idText).replaceAll("@token@", token);
      const token = odd.scalar();
      const stream = await session.post(written(id, token));
      expect({ status: stream.status, template }).toMatchObject({ status: 200 });
      const call = await session.upstream.request("tools/call");
      expect(call.text).toBe(written(String(call.id), String(call.id)));
      call.answer({});
      await stream.body();
      expect(textsOf(stream)).toEqual([`{"jsonrpc":"2.0","id":${id},"result":{}}`]);
    }
  });

  test(`${verifies("E-12")}notifications and answers of the client reach the upstream byte for byte`, async () => {
    const odd = oddJson(seededRandom(testSeed("client texts")), ["", " ", "\t", "\n", "\r"]);
    const bench = await open();
    const session = await bench.session();
    const standalone = await session.get();
    for (let round = 0; round < rounds / 3; round++) {
      const notification = odd.object([
        ...[["jsonrpc", '"2.0"'] as const, ["method", '"notifications/x"'] as const],
        ...[["params", odd.object(extras(odd))] as const, ...extras(odd)],
      ]);
      await expectEmpty(await session.post(notification), 202);
      expect((await session.upstream.notification("notifications/x")).text).toBe(notification);

      session.upstream.say({ id: round, method: "roots/list" });
      const { id } = await standalone.nextMessage();
      const answer = odd.object([
        ...[["jsonrpc", '"2.0"'] as const, ["id", "@id@"] as const],
        ...[["result", odd.value()] as const, ...extras(odd)],
      ]);
      await expectEmpty(await session.post(answer.replaceAll("@id@", JSON.stringify(id))), 202);
      const arrived = await session.upstream.take((message) => message.id === round);
      expect(arrived.text).toBe(answer.replaceAll("@id@", String(round)));
    }
  });
}

function outward(open: OpenBench): void {
  // A lone CR between tokens is a line break to the stream: it comes out as LF, and means the same.
  const blanks = ["", " ", "\t", "\n"];

  test(`${verifies("E-12", "E-07", "c036")}what the upstream says reaches the client byte for byte, live and replayed`, async () => {
    const odd = oddJson(seededRandom(testSeed("upstream texts")), blanks);
    const bench = await open();
    const session = await bench.session();
    for (let round = 0; round < rounds; round++) {
      const id = odd.scalar();
      const token = odd.scalar();
      const stream = await session.post(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"_meta":{"progressToken":${token}}}}`,
      );
      const cursor = await primed(stream);
      const call = await session.upstream.request("tools/call");
      const progress = odd.object([
        ...[["jsonrpc", '"2.0"'] as const, ["method", '"notifications/progress"'] as const],
        [
          "params",
          odd.object([
            ["progressToken", "@token@"],
            ["message", odd.value(0)],
          ]),
        ],
        ...extras(odd),
      ]);
      const notification = odd.object([
        ...[["jsonrpc", '"2.0"'] as const, ["method", '"notifications/message"'] as const],
        ...[["params", odd.object(extras(odd))] as const, ...extras(odd)],
      ]);
      const outcome = round % 5 === 0 ? errorOf(odd) : (["result", odd.value()] as const);
      const response = odd.object([
        ...[["jsonrpc", '"2.0"'] as const, ["id", "@id@"] as const],
        ...[outcome, ...extras(odd)],
      ]);
      session.upstream.emit(progress.replaceAll("@token@", String(call.id)));
      session.upstream.emit(notification);
      session.upstream.emit(response.replaceAll("@id@", String(call.id)));
      await stream.body();
      const expected = [
        progress.replaceAll("@token@", token),
        notification,
        response.replaceAll("@id@", id),
      ];
      expect(textsOf(stream)).toEqual(expected);
      if (round % 10 === 0) expect(await replayed(session, cursor)).toEqual(expected);
    }
    await expectAlive(session);
  });
}

const errorOf = (odd: OddJson) =>
  [
    "error",
    odd.object([
      ["code", "-32000"],
      ["message", '"no"'],
      ["data", odd.value()],
    ]),
  ] as const;

function capability(open: OpenBench): void {
  const key = "dev.holdfast/resume";
  const hellos = [
    // [what the upstream says, how it goes on with @cap@ for the advertised member]
    ['{"capabilities":{}}', '{"capabilities":{"experimental":{@cap@}}}'],
    ["{}", '{,"capabilities":{"experimental":{@cap@}}}'],
    ['{"capabilities":{"experimental":{}}}', '{"capabilities":{"experimental":{@cap@}}}'],
    [
      '{"capabilities": { "experimental" : {"x.y/z": {"n": 1.0}} , "logging":{} } , "n":1E2 }',
      '{"capabilities": { "experimental" : {"x.y/z": {"n": 1.0},@cap@} , "logging":{} } , "n":1E2 }',
    ],
    [
      '{"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"\\u0061","v":-0}}',
      '{"capabilities":{"tools":{"listChanged":true},"experimental":{@cap@}},"serverInfo":{"name":"\\u0061","v":-0}}',
    ],
  ] as const;

  test(`${verifies("E-12", "W-05")}the answer to initialize gains the advertised capability, and nothing else`, async () => {
    const bench = await open();
    bench.upstreams.respond = () => undefined;
    for (const [said, heard] of hellos) {
      const version = '"protocolVersion":"2025-11-25"';
      // The version goes first, so that what follows keeps its commas.
      const withVersion = (text: string) =>
        text === "{}"
          ? `{${version}}`
          : text.replace("{", `{${version}${text[1] === "," ? "" : ","}`);
      const stream = await openEventStream({
        ...{ url: bench.url, method: "POST" },
        body: '{"jsonrpc":"2.0","id":"\\u0030","method":"initialize","params":{}}',
        headers: { accept: acceptBoth, "content-type": "application/json" },
      });
      const upstream = await bench.upstreams.next();
      const { id } = await upstream.request("initialize");
      upstream.emit(`{"id":${id}, "result":${withVersion(said)},"jsonrpc":"2.0"}`);
      await stream.body();
      const [text = ""] = textsOf(stream);
      const { result } = JSON.parse(text);
      const advertised = result.capabilities.experimental[key];
      expect(advertised).toMatchObject({ contract: 1, retryMs: 1_000, heartbeatMs: 15_000 });
      const cap = `"${key}":${JSON.stringify(advertised)}`;
      const expected = withVersion(heard).replace("@cap@", () => cap);
      expect(text).toBe(`{"id":"\\u0030", "result":${expected},"jsonrpc":"2.0"}`);
    }
  });
}
