/**
 * The command tree: arguments and environment in, what is to be done out. Pure; commander reads
 * the words and writes the help, serve-options.ts and connect/options.ts give the options their
 * meaning.
 */
import { homedir } from "node:os";
import { Command, CommanderError, Option } from "commander";
import { connectOptionRows } from "./connect/option-rows.ts";
import { type ConnectOptions, readConnectOptions } from "./connect/options.ts";
import type { Env, GivenOptions, WrongUse } from "./option-reader.ts";
import {
  limitsGroup,
  type OptionRow,
  runtimeOptionRows,
  serveOptionRows,
  variableOf,
} from "./option-rows.ts";
import { readServeOptions, type ServeOptions, type ServeOptionsOutcome } from "./serve-options.ts";
import {
  readSessionsOptions,
  type SessionsOptions,
  sessionsOptionRows,
} from "./sessions/options.ts";
import type { UpstreamChoice } from "./upstream-options.ts";

export type Invocation =
  | {
      readonly kind: "serve";
      readonly options: ServeOptions;
      readonly served: Served;
    }
  | { readonly kind: "connect"; readonly options: ConnectOptions }
  | { readonly kind: "sessions"; readonly options: SessionsOptions }
  /** Serve the demo server. */
  | { readonly kind: "demo-serve"; readonly options: ServeOptions }
  /** Run the demo; `isJson`: its rows instead of its table. */
  | { readonly kind: "demo"; readonly isJson: boolean }
  /** Help or version: to stdout. */
  | { readonly kind: "text"; readonly text: string }
  | ({ readonly kind: "wrong" } & WrongUse);

/** What stands behind a gateway. */
export type Served =
  | { readonly kind: "command"; readonly command: string; readonly args: readonly string[] }
  | ({ readonly kind: "url" } & UpstreamChoice);

/** Where `demo serve` keeps what outlives it, in the working directory. */
export const demoDirectory = ".holdfast";

const columnsMax = 100;

/**
 * Read a command line.
 *
 * @param argv - what follows `holdfast`
 * @param env - for the `HOLDFAST_…` variables
 * @param version - of this program
 */
export function parseCommandLine(argv: readonly string[], env: Env, version: string): Invocation {
  // What follows the first `--` is the operator's own command, whatever it looks like.
  const dashes = argv.indexOf("--");
  const own = dashes < 0 ? argv : argv.slice(0, dashes);
  const upstream = dashes < 0 ? [] : argv.slice(dashes + 1);
  let invocation: Invocation | undefined;
  const output: string[] = [];
  const takesNoCommand = (name: string, why = "it has servers of its own"): Invocation => ({
    kind: "wrong",
    problem: `${name} takes no command: ${why}.`,
    fix: `To serve your own: holdfast serve -- ${upstream.join(" ")}`,
  });
  const program = createProgram(version, output, {
    serve: (given, extra) => {
      invocation = serveInvocation(given, extra, upstream, env);
    },
    connect: (given, words) => {
      const read = readConnectOptions(words, given, env, env.HOME ?? homedir());
      const isServing = upstream.length > 0;
      if (isServing) invocation = takesNoCommand("connect", "it brings its host to a URL");
      else invocation = read.kind === "wrong" ? read : { kind: "connect", options: read.options };
    },
    sessions: (given, words) => {
      const read = readSessionsOptions(words, given, env);
      invocation = read.kind === "wrong" ? read : { kind: "sessions", options: read.options };
    },
    demo: (isJson) => {
      invocation = upstream.length > 0 ? takesNoCommand("demo") : { kind: "demo", isJson };
    },
    demoServe: (given) => {
      if (upstream.length > 0) {
        invocation = takesNoCommand("demo serve");
        return;
      }
      const fallbacks = { log: `sqlite:./${demoDirectory}/holdfast.db` };
      const read = readServeOptions(given, env, fallbacks);
      invocation = read.kind === "wrong" ? read : { kind: "demo-serve", options: read.options };
    },
  });
  try {
    program.parse(own, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0 || own.length === 0) return { kind: "text", text: output.join("") };
    return wrongUse(error, output.join(""), own[0] ?? "");
  }
  return invocation ?? { kind: "text", text: program.helpInformation() };
}

/**
 * Read the options of `holdfast serve` alone.
 *
 * @param argv - `--port 0 --window 10m`: no command
 */
export function parseServeOptions(argv: readonly string[], env: Env): ServeOptionsOutcome {
  const invocation = parseCommandLine(["serve", ...argv, "--", "true"], env, "");
  if (invocation.kind === "serve") return { kind: "options", options: invocation.options };
  if (invocation.kind === "wrong") return invocation;
  return { kind: "wrong", problem: "These are no options of serve.", fix: seeHelp("serve") };
}

interface Actions {
  serve(given: GivenOptions, extra: readonly string[]): void;
  connect(given: GivenOptions, words: readonly string[]): void;
  sessions(given: GivenOptions, words: readonly string[]): void;
  demo(isJson: boolean): void;
  demoServe(given: GivenOptions): void;
}

function createProgram(version: string, output: string[], actions: Actions): Command {
  const take = (text: string) => void output.push(text);
  const settle = (command: Command) =>
    command
      .exitOverride()
      .configureOutput({
        writeOut: take,
        writeErr: take,
        getOutHelpWidth: () => columnsMax,
        getErrHelpWidth: () => columnsMax,
        getOutHasColors: () => false,
        getErrHasColors: () => false,
      })
      .helpOption("-h, --help", "show this help")
      .helpCommand(false);
  const program = settle(new Command("holdfast"))
    .description("MCP sessions that survive disconnects, in front of any MCP server.")
    .usage("COMMAND [options]")
    .version(version, "-V, --version", "show the version")
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText("after", rootExamples);
  const serve = settle(program.command("serve"))
    .summary("front an MCP server: a command that speaks stdio, or a URL")
    .usage("[options] -- COMMAND [ARG…] | [options] --upstream URL")
    .argument("[extra...]")
    .addHelpText("after", serveNotes);
  serve.action((extra: string[]) => actions.serve(serve.opts(), extra));
  const connect = settle(program.command("connect"))
    .summary("be the command of a stdio host, with a durable session at a URL")
    .description("Speak stdio to a host (as its server command) and Streamable HTTP to URL.")
    .usage("[options] URL")
    .argument("[words...]")
    .addHelpText("after", connectNotes);
  connect.action((words: string[]) => actions.connect(connect.opts(), words));
  addOptions(connect, connectOptionRows);
  const sessions = settle(program.command("sessions"))
    .summary("list, show and end the sessions of a gateway")
    .description("Look at the sessions of a running gateway over its admin port, and end them.")
    .usage("[list] [options]\n       holdfast sessions show|end NAME [options]")
    .argument("[words...]")
    .addHelpText("after", sessionsNotes);
  sessions.action((words: string[]) => actions.sessions(sessions.opts(), words));
  addOptions(sessions, sessionsOptionRows);
  const demo = settle(program.command("demo"))
    .summary("the double charge and the silent gap, with the stock SDK and with Holdfast")
    .description("Run both incidents on the stock SDK and on Holdfast, and print what happened.")
    .usage("[--json]\n       holdfast demo serve [options]")
    .option("--json", "print the rows as JSON")
    .action(({ json }: { json?: true }) => actions.demo(json === true));
  const demoServe = settle(demo.command("serve"))
    .summary("serve a small server of our own, and show how to cut a call and resume it")
    .description(`Serve the demo server. Options as for "holdfast serve".`)
    .usage("[options]")
    .addHelpText("after", "\n");
  demoServe.action(() => actions.demoServe(demoServe.opts()));
  addOptions(serve, serveOptionRows);
  addOptions(demoServe, runtimeOptionRows);
  for (const command of [serve, connect, sessions, demoServe]) {
    command.configureHelp({
      // Usage lines name what is needed; the catch-all argument is ours.
      visibleArguments: () => [],
      // Without empty lines between the groups, and with limits by name alone, they fit on a screen.
      formatItemList: (heading, items) => {
        if (items.length === 0) return [];
        return heading === limitsGroup ? [limitsHeading, ...limitLines()] : [heading, ...items];
      },
    });
  }
  return program;
}

const limitsHeading = "Limits, with their defaults (docs/limits.md says what each bounds):";

/** Names and defaults, as many on a line as fit. */
function limitLines(): readonly string[] {
  const lines: string[] = [];
  for (const { name, fallback } of serveOptionRows.filter(({ group }) => group === limitsGroup)) {
    const word = `--${name} ${fallback}`;
    const last = lines.at(-1);
    const isFitting = last !== undefined && `${last}  ${word}`.length <= columnsMax;
    if (isFitting) lines[lines.length - 1] = `${last}  ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines;
}

function addOptions(command: Command, rows: readonly OptionRow[]): void {
  for (const { name, value, fallback, help, group } of rows) {
    const shown = fallback === "" ? help : `${help} (${fallback})`;
    const words = value === "" ? `--${name}` : `--${name} <${value}>`;
    const option = new Option(words, shown).helpGroup(group);
    // To commander `--no-prime` is the negation of a `--prime`; here it is a name like any other.
    option.negate = false;
    option.attributeName = () => name;
    option.argParser((text: string | undefined, previous: readonly string[] | undefined) => [
      ...(previous ?? []),
      // What is only said stands as a word of yes.
      text ?? "true",
    ]);
    command.addOption(option);
  }
  const [last] = rows.slice(-1);
  command.addHelpOption(new Option("-h, --help", "show this help").helpGroup(last?.group ?? ""));
}

function serveInvocation(
  given: GivenOptions,
  extra: readonly string[],
  upstream: readonly string[],
  env: Env,
): Invocation {
  if (extra.length > 0) {
    const words = extra.join(" ");
    const fix = `Put -- before the command: holdfast serve [options] -- ${words}`;
    return { kind: "wrong", problem: `"${extra[0]}" is no option of serve.`, fix };
  }
  const read = readServeOptions(given, env);
  const url = read.kind === "options" ? read.options.upstream : undefined;
  const [command = "", ...args] = upstream;
  if (url !== undefined && upstream.length > 0) {
    const fix = "Serve one of the two; for both, start two gateways.";
    return { kind: "wrong", problem: "--upstream stands in place of a command.", fix };
  }
  if (url === undefined && command === "" && read.kind === "options") {
    const fix = "Name it behind --, like: holdfast serve -- node server.js";
    return { kind: "wrong", problem: "There is no command to serve.", fix };
  }
  if (read.kind === "wrong") return read;
  const served: Served =
    url === undefined ? { kind: "command", command, args } : { kind: "url", ...url };
  return { kind: "serve", options: read.options, served };
}

/** Commander's own complaint, as a sentence; its suggestion or our help as the fix. */
function wrongUse(error: CommanderError, output: string, command: string): Invocation {
  const [complaint = error.message, suggestion] = output.trim().split("\n");
  const problem = complaint.replace(/^error: /, "").replace(/^./, (c) => c.toUpperCase());
  const isOption = error.code !== "commander.unknownCommand";
  const named = ["connect", "sessions"].includes(command) ? command : "serve";
  const fix = suggestion?.replace(/^\(|\)$/g, "") ?? seeHelp(isOption ? named : undefined);
  return { kind: "wrong", problem: `${problem}.`, fix };
}

function seeHelp(command?: string): string {
  return `See holdfast ${command === undefined ? "" : `${command} `}--help.`;
}

const rootExamples = `
Examples:
  holdfast serve -- npx -y @modelcontextprotocol/server-everything
  holdfast serve --port 9000 --window 2h --log sqlite:/var/lib/holdfast.db -- python server.py
  holdfast serve --upstream http://127.0.0.1:3000/mcp
  holdfast connect https://mcp.example/mcp
  holdfast sessions show 0123456789abcdef --watch
  holdfast demo serve
`;

const serveNotes = `

TIME is like 500ms, 30s, 10m, 24h; SIZE like 64kb, 4mb. Each option has a variable:
${variableOf("max-events")}=500 is --max-events 500 (the option wins; lists by comma).
`;

const sessionsNotes = `

NAME is the tag of a session, as the list and the gateway's log show it, or its whole id.
${variableOf("admin-url")} and ${variableOf("admin-token")} stand for the first two options.
`;

const connectNotes = `

TIME is like 500ms, 30s, 2m. Each option has a variable: HOLDFAST_HEADER='Authorization: Bearer …'
keeps a secret off the command line (the option wins; headers by comma; HOLDFAST_STRICT=true).
The state is in $XDG_STATE_HOME/holdfast/ or ~/.local/state/holdfast/; one process at a time holds
it, so give each host that connects to the same URL a --state of its own.
`;
