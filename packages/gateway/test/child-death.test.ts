/** A child that dies while it runs a call, in each of the ways in which children die. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  answerOf,
  disposeAll,
  type EventStream,
  openEventStream,
  openSession,
  type RawSession,
  verifies,
} from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { scratchDirectory, startGateway } from "./gateway-process.ts";
import { remoteServer } from "./remote-server.ts";
import { serverScript } from "./stdio-script.ts";

afterEach(disposeAll);

/** `pay { how }`: a line in a file, and then what `how` says; it never answers by itself. */
function paying(file: string): readonly string[] {
  return serverScript(`{
    pay: ({ how }) => {
      require("fs").appendFileSync(${JSON.stringify(file)}, "paid\\n");
      if (how === "killed") process.kill(process.pid, "SIGKILL");
      if (how === "output closed") require("fs").closeSync(1);
      if (how === "garbage, then an exit") {
        console.log('{"jsonrpc": "2.0", "id": 2, "resu');
        console.log("\\u0007 segmentation fault");
        process.exit(139);
      }
      // Stays, without its output too; but not when a killed gateway leaves it behind.
      const { ppid } = process;
      return new Promise(() => setInterval(() => process.ppid === ppid || process.exit(), 500));
    },
    ping: () => ({}),
  }`);
}

function resume(url: string, session: RawSession, from: EventStream): Promise<EventStream> {
  const headers = {
    accept: "text/event-stream",
    "mcp-session-id": session.sessionId,
    "last-event-id": from.events[0]?.id ?? "",
  };
  return openEventStream({ url, headers });
}

test.each(["killed", "output closed", "garbage, then an exit"])(
  `${verifies("X-05", "S-07", "c051")}%s in mid-call: one outcome, for the absent too; one new child, and no second effect`,
  async (how) => {
    const directory = scratchDirectory();
    const effects = join(directory, "effects.txt");
    const gateway = await startGateway(["serve", ...paying(effects)], directory);
    const session = await openSession(gateway.url);
    const call = await session.request("pay", { how });
    const unknown = {
      code: -32011,
      data: { type: "outcome-unknown", method: "pay", reason: "upstream-exited" },
    };
    expect((await call.response()).error).toMatchObject(unknown);
    await call.rest();
    expect(call.messages).toHaveLength(1);
    expect((await answerOf(await session.request("ping"))).result).toEqual({});
    const absent = await resume(gateway.url, session, call);
    expect((await absent.response()).error).toMatchObject(unknown);
    expect(readFileSync(effects, "utf8")).toBe("paid\n");
  },
);

test(`${verifies("X-05", "S-07", "c051")}the gateway dies in mid-call: no orphan, and the call has its outcome after the start`, async () => {
  const server = await remoteServer();
  const directory = scratchDirectory();
  const args = ["serve", ...server.command];
  const gateway = await startGateway(args, directory);
  const session = await openSession(gateway.url);
  const call = await session.request("slow", { n: 1 });
  await call.nextEvent();
  await server.hasBegun(1);
  await gateway.kill("SIGKILL");
  await server.gone();
  const next = await startGateway(args, directory);
  const answer = await (await resume(next.url, session, call)).response();
  expect(answer.error).toMatchObject({ code: -32011, data: { reason: "process-restarted" } });
  expect(server.begun).toBe(1);
});
