/** What the server says of itself, and what of that may lose data [C N-05]. */
import type { Durability } from "@holdfast/log";
import type { Line, Reply } from "./connection.ts";

/** Sharded pub/sub came with it. */
export const oldestVersion = "7.0.0";

export interface ServerInfo {
  readonly version: string;
  /** Another one after each start of the process. */
  readonly runId: string;
  readonly isReplica: boolean;
  readonly replicas: number;
  readonly maxMemoryPolicy: string;
  readonly isAppendOnly: boolean;
  /** `always`, `everysec`, `no`; undefined when the server does not tell. */
  readonly fsync: string | undefined;
}

export async function askServer(line: Line): Promise<ServerInfo> {
  const fields = readInfo(String(await line.command("INFO")));
  const isAppendOnly = fields.get("aof_enabled") === "1";
  return {
    version: fields.get("redis_version") ?? "0",
    runId: fields.get("run_id") ?? "",
    isReplica: fields.get("role") === "slave",
    replicas: Number(fields.get("connected_slaves") ?? 0),
    maxMemoryPolicy: fields.get("maxmemory_policy") ?? "",
    isAppendOnly,
    fsync: await configured(line, "appendfsync"),
  };
}

/** Services often forbid CONFIG. */
async function configured(line: Line, name: string): Promise<string | undefined> {
  const reply: Reply = await line.command("CONFIG", "GET", name).catch(() => null);
  const value = Array.isArray(reply) ? reply[1] : undefined;
  return typeof value === "string" ? value : undefined;
}

function readInfo(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const row of text.split("\r\n")) {
    const colon = row.indexOf(":");
    if (colon > 0) fields.set(row.slice(0, colon), row.slice(colon + 1));
  }
  return fields;
}

/** What an acknowledged commit survives [C W-05]. */
export function durabilityOf(info: ServerInfo): Durability {
  if (!info.isAppendOnly) return "memory";
  return info.fsync === "always" ? "power" : "process";
}

/** Whether the server has, after a restart, all that it had acknowledged before. */
export function survivesRestart(info: ServerInfo): boolean {
  // A replica that takes its place may lack what was acknowledged last.
  return durabilityOf(info) === "power" && info.replicas === 0;
}

/** @returns why the log cannot be used here at all */
export function refusalOf({ version, isReplica }: ServerInfo): string | undefined {
  if (isReplica) return "it is a replica, and takes no writes";
  if (!isAtLeast(version, oldestVersion)) {
    return `it is Redis ${version}, and ${oldestVersion} or newer is needed`;
  }
  return undefined;
}

/** @returns plain sentences, with what to do about it */
export function warningsOf(info: ServerInfo): readonly string[] {
  const warnings: string[] = [];
  if (info.maxMemoryPolicy !== "noeviction") {
    warnings.push(
      `Redis may drop sessions when its memory is full (maxmemory-policy ${info.maxMemoryPolicy}): ` +
        "set it to noeviction.",
    );
  }
  if (!info.isAppendOnly) {
    warnings.push(
      "Redis keeps no append-only file (appendonly no): sessions go when it is restarted; " +
        "set appendonly yes.",
    );
  } else if (info.fsync === "no") {
    warnings.push(
      "Redis leaves it to the system when its file is on the disk (appendfsync no): a power loss " +
        "takes up to half a minute; set appendfsync everysec, or always.",
    );
  }
  return warnings;
}

function isAtLeast(version: string, needed: string): boolean {
  const [seen = 0, seenMinor = 0] = version.split(".").map(Number);
  const [major = 0, minor = 0] = needed.split(".").map(Number);
  return seen > major || (seen === major && seenMinor >= minor);
}
