import type { JsonObject } from "../../api/k8s.ts";
import { readCrdVersions } from "../../crdsafety/crdParts.ts";
import { getObjectAt, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import type { YamlPath } from "../../golang/yaml.ts";
import type { BundleContent, CrdManifest } from "./content.ts";
import { type Breach, defineErrorRule, defineWarningRule, formatMemberPath, listDroppedFields, type RuleTable, Source } from "./rule.ts";

/** An error in one node of a schema. */
interface StructuralFault {
  /** Path from the root of the schema. */
  readonly path: YamlPath;
  readonly message: string;
}

/** Keywords of JSON Schema that CRD schemas must not contain. */
const FORBIDDEN = ["$ref", "id", "definitions", "dependencies", "patternProperties", "additionalItems"];
const TYPES = new Set(["object", "array", "string", "integer", "number", "boolean"]);
/** Maximum path length of checked nodes. Deeper nodes are not checked. */
const MAX_DEPTH = 200;

/**
 * Returns the reasons why the schema of a CRD version is not structural. Checks only the basics: types, forbidden keywords, `properties` together
 * with `additionalProperties`, lists without a single schema in `items`, and lists of type map without keys.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
function findStructuralFaults(schema: unknown): StructuralFault[] {
  const faults: StructuralFault[] = [];
  if (isObject(schema)) visit(schema, [], faults);
  return faults;
}

function visit(schema: JsonObject, path: YamlPath, faults: StructuralFault[]): void {
  if (path.length > MAX_DEPTH) return;
  const add = (message: string): void => {
    faults.push({ path, message: path.length === 0 ? `the schema ${message}` : `${formatMemberPath(path)} ${message}` });
  };
  const { type, properties, additionalProperties, items } = schema;
  const hasType = typeof type === "string" && type !== "";
  const isUntyped = schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true;
  if (!hasType && !isUntyped) add("has no type");
  if (hasType && !TYPES.has(type)) add(`has unknown type "${type}"`);
  if (path.length === 0 && hasType && type !== "object") add("must have type object");
  for (const member of FORBIDDEN) if (!isEmpty(schema[member])) add(`has ${member}, which is not allowed in CRD schemas`);
  if (schema["uniqueItems"] === true) add("has uniqueItems: true, which is not allowed in CRD schemas");
  if (!isEmpty(properties) && (isObject(additionalProperties) || additionalProperties === false))
    add("has both properties and additionalProperties: use only one");
  if (type === "array" && !isObject(items)) add("is an array, but items has no schema");
  if (schema["x-kubernetes-list-type"] === "map" && isEmpty(schema["x-kubernetes-list-map-keys"]))
    add("has x-kubernetes-list-type map, but no x-kubernetes-list-map-keys");
  if (isObject(properties))
    for (const [name, property] of Object.entries(properties))
      if (isObject(property)) visit(property, [...path, "properties", name], faults);
  if (isObject(additionalProperties)) visit(additionalProperties, [...path, "additionalProperties"], faults);
  if (isObject(items)) visit(items, [...path, "items"], faults);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

const APPROVED = "api-approved.kubernetes.io";
/** Protected API groups of Kubernetes. */
const PROTECTED = /(^|\.)(k8s|kubernetes)\.io$/;
const SCOPES = ["Namespaced", "Cluster"];

/** Rules for CustomResourceDefinitions. */
export const CRD_RULES: RuleTable = {
  "crd-name": defineErrorRule("A CRD name must have the form `<plural>.<group>`.", Source.apiServer, inEach(name)),
  "crd-names": defineErrorRule("A CRD must have a group, kind, plural name and scope.", Source.apiServer, inEach(names)),
  "crd-versions": defineErrorRule(
    "A CRD must have versions with unique names and exactly one storage version.",
    Source.apiServer,
    inEach(versions),
  ),
  "crd-schema": defineErrorRule("Every CRD version must have a structural schema.", Source.apiServer, inEach(schemas)),
  "crd-approved": defineErrorRule(
    "A CRD in a protected Kubernetes API group must have an approval annotation.",
    Source.apiServer,
    inEach(approved),
  ),
  "crd-validation": defineWarningRule(
    "CRD schemas should describe the fields of the custom resources.",
    Source.scorecard,
    inEach(validation),
  ),
  "crd-conversion": defineWarningRule(
    "If a CRD has conversion strategy Webhook, the CSV should contain a conversion webhook for it.",
    Source.format,
    inEach(conversion),
  ),
  "crd-unknown-field": defineWarningRule(
    "A CRD should contain only known fields. Unknown fields are dropped.",
    Source.controller,
    inEach(unknownFields),
  ),
};

/** A breach within a CRD. */
interface CrdBreach {
  message: string;
  path: readonly (string | number)[];
}

/** Applies a check to every CRD and prefixes messages with the CRD name. Skips CRDs of removed API versions, because their fields differ. */
function inEach(find: (manifest: CrdManifest, content: BundleContent) => readonly CrdBreach[]): (content: BundleContent) => Breach[] {
  return (content) =>
    content.crds
      .filter(({ object }) => object.apiVersion === "apiextensions.k8s.io/v1")
      .flatMap((manifest) =>
        find(manifest, content).map(({ message, path }) => ({
          message: `CRD ${goQuote(getName(manifest))}: ${message}`,
          at: { manifest, path },
        })),
      );
}

function getName({ crd }: CrdManifest): string {
  return crd.metadata.name ?? "";
}

function getSpec({ crd }: CrdManifest): JsonObject {
  return isObject(crd.spec) ? crd.spec : {};
}

function textAt(object: Readonly<Record<string, unknown>>, key: string): string {
  const value = object[key];
  return typeof value === "string" ? value : "";
}

function name(manifest: CrdManifest): CrdBreach[] {
  const spec = getSpec(manifest);
  const expected = `${textAt(getObjectAt(spec, "names"), "plural")}.${textAt(spec, "group")}`;
  if (getName(manifest) === expected || expected.startsWith(".") || expected.endsWith(".")) return [];
  return [{ message: `the name must be ${goQuote(expected)} (spec.names.plural and spec.group)`, path: ["metadata", "name"] }];
}

function names(manifest: CrdManifest): CrdBreach[] {
  const spec = getSpec(manifest);
  const { plural, kind } = getObjectAt(spec, "names");
  const lacking = Object.entries({ "spec.group": spec["group"], "spec.names.plural": plural, "spec.names.kind": kind })
    .filter(([, value]) => typeof value !== "string" || value === "")
    .map(([field]) => ({ message: `${field} is missing`, path: ["spec"] }));
  const scope = textAt(spec, "scope");
  return SCOPES.includes(scope)
    ? lacking
    : [...lacking, { message: `invalid scope ${goQuote(scope)}: use one of ${SCOPES.join(", ")}`, path: ["spec", "scope"] }];
}

function versions(manifest: CrdManifest): CrdBreach[] {
  const all = readCrdVersions(manifest.crd);
  const path = ["spec", "versions"];
  if (all.length === 0) return [{ message: "spec.versions is empty", path: ["spec"] }];
  const stored = all.filter(({ storage }) => storage).length;
  const seen = new Set<string>();
  const repeated = all.filter(({ name: version }) => seen.size === seen.add(version).size);
  return [
    ...(stored === 1 ? [] : [{ message: `exactly one version must have storage: true, found ${stored}`, path }]),
    ...repeated.map(({ name: version }) => ({ message: `version ${goQuote(version)} is listed more than once`, path })),
  ];
}

function schemas(manifest: CrdManifest): CrdBreach[] {
  const isPreserving = getSpec(manifest)["preserveUnknownFields"] === true;
  const kept = isPreserving
    ? [
        {
          message: "spec.preserveUnknownFields must be false: use x-kubernetes-preserve-unknown-fields in the schema",
          path: ["spec", "preserveUnknownFields"],
        },
      ]
    : [];
  return [
    ...kept,
    ...readCrdVersions(manifest.crd).flatMap(({ name: version, schema }, i) => {
      const path = ["spec", "versions", i, "schema", "openAPIV3Schema"];
      if (!isObject(schema)) return [{ message: `version ${goQuote(version)} has no schema`, path }];
      return findStructuralFaults(schema).map((fault) => ({
        message: `version ${goQuote(version)}: ${fault.message}`,
        path: [...path, ...fault.path],
      }));
    }),
  ];
}

function approved(manifest: CrdManifest): CrdBreach[] {
  if (!PROTECTED.test(textAt(getSpec(manifest), "group"))) return [];
  const stated = manifest.crd.metadata.annotations?.[APPROVED] ?? "";
  if (/^https?:\/\/./.test(stated) || stated.startsWith("unapproved")) return [];
  return [
    {
      message: `the API group is protected: set annotation ${APPROVED} to the URL of the approval, or to a text that begins with "unapproved"`,
      path: ["metadata", "annotations"],
    },
  ];
}

function validation(manifest: CrdManifest): CrdBreach[] {
  return readCrdVersions(manifest.crd).flatMap(({ name: version, schema }, i) => {
    if (!isObject(schema)) return [];
    const members = Object.keys(getObjectAt(schema, "properties")).filter((member) => !["apiVersion", "kind", "metadata"].includes(member));
    if (members.length > 0) return [];
    return [{ message: `the schema of version ${goQuote(version)} describes no fields`, path: ["spec", "versions", i, "schema"] }];
  });
}

function conversion(manifest: CrdManifest, { csv }: BundleContent): CrdBreach[] {
  const isConverted = textAt(getObjectAt(getSpec(manifest), "conversion"), "strategy") === "Webhook";
  const webhooks = (csv?.spec.webhookdefinitions ?? []).filter(({ type }) => type === "ConversionWebhook");
  if (!isConverted || webhooks.some(({ conversionCRDs = [] }) => conversionCRDs.includes(getName(manifest)))) return [];
  return [
    { message: "the conversion strategy is Webhook, but the CSV has no conversion webhook for this CRD", path: ["spec", "conversion"] },
  ];
}

function unknownFields({ object }: CrdManifest): CrdBreach[] {
  return listDroppedFields("apiextensions/v1.CustomResourceDefinition", { ...object, metadata: {} });
}
