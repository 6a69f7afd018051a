/** Debian's Chromium, driven by Playwright; it notes what a page may not do. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findBinary, onDispose } from "@holdfast/testkit";
import { chromium, type Page } from "playwright-core";

export interface Browsed {
  readonly page: Page;
  /** Errors of the console, of scripts, and requests to any other host. */
  readonly faults: readonly string[];
  /** Keep what the page looks like, as a file of the test run. */
  screenshot(name: string): Promise<void>;
}

export interface BrowseOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  /** Part of what the console says when a connection is cut on purpose. */
  readonly expectsCuts?: boolean;
}

/** Where screenshots of the test run are; ignored by git. */
const directory = process.env.HOLDFAST_SCREENSHOTS ?? join(import.meta.dirname, "../.screenshots");

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Open a page with a profile of its own. @param url - of the admin port */
export async function browse(url: string, options: BrowseOptions = {}): Promise<Browsed> {
  const { width = 1280, height = 900, colorScheme = "light", expectsCuts = false } = options;
  const executablePath = findBinary("chromium");
  if (executablePath === undefined) throw new Error("chromium is not installed");
  const browser = await chromium.launch({ executablePath, args: flags });
  onDispose(() => browser.close());
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() !== "error" && message.type() !== "warning") return;
    // Chromium itself reports each connection that a stopped gateway refuses.
    const isCut = /ERR_(CONNECTION|INCOMPLETE|EMPTY|NETWORK|SOCKET)/.test(message.text());
    if (!(isCut && expectsCuts)) faults.push(`console: ${message.text()}`);
  });
  const { host } = new URL(url);
  page.on("request", (request) => {
    if (new URL(request.url()).host !== host) faults.push(`request: ${request.url()}`);
  });
  await page.goto(url);
  return {
    page,
    faults,
    screenshot: async (name) => {
      mkdirSync(directory, { recursive: true });
      await page.screenshot({ path: join(directory, `${name}.png`) });
    },
  };
}
