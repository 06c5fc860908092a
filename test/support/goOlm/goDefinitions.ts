import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { parseYaml } from "../../../pkg/golang/yaml.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { waitForDefinition } from "../definitions.ts";

/** The fields of a kind of the Go implementation; those with `*` are required. A field without listed members has those of olmv1. */
type GoFields = readonly string[];

const SOURCE = ["spec.source*", "spec.source.sourceType*", "spec.source.catalog"];
const CATALOG = ["packageName*", "channels", "selector", "upgradeConstraintPolicy", "version"].map((name) => `spec.source.catalog.${name}`);
const STATUS = [
  "status.conditions",
  "status.install",
  "status.install.bundle*",
  "status.install.bundle.name*",
  "status.install.bundle.version*",
];
const PREFLIGHT = ["preflight", "preflight.crdUpgradeSafety*", "preflight.crdUpgradeSafety.enforcement*"].map(
  (name) => `spec.install.${name}`,
);
const SPEC = ["spec", "spec.namespace*", ...SOURCE, ...CATALOG, "spec.install", ...PREFLIGHT];
const COMMON = ["apiVersion", "kind", "metadata", ...SPEC, "status", ...STATUS];

/** The versions of the Go implementation whose API differs, by the commit of its files in helm/olmv1/base/operator-controller/crd/standard. */
const GO_EXTENSION_FIELDS = {
  /** c6fd3002: requires a ServiceAccount, and acts with its permissions. */
  account: [...COMMON, "spec.serviceAccount*", "spec.serviceAccount.name*", "spec.config", "spec.config.configType*", "spec.config.inline"],
  /** 0218680a: ignores ServiceAccounts, and acts with its own permissions. */
  controller: [...COMMON, "spec.serviceAccount", "spec.serviceAccount.name"],
} as const satisfies Record<string, GoFields>;

/** A version of the Go implementation. */
export type GoVersion = keyof typeof GO_EXTENSION_FIELDS;

/** 0198d4bc: helm/olmv1/base/catalogd/crd/standard. */
const GO_CATALOG_FIELDS: GoFields = [
  "apiVersion",
  "kind",
  "metadata",
  "spec*",
  "spec.availabilityMode",
  "spec.priority",
  "spec.source*",
  "status",
  ...["conditions", "lastUnpacked", "resolvedSource", "urls"].map((name) => `status.${name}`),
];

const FOLDER = join(import.meta.dirname, "../../../config/crd");

/** Applies the CustomResourceDefinitions of the Go implementation. */
export async function installGoDefinitions(client: Client, version: GoVersion): Promise<void> {
  for (const [plural, fields] of [
    ["clusterextensions", GO_EXTENSION_FIELDS[version]],
    ["clustercatalogs", GO_CATALOG_FIELDS],
  ] as const) {
    const own = parseYaml(await readFile(join(FOLDER, `olm.operatorframework.io_${plural}.yaml`), "utf8")) as KubeObject;
    const crd = withFields(own, fields);
    const live = await client.get({ apiVersion: crd.apiVersion, kind: crd.kind, name: crd.metadata.name });
    const { resourceVersion } = live?.metadata ?? {};
    if (live) await client.replace({ ...crd, metadata: { ...crd.metadata, ...(resourceVersion ? { resourceVersion } : {}) } });
    else await client.create(crd);
    await waitForDefinition(client, crd);
  }
}

/** Returns a CustomResourceDefinition with only these fields. */
function withFields(crd: KubeObject, fields: GoFields): KubeObject {
  const spec = structuredClone(crd["spec"]) as { versions: { schema: { openAPIV3Schema: Schema } }[] };
  for (const version of spec.versions) version.schema.openAPIV3Schema = prune(version.schema.openAPIV3Schema, fields);
  return { apiVersion: crd.apiVersion, kind: crd.kind, metadata: { name: crd.metadata.name }, spec };
}

interface Schema extends JsonObject {
  properties?: Record<string, Schema>;
  required?: string[];
}

/** Keeps the listed members of an object, and their members too if none of them is listed. */
function prune(schema: Schema, fields: GoFields, path = ""): Schema {
  const below = fields
    .filter((field) => path === "" || field.startsWith(`${path}.`))
    .map((field) => field.slice(path === "" ? 0 : path.length + 1));
  const own = below.filter((field) => !field.includes("."));
  if (own.length === 0) return schema;
  // Rules and defaults may name removed members.
  const { properties = {}, required: _, "x-kubernetes-validations": _rules, default: _default, ...rest } = schema;
  const required = own.flatMap((field) => (field.endsWith("*") ? [field.slice(0, -1)] : []));
  const kept = own
    .map((field) => field.replace("*", ""))
    .map((name): [string, Schema] => {
      const member = properties[name];
      if (!member) throw new Error(`olmv1 has no field ${path}.${name}`);
      return [name, prune(member, fields, path === "" ? name : `${path}.${name}`)];
    });
  return { ...rest, properties: Object.fromEntries(kept), ...(required.length > 0 ? { required } : {}) };
}
