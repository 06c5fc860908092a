import { isObject } from "../api/jsonObject.ts";
import { groupOf, type KubeObject } from "../api/k8s.ts";
import { TRUSTED_CA_KEY, takesTrustedCa } from "../api/constants.ts";
import { managersOf } from "./fieldManagers.ts";
import { pathOf, replacedAt, valueAt } from "./jsonPointer.ts";

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
  const paths = [...pointers.map(pathOf), ...injectedPaths(object)].flatMap((path) => leavesAt(valueAt(object, path), path));
  return paths.reduce((applied, path) => {
    const there = livePath(object, live, path);
    const isOthers = there === undefined || managersOf(live, there).length > 0;
    return replacedAt(applied, path, isOthers ? undefined : valueAt(live, there));
  }, object);
}

function injectedPaths(object: KubeObject): string[][] {
  if (takesTrustedCa(object)) return [["data", TRUSTED_CA_KEY]];
  const path = pathOf(INJECTED[`${groupOf(object.apiVersion)}/${object.kind}`] ?? "");
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
    const there = Array.isArray(theirs) ? positionOf(theirs, ours, member) : member;
    theirs = valueAt(theirs, [there]);
    if (theirs === undefined) return undefined;
    found.push(there);
  }
  return found;
}

function positionOf(list: readonly unknown[], item: unknown, position: string): string {
  if (!isObject(item) || typeof item["name"] !== "string") return position;
  return String(list.findIndex((candidate) => isObject(candidate) && candidate["name"] === item["name"]));
}
