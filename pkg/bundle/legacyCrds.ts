import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { formatList } from "../text/lists.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import type { BundleSummary } from "./bundleSummary.ts";
import type { LegacyCrd } from "./types.ts";

/** The API version of CRDs that Kubernetes 1.22 removed. */
const LEGACY = "apiextensions.k8s.io/v1beta1";
const MAX_NAMES = 10;
const MAX_VERSIONS = 5;

/**
 * Returns the steps to convert a CRD of apiextensions.k8s.io/v1beta1 to v1, according to the conversion of Kubernetes; undefined for other objects.
 * @param manifest original manifest, because conversion to Go's structs drops most fields that only v1beta1 has.
 * @see https://kubernetes.io/docs/reference/using-api/deprecation-guide/#customresourcedefinition-v122
 * @see https://github.com/kubernetes/apiextensions-apiserver/blob/v0.34.0/pkg/apis/apiextensions/v1beta1/conversion.go
 */
export function readLegacyCrd(manifest: KubeObject): LegacyCrd | undefined {
  if (manifest.apiVersion !== LEGACY) return undefined;
  const { metadata } = manifest as { metadata?: unknown };
  const name = isObject(metadata) && typeof metadata["name"] === "string" ? metadata["name"] : "";
  return { name, conversion: listConversionSteps(objectIn(manifest, "spec")) };
}

/**
 * Explains why v1beta1 CRDs prevent the installation of a bundle, and how its author can convert them, with one sentence for all CRDs that need the
 * same steps. Empty for a bundle without such CRDs. The CRDs are still rendered, as in the Go implementation.
 */
export function explainLegacyCrds({ legacyCrds }: Pick<BundleSummary, "legacyCrds">): string[] {
  const namesByConversion = new Map<string, string[]>();
  for (const { name, conversion } of legacyCrds) {
    const steps = conversion.join("; ");
    namesByConversion.set(steps, [...(namesByConversion.get(steps) ?? []), name]);
  }
  return [...namesByConversion].map(([steps, names]) => {
    const [noun, use] = names.length === 1 ? ["CustomResourceDefinition", "uses"] : ["CustomResourceDefinitions", "use"];
    return `${noun} ${quoted(names.sort(), MAX_NAMES)} ${use} ${LEGACY}, which Kubernetes 1.22 removed: the bundle author must convert to apiextensions.k8s.io/v1 (${steps})`;
  });
}

/** Lists the conversion steps. @param spec unvalidated spec of v1beta1. */
function listConversionSteps(spec: JsonObject): string[] {
  const versions = listIn(spec, "versions");
  const names = (versions.length > 0 ? versions.map(({ name }) => name) : [spec["version"]]).map((name) =>
    typeof name === "string" ? name : "",
  );
  const all = [spec, ...versions];
  const conversion = objectIn(spec, "conversion");
  const schemaless = "validation" in spec ? [] : names.filter((_, i) => !("schema" in (versions[i] ?? {})));
  const steps: [isNeeded: boolean, step: string][] = [
    ["version" in spec && versions.length === 0, `move spec.version to an item in spec.versions, with "served: true" and "storage: true"`],
    ["version" in spec && versions.length > 0, "remove spec.version"],
    ["validation" in spec, "move spec.validation to the schema field of each item in spec.versions"],
    [
      schemaless.length > 0,
      `add a schema to version ${quoted(schemaless, MAX_VERSIONS)}, at least {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`,
    ],
    ["subresources" in spec, "move spec.subresources to each item in spec.versions"],
    ["additionalPrinterColumns" in spec, "move spec.additionalPrinterColumns to each item in spec.versions"],
    [all.some(hasJsonPath), "rename JSONPath to jsonPath in additionalPrinterColumns"],
    ["webhookClientConfig" in conversion, "move spec.conversion.webhookClientConfig to spec.conversion.webhook.clientConfig"],
    ["conversionReviewVersions" in conversion, "move spec.conversion.conversionReviewVersions to spec.conversion.webhook"],
    [spec["preserveUnknownFields"] !== false, "make schemas structural, with x-kubernetes-preserve-unknown-fields to keep unknown fields"],
  ];
  return steps.flatMap(([isNeeded, step]) => (isNeeded ? [step] : []));
}

function hasJsonPath(of: JsonObject): boolean {
  return listIn(of, "additionalPrinterColumns").some((column) => "JSONPath" in column);
}

function objectIn(parent: object, key: string): JsonObject {
  const value: unknown = Object.entries(parent).find(([name]) => name === key)?.[1];
  return isObject(value) ? value : {};
}

function listIn(parent: JsonObject, key: string): JsonObject[] {
  const value = parent[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function quoted(names: readonly string[], max: number): string {
  return formatList(
    names.map((name) => goQuote(truncateExcerpt(name))),
    { max },
  );
}
