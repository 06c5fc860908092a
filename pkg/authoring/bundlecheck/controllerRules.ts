import { ANNOTATIONS_FILE } from "../../bundle/annotations.ts";
import { supportedScope, VALIDATORS, type Validator } from "../../bundle/validate.ts";
import { UnidentifiedObjectsError } from "../../release/identity.ts";
import { InvalidBundleError } from "../../render/render.ts";
import type { BundleContent, Place } from "./content.ts";
import { type Breach, type BundleRule, defineErrorRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

/** What operator-controller's own checks ask for, in its words. */
const VALIDATED: Readonly<Record<keyof typeof VALIDATORS, string>> = {
  "deployment-duplicate": "The install strategy has one deployment of a name.",
  "deployment-name": "The name of a deployment is a DNS-1123 subdomain.",
  "crd-duplicate": "There is one CustomResourceDefinition of a name.",
  "owned-crd-missing": "Every CRD that the CSV owns is in the bundle.",
  "package-name-missing": "The annotations name the package.",
  "conversion-install-modes": "A bundle with conversion webhooks supports AllNamespaces and no other install mode.",
  "webhook-deployment": "The deployment of a webhook is in the install strategy.",
  "webhook-duplicate": "There is one webhook of a type and a name.",
  "webhook-name": "The name of a webhook is a DNS-1123 subdomain.",
  "conversion-shared": "One conversion webhook at most converts a CRD.",
  "conversion-foreign": "A conversion webhook converts CRDs that the CSV owns.",
  "webhook-forbidden-rule": "The rules of admission webhooks leave OLM and webhook configurations alone.",
  "kind-unsupported": "Manifests are of kinds that bundles may hold.",
  "api-service-incomplete": "An owned API service has group, version, kind, name and deployment.",
  "api-service-deployment": "The deployment of an owned API service is in the install strategy.",
  "api-service-name": "Group, version, kind and name of an owned API service can be part of a path.",
  "api-service-port": "The port of an owned API service is one.",
  "api-service-place": "The kinds of one group and version are served in one place.",
  "api-service-reserved": "An owned API service is of no group of Kubernetes or OLM.",
  "api-service-definition": "No CRD of the bundle has the group and version of an owned API service.",
};

/** What of the CSV's spec checks are about whose codes begin so; the others are about webhooks. */
const SPEC_MEMBERS = [
  ["deployment", "install"],
  ["owned-crd", "customresourcedefinitions"],
  ["api-service", "apiservicedefinitions"],
] as const;

/** What operator-controller would refuse. */
export const CONTROLLER_RULES: RuleTable = {
  ...Object.fromEntries(
    Object.entries(VALIDATED).map(([code, rule]) => [code, validated(rule, VALIDATORS[code as keyof typeof VALIDATORS], code)]),
  ),
  "not-renderable": defineErrorRule(
    "The bundle can be rendered for each install mode that it supports, with certificates of each provider.",
    Source.controller,
    notRenderable,
  ),
  "dropped-part": defineWarningRule("Nothing of a manifest is dropped when it is applied.", Source.controller, droppedParts),
};

function validated(rule: string, validator: Validator, code: string): BundleRule {
  return defineErrorRule(rule, Source.controller, (content) => {
    if (content.loaded instanceof Error) return [];
    return validator(content.loaded).map((message, i) => ({ message, at: placeOf(code, content, i) }));
  });
}

/** The CSV, but for faults of other manifests. */
function placeOf(code: string, content: BundleContent, i: number): Place {
  if (code === "package-name-missing")
    return { file: ANNOTATIONS_FILE, path: ["annotations", "operators.operatorframework.io.bundle.package.v1"] };
  if (code === "kind-unsupported") return { manifest: content.others.filter(({ object }) => supportedScope(object.kind) === undefined)[i] };
  if (code === "crd-duplicate") return {};
  return content.inCsv("spec", SPEC_MEMBERS.find(([start]) => code.startsWith(start))?.[1] ?? "webhookdefinitions");
}

/** Why it cannot be rendered, beside what has been told; one text for all ways that have it in common. */
function notRenderable({ loaded, renderings }: BundleContent): Breach[] {
  if (loaded instanceof Error) return [];
  const isTold = (err: Error): boolean => err instanceof InvalidBundleError || err instanceof UnidentifiedObjectsError;
  const ways = new Map<string, string[]>();
  for (const { way, result } of renderings) {
    if (result instanceof Error && !isTold(result)) ways.set(result.message, [...(ways.get(result.message) ?? []), way]);
  }
  return [...ways].map(([message, of]) => ({
    message: of.length === renderings.length ? message : `${message} (with ${of.join("; ")})`,
  }));
}

function droppedParts({ renderings }: BundleContent): Breach[] {
  return [...new Set(renderings.flatMap(({ result }) => (result instanceof Error ? [] : result.notes)))].map((message) => ({ message }));
}
