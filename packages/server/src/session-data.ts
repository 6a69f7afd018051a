/**
 * What a session keeps of itself in the log: its setup journal, from which a fresh upstream is
 * brought to where the session is [C S-07], and what was negotiated.
 */

export interface SessionData {
  /** `initialize` as the client sent it, JSON text. */
  readonly initialize: string;
  /** `clientInfo.name`, where it was given. */
  readonly clientName: string | undefined;
  /** Set once the upstream has answered `initialize`. */
  readonly version: string | undefined;
  /** `notifications/initialized` as it was sent. */
  readonly initialized: string | undefined;
  /** The newest `logging/setLevel` that succeeded, or is under way. */
  readonly level: string | undefined;
  /** `resources/subscribe` by URI. */
  readonly subscriptions: Readonly<Record<string, string>>;
}

export function newSessionData(initialize: string, clientName: string | undefined): SessionData {
  return {
    initialize,
    clientName,
    version: undefined,
    initialized: undefined,
    level: undefined,
    subscriptions: {},
  };
}

export function writeSessionData(data: SessionData): string {
  return JSON.stringify(data);
}

/** @throws SyntaxError when the text is not what {@link writeSessionData} wrote */
export function readSessionData(text: string): SessionData {
  return { ...newSessionData("", undefined), ...(JSON.parse(text) as SessionData) };
}
