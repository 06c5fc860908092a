import { encodeGoJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { compareKubeVersions, hasWebhook, readCrdKind, readCrdStoredVersions, readCrdVersions } from "./crdParts.ts";
import { findSizeFault, flattenSchema, type RawObject } from "./schema.ts";

/** A check of existing objects: the apiVersion to read them with, and the new schema. */
export interface ObjectCheck {
  apiVersion: string;
  kind: string;
  /** The version of the new CRD that has the schema. */
  version: string;
  schema: unknown;
}

/** Returns the versions that the cluster serves and that the new CRD does not contain, in the order of the old CRD. */
export function listRemovedServedVersions(before: unknown, after: unknown): string[] {
  const now = new Set(readCrdVersions(after).map(({ name }) => name));
  return readCrdVersions(before)
    .filter(({ name, served }) => served && !now.has(name))
    .map(({ name }) => name);
}

/** The stored versions of a CRD that an upgrade affects. */
export interface StoredVersionChanges {
  /** Removed versions that the API server no longer writes, so they can be removed from `storedVersions` after a migration. */
  readonly versions: string[];
  /** The current storage version, if it is removed. Another upgrade must change the storage version first. */
  readonly writtenNow: string[];
  /** Versions that are served now, and that the new CRD contains but neither serves nor stores. */
  readonly unserved: string[];
}

/** Returns the stored versions that the new CRD does not contain or no longer serves. */
export function listStoredVersionChanges(before: unknown, after: unknown): StoredVersionChanges {
  const [old, now] = [readCrdVersions(before), readCrdVersions(after)];
  const stored = readCrdStoredVersions(before);
  const dropped = stored.filter((name) => !now.some((version) => version.name === name));
  const storage = old.find(({ storage: isStorage }) => isStorage)?.name;
  return {
    versions: dropped.filter((name) => name !== storage),
    writtenNow: dropped.filter((name) => name === storage),
    unserved: stored.filter(
      (name) =>
        old.some((version) => version.name === name && version.served) &&
        now.some((version) => version.name === name && !version.served && !version.storage),
    ),
  };
}

/**
 * Returns the checks of existing objects before `after` replaces `before`: one for each version that both serve and whose schema changes. If no
 * version is served by both and there is no conversion webhook, checks against the new storage version.
 */
export function listObjectChecks(before: unknown, after: unknown): ObjectCheck[] {
  const { group, kind } = readCrdKind(before);
  const served = readCrdVersions(before).filter((version) => version.served);
  const now = readCrdVersions(after);
  const check = (listed: string, version: string, schema: unknown): ObjectCheck[] =>
    findSizeFault(schema) ? [] : [{ apiVersion: `${group}/${listed}`, kind, version, schema }];
  const common = served.flatMap((version) => now.filter(({ name }) => name === version.name).map((other) => ({ version, other })));
  if (common.length > 0) {
    return common
      .filter(({ version, other }) => other.served && !isSameSchema(version.schema, other.schema))
      .flatMap(({ version, other }) => check(version.name, version.name, other.schema));
  }
  const [newest] = served.map(({ name }) => name).sort((a, b) => compareKubeVersions(b, a));
  const storage = now.find((version) => version.storage);
  return newest === undefined || !storage || hasWebhook(before) || hasWebhook(after) ? [] : check(newest, storage.name, storage.schema);
}

/**
 * Reports whether a schema contains CEL rules (`x-kubernetes-validations`), also in alternatives such
 * as `allOf`. Also returns true for a schema that is too large to search.
 */
export function hasValidationRules(schema: unknown): boolean {
  const flat = flattenSchema(schema);
  return "tooLarge" in flat || [...flat.nodes.values()].some((node) => listRules(node).length > 0);
}

/** Returns the rules of one node of a schema. */
export function listRules(node: RawObject): RawObject[] {
  const rules = node["x-kubernetes-validations"];
  return Array.isArray(rules) ? rules.filter(isObject) : [];
}

function isSameSchema(a: unknown, b: unknown): boolean {
  return !findSizeFault(a) && !findSizeFault(b) && encodeGoJson(a ?? null) === encodeGoJson(b ?? null);
}
