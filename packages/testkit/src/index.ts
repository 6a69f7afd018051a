export { disposeAll, onDispose } from "./disposal.ts";
export {
  type EventStream,
  messageOf,
  openEventStream,
  type RpcMessage,
} from "./event-stream.ts";
export { type FakeClock, fakeClock } from "./fake-clock.ts";
export type { Cut, FaultConnection } from "./fault-connection.ts";
export {
  type FaultProxy,
  type FaultProxyCounts,
  type FaultProxyOptions,
  faultProxy,
} from "./fault-proxy.ts";
export type { CutManner, FaultRules, Refusal } from "./fault-rules.ts";
export {
  type ExchangeEnd,
  type HttpExchange,
  NoResponseError,
  openExchange,
  type RawHeaders,
  type RawRequest,
  type RawResponse,
  rawRequest,
} from "./http-exchange.ts";
export { type OrderedEventStore, orderedEventStore } from "./ordered-event-store.ts";
export {
  acceptBoth,
  answerOf,
  type CallOptions,
  initializeMessage,
  openSession,
  type RawSession,
  type SessionOptions,
} from "./raw-session.ts";
export { type OwnPostgres, postgresUrl, requirePostgres, startPostgres } from "./real-postgres.ts";
export {
  freePort,
  type RealProxy,
  type RealProxyOptions,
  startHaproxy,
  startNginx,
} from "./real-proxies.ts";
export { type RedisServer, sharedRedis, startRedis } from "./redis-server.ts";
export { type SeededRandom, seededRandom, seedHints, testSeed } from "./seeded-random.ts";
export { findBinary, requireService } from "./services.ts";
export { smallDisk } from "./small-disk.ts";
export {
  type ProcessExit,
  type SpawnedProcess,
  type SpawnOptions,
  spawnProcess,
} from "./spawn-process.ts";
export { type SseEvent, type SseItem, sseReader } from "./sse-reading.ts";
export { verifies } from "./verifies.ts";
export { patienceMs, type Signal, signal, waitFor, within } from "./wait-for.ts";
