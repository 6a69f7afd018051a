/**
 * `holdfast sessions`: asks the admin port of a gateway, prints what it says.
 *
 * With `--watch` it goes on by the feed: cursor and resume as everywhere, so a restart of the
 * gateway is no end of it.
 */
import {
  type AdminClient,
  AdminError,
  adminClient,
  type SessionAnswer,
  type SessionsAnswer,
  takeItem,
  timelineOf,
} from "@holdfast/dashboard/model";
import type { SessionsOptions } from "./options.ts";
import { itemLine, sessionTable, timelineText } from "./render.ts";

export interface SessionsOutput {
  write(text: string): void;
  /** Columns of the terminal. */
  readonly columns: number;
  /** Clear what was written before: a screen is drawn again. */
  readonly isTerminal: boolean;
}

/** What did not work, and what to do. */
export class SessionsFailure extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

/** @throws {@link SessionsFailure} */
export async function runSessions(
  options: SessionsOptions,
  output: SessionsOutput,
  signal: AbortSignal,
): Promise<void> {
  const client = adminClient(options.adminUrl, () => options.token);
  try {
    await carryOut(client, options, output, signal);
  } catch (error) {
    throw failureOf(error, options);
  }
}

async function carryOut(
  client: AdminClient,
  options: SessionsOptions,
  output: SessionsOutput,
  signal: AbortSignal,
): Promise<void> {
  const { action, isJson, isWatching } = options;
  switch (action.kind) {
    case "list": {
      const list = await client.sessions();
      output.write(isJson ? json(list.sessions) : sessionTable(list, Date.now()));
      return isWatching ? watchList(client, list, options, output, signal) : undefined;
    }
    case "show": {
      const answer = await client.session(action.name);
      output.write(isJson ? json(answer) : drawn(answer, output));
      return isWatching ? watchSession(client, answer, options, output, signal) : undefined;
    }
    case "end":
      await client.end(action.name);
      output.write(isJson ? json({ ended: action.name }) : `Session ${action.name} is ended.\n`);
  }
}

async function watchList(
  client: AdminClient,
  first: SessionsAnswer,
  { isJson }: SessionsOptions,
  output: SessionsOutput,
  signal: AbortSignal,
): Promise<void> {
  let { cursor } = first;
  const showItems: Parameters<AdminClient["follow"]>[0]["onItems"] = (items) => {
    for (const item of items) output.write(isJson ? json(item) : `${itemLine(item)}\n`);
  };
  while (!signal.aborted) {
    const ended = await client.follow({ cursor, signal, onItems: showItems, onState: () => {} });
    if (ended.kind !== "lost") return failUnlessStopped(ended);
    output.write(
      isJson ? json({ kind: "lost" }) : "Some of what happened is not known any more.\n",
    );
    ({ cursor } = await client.sessions());
  }
}

async function watchSession(
  client: AdminClient,
  first: SessionAnswer,
  { isJson }: SessionsOptions,
  output: SessionsOutput,
  signal: AbortSignal,
): Promise<void> {
  let answer = first;
  let timeline = timelineOf(first);
  const { tag } = first.session;
  const draw = () => {
    const clear = output.isTerminal ? "\u001b[2J\u001b[H" : "";
    output.write(`${clear}${timelineText(timeline, Date.now(), output.columns)}`);
  };
  const showItems: Parameters<AdminClient["follow"]>[0]["onItems"] = (items) => {
    const own = items.filter((item) => !("tag" in item) || item.tag === tag);
    for (const item of own) takeItem(timeline, item);
    if (isJson) for (const item of own) output.write(json(item));
    else if (own.length > 0) draw();
  };
  while (!signal.aborted) {
    const { cursor } = answer;
    const ended = await client.follow({ cursor, signal, onItems: showItems, onState: () => {} });
    if (ended.kind !== "lost") return failUnlessStopped(ended);
    answer = await client.session(tag);
    timeline = timelineOf(answer);
    if (isJson) output.write(json({ kind: "lost" }));
    else draw();
  }
}

function failUnlessStopped(ended: { readonly kind: string; readonly status?: number }): void {
  if (ended.kind === "stopped") return;
  throw new AdminError(
    ended.kind === "unauthorized" ? 401 : (ended.status ?? 0),
    "It was refused.",
  );
}

function drawn(answer: SessionAnswer, { columns }: SessionsOutput): string {
  return timelineText(timelineOf(answer), Date.now(), columns);
}

function failureOf(error: unknown, { adminUrl, token }: SessionsOptions): unknown {
  if (error instanceof AdminError && error.status === 401) {
    const hint = "Set HOLDFAST_ADMIN_TOKEN to the token of the gateway.";
    const problem = token === undefined ? "wants a token" : "does not take this token";
    return new SessionsFailure(`The admin port at ${adminUrl.origin} ${problem}.`, hint);
  }
  if (error instanceof AdminError) return new SessionsFailure(error.message);
  if (error instanceof TypeError) {
    const hint =
      "Start the gateway, or name its admin port as it says at its start: --admin-url URL";
    return new SessionsFailure(`No admin port answers at ${adminUrl.origin}.`, hint);
  }
  return error;
}

function json(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
