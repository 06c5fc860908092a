import { encodeGoJson } from "../golang/json.ts";
import { compareKubeVersions, hasWebhook, readCrdKind, readCrdStoredVersions, readCrdVersions } from "./crdParts.ts";
import { findSizeFault } from "./schema.ts";

/** Under which apiVersion existing objects are to be read, and the schema that they have to be valid under afterwards. */
export interface ObjectCheck {
  apiVersion: string;
  kind: string;
  /** The version of the new CRD whose schema it is. */
  version: string;
  schema: unknown;
}

/** Versions that the cluster serves and that the new CRD no longer has, in the order of the old one. */
export function listRemovedServedVersions(before: unknown, after: unknown): string[] {
  const now = new Set(readCrdVersions(after).map(({ name }) => name));
  return readCrdVersions(before)
    .filter(({ name, served }) => served && !now.has(name))
    .map(({ name }) => name);
}

/**
 * Versions that objects may be stored in, that the new CRD has not, and that a clean-up can take from the list: nothing is written in
 * them any more. The version that objects are written in now has to be replaced as such by an upgrade of its own first.
 */
export function listDroppedStoredVersions(before: unknown, after: unknown): { versions: string[]; writtenNow: string[] } {
  const now = new Set(readCrdVersions(after).map(({ name }) => name));
  const dropped = readCrdStoredVersions(before).filter((name) => !now.has(name));
  const storage = readCrdVersions(before).find(({ storage: isStorage }) => isStorage)?.name;
  return { versions: dropped.filter((name) => name !== storage), writtenNow: dropped.filter((name) => name === storage) };
}

/**
 * How existing objects have to be looked at before `after` replaces `before`: in each version that both serve and whose schema changes.
 * Where they have no such version and objects are not converted by a webhook, in the one that they will be stored in.
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
      .filter(({ version, other }) => other.served && !sameSchema(version.schema, other.schema))
      .flatMap(({ version, other }) => check(version.name, version.name, other.schema));
  }
  const [newest] = served.map(({ name }) => name).sort((a, b) => compareKubeVersions(b, a));
  const storage = now.find((version) => version.storage);
  return newest === undefined || !storage || hasWebhook(before) || hasWebhook(after) ? [] : check(newest, storage.name, storage.schema);
}

function sameSchema(a: unknown, b: unknown): boolean {
  return !findSizeFault(a) && !findSizeFault(b) && encodeGoJson(a ?? null) === encodeGoJson(b ?? null);
}
