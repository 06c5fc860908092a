import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { ROOT } from "./page.ts";

test("metrics.md lists every alert of config/prometheus with its condition and what to do", () => {
  const [document] = parseYamlDocuments(readFileSync(join(ROOT, "config/prometheus/rules.yaml"), "utf8"));
  const { spec } = document as { spec: { groups: { rules: { alert: string }[] }[] } };
  const page = readFileSync(join(ROOT, "docs/how-to/metrics.md"), "utf8");
  const [, section = ""] = /\n## Alerts\n([^]*?)\n## /.exec(page) ?? [];
  const rows = [...section.matchAll(/^\| `(\w+)` +\| \S.* \| \S.* \|$/gm)].map(([, alert]) => alert);
  expect(rows).toEqual(spec.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)));
});
