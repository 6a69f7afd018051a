import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { verifies } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { servePeer } from "./peer.ts";

test(`${verifies("E-07")}line separators of Unicode inside of a message end no line`, async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const said = text(output);
  const params = { text: "a\u2028b\u2029c\u0085d" };
  input.end(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "echo", params })}\n`);
  await servePeer(input, output, { echo: (request) => request.params });
  output.end();
  expect(JSON.parse(await said)).toEqual({ jsonrpc: "2.0", id: 1, result: params });
});
