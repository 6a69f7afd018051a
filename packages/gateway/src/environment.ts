/** The environment that children get, and where a command is looked for. Touches no child. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/** Ours without what is meant for the gateway alone: `HOLDFAST_…`. */
export function childEnvironment(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("HOLDFAST_")));
}

/**
 * Look for a command as `spawn` will, so that a start can be refused before the first client comes.
 *
 * @param command - a name for the PATH, or a path
 * @returns how it would fail, or `undefined`
 */
export function findCommandFault(command: string, env: Env): "ENOENT" | "EACCES" | undefined {
  const places = command.includes("/")
    ? [resolve(command)]
    : (env.PATH ?? "").split(delimiter).map((directory) => resolve(directory, command));
  const faults = places.map(faultOf);
  if (faults.includes(undefined)) return undefined;
  return faults.includes("EACCES") ? "EACCES" : "ENOENT";
}

function faultOf(file: string): "ENOENT" | "EACCES" | undefined {
  try {
    if (!statSync(file).isFile()) return "EACCES";
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "EACCES" : "ENOENT";
  }
}
