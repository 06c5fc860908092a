import type { JsonObject } from "../../api/k8s.ts";
import { readCrdVersions } from "../../crdsafety/crdParts.ts";
import { getObjectAt, getObjectsAt, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleContent } from "./content.ts";
import { type Breach, defineInfoRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

const INDEX = /^(\d+|\*)$/;

/**
 * Reports whether the schema allows a field at the path of a descriptor, such as `tls.hosts[0].name`. A schema without restrictions allows every
 * path.
 */
export function isAllowedBySchema(schema: unknown, path: string): boolean {
  const parts = path
    .replaceAll(/\[["']?([^[\]"']*)["']?\]/g, ".$1.")
    .split(".")
    .filter((part) => part !== "");
  return allows(schema, parts);
}

function allows(schema: unknown, parts: readonly string[]): boolean {
  const [part, ...rest] = parts;
  if (part === undefined || !isObject(schema)) return true;
  const { properties, additionalProperties, items } = schema;
  if (isObject(items)) return allows(items, INDEX.test(part) ? rest : parts);
  if (isObject(properties) && Object.hasOwn(properties, part)) return allows(properties[part], rest);
  if (isObject(properties) && nested(properties, parts)) return true;
  // Tools that generate descriptors from Go types omit the keys of maps.
  if (isObject(additionalProperties)) return allows(additionalProperties, rest) || allows(additionalProperties, parts);
  return isOpen(schema);
}

/** Also tries map keys that contain dots. */
function nested(properties: JsonObject, parts: readonly string[]): boolean {
  for (let count = 2; count <= parts.length; count++) {
    const key = parts.slice(0, count).join(".");
    if (Object.hasOwn(properties, key)) return allows(properties[key], parts.slice(count));
  }
  return false;
}

/** Reports whether the schema allows arbitrary fields. */
function isOpen(schema: JsonObject): boolean {
  const { type, properties, additionalProperties } = schema;
  if (schema["x-kubernetes-preserve-unknown-fields"] === true || additionalProperties === true) return true;
  return properties === undefined && (type === "object" || type === undefined || type === "");
}

const INTERNAL = "operators.operatorframework.io/internal-objects";

/** Rules for the CRDs that the CSV owns. */
export const OWNED_RULES: RuleTable = {
  "owned-version": defineWarningRule(
    "The kind and version of an owned CRD should match its description in the CSV.",
    Source.format,
    versions,
  ),
  "crd-not-owned": defineWarningRule("The CSV should own every CRD in the bundle.", Source.packaging, notOwned),
  "owned-description": defineInfoRule("Owned CRDs should have a display name and a description.", Source.packaging, descriptions),
  "owned-resources": defineInfoRule(
    "Owned CRDs should list the resources that the operator creates for a custom resource.",
    Source.scorecard,
    resources,
  ),
  "owned-descriptors": defineInfoRule("Owned CRDs should have descriptors for their fields.", Source.packaging, descriptors),
  "descriptor-path": defineWarningRule("The path of a descriptor should be a field in the CRD schema.", Source.scorecard, descriptorPaths),
  "internal-objects": defineWarningRule(
    "The annotation internal-objects should be a list of CRDs that the CSV owns.",
    Source.packaging,
    internalObjects,
  ),
};

type DescribedFields = Readonly<Record<string, unknown>>;

/** Returns the descriptions of owned CRDs in the CSV, with their indexes. */
function ownedIn({ csv }: BundleContent): { described: DescribedFields; name: string; i: number }[] {
  const owned = csv?.spec.customresourcedefinitions.owned ?? [];
  return owned.map((described, i) => ({ described: { ...described }, name: described.name, i }));
}

function at(content: BundleContent, ...path: (string | number)[]) {
  return content.inCsv("spec", "customresourcedefinitions", "owned", ...path);
}

function isInternal({ csvAnnotations }: BundleContent, name: string): boolean {
  return (csvAnnotations[INTERNAL] ?? "").includes(JSON.stringify(name));
}

function versions(content: BundleContent): Breach[] {
  return ownedIn(content).flatMap(({ described: { kind, version }, name, i }) => {
    const found = content.crds.find(({ crd }) => crd.metadata.name === name);
    if (!found || found.object.apiVersion !== "apiextensions.k8s.io/v1") return [];
    const known = readCrdVersions(found.crd).map((one) => one.name);
    const actual = getObjectAt({ ...found.crd.spec }, "names")["kind"];
    return [
      ...(typeof kind === "string" && kind === actual
        ? []
        : [
            {
              message: `owned CRD ${goQuote(name)} has kind ${goQuote(String(actual))}, but the CSV describes kind ${goQuote(String(kind))}`,
              at: at(content, i, "kind"),
            },
          ]),
      ...(typeof version === "string" && known.includes(version)
        ? []
        : [
            {
              message: `owned CRD ${goQuote(name)} has no version ${goQuote(String(version))}; available: ${known.join(", ")}`,
              at: at(content, i, "version"),
            },
          ]),
    ];
  });
}

function notOwned(content: BundleContent): Breach[] {
  if (!content.csv) return [];
  const owned = new Set(ownedIn(content).map(({ name }) => name));
  return content.crds
    .filter(({ crd }) => !owned.has(crd.metadata.name ?? ""))
    .map((manifest) => ({
      message: `CRD ${goQuote(manifest.crd.metadata.name ?? "")} is in the bundle, but the CSV does not own it`,
      at: { manifest, path: ["metadata", "name"] },
    }));
}

/** Returns owned CRDs that are not internal. */
function publicCrdsIn(content: BundleContent) {
  return ownedIn(content).filter(({ name }) => !isInternal(content, name));
}

function descriptions(content: BundleContent): Breach[] {
  return publicCrdsIn(content).flatMap(({ described, name, i }) => {
    const lacks = [["displayName", "display name"] as const, ["description", "description"] as const].filter(
      ([member]) => typeof described[member] !== "string" || described[member] === "",
    );
    if (lacks.length === 0) return [];
    return [{ message: `owned CRD ${goQuote(name)} has no ${lacks.map(([, what]) => what).join(" and no ")}`, at: at(content, i) }];
  });
}

function resources(content: BundleContent): Breach[] {
  return publicCrdsIn(content)
    .filter(({ described }) => getObjectsAt(described, "resources").length === 0)
    .map(({ name, i }) => ({ message: `owned CRD ${goQuote(name)} lists no resources`, at: at(content, i) }));
}

function descriptors(content: BundleContent): Breach[] {
  return publicCrdsIn(content)
    .filter(({ described }) => getObjectsAt(described, "specDescriptors").length === 0)
    .map(({ name, i }) => ({ message: `owned CRD ${goQuote(name)} has no specDescriptors`, at: at(content, i) }));
}

function descriptorPaths(content: BundleContent): Breach[] {
  return ownedIn(content).flatMap(({ described, name, i }) => {
    const found = content.crds.find(({ crd }) => crd.metadata.name === name);
    const schema = found && readCrdVersions(found.crd).find((version) => version.name === described["version"])?.schema;
    if (!isObject(schema)) return [];
    return (["spec", "status"] as const).flatMap((part) =>
      getObjectsAt(described, `${part}Descriptors`).flatMap(({ path }, j) => {
        if (typeof path !== "string" || isAllowedBySchema(schema, `${part}.${path}`)) return [];
        return [
          {
            message: `owned CRD ${goQuote(name)} has a descriptor for ${part}.${path}, which is not in its schema`,
            at: at(content, i, `${part}Descriptors`, j, "path"),
          },
        ];
      }),
    );
  });
}

function internalObjects(content: BundleContent): Breach[] {
  const text = content.csvAnnotations[INTERNAL];
  if (text === undefined) return [];
  const place = content.inCsv("metadata", "annotations", INTERNAL);
  const named = listIn(text);
  if (!named) return [{ message: `annotation ${INTERNAL} is not a JSON list of names`, at: place }];
  const owned = new Set(ownedIn(content).map(({ name }) => name));
  return named
    .filter((name) => !owned.has(name))
    .map((name) => ({ message: `internal object ${goQuote(name)} is not a CRD that the CSV owns`, at: place }));
}

function listIn(text: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((name) => typeof name === "string") ? list : undefined;
  } catch {
    return undefined;
  }
}
