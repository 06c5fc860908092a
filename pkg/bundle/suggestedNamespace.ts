import { isLabel } from "../api/names.ts";
import { isObject } from "../golang/members.ts";

/** Annotations of a ClusterServiceVersion. */
export const SUGGESTED_NAMESPACE = "operatorframework.io/suggested-namespace";
export const SUGGESTED_NAMESPACE_TEMPLATE = "operatorframework.io/suggested-namespace-template";
const SUFFIX = "-system";
const NAME_MAX = 63;

/** The namespace that a bundle suggests for its installation, with labels and annotations for its creation. */
export interface SuggestedNamespace {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Returns the namespace that a bundle suggests: the name in the Namespace of annotation suggested-namespace-template, else annotation
 * suggested-namespace, else the package name and "-system". Ignores invalid names and a template that is not a Namespace.
 * @param annotations annotations of the ClusterServiceVersion
 */
export function readSuggestedNamespace(packageName: string, annotations: Readonly<Record<string, string>>): SuggestedNamespace {
  const metadata = readTemplate(annotations[SUGGESTED_NAMESPACE_TEMPLATE]);
  const name = [metadata["name"], annotations[SUGGESTED_NAMESPACE]].find((one) => typeof one === "string" && isLabel(one));
  return {
    name: typeof name === "string" ? name : buildDefaultName(packageName),
    labels: readTexts(metadata["labels"]),
    annotations: readTexts(metadata["annotations"]),
  };
}

function readTemplate(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    const object: unknown = JSON.parse(text);
    return isObject(object) && object["kind"] === "Namespace" && isObject(object["metadata"]) ? object["metadata"] : {};
  } catch {
    return {};
  }
}

function readTexts(value: unknown): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** Package names are DNS-1123 subdomains, which may be longer than a label and contain dots. */
function buildDefaultName(packageName: string): string {
  const label = packageName
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, "-")
    .slice(0, NAME_MAX - SUFFIX.length);
  const name = `${label.replace(/^-+/, "")}${SUFFIX}`;
  return name === SUFFIX ? `operator${SUFFIX}` : name;
}
