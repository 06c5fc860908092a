import { ANNOTATION_OWNER_UID, LABEL_BUNDLE_VERSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME, LABEL_PACKAGE_NAME } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { canonicalJson } from "../golang/json.ts";
import type { PathStep } from "./diff.ts";
import { driftIn, positionsIn } from "./driftedFields.ts";
import { objectKey } from "./identity.ts";
import { withIgnored } from "./ignoreRules.ts";
import { pointerOf, valueAt } from "./jsonPointer.ts";

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
