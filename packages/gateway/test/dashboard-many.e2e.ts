/** The dashboard with ten thousand sessions, on a telephone, in the dark, by keyboard. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { SessionRow } from "@holdfast/dashboard/model";
import { memoryLog } from "@holdfast/log";
import { disposeAll, onDispose, requireService } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { History } from "../src/admin/history.ts";
import { createMetrics } from "../src/admin/metrics.ts";
import { readPageFiles } from "../src/admin/page-files.ts";
import { type AdminParts, adminHandler } from "../src/admin/routes.ts";
import { browse } from "./browser.ts";
import { recordingLogger } from "./recording-logger.ts";

afterEach(disposeAll);

const browserTest = test.skipIf(!requireService("chromium"));

const sessionCount = 10_000;
const activities = ["active", "attached", "idle", "resting"] as const;
const beganAtMs = Date.UTC(2030, 0, 1);

const rows = Array.from({ length: sessionCount }, (_, i): SessionRow => {
  const activity = activities[i % activities.length] ?? "idle";
  return {
    tag: i.toString(16).padStart(16, "0"),
    ...{ principal: i % 3 === 0 ? `team-${i % 7}` : "", client: `client ${i % 11}` },
    ...{ version: "2025-11-25", createdAtMs: beganAtMs + i, activity },
    ...{ calls: activity === "active" ? 1 : 0, viewports: activity === "attached" ? 1 : 0 },
  };
});

/** The admin port with sessions that nobody had to open. @param token - that it wants */
async function adminOfMany(token?: string): Promise<string> {
  const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  const { logger } = recordingLogger();
  const history = await History.open({ log: memoryLog(), windowMs: 60_000, clock, logger });
  const reconnects = { count: 900, p50Ms: 600, p99Ms: 9_000, p999Ms: 40_000, maxMs: 61_000 };
  const counts = { calls: 5, takeovers: 1, breaches: 0, unknownOutcomes: 0, logErrors: 0 };
  const events = { eventsAppended: 9, eventsReplayed: 4, sessionsCreated: 5, sessionsEnded: {} };
  const runtime: AdminParts["runtime"] = {
    inspection: {
      list: async () => ({ sessions: rows, isCut: false }),
      show: async (name) => {
        const row = rows.find(({ tag }) => tag === name);
        return row && { ...row, streams: [] };
      },
      events: async () => [],
      end: async () => false,
    },
    facts: () => ({
      ...{ windowMs: 1_800_000, horizonMs: 1_800_000, headroomMs: 1_760_000, reconnects },
      ...{ ...counts, ...events, resumes: { clean: 900, complete: 3 } },
    }),
    health: async () => ({ isDraining: false, isLogReady: true }),
    callCount: () => 2_500,
    viewportCount: () => 2_500,
  };
  const about = { version: "1", url: "http://h/mcp", log: "memory", clientReconnectMs: 180_000 };
  const handler = adminHandler({
    ...{ runtime, history, logger, token, hosts: [], showsBodies: false },
    ...{ metrics: createMetrics(), page: readPageFiles() },
    about: { ...about, startedAtMs: Date.now() },
    liveSessions: async () => sessionCount,
  });
  const server = createServer(handler).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onDispose(async () => {
    await history.close();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

browserTest("ten thousand sessions: only what can be seen is drawn, wherever one is", async () => {
  const { page, faults, screenshot } = await browse(await adminOfMany());
  await page.getByText("10\u202f000 sessions", { exact: true }).waitFor();
  const drawn = page.locator(".row");
  expect(await drawn.count()).toBeLessThan(40);
  // The newest is on top; by keyboard to the next page and back, and into it.
  await page.keyboard.press("/");
  expect(await page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("search");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page
    .locator(".session-title", { hasText: (9_998).toString(16).padStart(16, "0") })
    .waitFor();
  await screenshot("many");
  const viewport = page.locator(".rows-viewport");
  await viewport.evaluate((element) => {
    element.scrollTop = element.scrollHeight;
  });
  await page.locator('.row[data-tag="0000000000000000"]').waitFor();
  expect(await drawn.count()).toBeLessThan(40);
  await page.getByRole("searchbox").fill("team-3");
  const teams = rows.filter(({ principal }) => principal === "team-3").length;
  await page.getByText(`${teams} of 10\u202f000 sessions`).waitFor();
  await page.getByRole("button", { name: /^resting/ }).click();
  const resting = rows.filter((row) => row.principal === "team-3" && row.activity === "resting");
  await page.getByText(`${resting.length} of 10\u202f000 sessions`).waitFor();
  expect(faults).toEqual([]);
});

browserTest("at 390 pixels it has one column, in the dark it is dark", async () => {
  const url = await adminOfMany();
  const { page, faults, screenshot } = await browse(url, {
    width: 390,
    height: 844,
    colorScheme: "dark",
  });
  await page.locator(".row").first().waitFor();
  const overflow = () =>
    page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
  expect(await overflow()).toBe(0);
  await screenshot("phone-list");
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(background).toBe("rgb(14, 20, 19)");
  await page.locator(".row").first().click();
  await page.locator(".session-title").waitFor();
  expect(await page.locator(".list").isVisible()).toBe(false);
  expect(await overflow()).toBe(0);
  await screenshot("phone-session");
  await page.getByRole("button", { name: "Back to the list" }).click();
  await page.locator(".list").waitFor();
  expect(faults).toEqual([]);
});

browserTest(
  "where a token is demanded, the page asks for it, and keeps it in this tab alone",
  async () => {
    const token = "a-token-of-sixteen-and-more";
    const { page } = await browse(await adminOfMany(token));
    await page.getByLabel("Admin token").fill("wrong");
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByLabel("Admin token").fill(token);
    await page.getByRole("button", { name: "Use" }).click();
    await page.getByText("10\u202f000 sessions", { exact: true }).waitFor();
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
  },
);
