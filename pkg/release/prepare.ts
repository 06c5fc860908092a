import type { GroupVersionKind, KubeObject, ObjectMeta } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { TerminalError } from "../errors/errors.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { cleanObject } from "./cleanObject.ts";
import { describeObject, getObjectKey, requireIdentities } from "./identity.ts";
import { type ObjectBundle, type ObjectOwner, withBundleLabels, withOwner } from "./labels.ts";
import { type Adjusted, collapseDuplicates, removeScaledReplicas } from "./workloads.ts";

/** The owner and namespace for prepared objects. */
export interface PrepareOptions {
  /** If absent, the objects get no owner, for display. */
  owner?: ObjectOwner | undefined;
  /** The namespace for namespaced objects that have none. */
  installNamespace: string;
  /** Reports whether a kind is namespaced. Undefined for a kind that the cluster does not serve; the namespace of such objects stays unchanged. */
  isNamespaced(gvk: GroupVersionKind): boolean | undefined;
  /** The bundle of the objects; absent for those of a release, whose labels stay as recorded. */
  bundle?: ObjectBundle | undefined;
}

/**
 * Prepares rendered objects for apply and record: adds namespace, owner and bundle labels, and removes what an apply must not contain (status, nulls,
 * metadata that the API server sets, repeated list keys, replicas that an autoscaler sets). Duplicates become one object. Idempotent. Does not change
 * the arguments. `notes` describes the removed parts of the bundle's manifests, one sentence each.
 * @throws TerminalError Blocked if an object has two different definitions, or objects have no kind or name
 */
export function prepareObjects(objects: readonly KubeObject[], options: PrepareOptions): Adjusted {
  requireIdentities(objects);
  const { bundle, owner } = options;
  const stated = objects.map((object) => {
    const placed = withNamespace(cleanObject(object), options);
    const owned = owner ? withOwner(placed, owner) : placed;
    return bundle ? withBundleLabels(owned, bundle) : owned;
  });
  const collapsed = collapseDuplicates(removeDuplicates(stated));
  const released = removeScaledReplicas(collapsed.objects);
  return { objects: released.objects, notes: [...collapsed.notes, ...released.notes] };
}

function withNamespace(object: KubeObject, options: PrepareOptions): KubeObject {
  const namespaced = options.isNamespaced(object);
  if (namespaced === undefined) return object;
  const { namespace, ...rest } = object.metadata;
  const metadata: ObjectMeta = namespaced ? { ...rest, namespace: namespace || options.installNamespace } : rest;
  return { ...object, metadata };
}

/**
 * Removes duplicate objects. Keeps the object that contains all fields of the other, such as for a generated ServiceAccount and one in the bundle.
 */
function removeDuplicates(objects: readonly KubeObject[]): KubeObject[] {
  const byKey = new Map<string, KubeObject>();
  for (const object of objects) {
    const other = byKey.get(getObjectKey(object));
    if (other && !says(other, object) && !says(object, other)) {
      const message = `the bundle contains two different manifests of ${describeObject(object)}: only one of them can be applied`;
      throw new TerminalError("Blocked", message, { problems: [newProblem("BundleInvalid", { message })] });
    }
    byKey.set(getObjectKey(object), other && says(other, object) ? other : object);
  }
  return [...byKey.values()];
}

/** Reports whether `more` contains everything in `less`, field by field; lists must be equal. */
function says(more: unknown, less: unknown): boolean {
  if (isObject(more) && isObject(less))
    return Object.entries(less).every(([member, value]) => Object.hasOwn(more, member) && says(more[member], value));
  return encodeCanonicalJson(more) === encodeCanonicalJson(less);
}
