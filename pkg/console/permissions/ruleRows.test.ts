import { expect, test } from "vitest";
import { RISK_CLASSES } from "../../permissions/riskClasses.ts";
import { buildRuleList } from "./ruleRows.ts";

const rule = (resource: string) => ({ apiGroups: [""], resources: [resource], verbs: ["get"] });
const risk = (level: string) => RISK_CLASSES.find((one) => one.level === level);

test("buildRuleList shows rules with a risk first, root-equivalent ones before broad ones", () => {
  const list = buildRuleList([
    { namespace: "", rule: rule("pods") },
    { namespace: "", rule: rule("nodes"), risk: risk("Broad") },
    { namespace: "shop", rule: rule("configmaps") },
    { namespace: "", rule: rule("secrets"), risk: risk("RootEquivalent") },
  ]);
  expect(list.count).toBe(4);
  expect(list.scopes.map(({ namespace, rules }) => [namespace, rules.map(({ text }) => text)])).toEqual([
    ["", ["get secrets: all", "get nodes: all", "get pods: all"]],
    ["shop", ["get configmaps: all"]],
  ]);
});

test("buildRuleList shows at most 500 rules", () => {
  const rules = Array.from({ length: 300 }, (_, i) => ["", "shop"].map((namespace) => ({ namespace, rule: rule(`r${i}`) }))).flat();
  const { count, scopes } = buildRuleList(rules);
  expect([count, scopes.map((scope) => scope.rules.length)]).toEqual([600, [300, 200]]);
});
