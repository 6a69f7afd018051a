/** What is said of the HTTP server behind a gateway, and of the headers that it sees. Pure. */
import { parseEndpoint, readHeaders } from "./endpoint-options.ts";
import { type HeaderRecord, isOwnHeader } from "./header-lines.ts";
import type { Env, GivenOptions, OptionReader } from "./option-reader.ts";
import type { Parsed } from "./units.ts";

export interface UpstreamChoice {
  /** Of the MCP endpoint. */
  readonly url: URL;
  /** By lower-case name; sent with every request. */
  readonly headers: HeaderRecord;
}

export interface UpstreamOptions {
  readonly upstream: UpstreamChoice | undefined;
  /** Lower-case names. */
  readonly forwardHeaders: readonly string[];
}

export function readUpstream(reader: OptionReader, given: GivenOptions, env: Env): UpstreamOptions {
  const url = reader.value("upstream", parseUpstream);
  const headers = readHeaders(reader, given, env, { option: "upstream-header", command: "serve" });
  const forwardHeaders = reader.list("forward-header").map((name) => name.toLowerCase());
  const problem = problemOf(url, headers, forwardHeaders);
  if (problem !== undefined) reader.problems.push(problem);
  return { upstream: url === undefined ? undefined : { url, headers }, forwardHeaders };
}

/** Empty: none. */
function parseUpstream(text: string): Parsed<URL | undefined> {
  return text === "" ? { ok: true, value: undefined } : parseEndpoint(text, "--upstream-header");
}

function problemOf(url: URL | undefined, headers: HeaderRecord, forwarded: readonly string[]) {
  const names = Object.keys(headers);
  if (url === undefined) {
    const option = names.length > 0 ? "--upstream-header" : "--forward-header";
    if (names.length + forwarded.length === 0) return undefined;
    const fix = "Leave it out, or name the server: --upstream https://mcp.example/mcp";
    return { problem: `${option} belongs to --upstream: a command sees no headers.`, fix };
  }
  const wrong = forwarded.find((name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || isOwnHeader(name));
  if (wrong !== undefined) {
    const why = isOwnHeader(wrong) ? "is set by holdfast itself" : "is no name of a header";
    return { problem: `--forward-header: "${wrong}" ${why}.`, fix: "Leave it out." };
  }
  const both = forwarded.find((name) => names.includes(name));
  if (both === undefined) return undefined;
  return {
    problem: `"${both}" is given by --upstream-header, and --forward-header passes it on.`,
    fix: "Leave one of the two out.",
  };
}
