import type { Finding } from "./finding.ts";
import { RULES, type RuleDescription } from "./rules.ts";

const STAGES: readonly RuleDescription["stage"][] = ["content", "load", "package", "channel", "bundle", "entry", "deprecation"];
const ROOT = "invalid index";

/** What is printed below a line. */
type Branch = Map<string, Branch>;

/**
 * The text of the error with which opm refuses a catalog that has these findings: the first of its first stage, or the tree of what its model
 * check found; undefined for a catalog without errors.
 * @param findings in the order of the checks.
 * @see operator-registry alpha/model/error.go
 */
export function opmError(findings: readonly Finding[]): string | undefined {
  const errors = findings.filter(({ severity }) => severity === "error");
  for (const stage of STAGES) {
    const first = errors.find(({ rule }) => RULES[rule].stage === stage);
    if (first) return first.message;
  }
  if (errors.length === 0) return undefined;
  const root: Branch = new Map();
  for (const { path, message } of errors) {
    let branch = root;
    for (const line of [...path, message]) {
      const below: Branch = branch.get(line) ?? new Map<string, Branch>();
      branch.set(line, below);
      branch = below;
    }
  }
  return [`${ROOT}:`, ...treeLines(root, "")].join("\n");
}

function treeLines(branch: Branch, indent: string): string[] {
  const last = branch.size - 1;
  return [...branch].flatMap(([line, below], i) => [
    `${indent}${i === last ? "└── " : "├── "}${line}${below.size > 0 ? ":" : ""}`,
    ...treeLines(below, `${indent}${i === last ? "    " : "│   "}`),
  ]);
}
