import type { JsonObject } from "../../api/k8s.ts";
import { findUnknownFields } from "../../bundle/unknownMembers.ts";
import { type Severity } from "../../fbc/validate/rules.ts";
import { goQuote } from "../../golang/quote.ts";
import type { YamlPath } from "../../golang/yaml.ts";
import type { BundleContent, BundlePlace } from "./content.ts";

/** A place where a bundle breaks a rule. */
export interface Breach {
  /** The mistake and, if known, how to correct it. One sentence without a full stop. */
  readonly message: string;
  readonly at?: BundlePlace;
}

/** A rule for bundles. */
export interface BundleRule {
  readonly severity: Severity;
  /** The requirement, as a sentence. */
  readonly rule: string;
  /** The component or guide that requires it. */
  readonly source: string;
  /** Returns all breaches, in the order of the bundle. */
  readonly find: (content: BundleContent) => readonly Breach[];
}

/** Rules by code. Codes are stable: scripts rely on them. */
export type RuleTable = Readonly<Record<string, BundleRule>>;

type Find = BundleRule["find"];

/** Defines a rule. A bundle that breaks it cannot be installed. */
export function defineErrorRule(rule: string, source: string, find: Find): BundleRule {
  return { severity: "error", rule, source, find };
}

/** Defines a rule. A breach is most likely a mistake. */
export function defineWarningRule(rule: string, source: string, find: Find): BundleRule {
  return { severity: "warning", rule, source, find };
}

/** Defines a rule. A breach may be intended. */
export function defineInfoRule(rule: string, source: string, find: Find): BundleRule {
  return { severity: "info", rule, source, find };
}

/** Components and guides that require what the rules check. */
export const Source = {
  format: "registry+v1 bundle format",
  controller: "operator-controller",
  apiServer: "Kubernetes API server",
  packaging: "OLM packaging guide",
  scorecard: "scorecard",
  disconnected: "OLM guide for disconnected clusters",
  gate: "OpenShift cluster upgrades",
  security: "Kubernetes security guide",
} as const;

/**
 * Lists the unknown fields of an object, because Kubernetes drops them. Ignores its status.
 * @param type Go type as for `findUnknownFields`.
 */
export function listDroppedFields(type: string, object: JsonObject): { message: string; path: YamlPath }[] {
  return findUnknownFields(type, object)
    .filter(({ path }) => path[0] !== "status")
    .map(({ path, meant }) => ({
      message: `unknown field ${formatMemberPath(path)} is dropped${meant === undefined ? "" : `: did you mean ${meant}?`}`,
      path,
    }));
}

/** Formats a path, such as `spec.install`. */
export function formatMemberPath(path: readonly (string | number)[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!/^[\w-]+$/.test(part)) return `${text}[${goQuote(part)}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}
