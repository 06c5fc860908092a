import * as z from "zod";
import { ClusterCatalog } from "./clusterCatalog.ts";
import { ClusterExtension } from "./clusterExtension.ts";
import { ALPHA_VERSION, ANNOTATION_GENERATOR, EXTENSION_PERMISSIONS, GROUP, PERMISSION_POLICY, VERSION } from "./constants.ts";
import { ExtensionPermissions } from "./extensionPermissions.ts";
import type { JsonObject, KubeObject } from "./k8s.ts";
import { PermissionPolicy } from "./permissionPolicy.ts";

/**
 * The members of a structural schema that this project uses.
 * @see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export interface Structural extends JsonObject {
  type?: string;
  description?: string;
  format?: string;
  default?: unknown;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, Structural>;
  items?: Structural;
  additionalProperties?: Structural | boolean;
  "x-kubernetes-validations"?: { rule: string; message: string }[];
  "x-kubernetes-preserve-unknown-fields"?: boolean;
}

const DIALECT = "$schema";

/** Converts a zod schema to the structural schema of a CustomResourceDefinition. Keeps the order of members. */
function toStructural(schema: z.ZodType): Structural {
  const { [DIALECT]: _, ...structural } = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    reused: "inline",
    // Called twice for a schema with meta: before and after meta is merged.
    override: ({ jsonSchema }) => adapt(jsonSchema as Structural),
  });
  return sortKeywords(structural as Structural);
}

/** Removes keywords that Kubernetes does not support or expresses differently. */
function adapt(schema: Structural): void {
  if (schema.properties) delete schema.additionalProperties;
  if (schema["x-kubernetes-preserve-unknown-fields"]) delete schema.additionalProperties;
  if (schema.format === "date-time") delete schema["pattern"];
  if (schema.type !== "integer") return;
  if (schema["minimum"] === Number.MIN_SAFE_INTEGER) delete schema["minimum"];
  if (schema["maximum"] === Number.MAX_SAFE_INTEGER) delete schema["maximum"];
}

/** Sorts keywords for readers: description, type, bounds, members, rules. */
function sortKeywords(schema: Structural): Structural {
  const { description, type, properties, items, additionalProperties, required, "x-kubernetes-validations": rules, ...others } = schema;
  const result: Structural = {};
  if (description !== undefined) result.description = description;
  if (type !== undefined) result.type = type;
  Object.assign(result, others);
  if (required) result.required = required;
  if (properties) result.properties = Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, sortKeywords(member)]));
  if (items) result.items = sortKeywords(items);
  if (additionalProperties !== undefined) {
    result.additionalProperties = typeof additionalProperties === "boolean" ? additionalProperties : sortKeywords(additionalProperties);
  }
  if (rules) result["x-kubernetes-validations"] = rules;
  return result;
}

const API_VERSION_FIELD: Structural = {
  description: "apiVersion is the group and version of this representation of the object.",
  type: "string",
};
const KIND_FIELD: Structural = { description: "kind is the kind of the object.", type: "string" };

/** Returns the CustomResourceDefinition of a kind. It includes experimental members, so the generator annotation is "experimental". */
export function buildCrd(kind: KindDescription): KubeObject {
  const { singular, plural, shortName, columns } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}`, annotations: { [ANNOTATION_GENERATOR]: "experimental" } },
    spec: {
      group: GROUP,
      names: { kind: kind.kind, listKind: `${kind.kind}List`, plural, shortNames: [shortName], singular },
      scope: "Cluster",
      versions: [
        {
          name: kind.version ?? VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          ...(kind.hasStatus === false ? {} : { subresources: { status: {} } }),
          schema: { openAPIV3Schema: buildOpenApiSchema(kind) },
        },
      ],
    },
  };
}

/** Returns the schema of a kind with the members of every object. */
export function buildOpenApiSchema({ schema }: KindDescription): Structural {
  const root = toStructural(schema);
  const { metadata: _, ...members } = root.properties ?? {};
  return { ...root, properties: { apiVersion: API_VERSION_FIELD, kind: KIND_FIELD, metadata: { type: "object" }, ...members } };
}

/** A column of `kubectl get`. */
interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "date";
  jsonPath: string;
  /** If 1 or more, the column is only shown with `-o wide`. */
  priority?: number;
}

/** A kind with its names, columns and schema. */
export interface KindDescription {
  kind: string;
  /** Default: v1. */
  version?: string;
  /** Default: true. */
  hasStatus?: boolean;
  singular: string;
  plural: string;
  shortName: string;
  schema: z.ZodType;
  columns: readonly PrinterColumn[];
}

const age: PrinterColumn = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/** All kinds, in the order of the reference. They are cluster-scoped. */
export const KINDS: readonly KindDescription[] = [
  {
    kind: "ClusterExtension",
    singular: "clusterextension",
    plural: "clusterextensions",
    shortName: "cext",
    schema: ClusterExtension,
    columns: [
      { name: "Installed Bundle", type: "string", jsonPath: ".status.install.bundle.name" },
      { name: "Version", type: "string", jsonPath: ".status.install.bundle.version" },
      { name: "Installed", type: "string", jsonPath: ".status.conditions[?(@.type=='Installed')].status" },
      { name: "Progressing", type: "string", jsonPath: ".status.conditions[?(@.type=='Progressing')].status" },
      { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
      { name: "Update", type: "string", jsonPath: ".status.availableUpdates[0].version" },
      age,
      { name: "Catalog", type: "string", jsonPath: ".status.install.catalog", priority: 1 },
      { name: "Channel", type: "string", jsonPath: ".spec.source.catalog.channels", priority: 1 },
    ],
  },
  {
    kind: "ClusterCatalog",
    singular: "clustercatalog",
    plural: "clustercatalogs",
    shortName: "ccat",
    schema: ClusterCatalog,
    columns: [
      { name: "LastUnpacked", type: "date", jsonPath: ".status.lastUnpacked" },
      { name: "Serving", type: "string", jsonPath: '.status.conditions[?(@.type=="Serving")].status' },
      // Every reconcile sets Progressing, so its reason is never blank.
      { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Progressing")].reason' },
      { name: "Packages", type: "integer", jsonPath: ".status.content.packages" },
      { name: "Digest", type: "string", jsonPath: ".status.content.digest" },
      age,
    ],
  },
  {
    kind: EXTENSION_PERMISSIONS.kind,
    version: ALPHA_VERSION,
    singular: "extensionpermissions",
    plural: "extensionpermissions",
    shortName: "eperm",
    schema: ExtensionPermissions,
    columns: [
      { name: "State", type: "string", jsonPath: ".status.state" },
      { name: "Policy", type: "string", jsonPath: ".status.policy" },
      { name: "Rules", type: "integer", jsonPath: ".status.ruleCount" },
      { name: "Broad", type: "integer", jsonPath: ".status.broadCount" },
      age,
    ],
  },
  {
    kind: PERMISSION_POLICY.kind,
    version: ALPHA_VERSION,
    hasStatus: false,
    singular: "permissionpolicy",
    plural: "permissionpolicies",
    shortName: "permpol",
    schema: PermissionPolicy,
    columns: [{ name: "Grant", type: "string", jsonPath: ".spec.grant" }, age],
  },
];
