import { findMember, getObjectsAt } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatCount } from "../../text/lists.ts";
import type { BundleContent, BundlePlace } from "./content.ts";
import { type Breach, defineErrorRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

const MEMBERS = ["verbs", "apiGroups", "resources", "nonResourceURLs"] as const;
const ROLES = new Set(["Role", "ClusterRole"]);

/** Rules for the operator permissions. */
export const PERMISSION_RULES: RuleTable = {
  "rbac-rule": defineErrorRule(
    "An RBAC rule must list verbs and either API groups with resources, or non-resource URLs.",
    Source.apiServer,
    findIncompleteRules,
  ),
  "rbac-wildcard": defineWarningRule(
    "RBAC rules should list verbs, API groups and resources instead of wildcards.",
    Source.security,
    wildcards,
  ),
};

interface PlacedRule {
  readonly of: string;
  readonly rule: Readonly<Record<string, unknown>>;
  readonly isNamespaced: boolean;
  readonly at: BundlePlace;
}

/** Returns the rules of the CSV, followed by the rules of Roles and ClusterRoles among the manifests. */
function listRules(content: BundleContent): PlacedRule[] {
  const install = content.csv?.spec.install.spec;
  const ofCsv = (["permissions", "clusterPermissions"] as const).flatMap((member) =>
    (install?.[member] ?? []).flatMap(({ serviceAccountName, rules }, i) =>
      (rules ?? []).map((rule, j) => ({
        of: `ServiceAccount ${goQuote(serviceAccountName || "default")}`,
        rule: { ...rule },
        // If the operator watches all namespaces, these become rules of a ClusterRole.
        isNamespaced: false,
        at: content.inCsv("spec", "install", "spec", member, i, "rules", j),
      })),
    ),
  );
  const ofRoles = content.others
    .filter(({ object }) => ROLES.has(object.kind))
    .flatMap((manifest) =>
      getObjectsAt(manifest.object, "rules").map((rule, i) => ({
        of: `${manifest.object.kind} ${goQuote(manifest.object.metadata?.name ?? "")}`,
        rule,
        isNamespaced: manifest.object.kind === "Role",
        at: { manifest, path: ["rules", i] },
      })),
    );
  return [...ofCsv, ...ofRoles];
}

function readList(rule: PlacedRule["rule"], member: string): unknown[] {
  const list = findMember(rule, member);
  return Array.isArray(list) ? list : [];
}

function findIncompleteRules(content: BundleContent): Breach[] {
  return listRules(content).flatMap(({ of, rule, isNamespaced, at }) => {
    const [verbs, groups, resources, paths] = MEMBERS.map((member) => readList(rule, member).length > 0);
    const faults = [
      ...(verbs ? [] : ["no verbs"]),
      ...(paths && (groups || resources) ? ["nonResourceURLs together with apiGroups or resources"] : []),
      ...(paths && isNamespaced ? ["nonResourceURLs in a Role"] : []),
      ...(!paths && !groups ? ["no apiGroups"] : []),
      ...(!paths && !resources ? ["no resources"] : []),
    ];
    return faults.length === 0 ? [] : [{ message: `a rule of ${of} has ${faults.join(" and ")}`, at }];
  });
}

/** Returns one breach for each role and combination of wildcards, located at the first rule with this combination. */
function wildcards(content: BundleContent): Breach[] {
  const found = new Map<string, { count: number; at: BundlePlace }>();
  for (const { of, rule, at } of listRules(content)) {
    const all = MEMBERS.filter((member) => readList(rule, member).includes("*"));
    const text = `of ${of} allow all ${all.join(" and all ")}`;
    if (all.length > 0) found.set(text, { at, ...found.get(text), count: (found.get(text)?.count ?? 0) + 1 });
  }
  return [...found].map(([text, { count, at }]) => ({
    message: `${formatCount(count, "rule")} ${count === 1 ? text.replace(" allow ", " allows ") : text}`,
    at,
  }));
}
