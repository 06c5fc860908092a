import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { formatList } from "../text/lists.ts";
import { excerpt } from "../text/truncate.ts";
import type { BundleSummary } from "./bundleSummary.ts";
import type { LegacyCrd } from "./types.ts";

/** The apiVersion of definitions that API servers took until Kubernetes 1.22. */
const LEGACY = "apiextensions.k8s.io/v1beta1";
const MAX_NAMES = 10;
const MAX_VERSIONS = 5;

/**
 * What has to be done to a definition of apiextensions.k8s.io/v1beta1, by the API's own rules of conversion; undefined for any other object.
 * @param manifest as it stands in the bundle: Go's structs drop most of what only v1beta1 has.
 * @see https://kubernetes.io/docs/reference/using-api/deprecation-guide/#customresourcedefinition-v122
 * @see https://github.com/kubernetes/apiextensions-apiserver/blob/v0.34.0/pkg/apis/apiextensions/v1beta1/conversion.go
 */
export function legacyCrd(manifest: KubeObject): LegacyCrd | undefined {
  if (manifest.apiVersion !== LEGACY) return undefined;
  const { metadata } = manifest as { metadata?: unknown };
  const name = isObject(metadata) && typeof metadata["name"] === "string" ? metadata["name"] : "";
  return { name, conversion: conversionOf(objectIn(manifest, "spec")) };
}

/**
 * Why definitions of v1beta1 keep a bundle from being installed, and what its author has to do: a sentence for all those that need the same;
 * empty for a bundle without any. They are rendered nevertheless, as the Go implementation does.
 */
export function legacyCrdFaults({ legacyCrds }: Pick<BundleSummary, "legacyCrds">): string[] {
  const namesByConversion = new Map<string, string[]>();
  for (const { name, conversion } of legacyCrds) {
    const needed = conversion.join("; ");
    namesByConversion.set(needed, [...(namesByConversion.get(needed) ?? []), name]);
  }
  return [...namesByConversion].map(([needed, names]) => {
    const [noun, are] = names.length === 1 ? ["CustomResourceDefinition", "is"] : ["CustomResourceDefinitions", "are"];
    return `${noun} ${quoted(names.sort(), MAX_NAMES)} ${are} of ${LEGACY}, which no API server takes since Kubernetes 1.22: the bundle's author has to convert to apiextensions.k8s.io/v1 (${needed})`;
  });
}

/** @param spec of v1beta1, of which nothing is known to hold. */
function conversionOf(spec: JsonObject): string[] {
  const versions = listIn(spec, "versions");
  const names = (versions.length > 0 ? versions.map(({ name }) => name) : [spec["version"]]).map((name) =>
    typeof name === "string" ? name : "",
  );
  const all = [spec, ...versions];
  const conversion = objectIn(spec, "conversion");
  const schemaless = "validation" in spec ? [] : names.filter((_, i) => !("schema" in (versions[i] ?? {})));
  const steps: [isNeeded: boolean, step: string][] = [
    ["version" in spec && versions.length === 0, `spec.version becomes the item of spec.versions, with "served: true" and "storage: true"`],
    ["version" in spec && versions.length > 0, "spec.version goes, spec.versions has it"],
    ["validation" in spec, "spec.validation becomes schema of each item of spec.versions"],
    [
      schemaless.length > 0,
      `version ${quoted(schemaless, MAX_VERSIONS)} gets a schema, at least {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`,
    ],
    ["subresources" in spec, "spec.subresources goes to each item of spec.versions"],
    ["additionalPrinterColumns" in spec, "spec.additionalPrinterColumns goes to each item of spec.versions"],
    [all.some(hasJsonPath), "JSONPath of additionalPrinterColumns becomes jsonPath"],
    ["webhookClientConfig" in conversion, "webhookClientConfig of spec.conversion becomes webhook.clientConfig"],
    ["conversionReviewVersions" in conversion, "conversionReviewVersions of spec.conversion goes into webhook"],
    [
      spec["preserveUnknownFields"] !== false,
      "schemas have to be structural, with x-kubernetes-preserve-unknown-fields where unknown members are to stay",
    ],
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
    names.map((name) => goQuote(excerpt(name))),
    { max },
  );
}
