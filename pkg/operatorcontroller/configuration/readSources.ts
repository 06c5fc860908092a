import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ObjectRef } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import type { ReadSource } from "../../render/configSources.ts";

/** The objects that `spec.config.valuesFrom` names, in its order, an object that is named twice only once. */
export function sourceRefs({ spec }: Pick<ClusterExtension, "spec">): ObjectRef[] {
  const named = (spec.config?.valuesFrom ?? []).map(({ kind, name }) => [`${kind}/${name}`, { kind, name }] as const);
  return [...new Map(named).values()].map(({ kind, name }) => ({ apiVersion: "v1", kind, name, namespace: spec.namespace }));
}

/** Objects that were read, and what went wrong with the others. */
export interface Sources {
  readonly read: readonly ReadSource[];
  readonly failures: readonly unknown[];
}

/** Reads everything that `spec.config.valuesFrom` names, in spec.namespace and nowhere else, with the identity of `client`. */
export async function readSources(
  client: Pick<Client, "get">,
  extension: Pick<ClusterExtension, "spec">,
  signal: AbortSignal,
): Promise<Sources> {
  const refs = sourceRefs(extension);
  const answers = await Promise.allSettled(refs.map((ref) => client.get(ref, { signal })));
  signal.throwIfAborted();
  const failures = answers.flatMap((answer): unknown[] => (answer.status === "rejected" ? [answer.reason] : []));
  const read = (extension.spec.config?.valuesFrom ?? []).map((source): ReadSource => {
    const answer = answers[refs.findIndex(({ kind, name }) => kind === source.kind && name === source.name)];
    return { source, object: answer?.status === "fulfilled" ? answer.value : undefined };
  });
  return { read, failures };
}
