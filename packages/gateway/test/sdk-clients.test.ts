/** Unmodified SDK clients, old and new, on the demo server behind the gateway. */
import { disposeAll, signal, verifies, within } from "@holdfast/testkit";
import { afterAll, expect, test } from "vitest";
import { startGateway } from "./gateway-process.ts";
import { sdkClients } from "./sdk-client.ts";

afterAll(disposeAll);

const user = async () => ({ action: "accept" as const, content: { answer: "blue" } });

test.concurrent.each(sdkClients)(
  `${verifies("E-01", "X-01", "X-06")}SDK %s: tools, progress, log, resources, questions, cancelling`,
  async (_sdk, connect) => {
    const gateway = await startGateway(["demo", "serve", "--log", "memory:"]);
    const { client, logged, call } = await connect(gateway.url, { user });
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names).toEqual(["charge", "charges", "chatty", "echo", "ask"]);

    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
    const charged = await call("charge", { amount: 5, seconds: 2 }, { onprogress });
    expect(charged).toBe("charge #1: 5 was charged");
    expect(steps).toEqual([1, 2]);

    await client.setLoggingLevel("info");
    await call("chatty", { count: 3 });
    const lines = logged.map(({ data }) => data);
    expect(lines).toEqual(["message 1 of 3", "message 2 of 3", "message 3 of 3"]);
    await client.setLoggingLevel("error");
    await call("chatty", { count: 3 });
    expect(logged).toHaveLength(3);

    const { contents } = await client.readResource({ uri: "demo://charges" });
    expect(contents[0]).toMatchObject({ text: '[{"number":1,"amount":5}]' });
    expect(await call("ask", { question: "colour?" })).toBe("the user answered: blue");
    const alone = await connect(gateway.url, { user: null });
    expect(await alone.call("ask", { question: "?" })).toBe("the model answered: green");

    const begun = signal<void>("progress");
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => begun.emit() };
    const first = begun.next();
    const cancelled = call("charge", { amount: 1, seconds: 600 }, options).catch(() => "cancelled");
    // A step every second: the call runs.
    await first;
    abort.abort();
    expect(await within(cancelled, "the cancelled call")).toBe("cancelled");
    expect(await call("echo", { text: "still here" })).toBe("still here");
  },
);
