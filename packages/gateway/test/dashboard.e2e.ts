/** The dashboard in a real browser: what an operator does with it, from the first look to the end. */
import { disposeAll, openSession, requireService, verifies } from "@holdfast/testkit";
import type { Page } from "playwright-core";
import { afterEach, expect, test } from "vitest";
import { serveAdmin } from "./admin-gateway.ts";
import { browse } from "./browser.ts";
import { workerCall } from "./worker.ts";

afterEach(disposeAll);

const browserTest = test.skipIf(!requireService("chromium"));

const lane = (page: Page, stream: number) => page.locator(`.lane[data-stream="${stream}"]`);

browserTest(
  `${verifies("W-06")}a call is cut and resumed, a gap appears, the gateway restarts, a session ends`,
  async () => {
    const options = ["--max-events", "6"];
    const gateway = await serveAdmin(options);
    const session = await openSession(gateway.url, { clientInfo: { name: "agent", version: "1" } });
    const { page, faults, screenshot } = await browse(gateway.admin, { expectsCuts: true });
    await page.locator('body[data-connection="live"]').waitFor();
    await page.locator(".row").click();
    await lane(page, 0).waitFor();

    // A call, cut and resumed.
    const work = await session.call("work", { name: "a" }, { progressToken: 1 });
    await work.nextMessage();
    await lane(page, 2).and(page.locator('[data-outcome="runs"]')).waitFor();
    const { lastEventId = "" } = work;
    work.destroy();
    await lane(page, 2).and(page.locator('[data-cuts="1"]')).waitFor();
    const resumed = await session.get({ lastEventId });
    await lane(page, 2).and(page.locator('[data-resumes="1"]')).waitFor();
    await screenshot("cut-and-resumed");

    // A gap: the cap takes what a reader has not seen.
    resumed.destroy();
    await workerCall(session, "advance", { name: "a", progress: 9 });
    expect((await session.get({ lastEventId })).status).toBe(410);
    await lane(page, 2).and(page.locator('[data-gaps="1"]')).waitFor();
    await page.locator(".happened.gap").first().waitFor();
    await page.locator('[data-card="gaps told"].warned').waitFor();
    await workerCall(session, "advance", { name: "a", done: true });
    await lane(page, 2).and(page.locator('[data-outcome="answered"]')).waitFor();
    await screenshot("gap");

    // The gateway restarts at the same places; the page goes on, and has a hole nowhere.
    const ports = [gateway.url, gateway.admin].map((url) => new URL(url).port);
    expect(await gateway.process.kill("SIGTERM")).toMatchObject({ code: 0 });
    await page.locator('body[data-connection="waiting"]').waitFor();
    const [port = "", adminPort = ""] = ports;
    const places = [...options, "--port", port, "--admin-port", adminPort];
    await serveAdmin(places, {}, gateway.directory);
    await page.locator('body[data-connection="live"]').waitFor();
    await page.locator('[data-turn="started"]').first().waitFor();
    await session.call("work", { name: "after" });
    await workerCall(session, "advance", { name: "after", done: true });
    const after = page.locator('.lane[data-outcome="answered"]', { hasText: "work" });
    await after.nth(1).waitFor();
    await lane(page, 2).and(page.locator('[data-gaps="1"][data-cuts="2"]')).waitFor();
    expect(await page.locator(".session-note").textContent()).toBe("");
    expect(await page.getByText("untimed").count()).toBe(0);
    await screenshot("after-a-restart");

    // Bodies are hidden.
    await lane(page, 2).click();
    await page.getByText("Messages are hidden (--show-bodies).").waitFor();
    await page.keyboard.press("Escape");

    // The end, after a confirmation.
    await page.getByRole("button", { name: "End session…" }).click();
    await page.getByText("End this session?").waitFor();
    await screenshot("confirm");
    await page.getByRole("button", { name: "Keep it" }).click();
    expect((await session.request("ping")).status).toBe(200);
    await page.getByRole("button", { name: "End session…" }).click();
    await page.getByRole("button", { name: "End session", exact: true }).click();
    await page.locator('[data-state="ended: ended"]').waitFor();
    expect((await session.request("ping")).status).toBe(404);
    await screenshot("ended");
    expect(faults).toEqual([]);
  },
);
