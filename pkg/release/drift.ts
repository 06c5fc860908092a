import type { ClusterExtension } from "../api/clusterExtension.ts";
import {
  ANNOTATION_OWNER_UID,
  acceptsTrustedCa,
  LABEL_BUNDLE_VERSION,
  LABEL_OWNER_KIND,
  LABEL_OWNER_NAME,
  LABEL_PACKAGE_NAME,
  TRUSTED_CA_KEY,
} from "../api/constants.ts";
import { getGroup, type KubeObject } from "../api/k8s.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { type FieldDifference, findDifferences, formatDiffPath, type PathStep } from "./diff.ts";
import { getObjectKey } from "./identity.ts";
import { formatJsonPointer, getValueAt, parseJsonPointer, replaceAt } from "./jsonPointer.ts";
import { findOtherManagers, isApplied } from "./managedFields.ts";
import type { ReleaseRecord } from "./record.ts";

/** The drift policy, and whether it only applies because the extension was taken over. */
export interface DriftPolicy {
  readonly policy: "Correct" | "Warn" | "Ignore";
  readonly isTakenOver: boolean;
}

/**
 * Returns the policy of `spec.drift.policy`. The default is to correct drift. If another operator-controller installed the release, the default
 * is to keep drift until a newer bundle is installed, because users may rely on it.
 */
export function getDriftPolicy(spec: ClusterExtension["spec"], deployed: Pick<ReleaseRecord, "takenOver">): DriftPolicy {
  const { policy } = spec.drift ?? {};
  if (policy !== undefined) return { policy, isTakenOver: false };
  const isTakenOver = deployed.takenOver === true;
  return { policy: isTakenOver ? "Warn" : "Correct", isTakenOver };
}

/** Fields of some objects that other managers own. An omitted part of `target` matches any object. */
export interface IgnoreRule {
  /** JSON pointers (RFC 6901). */
  readonly paths: readonly string[];
  readonly target: {
    readonly group?: string | undefined;
    readonly kind: string;
    readonly namespace?: string | undefined;
    readonly name?: string | undefined;
  };
}

/** Fields into which certificates are injected, although the bundle may contain a placeholder. `*` matches every index of a list. */
const INJECTED: Readonly<Record<string, string>> = {
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": "/webhooks/*/clientConfig/caBundle",
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": "/webhooks/*/clientConfig/caBundle",
  "apiextensions.k8s.io/CustomResourceDefinition": "/spec/conversion/webhook/clientConfig/caBundle",
  "apiregistration.k8s.io/APIService": "/spec/caBundle",
};

/**
 * Returns `object` for an apply to `live` that keeps the fields that the rules select. Such a field is omitted if another manager owns it or if it
 * does not exist in `live`. If only we own it, it gets the live value, because an apply would remove an omitted field. Injected certificates and
 * certificate authorities are kept too. If the object does not exist, it is returned unchanged.
 */
export function preserveIgnored(object: KubeObject, live: KubeObject | undefined, rules: readonly IgnoreRule[]): KubeObject {
  if (!live) return object;
  const pointers = rules.filter(({ target }) => isMeant(object, target)).flatMap((rule) => rule.paths);
  const paths = [...pointers.map(parseJsonPointer), ...listInjectedPaths(object)].flatMap((path) =>
    listLeafPaths(getValueAt(object, path), path),
  );
  return paths.reduce((applied, path) => {
    const there = findLivePath(object, live, path);
    const isOthers = there === undefined || findOtherManagers(live, there).length > 0;
    return replaceAt(applied, path, isOthers ? undefined : getValueAt(live, there));
  }, object);
}

function listInjectedPaths(object: KubeObject): string[][] {
  if (acceptsTrustedCa(object)) return [["data", TRUSTED_CA_KEY]];
  const path = parseJsonPointer(INJECTED[`${getGroup(object.apiVersion)}/${object.kind}`] ?? "");
  const star = path.indexOf("*");
  if (star < 0) return path.length > 0 ? [path] : [];
  const list = getValueAt(object, path.slice(0, star));
  return Array.isArray(list) ? list.map((_item, i) => path.with(star, String(i))) : [];
}

/** Returns `path`, or the paths of the members if the value is an object, because each may have a different owner. */
function listLeafPaths(value: unknown, path: string[]): string[][] {
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([member, below]) => listLeafPaths(below, [...path, member]));
}

function isMeant({ apiVersion, kind, metadata }: KubeObject, target: IgnoreRule["target"]): boolean {
  const { group, namespace, name } = target;
  return (
    kind === target.kind &&
    (group === undefined || group === getGroup(apiVersion)) &&
    (namespace === undefined || namespace === (metadata.namespace ?? "")) &&
    (name === undefined || name === metadata.name)
  );
}

/** Returns the path in the live object, where list items with a name are found by their name. Undefined if it does not exist. */
function findLivePath(object: unknown, live: unknown, path: readonly string[]): string[] | undefined {
  const found: string[] = [];
  let [ours, theirs] = [object, live];
  for (const member of path) {
    ours = getValueAt(ours, [member]);
    const there = Array.isArray(theirs) ? positionByName(theirs, ours, member) : member;
    theirs = getValueAt(theirs, [there]);
    if (theirs === undefined) return undefined;
    found.push(there);
  }
  return found;
}

function positionByName(list: readonly unknown[], item: unknown, position: string): string {
  if (!isObject(item) || typeof item["name"] !== "string") return position;
  return String(list.findIndex((candidate) => isObject(candidate) && candidate["name"] === item["name"]));
}

/** A field of a live object that an apply changes, or would change. */
export interface DriftedField {
  /** Such as `spec.ports[name=metrics].port`. */
  readonly path: string;
  /** The other owners of the live value; empty if there are none, for example for a removed field. */
  readonly managers: readonly string[];
}

/**
 * Returns the fields of our applies in which a live object differs from the result of an apply to it (dry run or not), in the order of the object.
 * Both states come from the API server, so defaults and notation do not cause differences.
 * @param before the live object @param after the response to the apply
 */
export function findDriftedFields(before: KubeObject, after: KubeObject): DriftedField[] {
  return findFieldDrift(before, after).map(({ path }) => ({
    path: formatDiffPath(path),
    managers: findOtherManagers(before, toIndexes(before, path)),
  }));
}

/** Returns the drifted fields with paths as steps and both values. */
export function findFieldDrift(before: KubeObject, after: KubeObject): FieldDifference[] {
  return findDifferences(before, after).filter(({ path }) => isApplied(after, toIndexes(after, path)));
}

/** Converts a path to indexes of list entries in `object`; -1 for an entry that does not exist. */
export function toIndexes(object: unknown, path: readonly PathStep[]): string[] {
  let at = object;
  return path.map((step) => {
    const member = formatPosition(at, step);
    at = getValueAt(at, [member]);
    return member;
  });
}

function formatPosition(at: unknown, step: PathStep): string {
  if (typeof step === "string") return step;
  if ("index" in step) return String(step.index);
  const { key, value } = step;
  return String(Array.isArray(at) ? at.findIndex((entry) => isObject(entry) && entry[key] === value) : -1);
}

const OURS: ReadonlySet<string> = new Set([
  ANNOTATION_OWNER_UID,
  LABEL_BUNDLE_VERSION,
  LABEL_OWNER_KIND,
  LABEL_OWNER_NAME,
  LABEL_PACKAGE_NAME,
]);

/** A release that another program applied, and the cluster state by `getObjectKey`, without missing objects. */
export interface TakenOverRelease {
  recorded: readonly KubeObject[];
  /** The live objects, with the fields of that program already transferred to us. */
  live: ReadonlyMap<string, KubeObject>;
  /** The results of a full apply as the API server returns them. */
  after: ReadonlyMap<string, KubeObject>;
}

/**
 * Returns `objects` for taking over a release: keeps drift from the recorded release, but applies ownership marks and changes of the new rendering.
 * Omits deleted objects. Returns objects without drift unchanged.
 */
export function preserveDrift(objects: readonly KubeObject[], { recorded, live, after }: TakenOverRelease): KubeObject[] {
  const before = new Map(recorded.map((object) => [getObjectKey(object), object]));
  return objects.flatMap((object) => {
    const key = getObjectKey(object);
    const [was, is, wouldBe] = [before.get(key), live.get(key), after.get(key)];
    if (!was) return [object];
    if (!is) return [];
    return [wouldBe ? keepDrift(object, was, is, wouldBe) : object];
  });
}

function keepDrift(object: KubeObject, recorded: KubeObject, live: KubeObject, after: KubeObject): KubeObject {
  const paths = findFieldDrift(live, after)
    .flatMap(({ path }) => membersAt(path, after))
    .map(truncateToKeyed)
    .filter((path) => !isMark(path) && saysTheSame(path, object, recorded))
    .map((path) => formatJsonPointer(toIndexes(object, path)));
  if (paths.length === 0) return object;
  const { kind, metadata } = object;
  return preserveIgnored(object, live, [{ paths: [...new Set(paths)], target: { kind, name: metadata.name } }]);
}

function saysTheSame(path: readonly PathStep[], object: KubeObject, recorded: KubeObject): boolean {
  const [now, then] = [object, recorded].map((one) => getValueAt(one, toIndexes(one, path)));
  return now !== undefined && then !== undefined && encodeCanonicalJson(now) === encodeCanonicalJson(then);
}

/** Returns labels and annotations one by one if all of them were removed. */
function membersAt(path: readonly PathStep[], after: KubeObject): (readonly PathStep[])[] {
  const [root, map, ...rest] = path;
  if (root !== "metadata" || (map !== "labels" && map !== "annotations") || rest.length > 0) return [path];
  return Object.keys(after.metadata[map] ?? {}).map((key) => ["metadata", map, key]);
}

function isMark([root, member, key]: readonly PathStep[]): boolean {
  return root === "metadata" && (member === "ownerReferences" || (typeof key === "string" && OURS.has(key)));
}

/** Truncates a path before a list without keys, because such a list can only be kept as a whole. */
export function truncateToKeyed(path: readonly PathStep[]): readonly PathStep[] {
  const at = path.findIndex((step) => typeof step === "object" && "index" in step);
  return at < 0 ? path : path.slice(0, at);
}
