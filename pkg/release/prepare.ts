import type { GroupVersionKind, KubeObject, ObjectMeta } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { TerminalError } from "../errors/errors.ts";
import { canonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { cleanObject } from "./cleanObject.ts";
import { describeObject, objectKey, requireIdentities } from "./identity.ts";
import { type ObjectBundle, type ObjectOwner, withBundleLabels, withOwner } from "./labels.ts";
import { type Adjusted, collapseDuplicates, releaseReplicas } from "./workloads.ts";

/** For whom and where objects are prepared. */
export interface PrepareOptions {
  /** Absent: nobody's, as for people to look at. */
  owner?: ObjectOwner | undefined;
  /** For namespaced objects that name no namespace. */
  installNamespace: string;
  /** Undefined for a kind that the cluster does not serve: the object's namespace stays as it is. */
  isNamespaced(gvk: GroupVersionKind): boolean | undefined;
  /** The bundle that the objects come from; absent for those of a release, whose labels stay as they were recorded. */
  bundle?: ObjectBundle | undefined;
}

/**
 * Rendered objects as they are applied and recorded: stated completely (namespace, owner, bundle), and without what an apply cannot
 * or must not state (status, nulls, server-side metadata, repeated keys of a list, replicas that an autoscaler decides).
 * Objects that are there twice collapse to one. Preparing prepared objects changes nothing. The arguments are not changed.
 * `notes` says in one sentence each what was dropped that the author of the bundle had written.
 * @throws TerminalError Blocked that names an object of which there are two different ones, or objects without kind or name.
 */
export function prepareObjects(objects: readonly KubeObject[], options: PrepareOptions): Adjusted {
  requireIdentities(objects);
  const { bundle, owner } = options;
  const stated = objects.map((object) => {
    const placed = withNamespace(cleanObject(object), options);
    const owned = owner ? withOwner(placed, owner) : placed;
    return bundle ? withBundleLabels(owned, bundle) : owned;
  });
  const collapsed = collapseDuplicates(withoutRepeats(stated));
  const released = releaseReplicas(collapsed.objects);
  return { objects: released.objects, notes: [...collapsed.notes, ...released.notes] };
}

function withNamespace(object: KubeObject, options: PrepareOptions): KubeObject {
  const namespaced = options.isNamespaced(object);
  if (namespaced === undefined) return object;
  const { namespace, ...rest } = object.metadata;
  const metadata: ObjectMeta = namespaced ? { ...rest, namespace: namespace || options.installNamespace } : rest;
  return { ...object, metadata };
}

/** An object that is there twice counts once; where one says more than the other, as of a generated and a shipped ServiceAccount, that one. */
function withoutRepeats(objects: readonly KubeObject[]): KubeObject[] {
  const byKey = new Map<string, KubeObject>();
  for (const object of objects) {
    const other = byKey.get(objectKey(object));
    if (other && !says(other, object) && !says(object, other)) {
      const message = `the bundle holds two different objects ${describeObject(object)}: only one of them could be applied`;
      throw new TerminalError("Blocked", message, { problems: [newProblem("BundleInvalid", { message })] });
    }
    byKey.set(objectKey(object), other && says(other, object) ? other : object);
  }
  return [...byKey.values()];
}

/** True when everything that `less` says is said by `more` as well, member by member; lists must be equal. */
function says(more: unknown, less: unknown): boolean {
  if (isObject(more) && isObject(less))
    return Object.entries(less).every(([member, value]) => Object.hasOwn(more, member) && says(more[member], value));
  return canonicalJson(more) === canonicalJson(less);
}
