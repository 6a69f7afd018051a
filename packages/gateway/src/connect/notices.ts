/**
 * What the host is told beside the server's own messages: `notifications/message` of the logger
 * `holdfast`, told apart by `data.type`. Shapes alone; pure.
 */
import type { CallOutcome, Gap, Parked, RecoveredCall } from "@holdfast/client";
import type { JsonObject } from "@holdfast/contract";

export type Notice = {
  readonly jsonrpc: "2.0";
  readonly method: "notifications/message";
  readonly params: {
    readonly level: "info" | "notice" | "warning";
    readonly logger: "holdfast";
    readonly data: NoticeData;
  };
};

type NoticeData = JsonObject & { readonly type: string; readonly message: string };

/** [C K-08] events are lost; its data is that of the transport, `type` `resume-window-exceeded`. */
export function gapNotice(gap: Gap): Notice {
  const count = gap.lostEvents === null ? "An unknown number of" : String(gap.lostEvents);
  const message = `${count} events of the server are lost: they are kept no longer.`;
  return notice("warning", { ...gap, message });
}

/** [C K-05] */
export function parkedNotice({ why, nextProbeMs }: Parked): Notice {
  const message =
    `${parkReasons[why]} Session and calls are kept; it is tried again in ` +
    `${Math.round(nextProbeMs / 1000)} s, and at the next request.`;
  return notice("warning", { type: "parked", why, nextProbeMs, message });
}

const parkReasons: Readonly<Record<Parked["why"], string>> = {
  unreachable: "The server cannot be reached now.",
  authorization: "The server does not accept the credentials now.",
  renewals: "The server forgets each session before it serves a request.",
};

export function resumedNotice(): Notice {
  return notice("info", { type: "resumed", message: "The server can be reached again." });
}

/** [C K-10] the result of a call that an earlier process made, and no call has claimed. */
export function recoveredNotice(call: RecoveredCall, outcome: CallOutcome): Notice {
  const { id: requestId, method, name, params, startedAtMs } = call;
  const startedAt = new Date(startedAtMs).toISOString();
  const subject = name === undefined ? method : `${method} ${JSON.stringify(name)}`;
  const message = `${subject}, which was sent at ${startedAt}, ${endings[outcome.kind]}.`;
  const facts = { requestId, method, ...(name === undefined ? {} : { name }), params, startedAt };
  return notice("notice", { type: "recovered-outcome", ...facts, outcome, message });
}

const endings: Readonly<Record<CallOutcome["kind"], string>> = {
  result: "has brought its result after all",
  error: "has ended with an error",
  unknown: "has an unknown outcome",
};

function notice(level: Notice["params"]["level"], data: NoticeData): Notice {
  const params = { level, logger: "holdfast", data } as const;
  return { jsonrpc: "2.0", method: "notifications/message", params };
}
