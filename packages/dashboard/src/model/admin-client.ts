/** The JSON API of the admin port, as page and command ask it. */
import type { EventsAnswer, OverviewAnswer, SessionAnswer, SessionsAnswer } from "./api.ts";
import { type FollowEnd, type FollowSettings, followFeed } from "./follow.ts";

/** A refusal, in the words of the port. */
export class AdminError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface AdminClient {
  overview(): Promise<OverviewAnswer>;
  sessions(): Promise<SessionsAnswer>;
  /** @param name - tag or id, as everywhere here */
  session(name: string): Promise<SessionAnswer>;
  events(name: string, stream: number, after: number): Promise<EventsAnswer>;
  end(name: string): Promise<void>;
  follow(settings: Omit<FollowSettings, "url" | "headers">): Promise<FollowEnd>;
}

/**
 * @param base - of the admin port
 * @param token - asked at each request; undefined for none
 * @returns its methods throw {@link AdminError} for a refusal, TypeError when nobody answers
 */
export function adminClient(base: string | URL, token: () => string | undefined): AdminClient {
  const headers = (): Record<string, string> => {
    const word = token();
    return word === undefined ? {} : { authorization: `Bearer ${word}` };
  };
  const ask = async (path: string, method = "GET"): Promise<Response> => {
    const response = await fetch(new URL(`/api/${path}`, base), { method, headers: headers() });
    if (response.ok) return response;
    const body: unknown = await response.json().catch(() => undefined);
    const message = (body as { error?: { message?: string } } | undefined)?.error?.message;
    throw new AdminError(response.status, message ?? `The admin port answered ${response.status}.`);
  };
  const read = async <Answer>(path: string): Promise<Answer> =>
    (await (await ask(path)).json()) as Answer;
  const named = (name: string) => `sessions/${encodeURIComponent(name)}`;
  return {
    overview: () => read("overview"),
    sessions: () => read("sessions"),
    session: (name) => read(named(name)),
    events: (name, stream, after) => read(`${named(name)}/streams/${stream}/events?after=${after}`),
    end: async (name) => void (await ask(named(name), "DELETE")),
    follow: (settings) =>
      followFeed({ ...settings, url: new URL("/api/feed", base), headers: headers() }),
  };
}
