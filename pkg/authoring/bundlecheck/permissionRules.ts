import { memberOf, objectsAt } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import { formatCount } from "../../text/lists.ts";
import type { BundleContent, Place } from "./content.ts";
import { type Breach, defineErrorRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

const MEMBERS = ["verbs", "apiGroups", "resources", "nonResourceURLs"] as const;
const ROLES = new Set(["Role", "ClusterRole"]);

/** What the operator may do on the cluster. */
export const RIGHTS_RULES: RuleTable = {
  "rbac-rule": defineErrorRule("A rule of a role names verbs, and API groups with resources or paths.", Source.apiServer, incomplete),
  "rbac-wildcard": defineWarningRule(
    "Rules of roles name verbs, API groups and resources instead of allowing all of them.",
    Source.security,
    wildcards,
  ),
};

interface PlacedRule {
  readonly of: string;
  readonly rule: Readonly<Record<string, unknown>>;
  readonly isNamespaced: boolean;
  readonly at: Place;
}

/** Rules of the CSV, then those of roles among the manifests. */
function rulesOf(content: BundleContent): PlacedRule[] {
  const install = content.csv?.spec.install.spec;
  const ofCsv = (["permissions", "clusterPermissions"] as const).flatMap((member) =>
    (install?.[member] ?? []).flatMap(({ serviceAccountName, rules }, i) =>
      (rules ?? []).map((rule, j) => ({
        of: `ServiceAccount ${goQuote(serviceAccountName || "default")}`,
        rule: { ...rule },
        // Where the operator watches all namespaces these become rules of a ClusterRole.
        isNamespaced: false,
        at: content.inCsv("spec", "install", "spec", member, i, "rules", j),
      })),
    ),
  );
  const ofRoles = content.others
    .filter(({ object }) => ROLES.has(object.kind))
    .flatMap((manifest) =>
      objectsAt(manifest.object, "rules").map((rule, i) => ({
        of: `${manifest.object.kind} ${goQuote(manifest.object.metadata?.name ?? "")}`,
        rule,
        isNamespaced: manifest.object.kind === "Role",
        at: { manifest, path: ["rules", i] },
      })),
    );
  return [...ofCsv, ...ofRoles];
}

function listed(rule: PlacedRule["rule"], member: string): unknown[] {
  const list = memberOf(rule, member);
  return Array.isArray(list) ? list : [];
}

function incomplete(content: BundleContent): Breach[] {
  return rulesOf(content).flatMap(({ of, rule, isNamespaced, at }) => {
    const [verbs, groups, resources, paths] = MEMBERS.map((member) => listed(rule, member).length > 0);
    const faults = [
      ...(verbs ? [] : ["no verbs"]),
      ...(paths && (groups || resources) ? ["nonResourceURLs beside apiGroups or resources"] : []),
      ...(paths && isNamespaced ? ["nonResourceURLs in a Role"] : []),
      ...(!paths && !groups ? ["no apiGroups"] : []),
      ...(!paths && !resources ? ["no resources"] : []),
    ];
    return faults.length === 0 ? [] : [{ message: `a rule of ${of} has ${faults.join(" and ")}`, at }];
  });
}

/** Once for each role and each thing that it allows all of, where it does so first. */
function wildcards(content: BundleContent): Breach[] {
  const found = new Map<string, { count: number; at: Place }>();
  for (const { of, rule, at } of rulesOf(content)) {
    const all = MEMBERS.filter((member) => listed(rule, member).includes("*"));
    const text = `of ${of} allow all ${all.join(" and all ")}`;
    if (all.length > 0) found.set(text, { at, ...found.get(text), count: (found.get(text)?.count ?? 0) + 1 });
  }
  return [...found].map(([text, { count, at }]) => ({
    message: `${formatCount(count, "rule")} ${count === 1 ? text.replace(" allow ", " allows ") : text}`,
    at,
  }));
}
