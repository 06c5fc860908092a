import { textAt } from "../boundedTexts.ts";
import { memberOf } from "../keys.ts";
import { objectAt, objectsAt } from "../members.ts";
import type { CsvMetadata } from "./csvMetadata.ts";

/** Most APIs that are told of one bundle. */
const MAX_APIS = 512;

/** APIs of a bundle, each as `group/version/kind`, sorted and without repetition. */
export interface BundleApis {
  /** From properties `olm.gvk` and from what the ClusterServiceVersion owns. */
  provided: string[];
  /** From properties `olm.gvk.required` and from what the ClusterServiceVersion requires. */
  required: string[];
}

/** The APIs that a bundle provides and requires. @param properties those of the bundle. */
export function apisOf(properties: readonly Readonly<Record<string, unknown>>[], csv: CsvMetadata | undefined): BundleApis {
  return {
    provided: sorted(withType(properties, "olm.gvk"), csv, "owned"),
    required: sorted(withType(properties, "olm.gvk.required"), csv, "required"),
  };
}

function withType(properties: readonly Readonly<Record<string, unknown>>[], type: string): Readonly<Record<string, unknown>>[] {
  return properties.filter((property) => memberOf(property, "type") === type).map((property) => objectAt(property, "value"));
}

function sorted(gvks: Readonly<Record<string, unknown>>[], csv: CsvMetadata | undefined, key: "owned" | "required"): string[] {
  const services = csv ? objectsAt(csv.apiServices, key) : [];
  const crds = csv ? objectsAt(csv.crds, key) : [];
  const found = new Set<string>();
  for (const gvk of [...gvks, ...services]) add(found, textAt(gvk, "group", 253) ?? "", gvk);
  for (const crd of crds) add(found, groupOf(textAt(crd, "name", 253)), crd);
  return [...found].sort().slice(0, MAX_APIS);
}

function add(found: Set<string>, group: string, api: Readonly<Record<string, unknown>>): void {
  const kind = textAt(api, "kind", 63);
  const version = textAt(api, "version", 63);
  if (kind !== undefined && version !== undefined) found.add(`${group}/${version}/${kind}`);
}

/** The group in the name of a CustomResourceDefinition, which is `plural.group`. */
function groupOf(name = ""): string {
  const dot = name.indexOf(".");
  return dot < 0 ? "" : name.slice(dot + 1);
}
