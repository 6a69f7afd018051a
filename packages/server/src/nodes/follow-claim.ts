/**
 * Waiting for a call that runs under one's key, in whatever session, on whatever node: its stream in
 * the log says what there is to say [C X-03].
 */
import { type EventPlace, replaceAt } from "@holdfast/contract";
import { type Claim, type EventLog, placeAt } from "@holdfast/log";
import type { InFlightCall } from "../calls.ts";
import { bounds } from "../options.ts";
import type { Session } from "../session.ts";

export interface Following {
  readonly log: EventLog;
  readonly session: Session;
  /** The call that waits. */
  readonly call: InFlightCall;
  readonly held: Claim;
}

/**
 * Pass on the progress of the call that holds the key from now on.
 *
 * @param onOver - it is over, and the ledger says how; or nobody waits any more
 */
export function followClaim(following: Following, onOver: () => void): void {
  const { log, session, call, held } = following;
  let isOver = false;
  let isBusy = false;
  let isWoken = false;
  let cursor: EventPlace | undefined;
  const over = () => {
    if (isOver) return;
    isOver = true;
    unfollow();
    call.waiting = undefined;
    onOver();
  };
  const step = async (): Promise<void> => {
    cursor ??= await headOf(following);
    if (cursor === undefined) return over();
    const limit = { events: bounds.readEventsMax, bytes: bounds.readBytesMax };
    const outcome = await log.read(held.session, cursor, limit);
    if (isOver) return;
    if (outcome.kind === "events") {
      for (const event of outcome.events) {
        if (event.kind === "notification") passOn(following, event.text);
      }
      cursor = outcome.events.at(-1)?.place ?? cursor;
      if (outcome.events.length > 0) isWoken = true;
      else if (outcome.ended !== undefined) over();
    } else if (outcome.kind === "gap") {
      // Progress that was evicted is nobody's loss; the outcome is in the ledger.
      cursor = outcome.gap.head;
      isWoken = true;
    } else {
      over();
    }
  };
  const run = async (): Promise<void> => {
    isWoken = true;
    if (isBusy) return;
    isBusy = true;
    while (isWoken && !isOver) {
      isWoken = false;
      await step().catch(async () => {
        // The store is away: asked again, for as long as somebody waits.
        await new Promise((resolve) => setTimeout(resolve, bounds.commitRetryMaxMs / 5));
        isWoken = true;
      });
      if (session.calls.inFlight.get(call.number) !== call) over();
    }
    isBusy = false;
  };
  const unfollow = log.follow(held.session, held.stream, () => void run());
  call.waiting = { sibling: siblingOf(following), leave: over };
  void run();
}

/** From now on: what came before was not for this caller. */
async function headOf({ log, held }: Following): Promise<EventPlace | undefined> {
  const [session, stream] = await Promise.all([
    log.session(held.session),
    log.stream(held.session, held.stream),
  ]);
  if (session === undefined || stream === undefined) return undefined;
  return placeAt(session.tag, stream, stream.head);
}

function passOn({ session, call }: Following, text: string): void {
  if (call.tokenJson === undefined) return;
  const { method } = JSON.parse(text) as { method?: unknown };
  if (method !== "notifications/progress") return;
  const spliced = replaceAt(text, ["params", "progressToken"], call.tokenJson);
  session.calls.say(call, spliced);
}

/** The call that runs, when this session runs it: a cancellation of the one means the other. */
function siblingOf({ session, held }: Following): InFlightCall | undefined {
  if (held.session !== session.id) return undefined;
  return session.calls.inFlight
    .all()
    .find(({ stream, index }) => stream === held.stream && index === held.call);
}
