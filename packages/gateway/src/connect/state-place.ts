/** Where `holdfast connect` keeps its state when nobody says: one file for each URL. Pure. */
import { createHash } from "node:crypto";
import { isAbsolute, join } from "node:path";
import type { Env } from "../option-reader.ts";

/**
 * @param home - the user's home directory
 * @returns `…/holdfast/NAME-HASH.db` under the user's state directory
 */
export function defaultStateFile(url: URL, env: Env, home: string): string {
  const given = env.XDG_STATE_HOME ?? "";
  // [XDG Base Directory] "If an implementation encounters a relative path … it should … ignore it."
  const base = isAbsolute(given) ? given : join(home, ".local", "state");
  const hash = createHash("sha256").update(url.href).digest("hex").slice(0, hashChars);
  // The name is for people who look into the directory; the hash tells the URLs apart.
  const name = url.hostname.replaceAll(/[^\w.-]/g, "").slice(0, nameCharsMax);
  return join(base, "holdfast", `${name}-${hash}.db`);
}

const hashChars = 16;
const nameCharsMax = 60;
