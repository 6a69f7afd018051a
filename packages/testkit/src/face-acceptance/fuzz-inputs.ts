/** Requests of chance: headers, methods, paths, cursors and framings, valid ones bent and broken. */
import type { SeededRandom } from "../seeded-random.ts";
import { message, mutated, oddBody } from "./fuzz-bodies.ts";

export interface FuzzInput {
  readonly bytes: Buffer;
  readonly method: string;
  /** It may lack its end. */
  readonly isWhole: boolean;
  /** False: a reader of HTTP may refuse it before the endpoint sees it. */
  readonly isHttp: boolean;
}

/** What the inputs are made from. */
export interface FuzzSeeds {
  readonly path: string;
  readonly sessionId: string;
  /** Valid cursors of this session. */
  readonly cursors: readonly string[];
  /** Valid cursors of a session that the sender must not see. */
  readonly foreignCursors: readonly string[];
}

type Headers = readonly (readonly [name: string, value: string])[];

interface Draft {
  method: string;
  path: string;
  headers: Headers;
  body: Buffer | undefined;
  isWhole: boolean;
  isHttp: boolean;
}

export function fuzzInput(random: SeededRandom, seeds: FuzzSeeds): FuzzInput {
  const kind = random.int(0, 99);
  const draft: Draft = {
    method: "POST",
    path: seeds.path,
    headers: usualHeaders(seeds),
    body: Buffer.from(message(random)),
    isWhole: true,
    isHttp: true,
  };
  if (kind < 40) draft.body = oddBody(random);
  else if (kind < 60) oddHeaders(random, draft);
  else if (kind < 70) oddTarget(random, draft);
  else if (kind < 95) oddCursor(random, draft, seeds);
  else oddFraming(random, draft);
  return written(draft);
}

function usualHeaders({ sessionId }: FuzzSeeds): Headers {
  return [
    ["host", "localhost"],
    ["accept", "application/json, text/event-stream"],
    ["content-type", "application/json"],
    ["mcp-session-id", sessionId],
    ["mcp-protocol-version", "2025-03-26"],
  ];
}

const headerNames = [
  ...["mcp-session-id", "mcp-protocol-version", "accept", "content-type", "host", "origin"],
  ...["last-event-id", "idempotency-key", "mcp-resume-contract", "content-encoding", "x-odd"],
  ...["authorization", "cookie", "connection", "te", "upgrade", "range", "if-none-match", "via"],
];

function oddHeaders(random: SeededRandom, draft: Draft): void {
  if (random.chance(0.3)) asGet(draft);
  for (let i = random.int(1, 4); i > 0; i--) {
    const name = random.pick(headerNames);
    const now = draft.headers.find(([other]) => other === name)?.[1] ?? "1";
    const value = oddValue(random, now);
    const others = draft.headers.filter(([other]) => other !== name || random.chance(0.4));
    draft.headers = [...others, [random.chance(0.1) ? name.toUpperCase() : name, value]];
    if (value.length > 8_000) draft.isHttp = false;
  }
  if (random.chance(0.1)) {
    draft.isHttp = false;
    const raw = random.bytes(random.int(1, 20)).toString("latin1");
    draft.headers = [...draft.headers, random.chance(0.5) ? [raw, "x"] : ["x", raw]];
    // A blank line in it would end the head.
    draft.isWhole = false;
  }
}

function oddValue(random: SeededRandom, now: string): string {
  switch (random.int(0, 5)) {
    case 0:
      return "";
    case 1:
      return `${now}, ${now}`;
    case 2:
      return mutated(random, Buffer.from(now)).toString("latin1").replaceAll(unspeakable, "?");
    case 3:
      return Buffer.from(
        random.bytes(random.int(1, 60)).map((byte) => 0x21 + (byte % 0x5e)),
      ).toString();
    case 4:
      return random
        .bytes(random.int(1, 60))
        .map((byte) => byte | 0xa0)
        .toString()
        .replaceAll(unspeakable, "?");
    default:
      return "x".repeat(random.pick([129, 257, 1_000, 4_000, 20_000]));
  }
}

// [RFC 9110 5.5] a field value holds no control character but the tab.
const unspeakable = /[^\t\x20-\x7e\x80-\xff]/g;

function asGet(draft: Draft): void {
  draft.method = "GET";
  draft.body = undefined;
  draft.headers = draft.headers.filter(([name]) => name !== "content-type");
}

function oddTarget(random: SeededRandom, draft: Draft): void {
  if (random.chance(0.5)) {
    const known = ["PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "SEARCH", "GET"];
    const odd = ["get", "Post", "FETCH", "X", "CONNECT", "PRI"];
    const isKnown = random.chance(0.8);
    draft.method = random.pick(isKnown ? known : odd);
    draft.isHttp = isKnown && draft.method !== "TRACE";
    if (random.chance(0.7)) draft.body = undefined;
    else draft.isHttp = false;
    return;
  }
  const base = draft.path;
  draft.path = random.pick([
    ...[`${base}/`, `/${base}`, `${base}?a=b`, `${base}%00`, `/%6dcp`, "/", "*", `${base}/../mcp`],
    ...[`http://evil.example${base}`, `${base};x`, `${base}#x`, `/${"x".repeat(3_000)}`, "//"],
    ...["/..%2f..%2fetc/passwd", "/__proto__", `${base}?${"y".repeat(2_000)}`, "/\\", "mcp"],
  ]);
  draft.isHttp = draft.path.startsWith("/") && draft.path !== "//";
}

function oddCursor(random: SeededRandom, draft: Draft, seeds: FuzzSeeds): void {
  asGet(draft);
  const isForeign = random.chance(0.5);
  const valid = random.pick(isForeign ? seeds.foreignCursors : seeds.cursors);
  const other = random.pick(isForeign ? seeds.cursors : seeds.foreignCursors);
  draft.headers = [...draft.headers, ["last-event-id", bent(random, valid, other)]];
}

const oddParts = [
  ...["", "0", "-1", "1", "00", "01", "1e3", "9007199254740993", "4294967296", "9".repeat(60)],
  ...["NaN", "0x10", " ", "*", "k2v9x0qm", "00000000", "zzzzzzzz", "__proto__", "%2e", "'--"],
];

/** A cursor with something wrong in it, or with parts of another. */
function bent(random: SeededRandom, valid: string, other: string): string {
  const parts = valid.split(".");
  const others = other.split(".");
  switch (random.int(0, 8)) {
    case 0:
      return valid;
    case 7:
      return parts.with(2, String(Number(parts[2]) + random.int(-2, 3))).join(".");
    case 8:
      return parts.with(3, random.chance(0.5) ? "0000000z" : (parts[3] ?? "").slice(1)).join(".");
    case 1: {
      const at = random.int(0, parts.length - 1);
      return parts.with(at, random.pick(oddParts)).join(".");
    }
    case 2: {
      const at = random.int(0, parts.length - 1);
      return parts.with(at, others[at] ?? "").join(".");
    }
    case 3:
      return random.shuffle(parts).join(".");
    case 4:
      return [...parts, random.pick(parts)].slice(random.int(0, 2)).join(".");
    case 5:
      return random.pick([
        valid.toUpperCase(),
        `${valid}, ${other}`,
        `"${valid}"`,
        "",
        "x".repeat(9_000),
      ]);
    default:
      return mutated(random, Buffer.from(valid)).toString("latin1").replaceAll(unspeakable, "?");
  }
}

/** Wrong or missing lengths, chunks that are none, lines that are cut, requests glued together. */
function oddFraming(random: SeededRandom, draft: Draft): void {
  draft.isHttp = false;
  draft.isWhole = false;
  const framing: readonly (readonly [string, string])[] = [
    ["content-length", random.pick(["0", "1", "-1", "99", "1e3", "", "9".repeat(30), "10, 10"])],
    ["transfer-encoding", random.pick(["chunked", "gzip", "chunked, chunked", "xchunked"])],
    ["expect", random.pick(["100-continue", "miracles"])],
  ];
  const some = framing.filter(() => random.chance(0.5));
  draft.headers = [...draft.headers, ...(some.length > 0 ? some : framing.slice(0, 1))];
}

function written(draft: Draft): FuzzInput {
  const { method, path, body, isWhole, isHttp } = draft;
  const isFramed = draft.headers.some(([name]) => /^(content-length|transfer-enc)/.test(name));
  const headers: Headers =
    body === undefined || isFramed
      ? draft.headers
      : [...draft.headers, ["content-length", String(body.length)]];
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`, "latin1");
  return { bytes: Buffer.concat([head, body ?? Buffer.alloc(0)]), method, isWhole, isHttp };
}
