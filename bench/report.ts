/** What a measurement found: a table for people, and bounds that hold or do not. Pure. */

export interface Bound {
  /** `Holdfast ÷ plain node:http, 16 sessions`. */
  readonly name: string;
  readonly value: number;
  readonly max: number;
}

export interface Report {
  readonly title: string;
  /** A sentence or two on how the figures came about. */
  readonly note: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly bounds: readonly Bound[];
}

export function isHeld({ value, max }: Bound): boolean {
  return value <= max;
}

/** The report as Markdown, its columns aligned so that it reads on a terminal too. */
export function writeReport(report: Report): string {
  const lines = [`### ${report.title}`, "", report.note, "", ...table(report.columns, report.rows)];
  if (report.bounds.length > 0) {
    const rows = report.bounds.map((bound) => [
      bound.name,
      bound.value.toFixed(2),
      `≤ ${bound.max}`,
      isHeld(bound) ? "holds" : "BROKEN",
    ]);
    lines.push("", ...table(["ratio", "measured", "bound", ""], rows));
  }
  return lines.join("\n");
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map((column, i) =>
    Math.max(column.length, 3, ...rows.map((row) => (row[i] ?? "").length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => pad(cells[i] ?? "", width, i)).join(" | ")} |`;
  const rule = widths.map((width, i) =>
    i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(columns), line(rule), ...rows.map(line)];
}

function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}
