/** What is said of an MCP endpoint that is called: its URL, and headers for it. Pure. */
import { type HeaderRecord, parseHeaders, splitHeaders } from "./header-lines.ts";
import type { Env, GivenOptions, OptionReader } from "./option-reader.ts";
import { variableOf } from "./option-rows.ts";
import { withoutPassword } from "./option-values.ts";
import type { Parsed } from "./units.ts";

/** @param headerOption - where a password belongs */
export function parseEndpoint(text: string, headerOption = "--header"): Parsed<URL> {
  const shown = withoutPassword(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return { ok: false, problem: `"${shown}" is no http or https URL` };
  }
  if (url.username !== "" || url.password !== "") {
    const instead = `give it as a header: ${headerOption} 'Authorization: Basic …'`;
    return { ok: false, problem: `"${shown}" holds a password; ${instead}` };
  }
  // A fragment is never sent, so it names no other server.
  url.hash = "";
  return { ok: true, value: url };
}

/** Headers of an option that is given as `Name: value`, once for each. */
export function readHeaders(
  reader: OptionReader,
  given: GivenOptions,
  env: Env,
  { option, command }: { readonly option: string; readonly command: string },
): HeaderRecord {
  const onLine = given[option];
  const parsed = parseHeaders(onLine ?? splitHeaders(env[variableOf(option)] ?? ""));
  if (parsed.ok) return parsed.value;
  const source = onLine === undefined ? variableOf(option) : `--${option}`;
  reader.problems.push({
    problem: `${source}: ${parsed.problem}.`,
    fix: `See holdfast ${command} --help.`,
  });
  return {};
}
