/**
 * This process at the store: what it was told last, and what it makes of a server that was started
 * anew, flushed, or came back older [C R-08]. The judgement itself is `lua/attend.lua`.
 */
import { LogError } from "@holdfast/contract";
import type { Clock } from "@holdfast/log";
import type { Line } from "./connection.ts";
import { dataVersion, namedSession, type StoreKeys } from "./keys.ts";
import { textsOf } from "./replies.ts";
import { type ServerInfo, survivesRestart } from "./server-info.ts";
import { createStoreTime, type StoreTime } from "./store-time.ts";
import type { Generation } from "./stream-text.ts";

type Moment = "open" | "connect" | "beat" | "close";

export interface AttendanceSettings {
  readonly keys: StoreKeys;
  readonly clock: Clock;
  /** Whose clock log time follows. */
  readonly timeBy: "store" | "own";
  readonly randomIncarnation: () => string;
  /** The node's name now. */
  readonly node: () => string;
  /** Told of a possible loss that was found, by this node or another. */
  readonly onLoss: () => void;
}

export class Attendance implements Generation {
  readonly time: StoreTime;
  generation = 0;
  lossIncarnation = "-";
  /** Under which this node creates sessions; and goes on with those of before a possible loss. */
  incarnation: string;
  readonly #settings: AttendanceSettings;
  #server: ServerInfo | undefined;
  /** Run id of the server that told the node what it knows. */
  #knownRun = "";
  #beats = 0;
  /** The last commit that was acknowledged to this node: of which session, its which revision. */
  #witness: { readonly name: string; readonly revision: number } | undefined;

  constructor(settings: AttendanceSettings) {
    this.#settings = settings;
    this.time = createStoreTime(settings.clock, settings.timeBy === "own");
    this.incarnation = settings.randomIncarnation();
  }

  /** Greet a server that was just connected to. */
  async greet(line: Line, server: ServerInfo): Promise<void> {
    this.#server = server;
    await this.#attend(line, this.generation === 0 ? "open" : "connect");
  }

  beat(line: Line): Promise<void> {
    return this.#attend(line, "beat");
  }

  leave(line: Line): Promise<void> {
    return this.#attend(line, "close");
  }

  acknowledged(name: string, revision: number): void {
    this.#witness = { name, revision };
  }

  async #attend(line: Line, moment: Moment): Promise<void> {
    const { keys, clock, timeBy, node, randomIncarnation, onLoss } = this.#settings;
    const server = this.#server;
    if (server === undefined) throw new Error("no server was greeted");
    const isNewRun = this.#knownRun !== "" && this.#knownRun !== server.runId;
    const verdict = isNewRun ? await this.#testify(line) : "";
    const ownMs = this.generation === 0 ? 0 : this.time.nowMs();
    const askedMs = clock.monotonicMs();
    const fresh = randomIncarnation();
    const reply = await line.script(
      "attend",
      [keys.log, keys.nodes],
      [
        ...[moment, node(), dataVersion, server.runId, survivesRestart(server) ? "1" : "0"],
        ...[`${this.generation}`, this.#knownRun, verdict, fresh, `${this.#beats}`],
        ...[`${ownMs}`, timeBy],
      ],
    );
    const [version, generation, lossIncarnation = "-", logMs, beats] = textsOf(reply);
    if (version !== dataVersion) {
      throw new LogError(
        "ERR_LOG_NEWER",
        `The data under "${keys.prefix}" is of another version.`,
        {
          seen: version ?? null,
          needed: dataVersion,
        },
      );
    }
    this.time.heard(Number(logMs), askedMs);
    this.#knownRun = server.runId;
    this.#beats = Number(beats);
    const isLost = this.generation !== 0 && Number(generation) !== this.generation;
    this.generation = Number(generation);
    this.lossIncarnation = lossIncarnation;
    if (!isLost) return;
    // What is appended from now on must not be taken for what was lost [C E-02].
    this.incarnation = randomIncarnation();
    this.#witness = undefined;
    onLoss();
  }

  /** Is what this node was told last there? What came before it is there then, too. */
  async #testify(line: Line): Promise<"kept" | "lost"> {
    if (this.#witness === undefined) return "kept";
    const { name, revision } = this.#witness;
    const { session } = namedSession(this.#settings.keys.prefix, name);
    const found = await line.command("HGET", session, "revision");
    return Number(found ?? 0) >= revision ? "kept" : "lost";
  }
}
