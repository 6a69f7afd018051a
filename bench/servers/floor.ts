/**
 * The least that a durable answer costs, in the same parts and with nothing around them: a row for
 * the call is committed, the stream begins, a row for the event is committed, the event is sent.
 * It checks nothing, knows no session and cannot resume; no server could use it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { serveMeasured } from "../serve-measured.ts";
import { resultOf } from "./tool.ts";

const directory = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
const db = new DatabaseSync(join(directory, "rows.db"));
db.exec(`
  pragma journal_mode = wal;
  pragma synchronous = normal;
  create table streams (id integer primary key, session integer, stream integer, call text) strict;
  create unique index streams_of on streams (session, stream);
  create table events (seq integer primary key, session integer, stream integer,
    position integer, text text) strict;
  create unique index events_of on events (session, stream, position);
`);
const begin = db.prepare("begin immediate");
const commit = db.prepare("commit");
const addStream = db.prepare("insert into streams (session, stream, call) values (?, ?, ?)");
const addEvent = db.prepare(
  "insert into events (session, stream, position, text) values (?, ?, 1, ?)",
);

interface Write {
  /** Within the transaction of this turn of the event loop. */
  run(): void;
  done(): void;
}

let waiting: Write[] = [];

function inTransaction(write: Write): void {
  waiting.push(write);
  if (waiting.length > 1) return;
  setImmediate(() => {
    const writes = waiting;
    waiting = [];
    begin.run();
    for (const { run } of writes) run();
    commit.run();
    for (const { done } of writes) done();
  });
}

const sessionCount = 16;
let stream = 0;

function handle(req: IncomingMessage, res: ServerResponse): void {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => answer(Buffer.concat(chunks).toString("utf8"), res));
}

function answer(body: string, res: ServerResponse): void {
  const { id, method } = JSON.parse(body) as { readonly id: number; readonly method: string };
  if (method === "notifications/initialized") {
    res.writeHead(202).end();
    return;
  }
  stream += 1;
  const [own, session] = [stream, id % sessionCount];
  const message = JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(method) });
  const event = {
    run: () => void addEvent.run(session, own, message),
    done: () => void res.end(`id: ${session}.${own}.1\ndata: ${message}\n\n`),
  };
  inTransaction({
    run: () => void addStream.run(session, own, JSON.stringify({ id, method })),
    done: () => {
      res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      res.write(": stream open\n\n");
      inTransaction(event);
    },
  });
}

serveMeasured(handle, {
  close: async () => {
    db.close();
    rmSync(directory, { recursive: true, force: true });
  },
});
