/** What an MCP client says over a lane: the opening of a session, calls. */
import { type HttpLane, openLane, requestText } from "./http-lane.ts";
import { protocolVersion, toolName, toolResult } from "./servers/tool.ts";

export interface LoadSession {
  readonly headers: Readonly<Record<string, string>>;
}

const posting = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
};

/** Open a session, or none with a server that knows none. */
export async function openLoadSession(lane: HttpLane): Promise<LoadSession> {
  const initialize = {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion, capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } },
  };
  const request = { method: "POST", headers: posting, body: JSON.stringify(initialize) } as const;
  const reply = await lane.exchange(requestText(request));
  if (reply.status !== 200) throw new Error(`initialize: ${reply.status} ${reply.body}`);
  const id = reply.headers.get("mcp-session-id");
  const headers = {
    ...posting,
    ...(id === undefined ? {} : { "mcp-session-id": id }),
    "mcp-protocol-version": protocolVersion,
  };
  const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  const accepted = await lane.exchange(requestText({ method: "POST", headers, body }));
  if (accepted.status !== 202) throw new Error(`initialized: ${accepted.status} ${accepted.body}`);
  return { headers };
}

const expected = JSON.stringify(toolResult.content[0]?.text);

/** One call, whose result has to come. */
export async function call(lane: HttpLane, { headers }: LoadSession, id: number): Promise<void> {
  const body =
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call",` +
    `"params":{"name":"${toolName}","arguments":{"text":"hello"}}}`;
  const reply = await lane.exchange(requestText({ method: "POST", headers, body }));
  const { status } = reply;
  if (status === 200 && reply.body.includes(`"id":${id}`) && reply.body.includes(expected)) return;
  throw new Error(`call ${id}: ${status} ${reply.body}`);
}

export interface Load {
  /** Make `calls` calls, all lanes at once; rejects when one is not answered as it should. */
  run(calls: number): Promise<void>;
  close(): void;
}

/** @param sessionCount - sessions that the lanes share: as many as lanes, or one */
export async function openLoad(
  port: number,
  laneCount: number,
  sessionCount: number,
): Promise<Load> {
  const lanes = await Promise.all(Array.from({ length: laneCount }, () => openLane(port)));
  const [first] = lanes;
  if (first === undefined) throw new RangeError("a load has at least one lane");
  const sessions: LoadSession[] = [];
  for (let i = 0; i < sessionCount; i += 1) sessions.push(await openLoadSession(first));
  let id = 0;
  return {
    run: async (calls) => {
      const last = id + calls;
      const busy = lanes.map(async (lane, i) => {
        const session = sessions[i % sessions.length] as LoadSession;
        while (id < last) {
          id += 1;
          await call(lane, session, id);
        }
      });
      await Promise.all(busy);
    },
    close: () => {
      for (const lane of lanes) lane.close();
    },
  };
}
