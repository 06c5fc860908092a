import { ANNOTATIONS_FILE } from "../../bundle/annotations.ts";
import { getSupportedScope, VALIDATORS, type Validator } from "../../bundle/validate.ts";
import { UnidentifiedObjectsError } from "../../release/identity.ts";
import { InvalidBundleError } from "../../render/render.ts";
import type { BundleContent, BundlePlace } from "./content.ts";
import { type Breach, type BundleRule, defineErrorRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

/** Requirements of the validators of operator-controller. */
const VALIDATED: Readonly<Record<keyof typeof VALIDATORS, string>> = {
  "deployment-duplicate": "Names of deployments in the install strategy are unique.",
  "deployment-name": "The name of a deployment is a DNS-1123 subdomain.",
  "crd-duplicate": "Names of CustomResourceDefinitions are unique.",
  "owned-crd-missing": "Every CRD that the CSV owns is in the bundle.",
  "package-name-missing": "The annotations contain the package name.",
  "conversion-install-modes": "A bundle with conversion webhooks supports only install mode AllNamespaces.",
  "webhook-deployment": "The deployment of a webhook is in the install strategy.",
  "webhook-duplicate": "Webhooks of one type have unique names.",
  "webhook-name": "The name of a webhook is a DNS-1123 subdomain.",
  "conversion-shared": "At most one conversion webhook converts a CRD.",
  "conversion-foreign": "A conversion webhook converts only CRDs that the CSV owns.",
  "webhook-forbidden-rule": "The rules of admission webhooks do not match APIs of OLM or webhook configurations.",
  "kind-unsupported": "All manifests are of supported kinds.",
  "api-service-incomplete": "An owned API service has group, version, kind, name and deployment.",
  "api-service-deployment": "The deployment of an owned API service is in the install strategy.",
  "api-service-name": "Group, version, kind and name of an owned API service are valid path segments.",
  "api-service-port": "The port of an owned API service is valid.",
  "api-service-place": "One deployment and port serves all kinds of an API group and version.",
  "api-service-reserved": "An owned API service is not of an API group of Kubernetes or OLM.",
  "api-service-definition": "No CRD of the bundle has the group and version of an owned API service.",
};

/** Fields of the CSV spec by prefix of the rule code. All other rules are about webhooks. */
const SPEC_MEMBERS = [
  ["deployment", "install"],
  ["owned-crd", "customresourcedefinitions"],
  ["api-service", "apiservicedefinitions"],
] as const;

/** Rules for bundles that operator-controller rejects. */
export const CONTROLLER_RULES: RuleTable = {
  ...Object.fromEntries(
    Object.entries(VALIDATED).map(([code, rule]) => [code, fromValidator(rule, VALIDATORS[code as keyof typeof VALIDATORS], code)]),
  ),
  "not-renderable": defineErrorRule(
    "The bundle can be rendered for each supported install mode with each certificate provider.",
    Source.controller,
    notRenderable,
  ),
  "dropped-part": defineWarningRule("All fields of a manifest are applied.", Source.controller, droppedParts),
};

function fromValidator(rule: string, validator: Validator, code: string): BundleRule {
  return defineErrorRule(rule, Source.controller, (content) => {
    if (content.loaded instanceof Error) return [];
    return validator(content.loaded).map((message, i) => ({ message, at: toPlace(code, content, i) }));
  });
}

/** Returns the location of a breach: a part of the CSV, unless the rule is about other manifests. */
function toPlace(code: string, content: BundleContent, i: number): BundlePlace {
  if (code === "package-name-missing")
    return { file: ANNOTATIONS_FILE, path: ["annotations", "operators.operatorframework.io.bundle.package.v1"] };
  if (code === "kind-unsupported")
    return { manifest: content.others.filter(({ object }) => getSupportedScope(object.kind) === undefined)[i] };
  if (code === "crd-duplicate") return {};
  return content.inCsv("spec", SPEC_MEMBERS.find(([start]) => code.startsWith(start))?.[1] ?? "webhookdefinitions");
}

/** Returns rendering errors that other rules do not report. Groups install modes and providers with the same error. */
function notRenderable({ loaded, renderings }: BundleContent): Breach[] {
  if (loaded instanceof Error) return [];
  const isReported = (err: Error): boolean => err instanceof InvalidBundleError || err instanceof UnidentifiedObjectsError;
  const ways = new Map<string, string[]>();
  for (const { way, result } of renderings) {
    if (result instanceof Error && !isReported(result)) ways.set(result.message, [...(ways.get(result.message) ?? []), way]);
  }
  return [...ways].map(([message, of]) => ({
    message: of.length === renderings.length ? message : `${message} (with ${of.join("; ")})`,
  }));
}

function droppedParts({ renderings }: BundleContent): Breach[] {
  return [...new Set(renderings.flatMap(({ result }) => (result instanceof Error ? [] : result.notes)))].map((message) => ({ message }));
}
