import { Reason } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { isProxyVariable, PROXY_NAMES, type ProxyVariables } from "../api/proxy.ts";
import type { Container, DeploymentSpec, NamedItem, PodTemplate, StrategyDeployment } from "../bundle/types.ts";
import { TerminalError } from "../errors/errors.ts";
import { encodeGoJson } from "../golang/json.ts";
import { goQuote } from "../golang/quote.ts";
import { compileSelector } from "../resolve/labelSelector.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import type { DeploymentConfig } from "./config.ts";
import { CONFIG_LIMITS, INVALID_CONFIG } from "./configLimits.ts";
import { buildTrustedCaVolume, withTrustedCa } from "./trustedCa.ts";

/** The annotations and spec of a Deployment. */
export interface DeploymentContent {
  annotations: Record<string, string>;
  spec: DeploymentSpec;
}

type Affinity = NonNullable<PodTemplate["spec"]["affinity"]>;

/**
 * Applies the user's configuration to a Deployment:
 *
 * | env, volumes, volumeMounts | replace items with the same name, append others                       |
 * | envFrom, tolerations       | append new items                                                      |
 * | resources, nodeSelector    | replace the whole value                                               |
 * | affinity                   | replace each given kind; an empty one removes it                      |
 * | trustedCA                  | replace mounts at the same path                                       |
 * | annotations                | add new keys to the Deployment and its pods                           |
 *
 * Changes all containers, but init containers only if the configuration includes them.
 * @see operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/overrides/inject
 */
export function withDeploymentConfig({ annotations, spec }: DeploymentContent, config: DeploymentConfig): DeploymentContent {
  const { template } = spec;
  const pod = template.spec;
  const changed: PodTemplate["spec"] = {
    ...pod,
    containers: pod.containers && pod.containers.map((container) => configureContainer(container, config)),
    ...(config.includeInitContainers && pod.initContainers
      ? { initContainers: pod.initContainers.map((container) => configureContainer(container, config)) }
      : {}),
    volumes: mergeByName(pod.volumes, [...(config.volumes ?? []), ...(config.trustedCA ? [buildTrustedCaVolume(config.trustedCA)] : [])]),
    tolerations: appendNew(pod.tolerations, config.tolerations),
    ...(config.nodeSelector ? { nodeSelector: config.nodeSelector } : {}),
  };
  if (config.affinity) {
    const affinity = mergeAffinity(pod.affinity, config.affinity);
    if (affinity) changed.affinity = affinity;
    else delete changed.affinity;
  }
  const metadata = { ...template.metadata, annotations: { ...config.annotations, ...template.metadata.annotations } };
  return { annotations: { ...config.annotations, ...annotations }, spec: { ...spec, template: { ...template, metadata, spec: changed } } };
}

/** Adds pull secrets to the Pods of a Deployment, unless they have one with the same name. */
export function withImagePullSecrets(content: DeploymentContent, secrets: readonly NamedItem[]): DeploymentContent {
  if (secrets.length === 0) return content;
  const { template } = content.spec;
  const imagePullSecrets = mergeByName(template.spec.imagePullSecrets, secrets);
  return { ...content, spec: { ...content.spec, template: { ...template, spec: { ...template.spec, imagePullSecrets } } } };
}

/** Returns the labels that selectors match: the labels of the Deployment, overridden by those of its Pods. */
export function buildDeploymentLabels({
  label,
  spec,
}: {
  label: StrategyDeployment["label"] | undefined;
  spec: DeploymentSpec;
}): Record<string, string> {
  return { ...label, ...spec.template.metadata.labels };
}

function configureContainer(container: Container, config: DeploymentConfig): Container {
  const changed: Container = {
    ...container,
    env: mergeByName(container.env, config.env),
    envFrom: appendNew(container.envFrom, config.envFrom),
    volumeMounts: mergeByName(container.volumeMounts, config.volumeMounts),
    ...(config.resources ? { resources: config.resources } : {}),
  };
  return config.trustedCA ? withTrustedCa(changed) : changed;
}

/**
 * Replaces existing items with the same name and appends the other items. If existing items have duplicate names, replaces the last one. Appends new
 * items with duplicate names.
 */
function mergeByName<T extends { name: string }>(existing: readonly T[] = [], given: readonly T[] = []): T[] {
  const result = [...existing];
  const index = new Map(existing.map(({ name }, at) => [name, at]));
  for (const item of given) {
    const at = index.get(item.name);
    if (at === undefined) result.push(item);
    else result[at] = item;
  }
  return result;
}

function appendNew(existing: readonly JsonObject[] = [], given: readonly JsonObject[] = []): JsonObject[] {
  const result = new Map(existing.map((item, index) => [`${index}`, item]));
  const present = new Set(existing.map((item) => encodeGoJson(item)));
  for (const item of given) {
    const text = encodeGoJson(item);
    if (!present.has(text)) result.set(text, item);
    present.add(text);
  }
  return [...result.values()];
}

/** Merges affinities. Returns undefined if nothing remains. */
function mergeAffinity(existing: Affinity = {}, given: Affinity): Affinity | undefined {
  if (Object.keys(given).length === 0) return undefined;
  const merged = { ...existing };
  for (const [kind, terms] of Object.entries(given)) {
    if (hasTerms(terms)) merged[kind] = terms;
    else delete merged[kind];
  }
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** Reports whether an affinity has terms. The required terms of a node affinity are an object, those of pod affinities a list. */
function hasTerms(terms: JsonObject): boolean {
  return (
    terms["requiredDuringSchedulingIgnoredDuringExecution"] !== undefined ||
    terms["preferredDuringSchedulingIgnoredDuringExecution"] !== undefined
  );
}

/** Cost of a value in each field. Maps, and lists whose items are compared, cost more than other lists. */
type Costs = Readonly<Partial<Record<keyof DeploymentConfig, number>>>;

const OF_CONTAINERS: Costs = { env: 1, envFrom: 2, volumeMounts: 1, resources: 2, trustedCA: 1 };
/** Annotations are also added to the Deployment. */
const OF_PODS: Costs = { volumes: 1, tolerations: 2, nodeSelector: 2, affinity: 1, annotations: 3 };

/** Characters that cost as much as one value. */
const CHARACTERS_OF_A_VALUE = 64;

/**
 * Returns the configurations whose selectors match, in order, for each Deployment. Compiles each selector once.
 *
 * Estimates the work first: for each Deployment, the number of requirements in all selectors; and for each of its configurations, the number of
 * values in this and the previous ones, once for the Pod and once for each container. Long texts and expensive values count several times.
 * @throws TerminalError InvalidConfiguration if the work exceeds the limit. The message contains the limit and the Deployment.
 */
export function chooseConfigs(deployments: readonly StrategyDeployment[], configs: readonly DeploymentConfig[]): DeploymentConfig[][] {
  const prepared = configs.map((config) => ({
    config,
    selector: compileSelector(config.selector),
    ofContainer: computeCost(config, OF_CONTAINERS),
    ofPod: computeCost(config, OF_PODS),
  }));
  let work = 0;
  return deployments.map((deployment, index) => {
    const { label, spec } = deployment;
    const labels = buildDeploymentLabels({ label, spec });
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

function computeCost(config: DeploymentConfig, costs: Costs): number {
  const members = Object.entries(costs) as [keyof DeploymentConfig, number][];
  return Math.ceil(members.reduce((sum, [member, cost]) => sum + cost * computeWeight(config[member]), 0));
}

/** Returns 1 for each value, plus the cost of its text and name. `checkConfigSize` limits number and nesting. */
function computeWeight(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === "string") return 1 + value.length / CHARACTERS_OF_A_VALUE;
  if (typeof value !== "object" || value === null) return 1;
  return Object.entries(value).reduce((sum, [name, item]) => sum + computeWeight(item) + name.length / CHARACTERS_OF_A_VALUE, 1);
}

function tooMuchWork(name: string, at: number, of: number): TerminalError {
  const where = `Deployment ${goQuote(truncateExcerpt(name))}, ${at} of ${of}`;
  return new TerminalError(
    Reason.InvalidConfiguration,
    `${INVALID_CONFIG}too many values: at most ${CONFIG_LIMITS.work} are allowed, counted once per Deployment and container; exceeded at ${where}`,
  );
}

/**
 * Sets the proxy variables of the cluster in all containers except init containers, overriding the variables in the bundle:
 *
 * | env in the configuration                                     | variables of the cluster |
 * | names none of the three                                      | all that have a value    |
 * | names one of the three, in either case, with a value or not  | none                     |
 *
 * @param configs configurations of the user for this Deployment, already applied to `content`.
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
