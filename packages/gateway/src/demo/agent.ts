/**
 * The caller of the demo: a loop around the stock SDK client, over its own transport or ours, that, on an error, opens a new session
 * and calls again. A model of common agent code: it has no memory of what it has asked for already.
 * One error it understands: that the outcome is unknown. It does not call again then.
 */
import { memoryState, ResumableClientTransport, type StateChange } from "@holdfast/client";
import { errorCodes } from "@holdfast/contract";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { LoggingMessageNotificationSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import type { Attempt } from "./row.ts";
import type { ToolName } from "./tools.ts";

export interface AgentSettings {
  readonly url: string;
  readonly tool: ToolName;
  /** Over our transport in the place of the SDK's. */
  readonly isOurClient: boolean;
  /** How long one call may take before the client gives it up, milliseconds. */
  readonly callTimeoutMs: number;
  readonly attemptsMax: number;
  readonly events: AgentEvents;
  /** Give up. */
  readonly signal: AbortSignal;
}

export interface AgentEvents {
  /** A session is open, and a call follows. */
  onConnected(): void;
  /** The client holds a cursor of its call. */
  onCursor(): void;
  /** An entry of a report, or the receipt of a charge. */
  onMark(mark: string): void;
  /** Holdfast tells of lost events; `null`: it cannot be told how many. */
  onGap(lostEvents: number | null): void;
}

/**
 * Call until there is a result, an unknown outcome, or no attempt is left.
 *
 * @returns every attempt
 */
export async function runAgent(settings: AgentSettings): Promise<readonly Attempt[]> {
  const attempts: Attempt[] = [];
  while (attempts.length < settings.attemptsMax && !settings.signal.aborted) {
    const attempt = await callOnce(settings);
    attempts.push(attempt);
    if (attempt.kind !== "error") break;
  }
  return attempts;
}

async function callOnce(settings: AgentSettings): Promise<Attempt> {
  const { url, tool, events, signal } = settings;
  const limits = { timeout: settings.callTimeoutMs, signal };
  const client = new Client({ name: "stock-client", version: "1.0.0" });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    if (params.logger === "holdfast") events.onGap(lostEventsOf(params.data));
    else events.onMark(String(params.data));
  });
  let startMs = performance.now();
  try {
    const transport = settings.isOurClient
      ? ourTransport(url, events)
      : new StreamableHTTPClientTransport(new URL(url));
    // The SDK's own types do not agree under exactOptionalPropertyTypes.
    await client.connect(transport as Transport, limits);
    startMs = performance.now();
    events.onConnected();
    const options = settings.isOurClient
      ? limits
      : { ...limits, onresumptiontoken: () => events.onCursor() };
    const { content, isError } = await client.callTool({ name: tool }, undefined, options);
    const text = textOf(content);
    if (isError) throw new Error(text);
    if (tool === "charge") events.onMark(text);
    return { kind: "result", tookMs: performance.now() - startMs };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const kind = isOutcomeUnknown(error) ? "outcome-unknown" : "error";
    return { kind, message, tookMs: performance.now() - startMs };
  } finally {
    await client.close();
  }
}

/** It keeps cursors to itself: when it has one is told by its state. */
function ourTransport(url: string, events: AgentEvents): ResumableClientTransport {
  const state = memoryState();
  const commit = (changes: readonly StateChange[]) => {
    state.commit(changes);
    if (changes.some(({ change }) => change === "setCallCursor")) events.onCursor();
  };
  return new ResumableClientTransport(url, {
    state: { ...state, commit },
    onGap: ({ lostEvents }) => events.onGap(lostEvents),
  });
}

function textOf(content: unknown): string {
  const [first] = Array.isArray(content) ? (content as { readonly text?: unknown }[]) : [];
  return String(first?.text);
}

/** [C X-05] "a JSON-RPC error -32011 `outcome-unknown`": its type is for programs to decide by. */
function isOutcomeUnknown(error: unknown): boolean {
  if (!(error instanceof McpError) || error.code !== errorCodes.outcomeUnknown) return false;
  return (error.data as { readonly type?: unknown } | undefined)?.type === "outcome-unknown";
}

/** [C R-09] the gap event's `data` is that of the refusal [C R-03]. */
function lostEventsOf(data: unknown): number | null {
  const { lostEvents } = data as { readonly lostEvents?: unknown };
  return typeof lostEvents === "number" ? lostEvents : null;
}
