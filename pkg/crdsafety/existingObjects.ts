import { encodeGoJson } from "../golang/json.ts";
import { compareKubeVersions, hasWebhook, readCrdKind, readCrdStoredVersions, readCrdVersions } from "./crdParts.ts";
import { findSizeFault } from "./schema.ts";

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

/**
 * Returns the stored versions that the new CRD does not contain. `versions` are no longer written, so they can be removed from `storedVersions` after
 * a migration. `writtenNow` is the current storage version, which another upgrade must change first.
 */
export function listDroppedStoredVersions(before: unknown, after: unknown): { versions: string[]; writtenNow: string[] } {
  const now = new Set(readCrdVersions(after).map(({ name }) => name));
  const dropped = readCrdStoredVersions(before).filter((name) => !now.has(name));
  const storage = readCrdVersions(before).find(({ storage: isStorage }) => isStorage)?.name;
  return { versions: dropped.filter((name) => name !== storage), writtenNow: dropped.filter((name) => name === storage) };
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

function isSameSchema(a: unknown, b: unknown): boolean {
  return !findSizeFault(a) && !findSizeFault(b) && encodeGoJson(a ?? null) === encodeGoJson(b ?? null);
}
