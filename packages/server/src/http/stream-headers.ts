import type { Headers } from "./exchange.ts";

/** [C E-06] What keeps proxies and middleware from storing, packing or holding back a stream. */
export const eventStreamHeaders: Headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};
