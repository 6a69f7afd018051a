/** Holds a server to what this client needs of it, and tells the application [C K-11]. */
import type { JsonObject } from "@holdfast/contract";
import { ClientError } from "../client-errors.ts";
import type { Connection } from "../connection.ts";
import { reportContract } from "./server-contract.ts";
import type { Session } from "./session.ts";

/**
 * @param previous - what the server before answered, where this one takes its place
 * @returns in strict mode, the invariant that is broken
 */
export function checkContract(
  { settings, app }: Connection,
  session: Session,
  previous: JsonObject | null,
): ClientError | undefined {
  const { worstCaseMs, state, isStrict } = settings;
  const report = reportContract({
    ...{ result: session.result, previous },
    hasSession: session.sessionId !== null,
    isStateDurable: state.isDurable,
    worstCaseReconnectMs: worstCaseMs,
  });
  const isNews = report.shortfalls.some(({ type }) => type === "server-changed");
  if (previous === null || isNews) app.onContract(report);
  const broken = report.shortfalls.find(({ type }) => type === "window-within-reconnect");
  if (!isStrict || broken === undefined) return undefined;
  const seen = report.capability?.windowMs ?? null;
  return new ClientError("ERR_RETENTION_WINDOW", broken.message, { seen, needed: worstCaseMs });
}
