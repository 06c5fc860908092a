import { Reason } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { isProxyVariable, PROXY_NAMES, type ProxyVariables } from "../api/proxy.ts";
import type { Container, DeploymentSpec, PodTemplate, StrategyDeployment } from "../bundle/types.ts";
import { TerminalError } from "../errors/errors.ts";
import { goJson } from "../golang/json.ts";
import { goQuote } from "../golang/quote.ts";
import { compileSelector } from "../resolve/labelSelector.ts";
import { excerpt } from "../text/truncate.ts";
import type { DeploymentConfig } from "./config.ts";
import { CONFIG_LIMITS, INVALID_CONFIG } from "./configLimits.ts";
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
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/overrides/inject
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

/** How much a value of a member costs where it goes: maps cost more than lists, and so do lists whose items are compared. */
type Costs = Readonly<Partial<Record<keyof DeploymentConfig, number>>>;

const OF_CONTAINERS: Costs = { env: 1, envFrom: 2, volumeMounts: 1, resources: 2, trustedCA: 1 };
/** Annotations go on the Deployment too. */
const OF_PODS: Costs = { volumes: 1, tolerations: 2, nodeSelector: 2, affinity: 1, annotations: 3 };

/** Characters that are copied and written in about the time that a value takes. */
const CHARACTERS_OF_A_VALUE = 64;

/**
 * Returns, for each Deployment, the configurations that its labels choose, in their order. Each selector is checked and prepared once.
 *
 * Work is counted before any is done: for each Deployment the requirements of all selectors, and for each configuration that it gets the values of
 * this one and of those before it, once for the Pod and once for each container. Long texts, and values that cost more, count as
 * several.
 * @throws TerminalError InvalidConfiguration above the limit on work; names the limit and the Deployment where it was exceeded.
 */
export function chooseConfigs(deployments: readonly StrategyDeployment[], configs: readonly DeploymentConfig[]): DeploymentConfig[][] {
  const prepared = configs.map((config) => ({
    config,
    selector: compileSelector(config.selector),
    ofContainer: valuesOf(config, OF_CONTAINERS),
    ofPod: valuesOf(config, OF_PODS),
  }));
  let work = 0;
  return deployments.map((deployment, index) => {
    const { label, spec } = deployment;
    const labels = deploymentLabels({ label, spec });
    const { containers, initContainers } = spec.template.spec;
    const chosen: DeploymentConfig[] = [];
    let values = 0;
    for (const { config, selector, ofContainer, ofPod } of prepared) {
      work += selector.requirements;
      if (selector.matches(labels)) {
        chosen.push(config);
        values += ofPod + ofContainer * ((containers?.length ?? 0) + (config.includeInitContainers ? (initContainers?.length ?? 0) : 0));
        work += values;
      }
      if (work > CONFIG_LIMITS.work) throw tooMuchWork(deployment.name, index + 1, deployments.length);
    }
    return chosen;
  });
}

function valuesOf(config: DeploymentConfig, costs: Costs): number {
  const members = Object.entries(costs) as [keyof DeploymentConfig, number][];
  return Math.ceil(members.reduce((sum, [member, cost]) => sum + cost * weightOf(config[member]), 0));
}

/** One for each value, and what its text and its name take; `checkConfigSize` has bounded number and nesting. */
function weightOf(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return 1 + value.length / CHARACTERS_OF_A_VALUE;
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, item]) => sum + weightOf(item) + name.length / CHARACTERS_OF_A_VALUE, 1);
}

function tooMuchWork(name: string, at: number, of: number): TerminalError {
  const where = `Deployment ${goQuote(excerpt(name))}, ${at} of ${of}`;
  return new TerminalError(
    Reason.InvalidConfiguration,
    `${INVALID_CONFIG}it holds more than the ${CONFIG_LIMITS.work} values allowed, counted for each Deployment and container that gets them, up to ${where}`,
  );
}

/**
 * A Deployment with the cluster's proxy variables in every container, in place of what the bundle says; init containers are left alone:
 *
 * | the user's env for it                                        | variables of the cluster |
 * | names none of the three                                      | all that have a value    |
 * | names one of the three, in either case, with a value or not  | none                     |
 *
 * @param configs the user's for this Deployment, which `content` has already.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/overrides/initializer.go
 */
export function withProxy(
  content: DeploymentContent,
  configs: readonly DeploymentConfig[],
  proxy: ProxyVariables | undefined,
): DeploymentContent {
  if (!proxy || configs.some(({ env }) => env?.some(isProxyVariable))) return content;
  const env = PROXY_NAMES.flatMap((name) => (proxy[name] ? [{ name, value: proxy[name] }] : []));
  return env.length === 0 ? content : withDeploymentConfig(content, { env });
}
