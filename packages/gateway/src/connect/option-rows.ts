/**
 * The options of `holdfast connect`: one table from which come the command line, the `HOLDFAST_…`
 * variables, the defaults and the help. What the texts mean is read in options.ts.
 */
import { list, type OptionRow, row } from "../option-rows.ts";

const kept = "What is kept:";
const wire = "Towards the server:";
const back = "When the connection is lost:";
const other = "Other:";

export const connectOptionRows: readonly OptionRow[] = [
  row(kept, "state", "FILE", "", "session, cursors and calls (a file for each URL, see below)"),
  row(kept, "no-reattach", "", "", "run a call again that is like one of an earlier process"),
  list(wire, "header", "'K: V'", "send this header with every request (repeatable)"),
  row(wire, "strict", "", "", "refuse a server that keeps events too short for this client"),
  row(back, "reconnect-initial", "TIME", "500ms", "longest wait before the first attempt"),
  row(back, "reconnect-max", "TIME", "30s", "longest wait before any attempt"),
  row(back, "reconnect-attempts", "N", "10", "attempts until calls end as unknown outcome"),
  row(back, "reconnect-budget", "TIME", "2m", "time until then"),
  row(other, "log-level", "LEVEL", "info", "trace, debug, info, warn, error, fatal, silent"),
];
