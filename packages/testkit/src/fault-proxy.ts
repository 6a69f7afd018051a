/**
 * A bad load balancer on loopback: a TCP proxy that cuts, swallows, delays and refuses on command.
 *
 *     const proxy = await faultProxy({ target: server, rules: { idleMs: 300 } });
 *     const cut = proxy.nextCut();
 *     // … a call through proxy.url("/mcp") …
 *     await cut;
 */
import { type AddressInfo, createServer } from "node:net";
import { onDispose } from "./disposal.ts";
import { type Cut, FaultConnection, type FaultSurroundings } from "./fault-connection.ts";
import type { CutManner, FaultRules, Refusal } from "./fault-rules.ts";
import { seededRandom } from "./seeded-random.ts";
import { signal } from "./wait-for.ts";

export interface FaultProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  readonly rules?: FaultRules;
  /** Of the ranges in the rules. */
  readonly seed?: number;
  /** Default: any free port. */
  readonly port?: number;
}

export interface FaultProxyCounts {
  readonly connections: number;
  readonly requests: number;
  readonly refusals: number;
  readonly cuts: number;
}

export interface FaultProxy {
  readonly host: "127.0.0.1";
  readonly port: number;
  readonly counts: FaultProxyCounts;
  url(path: string): string;
  /** In the place of the rules before. */
  setRules(rules: FaultRules): void;
  /** Cut every connection that is open now. @returns how many */
  cutAll(manner: CutManner): number;
  /**
   * Stop forwarding and keep every socket open; a close is not passed on either.
   *
   * @param which - `all`: new connections too. `open`: those of now, new ones work
   */
  blackhole(isOn: boolean, which?: "all" | "open"): void;
  /** Answer new requests here; responses under way go on. */
  refuse(status: number, options?: Omit<Refusal, "status">): void;
  /** No rules, no black hole, no refusal. */
  heal(): void;
  /** The next connection, request, cut after this call. */
  nextConnection(): Promise<FaultConnection>;
  nextRequest(): Promise<FaultConnection>;
  nextCut(): Promise<Cut>;
  close(): Promise<void>;
}

/** Start a proxy in front of a server; it ends with `close` or `disposeAll`. */
export async function faultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const connections = new Set<FaultConnection>();
  const counts = { connections: 0, requests: 0, refusals: 0, cuts: 0 };
  const happened = {
    connection: signal<FaultConnection>("connection"),
    request: signal<FaultConnection>("request"),
    cut: signal<Cut>("cut"),
  };
  let rules = options.rules ?? {};
  let refusal: Refusal | undefined;
  let refusalTimer: NodeJS.Timeout | undefined;
  let areNewBlackholed = false;

  const random = seededRandom(options.seed ?? 1);
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    counts.connections += 1;
    const around: FaultSurroundings = {
      ...{ target: options.target, random },
      rules: () => rules,
      refusal: () => refusal,
      onRequest: () => {
        counts.requests += 1;
        happened.request.emit(connection);
      },
      onRefused: () => {
        counts.refusals += 1;
      },
      onCut: (cut) => {
        counts.cuts += 1;
        happened.cut.emit(cut);
      },
      onGone: () => connections.delete(connection),
    };
    const connection = new FaultConnection(counts.connections, client, around);
    connections.add(connection);
    if (areNewBlackholed) connection.blackhole(true);
    happened.connection.emit(connection);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  const setRules = (newRules: FaultRules) => {
    rules = newRules;
    for (const connection of connections) connection.rearm();
  };
  const setRefusal = (newRefusal: Refusal | undefined) => {
    clearTimeout(refusalTimer);
    refusal = newRefusal;
    const forMs = newRefusal?.forMs;
    if (forMs !== undefined) refusalTimer = setTimeout(() => setRefusal(undefined), forMs);
  };
  const blackhole = (isOn: boolean, which: "all" | "open" = "all") => {
    areNewBlackholed = isOn && which === "all";
    for (const connection of connections) connection.blackhole(isOn);
  };
  const close = async () => {
    setRefusal(undefined);
    const closed = new Promise((resolve) => server.close(resolve));
    for (const connection of connections) connection.destroy();
    await closed;
  };
  onDispose(close);

  return {
    ...{ host: "127.0.0.1", port, counts, setRules, blackhole, close },
    url: (path) => `http://127.0.0.1:${port}${path}`,
    cutAll: (manner) => {
      const open = [...connections].filter(({ isOpen }) => isOpen);
      for (const connection of open) connection.cut(manner);
      return open.length;
    },
    refuse: (status, more = {}) => setRefusal({ status, ...more }),
    heal: () => {
      setRules({});
      setRefusal(undefined);
      blackhole(false);
    },
    nextConnection: () => happened.connection.next(),
    nextRequest: () => happened.request.next(),
    nextCut: () => happened.cut.next(),
  };
}
