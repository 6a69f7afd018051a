/**
 * The text of each option: command line over variable over default; and the first thing that is
 * wrong with it. Pure; knows no option by its name.
 */
import { type OptionRow, variableOf } from "./option-rows.ts";
import type { Parsed } from "./units.ts";

/** What is wrong with a command line, and what to do where that is not said; a sentence each. */
export interface WrongUse {
  readonly problem: string;
  readonly fix?: string;
}

/** The options of one command. */
export interface OptionTable {
  /** Its name, for who looks for help. */
  readonly command: string;
  readonly rows: readonly OptionRow[];
  /** Other defaults for some of the options, by name. */
  readonly fallbacks?: Readonly<Record<string, string>>;
}

/** Texts of the command line, by the name of the option: each time that it was given. */
export type GivenOptions = Readonly<Record<string, readonly string[]>>;

export type Env = Readonly<Record<string, string | undefined>>;

export interface OptionReader {
  /** The first is what the user is told. */
  readonly problems: WrongUse[];
  isGiven(name: string): boolean;
  /** Read the one value of an option; after a problem, some value that nobody will see. */
  value<T>(name: string, parse: (text: string) => Parsed<T>): T;
  /** Each value of a repeatable option; those with a problem are left out. */
  list(name: string, parse?: (text: string) => Parsed<string>): readonly string[];
}

/**
 * @param given - what the command line says
 * @param env - the environment
 */
export function createOptionReader(
  given: GivenOptions,
  env: Env,
  { command, rows, fallbacks = {} }: OptionTable,
): OptionReader {
  const problems: WrongUse[] = [];
  const variable = (name: string) => env[variableOf(name)]?.trim() || undefined;
  const fallback = (name: string) =>
    fallbacks[name] ?? rows.find((row) => row.name === name)?.fallback ?? "";
  const problemOf = (name: string, isOnLine: boolean, problem: string): WrongUse => ({
    problem: `${isOnLine ? `--${name}` : variableOf(name)}: ${problem}.`,
    fix: `See holdfast ${command} --help.`,
  });
  return {
    problems,
    isGiven: (name) => given[name] !== undefined || variable(name) !== undefined,
    value: (name, parse) => {
      const onLine = given[name]?.at(-1);
      const text = onLine ?? variable(name) ?? fallback(name);
      const parsed = parse(text);
      if (parsed.ok) return parsed.value;
      problems.push(problemOf(name, onLine !== undefined, parsed.problem));
      // What a default would give stands in, so that the reading can go on to the one report.
      const standIn = parse(fallback(name));
      if (!standIn.ok) throw new Error(`the default of --${name} is no value: ${standIn.problem}`);
      return standIn.value;
    },
    list: (name, parse) => {
      const items =
        given[name] ??
        (variable(name) ?? fallback(name))
          .split(",")
          .map((item) => item.trim())
          .filter((item) => item !== "");
      if (parse === undefined) return items;
      return items.flatMap((item) => {
        const parsed = parse(item);
        if (parsed.ok) return [parsed.value];
        problems.push(problemOf(name, given[name] !== undefined, parsed.problem));
        return [];
      });
    },
  };
}
