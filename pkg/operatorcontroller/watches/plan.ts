import { LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../api/constants.ts";
import type { ObjectRef } from "../../api/k8s.ts";
import { groupOf } from "../../api/k8s.ts";
import { objectKey } from "../../release/identity.ts";

/** What one stream follows: one object by its name, or all marked objects of a kind in a namespace (without one: everywhere). */
export interface StreamSpec {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name?: string;
  readonly labelSelector?: string;
}

/** On whose behalf objects are watched, and what is known about that identity. */
export interface PlanContext {
  readonly extension: string;
  /** Other extensions are watched by the same identity: streams by label serve all of them. */
  readonly isShared: boolean;
  /** The controller's own identity, which may look at many namespaces: one stream a kind. */
  readonly isController: boolean;
  /** Whether a stream by label was refused before. */
  isRefused(spec: StreamSpec): boolean;
}

/**
 * The stream that follows each object, by objectKey. By label where that saves streams and has not been refused, by name otherwise; Secrets
 * always by name, so that a right on one never shows the names of others.
 */
export function planStreams(objects: readonly ObjectRef[], context: PlanContext): Map<string, StreamSpec> {
  const groups = Map.groupBy(objects, ({ apiVersion, kind, namespace }) => JSON.stringify([apiVersion, kind, namespace ?? ""]));
  const planned = new Map<string, StreamSpec>();
  for (const group of groups.values()) {
    for (const ref of group) {
      const byLabel = specByLabel(ref, context);
      const saves = group.length > 1 || context.isController;
      planned.set(objectKey(ref), saves && !isSecret(ref) && !context.isRefused(byLabel) ? byLabel : specByName(ref));
    }
  }
  return planned;
}

/** One text for one stream of one identity. */
export function streamKey({ apiVersion, kind, namespace, name, labelSelector }: StreamSpec): string {
  return JSON.stringify([apiVersion, kind, namespace ?? "", name ?? "", labelSelector ?? ""]);
}

/** What the spec is about, for messages: `configmaps "a" in namespace "b"` in terms of kinds. */
export function describeSpec({ kind, name, namespace }: StreamSpec): string {
  const what = name === undefined ? `objects of kind ${kind}` : `${kind} "${name}"`;
  return namespace ? `${what} in namespace "${namespace}"` : what;
}

function specByName({ apiVersion, kind, namespace, name }: ObjectRef): StreamSpec {
  return { apiVersion, kind, namespace, name };
}

function specByLabel({ apiVersion, kind, namespace }: ObjectRef, { extension, isShared, isController }: PlanContext): StreamSpec {
  const labelSelector = isShared || isController ? `${LABEL_OWNER_KIND}=ClusterExtension` : `${LABEL_OWNER_NAME}=${extension}`;
  return { apiVersion, kind, namespace: isController ? undefined : namespace, labelSelector };
}

function isSecret({ apiVersion, kind }: ObjectRef): boolean {
  return kind === "Secret" && groupOf(apiVersion) === "";
}
