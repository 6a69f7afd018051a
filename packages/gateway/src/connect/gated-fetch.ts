/**
 * `fetch` whose event streams are read no faster than the host takes what they say: the bytes wait
 * in the socket, the events in the server's log [C E-09], and not in this process.
 */
import type { FetchLike } from "@holdfast/client";

/** @param drained - resolves when the host has taken enough */
export function gatedFetch(drained: () => Promise<void>, fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { body, status, headers } = response;
    const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (body === null || !isStream) return response;
    const gate = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        await drained();
        controller.enqueue(chunk);
      },
    });
    return new Response(body.pipeThrough(gate), { status, headers });
  };
}
