/**
 * Judges a history of the soak and the effects that were had. Knows the contract, and nothing of
 * how the workload came by its facts.
 */
import { type EventPlace, parseEventId } from "@holdfast/contract";
import type { RpcMessage } from "@holdfast/testkit";
import { type Fact, messageIn, type Posted } from "./history.ts";

type EventFact = Extract<Fact, { readonly kind: "event" }>;
type GapFact = Extract<Fact, { readonly kind: "gap" }>;

/** @returns one sentence for each breach of the contract; none: it held */
export function judgeHistory(history: readonly Fact[], effects: readonly string[]): string[] {
  const events = history.filter((fact) => fact.kind === "event");
  const gaps = history.filter((fact) => fact.kind === "gap");
  return [
    ...reusedIds(events),
    ...lostEvents(history, events, gaps),
    ...effectsTwice(history, effects),
    ...callsWithoutEnd(history, events, gaps, effects),
    ...lostTicks(events, gaps),
  ];
}

/** [C E-02] An event id names one event, for ever. */
function reusedIds(events: readonly EventFact[]): string[] {
  const texts = new Map<string, string>();
  return events.flatMap(({ id, text }) => {
    const known = texts.get(id);
    texts.set(id, known ?? text);
    return known === undefined || known === text ? [] : [`${id} was two events: ${known}; ${text}`];
  });
}

const streamOf = ({ tag, stream }: EventPlace) => `${tag}/${stream}`;

function placeOf(id: string): EventPlace {
  const place = parseEventId(id);
  if (place === undefined) throw new Error(`no event id: ${id}`);
  return place;
}

/** [C E-08] Each viewport shows what follows its cursor: no hole, nothing twice. */
function lostEvents(
  history: readonly Fact[],
  events: readonly EventFact[],
  gaps: readonly GapFact[],
): string[] {
  const problems: string[] = [];
  const shown = Map.groupBy(events, ({ after, id }) => `${after} ${streamOf(placeOf(id))}`);
  for (const [name, list] of shown) {
    const [after = ""] = name.split(" ");
    // Several viewports may have begun at one cursor: each begins behind it anew.
    let expected = placeOf(after).position + 1;
    for (const { id } of list) {
      const { position } = placeOf(id);
      if (position === placeOf(after).position + 1) expected = position;
      if (position !== expected) problems.push(`after ${after} came ${id}, not ${expected}`);
      expected = position + 1;
    }
  }
  for (const fact of history) {
    if (fact.kind !== "replayed") continue;
    const replayed = new Set(fact.ids);
    const { position: first } = placeOf(fact.first);
    const stream = streamOf(placeOf(fact.first));
    const told = gaps.filter(({ from }) => streamOf(placeOf(from)) === stream);
    const isTold = (position: number) =>
      told.some(({ from, to }) => {
        return placeOf(from).position < position && position <= placeOf(to).position;
      });
    for (const { id } of events) {
      const place = placeOf(id);
      if (streamOf(place) !== stream || place.position <= first || replayed.has(id)) continue;
      if (!isTold(place.position)) problems.push(`${id} was seen, and is not there any more`);
    }
  }
  return problems;
}

/** [C X-03] One effect at most, for a POST without a key as for all of one key. */
function effectsTwice(history: readonly Fact[], effects: readonly string[]): string[] {
  const count = Map.groupBy(effects, (label) => label);
  const labels = new Set(history.flatMap((fact) => (fact.kind === "posted" ? [fact.label] : [])));
  const unknown = [...count.keys()].filter((label) => !labels.has(label));
  const twice = [...count].filter(([, lines]) => lines.length > 1);
  return [
    ...twice.map(([label, lines]) => `${label} had its effect ${lines.length} times`),
    ...unknown.map((label) => `${label} had an effect, and nobody asked for it`),
  ];
}

/** [C X-05] Each call has one end: its result, or an unknown outcome. */
function callsWithoutEnd(
  history: readonly Fact[],
  events: readonly EventFact[],
  gaps: readonly GapFact[],
  effects: readonly string[],
): string[] {
  const had = new Set(effects);
  const posted = history.filter((fact) => fact.kind === "posted");
  const replays = history.filter((fact) => fact.kind === "replayed");
  const problems: string[] = [];
  for (const fact of history) {
    if (fact.kind !== "answered") continue;
    const call = posted.find(({ post }) => post === fact.post);
    if (call === undefined) throw new Error(`no POST ${fact.post}`);
    // [C S-01] [C S-07] Nothing that a process does ends a session.
    if (fact.status !== undefined && fact.status !== 200 && fact.status !== 503) {
      problems.push(`${call.label} was answered ${fact.status}`);
    }
    if (fact.isNotRun && call.key === undefined && had.has(call.label)) {
      problems.push(`${call.label} was said not to have run, and had its effect`);
    }
    if (fact.first === undefined) continue;
    const stream = streamOf(placeOf(fact.first));
    const all = new Map(
      events.filter(({ id }) => streamOf(placeOf(id)) === stream).map((event) => [event.id, event]),
    );
    const messages = [...all.values()].map(messageIn);
    const isGapped = gaps.some(({ from }) => streamOf(placeOf(from)) === stream);
    problems.push(...judgeCall(call, messages, had.has(call.label), isGapped));
    const replay = replays.find(({ first }) => first === fact.first);
    if (replay?.isOver !== true) problems.push(`the stream of ${call.label} has no end`);
  }
  return problems;
}

function judgeCall(
  { label, post, steps, key }: Posted,
  messages: readonly RpcMessage[],
  hadEffect: boolean,
  isGapped: boolean,
): string[] {
  const ends = messages.filter(({ method }) => method === undefined);
  if (ends.length !== 1) return [`${label} (POST ${post}) has ${ends.length} ends`];
  const [end] = ends;
  if (end?.id !== post) return [`POST ${post} has the answer of ${end?.id}`];
  if (end.error !== undefined) {
    const isTyped = end.error.code === -32011 && end.error.data?.["requestId"] === post;
    return isTyped ? [] : [`${label} ended with ${JSON.stringify(end.error)}`];
  }
  const [block] = (end.result?.["content"] ?? []) as readonly { readonly text?: string }[];
  if (block?.text !== label) return [`${label} has the result of ${block?.text}`];
  if (!hadEffect) return [`${label} has a result, and had no effect`];
  const progress = messages.flatMap(({ method, params }) =>
    method === "notifications/progress" ? [Number(params?.["progress"])] : [],
  );
  const expected = Array.from({ length: steps }, (_, index) => index + 1);
  // A repetition is told from when it came on.
  const wanted = key === undefined ? expected : expected.slice(steps - progress.length);
  const isWhole = isGapped
    ? progress.every((step, index) => index === 0 || step > (progress[index - 1] ?? 0))
    : String(progress) === String(wanted);
  return isWhole ? [] : [`${label} (POST ${post}) was told ${progress} of ${steps} steps`];
}

/** [C E-04] [E-08] What a server says on the standalone stream comes as a prefix, without a hole. */
function lostTicks(events: readonly EventFact[], gaps: readonly GapFact[]): string[] {
  const ticks = new Map<string, Map<string, Set<number>>>();
  for (const event of events) {
    const [, server = "", number] =
      /^tick:\/\/(\w+)\/(\d+)$/.exec(String(messageIn(event).params?.["uri"])) ?? [];
    if (number === undefined) continue;
    const seen = ticks.get(event.session)?.get(server) ?? new Set();
    seen.add(Number(number));
    ticks.set(event.session, (ticks.get(event.session) ?? new Map()).set(server, seen));
  }
  const problems: string[] = [];
  for (const [session, servers] of ticks) {
    const isGapped = gaps.some((gap) => gap.session === session && placeOf(gap.from).stream === 0);
    if (isGapped) continue;
    for (const [server, seen] of servers) {
      const last = Math.max(...seen);
      if (seen.size !== last) problems.push(`of ${last} ticks of ${server} ${seen.size} were seen`);
    }
  }
  return problems;
}
