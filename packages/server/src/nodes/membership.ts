/**
 * This process as a node of a shared log: its lease, kept as long as the store can be reached.
 *
 *     member ──lease in doubt, or over──▶ lost ──store reached──▶ member, as another node
 *
 * [C N-05] A node that cannot renew stops serving before the lease can be over by the store's clock:
 * it counts from before the question was asked, by its own monotonic clock, and leaves a margin.
 */
import type { Clock, NodeId, SharedLog } from "@holdfast/log";
import type { Logger } from "../runtime-context.ts";

/** The lease is renewed three times while it lasts. */
const renewals = 3;
/** So much of a lease counts; the rest is for clocks that run unevenly, and for stopping. */
const usedShare = 0.8;
/** Nobody is told that a lease ran out: the store is asked who lives so often while one lasts. */
const looks = 15;
/** What the store holds a node to, as a part of the lease: the rest is to see its end and adopt. */
const storeShare = 0.85;
/** Pause before an unanswered renewal is tried again: a part of the lease, and at least. */
const retryShare = 1 / 15;
const retryMsMin = 20;

export interface MembershipEvents {
  /** Everything that this node owned must stop now. */
  onLost(): void;
  /**
   * Who lives, as the store says; told after every renewal, and when a node is gone. Of two in a
   * row, the second was asked after the first was told.
   */
  onNodes(): void;
}

/**
 * The lease that the store is given, so that a dead node's sessions run elsewhere within `leaseMs` of
 * its death even if it had renewed just before [C N-03].
 */
export function storeLeaseMs(leaseMs: number): number {
  return Math.ceil(leaseMs * storeShare);
}

export class Membership {
  readonly #shared: SharedLog;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #events: MembershipEvents;
  #nodes: ReadonlySet<NodeId> = new Set();
  /** Until when this node may act, by its own monotonic clock. */
  #validUntilMs = 0;
  #isLost = true;
  #isStopped = true;
  #renewTimer: NodeJS.Timeout | undefined;
  #watchTimer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  /** The look that is under way, and what is asked for after it. */
  #looking: Promise<void> | undefined;
  #wantedLook: "always" | "whenGone" | undefined;
  #unfollow: (() => void) | undefined;

  constructor(shared: SharedLog, clock: Clock, logger: Logger, events: MembershipEvents) {
    this.#shared = shared;
    this.#clock = clock;
    this.#logger = logger;
    this.#events = events;
  }

  get node(): NodeId {
    return this.#shared.node;
  }

  /** This node's lease runs, beyond doubt. */
  get isMember(): boolean {
    return !this.#isLost && this.#clock.monotonicMs() < this.#validUntilMs;
  }

  /** Whether a node was alive when the store was asked last; what is not known is taken to be. */
  isAlive(node: NodeId): boolean {
    return this.#nodes.size === 0 || this.#nodes.has(node);
  }

  /** The log is open: the node lives. */
  start(openedAtMs: number): void {
    this.#isStopped = false;
    this.#isLost = false;
    this.#extend(openedAtMs);
    this.#unfollow = this.#shared.followNodes(() => void this.#look());
    void this.#look();
    this.#later(this.#shared.leaseMs / renewals);
    this.#lookLater();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#renewTimer);
    clearTimeout(this.#watchTimer);
    clearTimeout(this.#lookTimer);
    this.#unfollow?.();
  }

  #later(pauseMs: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#renewTimer);
    this.#renewTimer = setTimeout(() => void this.#renew(), pauseMs);
    this.#renewTimer.unref();
  }

  async #renew(): Promise<void> {
    const { leaseMs } = this.#shared;
    this.#watch();
    const askedAtMs = this.#clock.monotonicMs();
    try {
      const isRenewed = !this.#isLost && (await this.#shared.renew());
      if (this.#isStopped) return;
      if (!isRenewed) {
        this.#lose("its lease was over");
        await this.#shared.rejoin();
        if (this.#isStopped) return;
        this.#logger.info({ node: this.node }, "this node has joined the others again");
        this.#isLost = false;
      }
      this.#extend(askedAtMs);
      await this.#look();
      this.#later(leaseMs / renewals);
    } catch (error) {
      this.#logger.warn({ error, node: this.node }, "the lease of this node was not renewed");
      this.#later(Math.max(retryMsMin, leaseMs * retryShare));
    }
  }

  #extend(askedAtMs: number): void {
    this.#validUntilMs = askedAtMs + this.#shared.leaseMs * usedShare;
    this.#watch();
  }

  /** Be lost as soon as the lease is in doubt, whether or not the store answers. */
  #watch(): void {
    clearTimeout(this.#watchTimer);
    if (this.#isLost || this.#isStopped) return;
    const leftMs = this.#validUntilMs - this.#clock.monotonicMs();
    if (leftMs <= 0) return this.#lose("the store could not be reached in time");
    this.#watchTimer = setTimeout(() => this.#watch(), Math.ceil(leftMs));
    this.#watchTimer.unref();
  }

  #lose(why: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#logger.error({ node: this.node, why }, "this node lets go of its sessions");
    this.#events.onLost();
  }

  #lookLater(): void {
    if (this.#isStopped) return;
    this.#lookTimer = setTimeout(async () => {
      await this.#look("whenGone");
      this.#lookLater();
    }, this.#shared.leaseMs / looks);
    this.#lookTimer.unref();
  }

  /**
   * Ask who lives. One at a time, so that no older answer takes the place of a newer one; asked for
   * while one is under way, another follows, since what it was asked for may be newer.
   */
  #look(tell: "always" | "whenGone" = "always"): Promise<void> {
    if (this.#wantedLook !== "always") this.#wantedLook = tell;
    this.#looking ??= this.#looks();
    return this.#looking;
  }

  async #looks(): Promise<void> {
    while (this.#wantedLook !== undefined && !this.#isStopped) {
      const tell = this.#wantedLook;
      this.#wantedLook = undefined;
      const before = this.#nodes;
      try {
        this.#nodes = new Set(await this.#shared.nodes());
      } catch {
        // The next renewal says what that means.
        continue;
      }
      const isOneGone = [...before].some((node) => !this.#nodes.has(node));
      if (tell === "whenGone" && !isOneGone) continue;
      if (!this.#isStopped && this.isMember) this.#events.onNodes();
      // Who waits for a second answer before it gives a node up need not wait for a renewal.
      if (isOneGone) this.#wantedLook = "always";
    }
    this.#looking = undefined;
  }
}
