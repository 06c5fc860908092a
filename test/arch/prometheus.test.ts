import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { knownMetrics } from "../docs/knownNames.ts";

const CONFIG = join(import.meta.dirname, "../../config/prometheus");
/** PromQL words that look like metric names. */
const NO_METRICS = new Set(["histogram_quantile"]);

function metricsIn(expression: string): string[] {
  const words = expression.replaceAll(/"[^"]*"|\{[^}]*\}|by \([^)]*\)/g, "").match(/[a-z]\w*_\w+/g) ?? [];
  return words.filter((word) => !NO_METRICS.has(word));
}

describe("config/prometheus", () => {
  test("the alert rules use only existing metrics", async () => {
    const names = await knownMetrics();
    const [document] = parseYamlDocuments(readFileSync(join(CONFIG, "rules.yaml"), "utf8"));
    const { spec } = document as { spec: { groups: { rules: { alert: string; expr: string }[] }[] } };
    const used = spec.groups.flatMap(({ rules }) =>
      rules.flatMap(({ alert, expr }) => metricsIn(expr).map((name) => [alert, name] as const)),
    );
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter(([, name]) => !names.has(name))).toEqual([]);
  });

  test("the dashboard uses only existing metrics, and its panels do not overlap", async () => {
    const names = await knownMetrics();
    const { panels } = JSON.parse(readFileSync(join(CONFIG, "dashboard.json"), "utf8")) as {
      panels: { title: string; gridPos: { x: number; y: number; w: number; h: number }; targets: { expr: string }[] }[];
    };
    const used = panels.flatMap(({ title, targets }) =>
      targets.flatMap(({ expr }) => metricsIn(expr).map((name) => [title, name] as const)),
    );
    expect(used.length).toBeGreaterThan(panels.length - 1);
    expect(used.filter(([, name]) => !names.has(name))).toEqual([]);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});
