/** The demo's table and its footnotes, for people. Pure: every figure comes in with the rows. */
import { type Exhibit, type Pace, silentMs } from "./exhibits.ts";
import { type Attempt, type Row, type Stack, stacks } from "./row.ts";

export interface TableFacts {
  readonly rows: readonly Row[];
  readonly exhibits: readonly Exhibit[];
  readonly pace: Pace;
  readonly sdkVersion: string;
}

const incidents = [
  { incident: 1, name: "the double charge", effects: "charges", events: "receipts lost" },
  { incident: 2, name: "the silent gap", effects: "", events: "entries lost" },
] as const;

type Incident = (typeof incidents)[number];
const widths = [40, 9, 15, 8] as const;

export function demoTable(facts: TableFacts): string {
  const tables = incidents.map((incident) => incidentTable(incident, facts));
  return [...tables, footnotes(facts), verdict(facts.rows)].join("\n\n");
}

/** One row in a line, as soon as it is there. */
export function progressLine(row: Row, { title }: Exhibit): string {
  const effects = row.effects === null ? "" : `${counted(row.effects, "charge")}, `;
  return `${stackName(row)}, ${title}: ${effects}${sawPhrase(row)} after ${seconds(row.tookMs)}`;
}

function incidentTable(incident: Incident, { rows, exhibits }: TableFacts): string {
  const header = ["", incident.effects, incident.events, "after", "the caller saw"];
  const lines = exhibits
    .filter((exhibit) => exhibit.incident === incident.incident)
    .flatMap((exhibit) => [
      exhibit.title,
      ...rows.filter((row) => row.exhibit === exhibit.id).map((row) => rowLine(row, exhibit)),
    ]);
  const title = `Incident ${incident.incident}: ${incident.name}`;
  return [title, "", columns(header), ...lines].join("\n");
}

function rowLine(row: Row, exhibit: Exhibit): string {
  const { storePhrase, serveOptions, ownServeOptions } = exhibit;
  const stock = [storePhrase];
  const setUps = { stock, alone: stock, holdfast: serveOptions, client: ownServeOptions };
  const setUp = setUps[row.stack].join(" ");
  return columns([
    `  ${stackName(row)}${setUp === "" ? "" : `, ${setUp}`}`,
    row.effects === null ? "" : String(row.effects),
    `${row.lost} of ${row.sent}`,
    seconds(row.tookMs),
    sawPhrase(row),
  ]);
}

function columns(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join("")
    .trimEnd();
}

function stackName({ stack }: Row): string {
  return stackNames[stack];
}

const stackNames: Readonly<Record<Stack, string>> = {
  stock: "stock SDK",
  holdfast: "Holdfast",
  client: "Holdfast, our client",
  alone: "stock server, our client",
};

function sawPhrase({ attempts, incident, lost, lostTold, doubled }: Row): string {
  const result = incident === 1 ? "receipt" : "result";
  const calls = attempts.map((attempt) => attemptPhrase(attempt, result)).join(", then ");
  const double = doubled === 0 ? "" : `, ${doubled} events twice`;
  if (incident === 1) return calls + double;
  if (lostTold > 0) return `"${lostTold} events lost", then ${calls}${double}`;
  return lost > 0 ? `${calls}, no word of the loss${double}` : calls + double;
}

function attemptPhrase(attempt: Attempt, result: string): string {
  if (attempt.kind === "result") return result;
  if (attempt.kind === "outcome-unknown") return "outcome unknown";
  return /timed out/.test(attempt.message) ? "timeout" : `"${attempt.message}"`;
}

function footnotes({ pace, sdkVersion }: TableFacts): string {
  const timeout = seconds(pace.callTimeoutMs);
  return `Every figure was measured in this run, through resets of real TCP connections and kills of real
processes: charges and entries by the ledger of the tools, losses by what the client received. The
client is the stock SDK's in every row (@modelcontextprotocol/sdk ${sdkVersion}), over its own transport or,
where it says so, over ours; the tools behind both servers are the same.
- "charges" counts what an agent loop does that reconnects and calls again on an error (a model of
  common agent code; this one calls at most ${counted(pace.attemptsMax, "time")}, and not again on "outcome unknown").
- Times are shortened: a call is given up after ${timeout} (the SDK's default: 60 s), the balancer
  cuts after ${seconds(silentMs.twice)} or ${seconds(silentMs.once)} of silence (common: 60 s). Both servers send a comment every 15 s by
  default, which keeps a more patient balancer from cutting.
- One cut, with an event store, is resumed by the stock SDK too, so it is not shown.
- 503: this client tries to resume twice, by itself within 2.5 s. A server may ask it to wait
  longer, hence --retry 3s: our default of 1 s is too short for this. The stock server's option for
  that, retryInterval, is off by default; set to 3 s it gets through as well. Our
  client goes on for two minutes, whatever the server asks for.
- A killed server: both are started again at once, on their ports, Holdfast on its log. What became
  of a call that died with its server nobody can know. Holdfast says so, through the resumed stream,
  in a typed error (-32011, outcome-unknown): an agent that understands the error does not repeat,
  and this one understands it. The receipt is lost, with a word; the charge stays one. The sample
  store is in memory and goes with its process. --retry 3s leaves the restart more time.
- The store of 100 events is the demo's own and replays what it has; the SDK's sample store grows
  for ever.`;
}

function verdict(rows: readonly Row[]): string {
  const figures = stacks.map((stack) => {
    const mine = rows.filter((row) => row.stack === stack);
    return `${stackNames[stack]} ${mine.filter((row) => row.isRight).length} of ${mine.length}`;
  });
  return (
    "Right (one effect; a result, or from a killed server a typed unknown outcome; nothing lost\n" +
    "without a word): " +
    `${figures.join("; ")}.\n`
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
