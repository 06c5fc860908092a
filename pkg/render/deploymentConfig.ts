import type { JsonObject } from "../api/k8s.ts";
import type { Container, DeploymentSpec, PodTemplate, StrategyDeployment } from "../bundle/types.ts";
import { goJson } from "../golang/json.ts";
import type { DeploymentConfig } from "./config.ts";
import { trustedCaVolume, withTrustedCa } from "./trustedCa.ts";

/** A Deployment's own annotations and its spec. */
export interface DeploymentContent {
  annotations: Record<string, string>;
  spec: DeploymentSpec;
}

type Affinity = NonNullable<PodTemplate["spec"]["affinity"]>;

/**
 * `content` changed as the user asks, by these rules:
 *
 * | env, volumes, volumeMounts | replace what has the same name, else append                           |
 * | envFrom, tolerations       | append what is not there yet                                          |
 * | resources, nodeSelector    | replace the whole                                                     |
 * | affinity                   | replace each of the three kinds that is given; an empty one removes it |
 * | trustedCA                  | replace what is mounted at the same place                              |
 * | annotations                | add where the key is free, on the Deployment and its pods             |
 *
 * Containers are all treated alike; init containers are left alone, unless the configuration includes them.
 * @see operator-lifecycle-manager pkg/controller/operators/olm/overrides/inject
 */
export function withDeploymentConfig({ annotations, spec }: DeploymentContent, config: DeploymentConfig): DeploymentContent {
  const { template } = spec;
  const pod = template.spec;
  const changed: PodTemplate["spec"] = {
    ...pod,
    containers: pod.containers && pod.containers.map((container) => configured(container, config)),
    ...(config.includeInitContainers && pod.initContainers
      ? { initContainers: pod.initContainers.map((container) => configured(container, config)) }
      : {}),
    volumes: named(pod.volumes, [...(config.volumes ?? []), ...(config.trustedCA ? [trustedCaVolume(config.trustedCA)] : [])]),
    tolerations: appended(pod.tolerations, config.tolerations),
    ...(config.nodeSelector ? { nodeSelector: config.nodeSelector } : {}),
  };
  if (config.affinity) {
    const affinity = mergedAffinity(pod.affinity, config.affinity);
    if (affinity) changed.affinity = affinity;
    else delete changed.affinity;
  }
  const metadata = { ...template.metadata, annotations: { ...config.annotations, ...template.metadata.annotations } };
  return { annotations: { ...config.annotations, ...annotations }, spec: { ...spec, template: { ...template, metadata, spec: changed } } };
}

/** The labels by which a Deployment is chosen: its own, overlaid by those of its Pods. */
export function deploymentLabels({
  label,
  spec,
}: {
  label: StrategyDeployment["label"] | undefined;
  spec: DeploymentSpec;
}): Record<string, string> {
  return { ...label, ...spec.template.metadata.labels };
}

function configured(container: Container, config: DeploymentConfig): Container {
  const changed: Container = {
    ...container,
    env: named(container.env, config.env),
    envFrom: appended(container.envFrom, config.envFrom),
    volumeMounts: named(container.volumeMounts, config.volumeMounts),
    ...(config.resources ? { resources: config.resources } : {}),
  };
  return config.trustedCA ? withTrustedCa(changed) : changed;
}

/** Of several items with one name already there, the last is replaced; new ones are appended even when they repeat each other. */
function named<T extends { name: string }>(existing: readonly T[] = [], given: readonly T[] = []): T[] {
  const result = [...existing];
  const index = new Map(existing.map(({ name }, at) => [name, at]));
  for (const item of given) {
    const at = index.get(item.name);
    if (at === undefined) result.push(item);
    else result[at] = item;
  }
  return result;
}

function appended(existing: readonly JsonObject[] = [], given: readonly JsonObject[] = []): JsonObject[] {
  const result = new Map(existing.map((item, index) => [`${index}`, item]));
  const present = new Set(existing.map((item) => goJson(item)));
  for (const item of given) {
    const text = goJson(item);
    if (!present.has(text)) result.set(text, item);
    present.add(text);
  }
  return [...result.values()];
}

/** Undefined when nothing is left. */
function mergedAffinity(existing: Affinity = {}, given: Affinity): Affinity | undefined {
  if (Object.keys(given).length === 0) return undefined;
  const merged = { ...existing };
  for (const [kind, terms] of Object.entries(given)) {
    if (hasTerms(terms)) merged[kind] = terms;
    else delete merged[kind];
  }
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Node affinity has an object of required terms, the pod affinities have a list. */
function hasTerms(terms: JsonObject): boolean {
  return (
    terms["requiredDuringSchedulingIgnoredDuringExecution"] !== undefined ||
    terms["preferredDuringSchedulingIgnoredDuringExecution"] !== undefined
  );
}
