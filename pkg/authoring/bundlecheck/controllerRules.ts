import { ANNOTATIONS_FILE } from "../../bundle/annotations.ts";
import { getSupportedScope, VALIDATORS, type Validator } from "../../bundle/validate.ts";
import { UnidentifiedObjectsError } from "../../release/identity.ts";
import { InvalidBundleError } from "../../render/render.ts";
import type { BundleContent, BundlePlace } from "./content.ts";
import { type Breach, type BundleRule, defineErrorRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

/** Rules that the operator-controller validators enforce. */
const VALIDATED: Readonly<Record<keyof typeof VALIDATORS, string>> = {
  "deployment-duplicate": "Deployment names in the install strategy must be unique.",
  "deployment-name": "Deployment names must be DNS-1123 subdomains.",
  "crd-duplicate": "CRD names must be unique.",
  "owned-crd-missing": "The bundle must contain every CRD that the CSV owns.",
  "package-name-missing": "The bundle annotations must contain the package name.",
  "conversion-install-modes": "A bundle with conversion webhooks must support only install mode AllNamespaces.",
  "webhook-deployment": "The install strategy must contain the deployment of each webhook.",
  "webhook-duplicate": "Webhooks of the same type must have unique names.",
  "webhook-name": "Webhook names must be DNS-1123 subdomains.",
  "conversion-shared": "A CRD must have at most one conversion webhook.",
  "conversion-foreign": "A conversion webhook must convert only CRDs that the CSV owns.",
  "webhook-forbidden-rule": "Admission webhook rules must not match OLM APIs or webhook configurations.",
  "kind-unsupported": "All manifests must be of a supported kind.",
  "api-service-incomplete": "An owned API service must have a group, version, kind, name and deployment.",
  "api-service-deployment": "The install strategy must contain the deployment of each owned API service.",
  "api-service-name": "The group, version, kind and name of an owned API service must be valid URL path segments.",
  "api-service-port": "The port of an owned API service must be valid.",
  "api-service-place": "All kinds of an API group and version must be served by the same deployment and port.",
  "api-service-reserved": "The API group of an owned API service must not belong to Kubernetes or OLM.",
  "api-service-definition": "CRDs in the bundle must not have the same group and version as an owned API service.",
};

/** Fields of the CSV spec by prefix of the rule code. Rules with other prefixes check webhooks. */
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
    "operator-controller must be able to render the bundle for each supported install mode and certificate provider.",
    Source.controller,
    notRenderable,
  ),
  "dropped-part": defineWarningRule(
    "Manifests should contain only fields and objects that operator-controller applies.",
    Source.controller,
    droppedParts,
  ),
};

function fromValidator(rule: string, validator: Validator, code: string): BundleRule {
  return defineErrorRule(rule, Source.controller, (content) => {
    if (content.loaded instanceof Error) return [];
    return validator(content.loaded).map((message, i) => ({ message, at: toPlace(code, content, i) }));
  });
}

/** Returns the location of a breach: a part of the CSV, unless the rule checks other manifests. */
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
