/** Many requests in one turn of the loop: limits count what is about to be, refusals arrive whole. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { disposeAll, onDispose, verifies, within } from "@holdfast/testkit";
import { type Bench, benches } from "@holdfast/testkit/face-acceptance";
import { afterEach, expect, test } from "vitest";
import { nodeFace } from "./node-face.ts";

afterEach(disposeAll);

async function connected({ target }: Bench): Promise<Socket> {
  const socket = connect(target.port, target.host);
  onDispose(async () => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

function post(headers: Readonly<Record<string, string | number>>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\nhost: localhost\r\n${lines.join("")}\r\n${body}`;
}

async function statusOn(socket: Socket): Promise<number> {
  const [first] = (await once(socket, "data")) as [Buffer];
  return Number(first.toString("latin1").split(" ")[1]);
}

test(`${verifies("P-02", "D-03")}calls that wait for the log take places as those that run do`, async () => {
  const door = Promise.withResolvers<void>();
  let isShut = false;
  const bench = await benches(
    nodeFace,
    "memory",
  )({
    options: { viewportsMax: 6, callsPerSessionMax: 4 },
    logGate: {
      beforeCommit: (ops) =>
        isShut && ops.some(({ op }) => op === "open") ? door.promise : undefined,
    },
  });
  const sessions = [await bench.session(), await bench.session()];
  for (const { initializeStream } of sessions) await initializeStream.ended;
  isShut = true;
  const calls = sessions.flatMap((session) =>
    Array.from({ length: 8 }, (_, id) => session.call("t", {}, { id })),
  );
  // Ten are refused while the others wait: none of them has run, and none is forgotten.
  const refused = Promise.withResolvers<void>();
  let left = 10;
  for (const call of calls) {
    void call.then(({ status }) => {
      if (status !== 200) left -= 1;
      if (left === 0) refused.resolve();
    });
  }
  await within(refused.promise, "ten refusals");
  door.resolve();
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses.slice(0, 8).filter((status) => status === 200).length).toBeLessThanOrEqual(4);
  expect(statuses.filter((status) => status === 200)).toHaveLength(6);
  expect(new Set(statuses)).toEqual(new Set([200, 429, 503]));
});

test(`${verifies("D-03", "c060")}a client that closes can send its body to the end, and read the refusal`, async () => {
  const bench = await benches(nodeFace, "memory")({});
  const socket = await connected(bench);
  const bytes = 3_000_000;
  const headers = { "content-type": "text/plain", "content-length": bytes, connection: "close" };
  const status = statusOn(socket);
  socket.write(post(headers, "x".repeat(1_000)));
  expect(await status).toBe(406);
  // Cut off here, it would often not have read the answer.
  const sent = new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.write("x".repeat(bytes - 1_000), () => resolve());
  });
  await sent;
  expect(socket.destroyed).toBe(false);
});
