import { readProxyVariables } from "../../api/proxy.ts";
import { parseRequirements } from "../../bundle/requirements.ts";
import { isObject } from "../../golang/members.ts";
import { type GoMembers, type GoShape, goStruct } from "../../golang/structReader.ts";
import { type LeftObject, parseReleaseStatus, type ReleaseRecord } from "../record.ts";
import { parseRolledBack } from "../rollbackBackoff.ts";

const TEXTS: GoShape = { itemsOf: "string" };
const CHECKED_TEXTS: GoShape = { checked: TEXTS };
const TEXT_BY_NAME: GoShape = { valuesOf: "string" };
const ANY_BY_NAME: GoShape = { checked: { valuesOf: "any" } };
const FILES: GoShape = { checked: { itemsOf: goStruct({ name: "string", data: "bytes" }) } };

const DEPENDENCIES: GoShape = {
  checked: {
    itemsOf: goStruct({
      name: "string",
      version: "string",
      repository: "string",
      condition: "string",
      tags: CHECKED_TEXTS,
      enabled: "bool",
      "import-values": { itemsOf: "any" },
      alias: "string",
    }),
  },
};

const CHART = goStruct({
  metadata: goStruct({
    name: "string",
    home: "string",
    sources: CHECKED_TEXTS,
    version: "string",
    description: "string",
    keywords: CHECKED_TEXTS,
    maintainers: { checked: { itemsOf: goStruct({ name: "string", email: "string", url: "string" }) } },
    icon: "string",
    apiVersion: "string",
    condition: "string",
    tags: "string",
    appVersion: "string",
    deprecated: "bool",
    annotations: TEXT_BY_NAME,
    kubeVersion: "string",
    dependencies: DEPENDENCIES,
    type: "string",
  }),
  lock: goStruct({ generated: "time", digest: "string", dependencies: DEPENDENCIES }),
  templates: FILES,
  values: ANY_BY_NAME,
  schema: "bytes",
  files: FILES,
});

const HOOKS: GoShape = {
  checked: {
    itemsOf: goStruct({
      name: "string",
      kind: "string",
      path: "string",
      manifest: "string",
      events: TEXTS,
      last_run: goStruct({ started_at: "helmTime", completed_at: "helmTime", phase: "string" }),
      weight: "int",
      delete_policies: TEXTS,
      output_log_policies: TEXTS,
    }),
  },
};

/**
 * The type of a stored release: Helm's, with the bundle's labels as helm-operator-plugins stores them, and our own members. Unused members are
 * checked but not kept, because they may be the largest part of a release.
 * @see https://github.com/helm/helm/blob/v3.20.2/pkg/release/release.go
 * @see https://github.com/helm/helm/blob/v3.20.2/pkg/chart/metadata.go
 */
export const RELEASE_SHAPE = goStruct({
  name: "string",
  info: goStruct({
    first_deployed: "helmTime",
    last_deployed: "helmTime",
    deleted: "helmTime",
    description: "string",
    status: "string",
    notes: "string",
    resources: { checked: { valuesOf: { itemsOf: "any" } } },
  }),
  chart: CHART,
  config: ANY_BY_NAME,
  manifest: "lines",
  hooks: HOOKS,
  version: "int",
  namespace: "string",
  labels: TEXT_BY_NAME,
  properties: "string",
  requirements: "object",
  inputDigest: "string",
  imageDigest: "string",
  proxy: "object",
  cautions: TEXTS,
  flaws: TEXTS,
  rolledOutAt: "string",
  rolledBack: "object",
  pinnedTo: "int",
  takenOver: "bool",
  objectSet: "string",
  sourced: TEXTS,
  left: { itemsOf: "object" },
  generation: "int",
  changedBy: "string",
});

/** A release without its objects. */
export type ReleaseHead = Omit<ReleaseRecord, "objects">;

/**
 * Returns all of a release except its objects.
 * @param release as decoded by `RELEASE_SHAPE`
 * @param fallbackLabels the bundle's labels if the payload has none: other versions of the format store them on the Secret
 */
export function readReleaseHead(release: GoMembers, fallbackLabels: Readonly<Record<string, string>>): ReleaseHead {
  const info = members(release.get("info"));
  const annotations = members(members(members(release.get("chart")).get("metadata")).get("annotations"));
  const [properties, inputDigest, imageDigest, rolledOutAt] = ["properties", "inputDigest", "imageDigest", "rolledOutAt"].map((name) =>
    release.get(name),
  );
  const [cautions, flaws, sourced] = ["cautions", "flaws", "sourced"].map((name) => release.get(name));
  const [version, pinnedTo, generation] = ["version", "pinnedTo", "generation"].map((name) => release.get(name));
  const [changedBy, objectSet] = ["changedBy", "objectSet"].map((name) => release.get(name));
  const left = release.get("left");
  const requirements = parseRequirements(release.get("requirements"));
  const proxy = readProxyVariables(release.get("proxy"));
  const rolledBack = parseRolledBack(release.get("rolledBack"));
  return {
    name: text(release.get("name")),
    namespace: text(release.get("namespace")),
    version: typeof version === "number" ? version : 0,
    status: parseReleaseStatus(info.get("status")),
    description: text(info.get("description")),
    firstDeployed: text(info.get("first_deployed")),
    lastDeployed: text(info.get("last_deployed")),
    labels: release.has("labels") ? strings(members(release.get("labels"))) : { ...fallbackLabels },
    annotations: strings(annotations),
    ...(typeof properties === "string" ? { properties } : {}),
    ...(requirements ? { requirements } : {}),
    ...(typeof inputDigest === "string" ? { inputDigest } : {}),
    ...(typeof imageDigest === "string" ? { imageDigest } : {}),
    ...(proxy ? { proxy } : {}),
    ...(Array.isArray(cautions) ? { cautions: textsIn(cautions) } : {}),
    ...(Array.isArray(flaws) ? { flaws: textsIn(flaws) } : {}),
    ...(Array.isArray(sourced) ? { sourced: textsIn(sourced) } : {}),
    ...(typeof rolledOutAt === "string" ? { rolledOutAt } : {}),
    ...(rolledBack ? { rolledBack } : {}),
    ...(typeof pinnedTo === "number" ? { pinnedTo } : {}),
    ...(release.get("takenOver") === true ? { takenOver: true } : {}),
    ...(typeof objectSet === "string" ? { objectSet } : {}),
    ...(Array.isArray(left) ? { left: leftIn(left) } : {}),
    ...(typeof generation === "number" ? { generation } : {}),
    ...(typeof changedBy === "string" ? { changedBy } : {}),
  };
}

function leftIn(list: readonly unknown[]): LeftObject[] {
  return list.flatMap((item) => {
    if (!isObject(item)) return [];
    const { apiVersion, kind, namespace, name, kept } = item;
    if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return [];
    return [
      { apiVersion, kind, name, ...(typeof namespace === "string" ? { namespace } : {}), ...(typeof kept === "string" ? { kept } : {}) },
    ];
  });
}

function textsIn(list: readonly unknown[]): string[] {
  return list.filter((item) => typeof item === "string");
}

function members(value: unknown): GoMembers {
  return value instanceof Map ? (value as GoMembers) : new Map<string, unknown>();
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function strings(map: GoMembers): Record<string, string> {
  return Object.fromEntries([...map].flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])));
}
