/**
 * Measure what becomes of calls under faults with the stock client and with ours, and write
 * docs/figures.md. The exhibits are those of `holdfast demo`, and some more.
 *
 *     npm run figures
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { runDemo } from "../src/demo/demo.ts";
import { demoPace, type Exhibit, exhibits } from "../src/demo/exhibits.ts";
import { demoProcesses } from "../src/demo/processes.ts";
import type { Row, Stack } from "../src/demo/row.ts";

const pageUrl = new URL("../../../docs/figures.md", import.meta.url);

/** Ours alone is what a client can do with a server that knows nothing of the contract. */
const stacks: readonly Stack[] = ["stock", "alone", "holdfast", "client"];

interface Measured extends Exhibit {
  /** Where that of the demo would end before the fault. */
  readonly callTimeoutMs?: number;
}

const charge = {
  ...({ incident: 1, tool: "charge", serveOptions: [], ownServeOptions: [] } as const),
  store: { kind: "sample" },
  storePhrase: "sample event store",
} as const;

/** What the demo leaves out: the stock client gets through, or it takes longer. */
const more: readonly Measured[] = [
  {
    ...charge,
    id: "no-fault",
    title: "no fault",
    disturb: async () => {},
  },
  {
    ...charge,
    id: "one-cut",
    title: "one cut",
    disturb: async ({ cursorHeld, cutAll }) => {
      await cursorHeld;
      cutAll();
    },
  },
  {
    ...charge,
    id: "many-cuts",
    title: "a cut every 0.7 s",
    disturb: async ({ cursorHeld, cutAll }) => {
      await cursorHeld;
      for (let cut = 0; cut < 6; cut += 1) {
        cutAll();
        await delay(700);
      }
    },
  },
  {
    ...charge,
    id: "long-refusal",
    title: "a cut, then 503 for 8 s",
    callTimeoutMs: 30_000,
    disturb: async ({ cursorHeld, cutAll, refuseFor }) => {
      await cursorHeld;
      refuseFor(8_000);
      cutAll();
    },
  },
  {
    ...charge,
    id: "killed-twice",
    title: "the server killed (-9) twice in one call",
    callTimeoutMs: 30_000,
    disturb: async ({ cursorHeld, effectMade, killAndRestart }) => {
      await Promise.all([cursorHeld, effectMade()]);
      await killAndRestart();
      await killAndRestart();
    },
  },
];

const shown: readonly Measured[] = [...more.slice(0, 3), ...exhibits, ...more.slice(3)];

async function measure(): Promise<readonly Row[]> {
  const { signal } = new AbortController();
  const rows: Row[] = [];
  // A few at a time: what is measured is waiting, not a machine that is out of breath.
  for (const exhibit of shown) {
    const processes = demoProcesses();
    process.on("exit", processes.killAll);
    const onRow = (row: Row) =>
      process.stderr.write(`${exhibit.title}, ${stackNames[row.stack]}: ${outcomeOf(row)}\n`);
    const pace = { ...demoPace, callTimeoutMs: timeoutOf(exhibit) };
    const settings = { pace, processes, signal, onRow };
    rows.push(...(await runDemo({ ...settings, exhibits: [exhibit], stacks })));
  }
  return rows;
}

const timeoutOf = ({ callTimeoutMs = demoPace.callTimeoutMs }: Measured) => callTimeoutMs;

const stackNames: Readonly<Record<Stack, string>> = {
  stock: "stock client, stock server",
  alone: "our client, stock server",
  holdfast: "stock client, `holdfast serve`",
  client: "our client, `holdfast serve`",
};

function outcomeOf({ attempts, lost, lostTold }: Row): string {
  const calls = attempts.map((attempt) => {
    if (attempt.kind !== "error") return attempt.kind === "result" ? "result" : "outcome unknown";
    return /timed out/.test(attempt.message) ? "timeout" : "error";
  });
  const word = lost > lostTold ? ", no word of the loss" : "";
  return calls.join(", then ") + word;
}

function lineOf(row: Row): string {
  const cells = [
    stackNames[row.stack],
    row.effects ?? "–",
    `${row.lost} of ${row.sent}`,
    row.lostTold,
    `${(row.tookMs / 1000).toFixed(1)} s`,
    outcomeOf(row),
    row.isRight ? "yes" : "**no**",
  ];
  return `| ${cells.join(" | ")} |`;
}

function setUpOf(exhibit: Measured): string {
  const { storePhrase, serveOptions, ownServeOptions } = exhibit;
  const options = (list: readonly string[]) => (list.length === 0 ? "defaults" : list.join(" "));
  return (
    `Stock server: ${storePhrase}. \`holdfast serve\`: ${options(serveOptions)} for the stock ` +
    `client, ${options(ownServeOptions)} for ours. A call is given up after ` +
    `${timeoutOf(exhibit) / 1000} s.`
  );
}

function page(rows: readonly Row[]): string {
  const sections = shown.map((exhibit) => {
    const mine = rows.filter((row) => row.exhibit === exhibit.id);
    return [
      `## ${exhibit.title[0]?.toUpperCase()}${exhibit.title.slice(1)}`,
      "",
      setUpOf(exhibit),
      "",
      "| | effects | lost | told | time to an answer | the caller saw | right |",
      "| --- | --- | --- | --- | --- | --- | --- |",
      ...mine.map(lineOf),
    ].join("\n");
  });
  const right = stacks.map((stack) => {
    const mine = rows.filter((row) => row.stack === stack);
    return `| ${stackNames[stack]} | ${mine.filter(({ isRight }) => isRight).length} of ${mine.length} |`;
  });
  return `# Figures: calls under faults

Measured by \`npm run figures\`, which writes this page: real processes, real resets of connections, real
kills. Stock client and server: \`@modelcontextprotocol/sdk\` ${sdkVersion()}. A charge takes
${demoPace.chargeMs / 1000} s. When a call is given up, the caller, an agent loop, connects again and calls again,
${demoPace.attemptsMax} times at most; not after a typed unknown outcome.

- **Effects**: charges in the ledger of the tool. One is right.
- **Lost**: receipts, or entries of a report, that were made and never reached the caller; **told**: how many
  of them the caller was told of.
- **Right**: one effect and its result; or, from a server that was killed, the word that the outcome is
  unknown; and nothing lost without a word.

| | right |
| --- | --- |
${right.join("\n")}

${sections.join("\n\n")}
`;
}

function sdkVersion(): string {
  const lock = new URL("../../../package-lock.json", import.meta.url);
  const { packages } = JSON.parse(readFileSync(lock, "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version: string }>>;
  };
  return packages["node_modules/@modelcontextprotocol/sdk"]?.version ?? "unknown";
}

writeFileSync(pageUrl, page(await measure()));
