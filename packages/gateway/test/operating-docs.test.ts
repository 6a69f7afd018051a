/** Alert rules and Grafana dashboard speak of metrics that there are, under labels that they have. */
import { readFileSync } from "node:fs";
import { disposeAll, openSession, verifies } from "@holdfast/testkit";
import { afterEach, expect, test } from "vitest";
import { parse } from "yaml";
import { ask, samplesOf, serveAdmin } from "./admin-gateway.ts";
import { holdfast, scratchDirectory } from "./gateway-process.ts";

afterEach(disposeAll);

const text = (name: string) =>
  readFileSync(new URL(`../../../docs/operating/${name}`, import.meta.url), "utf8");

interface AlertRules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly labels: { readonly severity: string };
      readonly annotations: { readonly summary: string; readonly fix: string };
    }[];
  }[];
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

/** Names, and the labels that each may have. */
async function metricsOfGateway(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const gateway = await serveAdmin();
  // A histogram without values says nothing, not even its type: one append, and one reconnect.
  const session = await openSession(gateway.url);
  const standalone = await session.get();
  const watching = await holdfast(["sessions", "--watch"], scratchDirectory(), {
    HOLDFAST_ADMIN_URL: gateway.admin,
  });
  await watching.line(/attached/);
  standalone.destroy();
  await watching.line(/viewport disconnected/);
  await session.get();
  const { text: scraped } = await ask(gateway, "/metrics");
  const known = new Map<string, Set<string>>();
  for (const [, name = "", type] of scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const parts = type === "histogram" ? ["_bucket", "_count", "_sum"] : [""];
    for (const part of parts) {
      known.set(name + part, new Set(part === "_bucket" ? ["instance", "le"] : ["instance"]));
    }
  }
  for (const sample of Object.keys(samplesOf(scraped))) {
    const [, name = "", labels = ""] = /^([^{]+)(?:\{(.*)\})?$/.exec(sample) ?? [];
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.get(name)?.add(label);
  }
  return known;
}

/** What an expression asks that nobody answers. */
function strangersIn(expr: string, known: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const strangers: string[] = [];
  const named = [...expr.matchAll(/(holdfast_\w+)(?:\{([^}]*)\})?/g)];
  if (named.length === 0) strangers.push(`no metric of ours in: ${expr}`);
  const labels = new Set<string>();
  for (const [, name = "", selector = ""] of named) {
    const own = known.get(name);
    if (own === undefined) strangers.push(name);
    for (const label of own ?? []) labels.add(label);
    for (const [, label = ""] of selector.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)) {
      if (own?.has(label) !== true) strangers.push(`${name}{${label}}`);
    }
  }
  for (const [, list = ""] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list.split(",").map((one) => one.trim())) {
      if (!labels.has(label)) strangers.push(`by (${label}) in ${expr}`);
    }
  }
  return strangers;
}

test(`${verifies("W-06")}every alert and every panel asks for metrics that the gateway has`, async () => {
  const known = await metricsOfGateway();
  const { groups } = parse(text("holdfast-alerts.yml")) as AlertRules;
  const rules = groups.flatMap((group) => group.rules);
  const { panels } = JSON.parse(text("holdfast-grafana.json")) as Dashboard;
  const asked = [
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ];
  const strange = asked.flatMap(([where, expr]) =>
    strangersIn(expr, known).map((what) => `${where}: ${what}`),
  );
  expect(strange).toEqual([]);
  expect(strangersIn('rate(holdfast_nothing_total{x="y"}[5m])', known)).toEqual([
    "holdfast_nothing_total",
    "holdfast_nothing_total{x}",
  ]);
  for (const { alert, labels, annotations } of rules) {
    expect(alert).toMatch(/^Holdfast/);
    expect(["warning", "critical"]).toContain(labels.severity);
    expect(annotations.summary.length * annotations.fix.length).toBeGreaterThan(0);
  }
  const alerts = new Set(rules.flatMap(({ expr }) => expr.match(/holdfast_\w+/g) ?? []));
  for (const must of ["retention_headroom_seconds", "retention_breaches_total"]) {
    expect(alerts).toContain(`holdfast_${must}`);
  }
  for (const must of ["unknown_outcomes_total", "log_errors_total", "adoptions_total"]) {
    expect(alerts).toContain(`holdfast_${must}`);
  }
});
