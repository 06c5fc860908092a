import type { PolicyRule } from "./policyRule.ts";
import type { RequiredRules } from "./rules.ts";

/** Names shown of one rule, from the most to the fewest: the first that fits is taken. */
const NAMES_SHOWN = [Number.POSITIVE_INFINITY, 20, 5, 1];

/**
 * One line for each rule, `Namespace:"ns" APIGroups:[…] Resources:[…] ResourceNames:[…] Verbs:[…]`, sorted; `Namespace:""` is the cluster.
 * Together at most `maxBytes` bytes of UTF-8: names of long lists are counted instead of told, and at last whole rules.
 * @see operator-controller internal/operator-controller/applier/helm.go, before permission checks were dropped there
 */
export function ruleLines({ clusterRules, namespaceRules }: RequiredRules, maxBytes: number): string[] {
  const placed = [["", clusterRules] as const, ...namespaceRules].flatMap(([namespace, rules]) =>
    rules.map((rule) => (names: number) => lineOf(namespace, rule, names)),
  );
  let lines: string[] = [];
  for (const names of NAMES_SHOWN) {
    lines = placed.map((line) => line(names)).sort();
    if (sizeOf(lines) <= maxBytes) return lines;
  }
  const fitting: string[] = [];
  const more = (): string => `…and ${lines.length - fitting.length} more rules`;
  for (const line of lines) {
    if (sizeOf([...fitting, line, more()]) > maxBytes) break;
    fitting.push(line);
  }
  return [...fitting, more()];
}

function lineOf(namespace: string, rule: PolicyRule, names: number): string {
  const list = (label: string, values: readonly string[] | undefined, max = Number.POSITIVE_INFINITY): string[] => {
    if (!values || values.length === 0) return [];
    const sorted = values.toSorted();
    const more = sorted.length > max ? [`…and ${sorted.length - max} more`] : [];
    return [`${label}:[${[...sorted.slice(0, max), ...more].join(",")}]`];
  };
  return [
    `Namespace:${JSON.stringify(namespace)}`,
    ...list("APIGroups", rule.apiGroups),
    ...list("Resources", rule.resources),
    ...list("ResourceNames", rule.resourceNames, names),
    ...list("NonResourceURLs", rule.nonResourceURLs, names),
    ...list("Verbs", rule.verbs),
  ].join(" ");
}

function sizeOf(lines: readonly string[]): number {
  return Buffer.byteLength(lines.join("\n"), "utf8") + 2 * lines.length;
}
