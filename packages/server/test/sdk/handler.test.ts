/** What a handler of an SDK server may rely on when its server stands behind sessions. */
import { disposeAll, openSession, signal, verifies, within } from "@holdfast/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { builds, type Given, serve, textOf } from "./servers.ts";

afterEach(disposeAll);

const message = ({ method }: { readonly method?: string }) => method === "notifications/message";
const dataOf = ({ params }: { readonly params?: Readonly<Record<string, unknown>> }) =>
  params?.["data"];

describe.each(builds)("SDK %s", (_sdk, build) => {
  test(`${verifies("E-01")}what belongs to a call stands on its stream, the rest on the standalone`, async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let begun = 0;
    const { url, made } = await serve(build, {
      work: async (given) => {
        const own = begun++;
        await gates[own]?.promise;
        await given.log(`of call ${own}`);
        await given.logUnrelated(`of the session, by ${own}`);
        return given.sessionId;
      },
    });
    const session = await openSession(url);
    const standalone = await session.get();
    const [first, second] = [await session.call("work"), await session.call("work")];
    gates[1]?.resolve();
    expect(textOf(await second.response())).toBe(session.sessionId);
    gates[0]?.resolve();
    expect(textOf(await first.response())).toBe(session.sessionId);
    expect(first.messages.filter(message).map(dataOf)).toEqual(["of call 0"]);
    expect(second.messages.filter(message).map(dataOf)).toEqual(["of call 1"]);
    const unrelated = [await standalone.nextMessage(), await standalone.nextMessage()];
    expect(unrelated.map(dataOf)).toEqual(["of the session, by 1", "of the session, by 0"]);
    expect(made).toHaveLength(1);
    expect(made[0]).toMatchObject({ sessionId: session.sessionId, restored: undefined });
  });

  test(`${verifies("X-01", "E-04")}a handler is aborted by cancellation, never by a disconnect`, async () => {
    const begun = signal<Given>("a handler that runs");
    const gate = Promise.withResolvers<void>();
    const { url } = await serve(build, {
      work: async (given) => {
        begun.emit(given);
        await Promise.race([gate.promise, aborted(given.signal)]);
        await given.log("still here");
        return `aborted: ${given.signal.aborted}`;
      },
    });
    const session = await openSession(url);
    const cutBegins = begun.next();
    const cut = await session.call("work", {}, { id: "cut" });
    const { id: cursor } = await cut.nextEvent();
    const cutHandler = await cutBegins;
    cut.destroy("rst");
    await cut.ended;
    const cancelledBegins = begun.next();
    const cancelled = await session.call("work", {}, { id: "cancelled" });
    const cancelledHandler = await cancelledBegins;
    await session.notify("notifications/cancelled", { requestId: "cancelled", reason: "enough" });
    await within(aborted(cancelledHandler.signal), "the abort of the cancelled handler");
    expect((await cancelled.rest()).filter((item) => item.kind === "event")).toHaveLength(1);
    expect(cutHandler.signal.aborted).toBe(false);
    gate.resolve();
    const resumed = await session.get({ lastEventId: cursor as string });
    expect(textOf(await resumed.response("cut"))).toBe("aborted: false");
    expect(resumed.messages.filter(message).map(dataOf)).toEqual(["still here"]);
  });

  test(`${verifies("E-11")}a handler lets its reader go, and the reader comes back for the result`, async () => {
    const back = Promise.withResolvers<void>();
    const { url } = await serve(
      build,
      {
        work: async (given) => {
          given.closeStandalone?.();
          given.closeStream?.();
          await back.promise;
          return "late";
        },
      },
      { options: { retryMs: 321 } },
    );
    const session = await openSession(url);
    const standalone = await session.get();
    const stream = await session.call("work");
    for (const reader of [stream, standalone]) {
      expect((await reader.rest()).at(-1)).toEqual({ kind: "retry", retryMs: 321 });
      expect((await reader.ended).how).toBe("end");
    }
    const resumed = await session.get({ lastEventId: stream.lastEventId as string });
    back.resolve();
    expect(textOf(await resumed.response())).toBe("late");
    // Who could not come back is not offered it.
    const old = await openSession(url, { version: "2025-06-18" });
    const oldStream = await old.call("work");
    expect(textOf(await oldStream.response())).toBe("late");
  });

  test(`${verifies("S-08", "D-01")}DELETE aborts handlers and closes the server`, async () => {
    const begun = signal<Given>("a handler that runs");
    const closed = Promise.withResolvers<void>();
    const { url, made } = await serve(build, {
      work: async (given) => {
        begun.emit(given);
        await aborted(given.signal);
        return "aborted";
      },
      onClose: () => closed.resolve(),
    });
    const session = await openSession(url);
    const begins = begun.next();
    const stream = await session.call("work");
    const given = await begins;
    expect((await session.delete()).status).toBe(204);
    await within(aborted(given.signal), "the abort");
    await within(closed.promise, "the end of the server");
    expect((await stream.response()).error).toMatchObject({ code: -32011 });
    expect(made).toHaveLength(1);
  });

  test(`${verifies("X-05")}nobody waits for a server that closed itself; the next one goes on`, async () => {
    const { url, made } = await serve(build, {
      work: async (given) => {
        if (made.length === 1) await given.close();
        return "by another";
      },
    });
    const session = await openSession(url);
    const answer = await (await session.call("work")).response();
    expect(answer.error).toMatchObject({ code: -32011, data: { reason: "upstream-exited" } });
    expect(textOf(await (await session.call("work")).response())).toBe("by another");
    expect(made[1]?.restored).toMatchObject({ protocolVersion: "2025-11-25", subscriptions: [] });
  });

  test(`${verifies("X-05")}an answer that cannot be sent is an answer all the same`, async () => {
    const { url } = await serve(
      build,
      { work: async () => "x".repeat(2_000) },
      { eventBytesMax: 1_000 },
    );
    const session = await openSession(url);
    const answer = await (await session.call("work", {}, { id: 1 })).response(1);
    expect(answer.error?.message).toMatch(/has 20\d\d bytes; at most 1000/);
  });
});

function aborted(given: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (given.aborted) resolve();
    else given.addEventListener("abort", () => resolve(), { once: true });
  });
}
