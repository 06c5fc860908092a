import type { ClusterExtension } from "../api/clusterExtension.ts";
import {
  ANNOTATION_OWNER_UID,
  LABEL_BUNDLE_VERSION,
  LABEL_OWNER_KIND,
  LABEL_OWNER_NAME,
  LABEL_PACKAGE_NAME,
  TRUSTED_CA_KEY,
  takesTrustedCa,
} from "../api/constants.ts";
import { groupOf, type KubeObject } from "../api/k8s.ts";
import { canonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { type Difference, findDifferences, formatDiffPath, type PathStep } from "./diff.ts";
import { objectKey } from "./identity.ts";
import { parseJsonPointer, pointerOf, replaceAt, valueAt } from "./jsonPointer.ts";
import { isApplied, managersOf } from "./managedFields.ts";
import type { ReleaseRecord } from "./record.ts";

/** What happens to what has drifted, and whether that is so only because the extension was taken over. */
export interface DriftPolicy {
  readonly policy: "Correct" | "Warn" | "Ignore";
  readonly isTakenOver: boolean;
}

/**
 * What `spec.drift.policy` says; where it says nothing, what another operator-controller installed is left alone until something newer is
 * installed, since somebody may rely on how it is, and everything else is put back.
 */
export function driftPolicyOf(spec: ClusterExtension["spec"], deployed: Pick<ReleaseRecord, "takenOver">): DriftPolicy {
  const { policy } = spec.drift ?? {};
  if (policy !== undefined) return { policy, isTakenOver: false };
  const isTakenOver = deployed.takenOver === true;
  return { policy: isTakenOver ? "Warn" : "Correct", isTakenOver };
}

/** Fields of some objects that others decide. What `target` leaves out, any object meets. */
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

/** Where certificates are injected; a bundle may hold a placeholder there. `*` stands for every position of a list. */
const INJECTED: Readonly<Record<string, string>> = {
  "admissionregistration.k8s.io/MutatingWebhookConfiguration": "/webhooks/*/clientConfig/caBundle",
  "admissionregistration.k8s.io/ValidatingWebhookConfiguration": "/webhooks/*/clientConfig/caBundle",
  "apiextensions.k8s.io/CustomResourceDefinition": "/spec/conversion/webhook/clientConfig/caBundle",
  "apiregistration.k8s.io/APIService": "/spec/caBundle",
};

/**
 * `object` as it is applied to `live` so that the fields which the rules name stay as they are: left out where somebody else owns them or
 * where they are not there, and with the live value where nobody else does, since an apply removes a field that only we own and no longer
 * state. The same holds for certificates that somebody injected, and certificate authorities too. An object that does not exist yet is applied as it
 * is.
 */
export function withIgnored(object: KubeObject, live: KubeObject | undefined, rules: readonly IgnoreRule[]): KubeObject {
  if (!live) return object;
  const pointers = rules.filter(({ target }) => isMeant(object, target)).flatMap((rule) => rule.paths);
  const paths = [...pointers.map(parseJsonPointer), ...injectedPaths(object)].flatMap((path) => leavesAt(valueAt(object, path), path));
  return paths.reduce((applied, path) => {
    const there = livePath(object, live, path);
    const isOthers = there === undefined || managersOf(live, there).length > 0;
    return replaceAt(applied, path, isOthers ? undefined : valueAt(live, there));
  }, object);
}

function injectedPaths(object: KubeObject): string[][] {
  if (takesTrustedCa(object)) return [["data", TRUSTED_CA_KEY]];
  const path = parseJsonPointer(INJECTED[`${groupOf(object.apiVersion)}/${object.kind}`] ?? "");
  const star = path.indexOf("*");
  if (star < 0) return path.length > 0 ? [path] : [];
  const list = valueAt(object, path.slice(0, star));
  return Array.isArray(list) ? list.map((_item, i) => path.with(star, String(i))) : [];
}

/** `path`, or in place of an object the paths of its members: each may be somebody else's. */
function leavesAt(value: unknown, path: string[]): string[][] {
  if (!isObject(value)) return [path];
  return Object.entries(value).flatMap(([member, below]) => leavesAt(below, [...path, member]));
}

function isMeant({ apiVersion, kind, metadata }: KubeObject, target: IgnoreRule["target"]): boolean {
  const { group, namespace, name } = target;
  return (
    kind === target.kind &&
    (group === undefined || group === groupOf(apiVersion)) &&
    (namespace === undefined || namespace === (metadata.namespace ?? "")) &&
    (name === undefined || name === metadata.name)
  );
}

/** Where `path` of the applied object is in the live one: items that have a name are found by it. Undefined where it is not there. */
function livePath(object: unknown, live: unknown, path: readonly string[]): string[] | undefined {
  const found: string[] = [];
  let [ours, theirs] = [object, live];
  for (const member of path) {
    ours = valueAt(ours, [member]);
    const there = Array.isArray(theirs) ? positionByName(theirs, ours, member) : member;
    theirs = valueAt(theirs, [there]);
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
  /** Who else than we owns the live value; empty where nobody does, as of a field that was removed. */
  readonly managers: readonly string[];
}

/**
 * The fields of our applies in which a live object differs from what the API server makes of an apply to it, dry run or not; both as the
 * server gave them, so that defaults and ways of writing play no part, nor does what others wrote between the two. In the order of the object.
 * @param before the live object. @param after the answer to the apply.
 */
export function driftedFields(before: KubeObject, after: KubeObject): DriftedField[] {
  return driftIn(before, after).map(({ path }) => ({
    path: formatDiffPath(path),
    managers: managersOf(before, positionsIn(before, path)),
  }));
}

/** The same with paths in steps and the values. */
export function driftIn(before: KubeObject, after: KubeObject): Difference[] {
  return findDifferences(before, after).filter(({ path }) => isApplied(after, positionsIn(after, path)));
}

/** The same path with the position of each entry of a list in `object`; -1 for one that is not there. */
export function positionsIn(object: unknown, path: readonly PathStep[]): string[] {
  let at = object;
  return path.map((step) => {
    const member = positionOf(at, step);
    at = valueAt(at, [member]);
    return member;
  });
}

function positionOf(at: unknown, step: PathStep): string {
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

/** A release that another program applied, and what the cluster says; by `objectKey` what is not there is absent. */
export interface TakenOver {
  recorded: readonly KubeObject[];
  /** With the fields of that program as ours already. */
  live: ReadonlyMap<string, KubeObject>;
  /** What the API server says a full apply would make of the objects. */
  after: ReadonlyMap<string, KubeObject>;
}

/**
 * `objects` as they are applied so that what has drifted from the recorded release stays as it is on the cluster, while their marks and what
 * they say otherwise than the recorded ones are applied: how a release is taken over. Objects that somebody deleted are left out; one of
 * which nothing has drifted is the same as given.
 */
export function withoutDrifted(objects: readonly KubeObject[], { recorded, live, after }: TakenOver): KubeObject[] {
  const before = new Map(recorded.map((object) => [objectKey(object), object]));
  return objects.flatMap((object) => {
    const key = objectKey(object);
    const [was, is, wouldBe] = [before.get(key), live.get(key), after.get(key)];
    if (!was) return [object];
    if (!is) return [];
    return [wouldBe ? withDriftLeft(object, was, is, wouldBe) : object];
  });
}

function withDriftLeft(object: KubeObject, recorded: KubeObject, live: KubeObject, after: KubeObject): KubeObject {
  const paths = driftIn(live, after)
    .flatMap(({ path }) => membersAt(path, after))
    .map(asFarAsKeyed)
    .filter((path) => !isMark(path) && saysTheSame(path, object, recorded))
    .map((path) => pointerOf(positionsIn(object, path)));
  if (paths.length === 0) return object;
  const { kind, metadata } = object;
  return withIgnored(object, live, [{ paths: [...new Set(paths)], target: { kind, name: metadata.name } }]);
}

function saysTheSame(path: readonly PathStep[], object: KubeObject, recorded: KubeObject): boolean {
  const [now, then] = [object, recorded].map((one) => valueAt(one, positionsIn(one, path)));
  return now !== undefined && then !== undefined && canonicalJson(now) === canonicalJson(then);
}

/** Labels and annotations one by one, where all of them are gone. */
function membersAt(path: readonly PathStep[], after: KubeObject): (readonly PathStep[])[] {
  const [root, map, ...rest] = path;
  if (root !== "metadata" || (map !== "labels" && map !== "annotations") || rest.length > 0) return [path];
  return Object.keys(after.metadata[map] ?? {}).map((key) => ["metadata", map, key]);
}

function isMark([root, member, key]: readonly PathStep[]): boolean {
  return root === "metadata" && (member === "ownerReferences" || (typeof key === "string" && OURS.has(key)));
}

/** An entry of a list without keys cannot be left to others by itself: the list as a whole is. */
function asFarAsKeyed(path: readonly PathStep[]): readonly PathStep[] {
  const at = path.findIndex((step) => typeof step === "object" && "index" in step);
  return at < 0 ? path : path.slice(0, at);
}
