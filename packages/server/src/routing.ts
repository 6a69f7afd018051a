/**
 * Which stream a message of the upstream belongs to, and what is changed in it on the way.
 *
 * Pure over the session's tables: what it returns is carried out elsewhere.
 */
import { parseMessage, replaceAt, standaloneStream, textAt } from "@holdfast/contract";
import type { InFlightCall, InFlightCalls } from "./calls.ts";

/** A server-to-client request that waits for its answer [C X-06]. */
export interface Question {
  /** The id on the wire, JSON text; unique over every upstream the session ever had. */
  readonly wireIdJson: string;
  /** The upstream's own id, JSON text. */
  readonly idJson: string;
  readonly stream: number;
}

export type Route =
  | { readonly kind: "response"; readonly number: number; readonly text: string }
  | {
      readonly kind: "request";
      readonly stream: number;
      readonly idJson: string;
      readonly text: string;
    }
  | {
      readonly kind: "notification";
      readonly stream: number;
      readonly method: string;
      readonly text: string;
    }
  /** Progress of a call; the text has the upstream's number as its token. */
  | { readonly kind: "progress"; readonly call: InFlightCall; readonly text: string }
  /** The upstream takes a question back; `text` names it by its id on the wire. */
  | { readonly kind: "withdrawal"; readonly question: Question; readonly text: string }
  /** Meant as the answer of a call, but none that can be passed on. */
  | { readonly kind: "unusable"; readonly call: InFlightCall; readonly why: string }
  /** Late, or about nothing: nobody waits for it. */
  | { readonly kind: "dropped"; readonly why: string };

/**
 * [C E-01] Route one message.
 *
 * @param related - the number of the request it belongs to, null for none; where the upstream says so
 */
export function route(
  text: string,
  value: unknown,
  calls: InFlightCalls,
  questions: readonly Question[],
  related: Related,
): Route {
  const message = parseMessage(value);
  switch (message.kind) {
    case "invalid":
      return routeInvalid(value, message.problem, calls);
    case "response": {
      if (message.id === null) return { kind: "dropped", why: "An error names no request." };
      // A server that writes our numbers as strings means the same: we send nothing but numbers.
      return { kind: "response", number: Number(message.id), text };
    }
    case "request": {
      const idJson = textAt(text, "id") ?? "null";
      return { kind: "request", stream: laneOf(calls, related), idJson, text };
    }
    case "notification":
      return routeNotification(text, message.method, message.params, calls, questions, related);
  }
}

/** [C X-05] Nobody waits for ever: a call whose answer is not JSON-RPC has its outcome by that. */
function routeInvalid(value: unknown, why: string, calls: InFlightCalls): Route {
  const isObject = typeof value === "object" && value !== null;
  const { id, method } = isObject ? (value as { id?: unknown; method?: unknown }) : {};
  const call = method === undefined && id !== null ? calls.get(Number(id)) : undefined;
  return call === undefined ? { kind: "dropped", why } : { kind: "unusable", call, why };
}

function routeNotification(
  text: string,
  method: string,
  params: Readonly<Record<string, unknown>> | undefined,
  calls: InFlightCalls,
  questions: readonly Question[],
  related: Related,
): Route {
  if (method === "notifications/progress") {
    const token = params?.["progressToken"];
    const call = calls.get(token);
    if (call !== undefined) return { kind: "progress", call, text };
    if (calls.isPast(token)) return { kind: "dropped", why: "Progress of a call that is over." };
  }
  if (method === "notifications/cancelled") {
    const idJson = textAt(text, "params", "requestId");
    const question = questions.findLast((asked) => asked.idJson === idJson);
    if (question === undefined) return { kind: "dropped", why: "A withdrawal of nothing asked." };
    const spliced = replaceAt(text, ["params", "requestId"], question.wireIdJson);
    return { kind: "withdrawal", question, text: spliced };
  }
  const isSessionWide =
    method.endsWith("/list_changed") || method === "notifications/resources/updated";
  const stream = isSessionWide ? standaloneStream : laneOf(calls, related);
  return { kind: "notification", stream, method, text };
}

/** The request that a message belongs to, or null: none; undefined where that cannot be told. */
type Related = number | null | undefined;

/** Of a call that is over, which takes nothing more, it concerns the session. */
function laneOf(calls: InFlightCalls, related: Related): number {
  const call = related === undefined ? calls.oldest() : calls.get(related);
  return call?.stream ?? standaloneStream;
}
