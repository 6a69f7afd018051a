/**
 * A real PostgreSQL: the one that the environment names, the one of this machine, or one of our own,
 * made for the test and gone with it. No client of it here: the wire of its start-up alone.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { onDispose } from "./disposal.ts";
import { freePort } from "./real-proxies.ts";
import { missingService } from "./services.ts";
import { type SpawnedProcess, spawnProcess } from "./spawn-process.ts";

export interface OwnPostgres {
  /** Of its database `postgres`. */
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  /** `fast` closes everything cleanly; `immediate` is a crash. */
  stop(how: "fast" | "immediate"): Promise<void>;
  /** After a stop: the same data on the same port. */
  start(): Promise<void>;
  /** As `start`, but read-only until it is promoted; a new timeline begins then. */
  startAsStandby(): Promise<void>;
}

const prefix = "holdfast-postgres-";
const variable = "HOLDFAST_TEST_POSTGRES_URL";
const answerMs = 2_000;
const leftoverMsMin = 120_000;

/**
 * The URL of a database in which a test may make schemas; several tests use it at once.
 *
 * @returns `undefined` when there is none, and none can be started: skip
 * @throws Error in that case when `HOLDFAST_REQUIRE_SERVICES=1` forbids to skip
 */
export async function postgresUrl(): Promise<string | undefined> {
  const given = process.env[variable];
  if (given !== undefined && given !== "") return given;
  for (const database of ["test", "postgres"]) {
    const url = `postgres://${userInfo().username}@127.0.0.1:5432/${database}`;
    if (await letsIn(url)) return url;
  }
  if (postgresBinaries() !== undefined) return keptPostgres();
  missingService("postgresql", `and ${variable} is not set`);
  return undefined;
}

/** Whether a server of our own can be started. @throws as {@link postgresUrl} */
export function requirePostgres(): boolean {
  if (postgresBinaries() !== undefined) return true;
  missingService("postgresql");
  return false;
}

/**
 * A server of our own, with an empty cluster; it goes with the test.
 *
 * @param settings - of postgresql.conf, over those that suit a test
 */
export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnPostgres> {
  const cluster = await makeCluster(settings);
  onDispose(cluster.remove);
  let running: SpawnedProcess;
  const start = async () => {
    const [command, args] = cluster.server;
    const readyPattern = /database system is ready to accept/;
    running = await spawnProcess(command, args, { cwd: cluster.directory, readyPattern });
  };
  const startAsStandby = async () => {
    writeFileSync(join(cluster.directory, "data", "standby.signal"), "");
    await start();
  };
  await start();
  const { url, port, directory } = cluster;
  return {
    ...{ url, port, directory, start, startAsStandby },
    stop: async (how) => {
      await running.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    },
  };
}

let kept: Promise<string> | undefined;

/** One for all tests of this process, which may end what a test has started. */
function keptPostgres(): Promise<string> {
  kept ??= makeCluster({ fsync: "off" }).then(
    async ({ server: [command, args], directory, url }) => {
      removeLeftovers(directory);
      // The runner of the tests ends this process without a word: the server goes with it.
      const bound = command === "setpriv" ? args : [command, ...args];
      const child = spawn("setpriv", ["--pdeathsig=KILL", ...bound], {
        cwd: directory,
        stdio: ["ignore", "ignore", "pipe"],
      });
      await new Promise<void>((resolve, reject) => {
        child.on("exit", () => reject(new Error("PostgreSQL does not start")));
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          if (text.includes("ready to accept connections")) resolve();
        });
      });
      child.unref();
      return url;
    },
  );
  return kept;
}

/** Directories of servers that went with their process. */
function removeLeftovers(own: string): void {
  for (const name of readdirSync(tmpdir())) {
    const directory = join(tmpdir(), name);
    if (!name.startsWith(prefix) || directory === own) continue;
    try {
      // One that is being made has processes that come and go.
      if (Date.now() - statSync(directory).mtimeMs < leftoverMsMin) continue;
      const [pid] = readFileSync(join(directory, "data", "postmaster.pid"), "utf8").split("\n");
      if (!existsSync(`/proc/${pid}`)) rmSync(directory, { recursive: true, force: true });
    } catch {
      // One that is being made, or was taken away just now.
    }
  }
}

interface Cluster {
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  readonly server: readonly [command: string, args: readonly string[]];
  remove(): void;
}

async function makeCluster(settings: Readonly<Record<string, string>>): Promise<Cluster> {
  const binaries = postgresBinaries();
  if (binaries === undefined) throw new Error("PostgreSQL is not installed");
  const directory = mkdtempSync(join(tmpdir(), prefix));
  const user = serverUser();
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const data = join(directory, "data");
  const initdb = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
  const [command, args] = asUser(user, join(binaries, "initdb"), initdb);
  execFileSync(command, args, { stdio: "pipe", cwd: directory });
  const port = await freePort();
  const all = { ...defaults, ...settings, port: `${port}`, unix_socket_directories: directory };
  const given = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return {
    ...{ port, directory },
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    server: asUser(user, join(binaries, "postgres"), ["-D", data, ...given]),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

const defaults = {
  listen_addresses: "127.0.0.1",
  shared_buffers: "16MB",
  max_connections: "60",
  log_min_messages: "warning",
};

/** The newest version that is installed as Debian does, or that a user's path leads to. */
function postgresBinaries(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => +b - +a) : [];
  return versions
    .map((version) => join(debian, version, "bin"))
    .find((binaries) => existsSync(join(binaries, "initdb")));
}

/** PostgreSQL refuses to run as root: then the user of its package does. */
function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined;
  const id = (what: string) => Number(execFileSync("id", [what, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

function asUser(
  user: ReturnType<typeof serverUser>,
  command: string,
  args: readonly string[],
): [command: string, args: string[]] {
  if (user === undefined) return [command, [...args]];
  const { uid, gid } = user;
  const who = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  return ["setpriv", [...who, command, ...args]];
}

/** Whether a server lets this user into a database without asking for a password. */
function letsIn(url: string): Promise<boolean> {
  const { hostname: host, port, username, pathname } = new URL(url);
  const facts = `user\0${username}\0database\0${pathname.slice(1)}\0\0`;
  const message = Buffer.alloc(8);
  message.writeInt32BE(8 + facts.length, 0);
  message.writeInt32BE(3 << 16, 4);
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: answerMs });
    const end = (isIn: boolean) => {
      socket.destroy();
      resolve(isIn);
    };
    let answer = "";
    socket.on("connect", () => socket.write(Buffer.concat([message, Buffer.from(facts)])));
    socket.on("data", (more) => {
      answer += more.toString("latin1");
      // [protocol] "AuthenticationOk", later "ReadyForQuery"; or an error, or a question.
      const isWelcome = answer.startsWith("R\0\0\0\x08\0\0\0\0");
      if (answer.length >= 9 && !isWelcome) end(false);
      else if (/Z\0\0\0\x05I$/.test(answer)) end(isWelcome);
    });
    for (const event of ["error", "timeout", "close"]) socket.on(event, () => end(false));
  });
}
