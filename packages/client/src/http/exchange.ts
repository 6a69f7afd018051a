/**
 * One HTTP exchange up to the headers of its answer, or to the end of an answer that is no stream.
 * It knows nothing of sessions; what an answer means is decided elsewhere. Never rejects.
 */
import type { Internals, Settings } from "../options.ts";
import { type NetworkFault, networkFault } from "./network-fault.ts";
import { type Refusal, readRefusal } from "./refusal.ts";

export interface HttpRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export type HttpAnswer = { readonly sessionId: string | null } & (
  | { readonly kind: "stream"; readonly body: ReadableStream<Uint8Array> | null }
  /** JSON, of whatever. */
  | { readonly kind: "json"; readonly text: string }
  | { readonly kind: "tooLarge" }
  /** 2xx with nothing in it that is asked for. */
  | { readonly kind: "accepted"; readonly status: number; readonly contentType: string | null }
  | { readonly kind: "refused"; readonly refusal: Refusal }
);

export type HttpOutcome =
  | HttpAnswer
  | { readonly kind: "died"; readonly fault: NetworkFault }
  /** What stands before the network gave up, such as an OAuth layer; proof: nothing was sent. */
  | { readonly kind: "withheld"; readonly error: Error; readonly isProof: boolean };

export interface ExchangeOptions {
  readonly signal: AbortSignal;
  /** How long the headers may take; null for as long as `fetch` waits. */
  readonly headersMs: number | null;
}

/** Of a refusal's body so much is read. */
const refusalCharsMax = 65_536;

export async function exchange(
  settings: Settings,
  request: HttpRequest,
  options: ExchangeOptions,
): Promise<HttpOutcome> {
  let headers: Readonly<Record<string, string>>;
  try {
    headers = { ...(await settings.headers()), ...request.headers };
  } catch (error) {
    return { kind: "withheld", error: asError(error), isProof: true };
  }
  const late = new AbortController();
  const cancel = deadline(settings.internals, options.headersMs, late);
  try {
    const signal = AbortSignal.any([options.signal, late.signal]);
    const response = await followed(settings, { ...request, headers }, signal);
    // The body of a refusal is waited for no longer than its headers.
    if (response.ok) cancel();
    return await readAnswer(response, settings.internals);
  } catch (error) {
    if (isUnauthorized(error)) {
      return { kind: "withheld", error: asError(error), isProof: false };
    }
    return { kind: "died", fault: networkFault(error, late.signal.aborted) };
  } finally {
    cancel();
  }
}

function deadline({ setTimer }: Internals, ms: number | null, late: AbortController): () => void {
  return ms === null ? () => {} : setTimer(() => late.abort(), ms);
}

/** Redirects within the origin: session id and credentials are for nobody else. */
async function followed(
  { fetch, url }: Settings,
  { method, headers, body }: HttpRequest,
  signal: AbortSignal,
): Promise<Response> {
  const init = { method, headers, ...(body === undefined ? {} : { body }), signal };
  let at = url;
  for (let hops = 0; ; hops += 1) {
    const response = await fetch(at, { ...init, redirect: "manual", cache: "no-store" });
    const to = hops < redirectsMax ? redirectOf(response, at, method) : undefined;
    if (to === undefined) return response;
    await response.body?.cancel();
    at = to;
  }
}

const redirectsMax = 5;

function redirectOf(response: Response, from: URL, method: string): URL | undefined {
  const { status } = response;
  // The others turn a POST into a GET.
  const isKept =
    status === 307 || status === 308 || (method === "GET" && [301, 302].includes(status));
  const location = response.headers.get("location");
  if (!isKept || location === null || !URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to : undefined;
}

async function readAnswer(response: Response, internals: Internals): Promise<HttpAnswer> {
  const { status, headers, body } = response;
  const sessionId = headers.get("mcp-session-id");
  const contentType = headers.get("content-type");
  if (!response.ok) {
    const { text } = await readText(body, refusalCharsMax);
    const wallMs = internals.clock.wallMs();
    const refusal = readRefusal(status, headers.get("retry-after"), text, wallMs);
    return { kind: "refused", refusal, sessionId };
  }
  const media = contentType?.split(";")[0]?.trim().toLowerCase();
  if (media === "text/event-stream" && status === 200) return { kind: "stream", body, sessionId };
  if (media === "application/json") {
    const { text, isCut } = await readText(body, internals.eventCharsMax);
    if (isCut) return { kind: "tooLarge", sessionId };
    if (isJson(text)) return { kind: "json", text, sessionId };
  } else {
    await body?.cancel();
  }
  return { kind: "accepted", status, contentType, sessionId };
}

async function readText(
  body: ReadableStream<Uint8Array> | null,
  charsMax: number,
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  if (body === null) return { text: "", isCut: false };
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  let chars = 0;
  for await (const chunk of body) {
    const piece = decoder.decode(chunk, { stream: true });
    pieces.push(piece);
    chars += piece.length;
    // Leaving the loop cancels the body.
    if (chars > charsMax) return { text: pieces.join("").slice(0, charsMax), isCut: true };
  }
  return { text: pieces.join("") + decoder.decode(), isCut: false };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The SDKs' OAuth middleware throws an error of this name, from whichever copy of the SDK. */
function isUnauthorized(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === "UnauthorizedError" || error.constructor.name === "UnauthorizedError";
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
